//! The fixture: one running server, and answers that can be checked in one line.

mod launch;
mod soon;

pub(crate) use launch::*;
pub(crate) use soon::*;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use reqwest::Method;
use reqwest::blocking::{Client, RequestBuilder};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::collector::Watch;
use crate::receiver::{Behaviour, Receiver};

/// Maximum time for a server that is no longer needed to end by itself, and to send its figures.
const END_MAX: Duration = Duration::from_secs(2);

/// The `lamina` binary of this build, brought up to date once per run.
pub(crate) fn binary() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| {
        // target/<profile>/deps/e2e-…
        let this = std::env::current_exe().expect("a test has an executable");
        let profile = this.parent().and_then(Path::parent).expect("tests run from a target folder");
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        // What `cargo test --workspace` has built: another selection has other features, and builds all dependencies again.
        cargo.args(["build", "--quiet", "--workspace", "--bin", "lamina", "--test", "e2e", "--target-dir"]);
        cargo.arg(profile.parent().unwrap());
        if cfg!(not(feature = "local-models")) {
            cargo.arg("--no-default-features");
        }
        if profile.ends_with("release") {
            cargo.arg("--release");
        }
        let start = Instant::now();
        let status = cargo.current_dir(repository()).status().expect("cargo can be run");
        assert!(status.success(), "the binary does not build");
        if start.elapsed() > Duration::from_secs(10) {
            // Not with `eprintln`, which is shown for tests that fail: this says why others seem to run for minutes.
            let said = format!("\nthe server took {:.0?} to build, and all tests waited for it\n", start.elapsed());
            let _ = std::io::stderr().write_all(said.as_bytes());
        }
        profile.join("lamina")
    })
}

pub(crate) fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the tests are a folder of the repository")
}

/// A running server. Dropping it ends the process, reads what it reported of its use, and removes the folder.
pub(crate) struct Server {
    process: Child,
    pub(crate) url: String,
    folder: TempDir,
    options: Vec<String>,
    key: Option<String>,
    http: Client,
    watch: Watch,
}

impl Server {
    pub(crate) fn start() -> Server {
        Server::with_options(&[])
    }

    /// Starts a server with options. It reports its use to a [collector](crate::collector), unless the options say something else, and may
    /// therefore make requests to 127.0.0.1.
    pub(crate) fn with_options(options: &[&str]) -> Server {
        let watch = Watch::new();
        let options = watched(options, &watch);
        Server::launched(options, watch)
    }

    /// One with these options and no others: without a collector, and with the default rules for its own requests.
    pub(crate) fn bare(options: &[&str]) -> Server {
        Server::launched(options.iter().map(|option| option.to_string()).collect(), Watch::new())
    }

    fn launched(options: Vec<String>, watch: Watch) -> Server {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (process, url) = launch(folder.path(), &options);
        let http = Client::builder().timeout(SOON).no_proxy().build().expect("an HTTP client");
        Server { process, url, folder, options, key: None, http, watch }
    }

    /// Sends `key` with every request from now on.
    pub(crate) fn with_key(mut self, key: &str) -> Server {
        self.key = Some(key.to_owned());
        self
    }

    /// The process, for what the operating system knows of it.
    pub(crate) fn process_id(&self) -> u32 {
        self.process.id()
    }

    pub(crate) fn data_folder(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// The working folder of the process: relative paths of options lead here.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the output of the process on its standard streams.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    /// Waits until the log holds `text`: what happens beside a request may be logged after its answer.
    #[track_caller]
    pub(crate) fn wait_for_log(&self, text: &str) {
        self.wait_for_log_lines(text, 1);
    }

    /// Waits like [`Server::wait_for_log`], until `count` lines hold the text.
    #[track_caller]
    pub(crate) fn wait_for_log_lines(&self, text: &str, count: usize) {
        soon_as(|| self.log(), |log| log.lines().filter(|line| line.contains(text)).count() >= count);
    }

    /// The resident memory of the process: now, and at its most since [`Server::forget_peak`]. In KiB.
    pub(crate) fn memory(&self) -> (u64, u64) {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).expect("it runs");
        let line = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("Linux shows it");
            line.trim().trim_end_matches(" kB").parse().expect("a number")
        };
        (line("VmRSS:"), line("VmHWM:"))
    }

    /// The most memory that was resident counts from now.
    pub(crate) fn forget_peak(&self) {
        std::fs::write(format!("/proc/{}/clear_refs", self.process.id()), "5").expect("the process is ours");
    }

    /// SIGKILL: nothing is finished, nothing is cleaned up.
    pub(crate) fn kill(&mut self) {
        self.process.kill().expect("the process can be killed");
        self.process.wait().expect("the process can be waited for");
    }

    /// Lets `act` speak to the server over and over until it is killed, sometime in its first `life_max` milliseconds;
    /// then it is started again. The times of the rounds are spread over the whole of what `act` takes. In every second
    /// round the time counts from the end of the first `act`, so that something gets done however slow the machine is.
    pub(crate) fn killed_while(
        &mut self,
        round: u64,
        life_max: u64,
        mut act: impl FnMut(&Server) -> reqwest::Result<()>,
    ) {
        let life = Duration::from_millis(3 + round * 37 % life_max);
        let process = self.process.id();
        let killed = AtomicBool::new(false);
        let (acted, first_act) = channel();
        std::thread::scope(|scope| {
            let killed = &killed;
            scope.spawn(move || {
                if round.is_multiple_of(2) {
                    // An error means that there will be none.
                    let _ = first_act.recv();
                }
                // The moment of the kill is drawn.
                std::thread::sleep(life);
                // Before the act, so that no other server that gets the port is spoken to for long.
                killed.store(true, Ordering::SeqCst);
                let status = Command::new("kill").args(["-KILL", &process.to_string()]).status().expect("kill runs");
                assert!(status.success());
            });
            // Dropped at the end, also of a panic.
            let acted = acted;
            while act(self).is_ok() {
                // No process listens after the first one.
                let _ = acted.send(());
                if killed.load(Ordering::SeqCst) {
                    break;
                }
            }
        });
        self.process.wait().expect("the process can be waited for");
        self.start_again();
    }

    /// SIGTERM, and the exit status it led to.
    pub(crate) fn terminate(&mut self) -> std::process::ExitStatus {
        let status = Command::new("kill").args(["-TERM", &self.process.id().to_string()]).status().expect("kill runs");
        assert!(status.success());
        self.process.wait().expect("the process can be waited for")
    }

    /// Result of `lamina verify` on the data folder of a process that is down: success, and the output.
    pub(crate) fn verify(&self) -> (bool, String) {
        let verified = Command::new(binary()).args(["verify", "--db-path"]).arg(self.data_folder()).output();
        let verified = verified.expect("the binary starts");
        let said = [verified.stdout, verified.stderr].concat();
        (verified.status.success(), String::from_utf8_lossy(&said).into_owned())
    }

    /// SIGABRT, as after a stack overflow.
    pub(crate) fn abort(&mut self) {
        let status = Command::new("kill").args(["-ABRT", &self.process.id().to_string()]).status().expect("kill runs");
        assert!(status.success());
        self.process.wait().expect("the process can be waited for");
    }

    /// Waits until the process ends by itself, and returns its exit status.
    pub(crate) fn ended(&mut self) -> std::process::ExitStatus {
        soon(|| self.process.try_wait().expect("a status"))
    }

    /// Starts the process again on the same folder, after [`Server::kill`] or [`Server::terminate`].
    pub(crate) fn start_again(&mut self) {
        (self.process, self.url) = launch(self.folder.path(), &self.options);
    }

    /// Starts like [`Server::start_again`], for a server that may refuse to start. Reports whether it serves.
    pub(crate) fn try_start_again(&mut self) -> bool {
        let started = try_launch(self.folder.path(), &self.options);
        let is_serving = started.is_ok();
        if let Ok((process, url)) = started {
            (self.process, self.url) = (process, url);
        }
        is_serving
    }

    /// Starts the stopped process again, with other options, on the same folder.
    pub(crate) fn with_other_options(mut self, options: &[&str]) -> Server {
        self.options = watched(options, &self.watch);
        self.start_again();
        self
    }

    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.http.request(method, format!("{}{path}", self.url));
        match &self.key {
            Some(key) => request.bearer_auth(key),
            None => request,
        }
    }

    /// Sends and reads the answer; panics when there is none.
    #[track_caller]
    pub(crate) fn send(&self, request: RequestBuilder) -> Answer {
        self.try_send(request).unwrap_or_else(|error| panic!("no answer: {error:?}\n{}", self.log()))
    }

    pub(crate) fn try_send(&self, request: RequestBuilder) -> reqwest::Result<Answer> {
        let (client, request) = request.build_split();
        let request = request?;
        self.watch.saw(&request);
        let response = client.execute(request)?;
        let status = response.status().as_u16();
        let limits = response.headers().get("lamina-limits");
        let limits = limits.map(|limits| limits.to_str().expect("plain text").to_owned());
        let text = response.text()?;
        let body = serde_json::from_str(&text).unwrap_or(Value::Null);
        Ok(Answer { status, body, text, limits })
    }

    #[track_caller]
    pub(crate) fn get(&self, path: &str) -> Answer {
        self.send(self.request(Method::GET, path))
    }

    #[track_caller]
    pub(crate) fn post(&self, path: &str, body: Value) -> Answer {
        self.send(self.request(Method::POST, path).json(&body))
    }

    #[track_caller]
    pub(crate) fn put(&self, path: &str, body: Value) -> Answer {
        self.send(self.request(Method::PUT, path).json(&body))
    }

    #[track_caller]
    pub(crate) fn patch(&self, path: &str, body: Value) -> Answer {
        self.send(self.request(Method::PATCH, path).json(&body))
    }

    #[track_caller]
    pub(crate) fn delete(&self, path: &str) -> Answer {
        self.send(self.request(Method::DELETE, path))
    }

    /// Sends raw bytes as a payload of the given type.
    #[track_caller]
    pub(crate) fn post_raw(&self, path: &str, content_type: &str, body: impl Into<Vec<u8>>) -> Answer {
        self.send(self.request(Method::POST, path).header("Content-Type", content_type).body(body.into()))
    }

    /// Waits for the task that an answer announces; the finished task.
    #[track_caller]
    pub(crate) fn wait(&self, answer: &Answer) -> Value {
        assert!(matches!(answer.status, 200 | 202), "not accepted: {answer:?}");
        self.wait_for(answer.body["taskUid"].as_u64().expect("a summarised task"))
    }

    #[track_caller]
    pub(crate) fn wait_for(&self, task_uid: u64) -> Value {
        soon_as(|| self.get(&format!("/tasks/{task_uid}")).ok(), has_ended)
    }

    /// Waits until the task is carried out, or has been.
    #[track_caller]
    pub(crate) fn wait_for_processing(&self, task_uid: u64) {
        until(|| self.get(&format!("/tasks/{task_uid}")).ok()["status"] != "enqueued");
    }

    /// Waits for the task and expects success; the finished task.
    #[track_caller]
    pub(crate) fn done(&self, answer: &Answer) -> Value {
        let task = self.wait(answer);
        assert_eq!(task["status"], "succeeded", "{task}\n{}", self.log());
        task
    }

    /// Waits for the task and expects it to fail with `code`; the finished task.
    #[track_caller]
    pub(crate) fn fails(&self, answer: &Answer, code: &str) -> Value {
        let task = self.wait(answer);
        assert_eq!((&task["status"], &task["error"]["code"]), (&"failed".into(), &code.into()), "{task}");
        task
    }

    /// Adds documents to an index and waits until they are searchable.
    #[track_caller]
    pub(crate) fn add(&self, index: &str, documents: Value) -> Value {
        self.done(&self.post(&format!("/indexes/{index}/documents"), documents))
    }

    #[track_caller]
    pub(crate) fn set(&self, index: &str, settings: Value) -> Value {
        self.done(&self.patch(&format!("/indexes/{index}/settings"), settings))
    }

    /// Searches and returns the answer's body.
    #[track_caller]
    pub(crate) fn search(&self, index: &str, query: Value) -> Value {
        self.post(&format!("/indexes/{index}/search"), query).ok()
    }

    /// Keeps the queue busy until [`Server::release_queue`]: with an export to a server that never answers. The server must
    /// be allowed to ask 127.0.0.1.
    #[track_caller]
    pub(crate) fn hold_queue(&self) -> Receiver {
        let silent = Receiver::start(std::iter::repeat_with(|| Behaviour::Stall).take(1000));
        self.add("held", json!([{"id": 1}]));
        let export = json!({"url": silent.url, "indexes": {"held": {}}});
        assert_eq!(self.post("/export", export).status, 200);
        silent.next();
        silent
    }

    /// Lets the queue go on; the task that held it is canceled.
    #[track_caller]
    pub(crate) fn release_queue(&self, held: Receiver) {
        self.done(&self.post("/tasks/cancel?types=export", Value::Null));
        drop(held);
    }

    /// A task that waits for the vector of a document, which never comes. The server must be allowed to ask 127.0.0.1.
    #[track_caller]
    pub(crate) fn wait_for_vectors(&self) -> Receiver {
        let model = Receiver::start(std::iter::repeat_with(|| Behaviour::Stall).take(1000));
        let embedder = json!({
            "source": "rest", "url": model.url, "dimensions": 2, "documentTemplate": "text",
            "request": "{{text}}", "response": "{{embedding}}"
        });
        self.add("held", json!([{"id": 1, "_vectors": {"never": null}}]));
        self.set("held", json!({"embedders": {"never": embedder}}));
        assert_eq!(self.post("/indexes/held/documents", json!([{"id": 2}])).status, 202);
        model.next();
        model
    }

    /// The ids of the hits, in order.
    #[track_caller]
    pub(crate) fn ids(&self, index: &str, query: Value) -> Vec<Value> {
        let answer = self.search(index, query);
        answer["hits"].as_array().expect("hits").iter().map(|hit| hit["id"].clone()).collect()
    }

    #[track_caller]
    pub(crate) fn document_count(&self, index: &str) -> u64 {
        self.get(&format!("/indexes/{index}/stats")).ok()["numberOfDocuments"].as_u64().expect("a number")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let is_running = |process: &mut Child| matches!(process.try_wait(), Ok(None));
        if !std::thread::panicking() && is_running(&mut self.process) {
            let _ = Command::new("kill").args(["-TERM", &self.process.id().to_string()]).status();
            within(END_MAX, || (!is_running(&mut self.process)).then_some(()));
        }
        // It may be down already.
        let _ = self.process.kill();
        let _ = self.process.wait();
        if !std::thread::panicking() {
            let folder = self.folder.path().to_string_lossy().into_owned();
            let secrets = ["127.0.0.1", folder.as_str()];
            self.watch.check(&secrets);
        }
        if std::thread::panicking() {
            let log = self.log();
            let tail: Vec<&str> = log.lines().rev().take(20).collect();
            eprintln!("the end of the server's log:");
            tail.iter().rev().for_each(|line| eprintln!("  {line}"));
        }
    }
}

pub(crate) fn has_ended(task: &Value) -> bool {
    matches!(task["status"].as_str(), Some("succeeded" | "failed" | "canceled"))
}

/// An answer of the server.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Value,
    pub(crate) text: String,
    /// The header that names what cut the answer.
    pub(crate) limits: Option<String>,
}

impl Answer {
    /// The body of a successful answer.
    #[track_caller]
    pub(crate) fn ok(self) -> Value {
        assert!((200..300).contains(&self.status), "{} {}", self.status, self.text);
        self.body
    }

    /// Expects a refusal with all four parts of an error body.
    #[track_caller]
    pub(crate) fn refused(&self, status: u16, code: &str) {
        assert_eq!((self.status, self.body["code"].as_str()), (status, Some(code)), "{}", self.text);
        for key in ["message", "type", "link"] {
            assert!(self.body[key].as_str().is_some_and(|text| !text.is_empty()), "no `{key}`: {}", self.text);
        }
    }
}
