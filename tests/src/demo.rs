//! `lamina demo`, as someone sees it who has nothing but the binary.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Output, Stdio};

use serde_json::{Value, json};

use crate::server::{Server, binary, soon};

/// A demo that has greeted. Killed if it is not stopped.
struct Demo {
    process: Child,
    /// Output up to the end of the greeting.
    said: String,
    url: String,
}

impl Drop for Demo {
    fn drop(&mut self) {
        // Gone already if it was stopped.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn command(folder: &Path, options: &[&str]) -> Command {
    let mut command = Command::new(binary());
    command.arg("demo").args(options).current_dir(folder).env("TMPDIR", folder);
    // Of another server, which is none of the demo's business.
    command.env("SVC_MASTER_KEY", "0123456789abcdef").env("SVC_DB_PATH", "elsewhere");
    command.env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY");
    command
}

impl Demo {
    fn start(mut command: Command) -> Demo {
        let mut process = command.stdout(Stdio::piped()).spawn().expect("the binary starts");
        let mut said = String::new();
        for line in BufReader::new(process.stdout.take().expect("a pipe")).lines() {
            let line = line.expect("text");
            said += &line;
            said += "\n";
            if line.starts_with("Stop: ") {
                break;
            }
        }
        let url = said.lines().find_map(|line| line.trim().strip_prefix("Open ")).map(str::trim);
        let url = url.unwrap_or_else(|| panic!("no address:\n{said}")).trim_end_matches('/').to_owned();
        Demo { process, said, url }
    }

    fn interrupt(&mut self) -> ExitStatus {
        let status = Command::new("kill").args(["-INT", &self.process.id().to_string()]).status().expect("kill runs");
        assert!(status.success());
        soon(|| self.process.try_wait().expect("a status"))
    }

    fn search(&self, body: &Value) -> Value {
        let client = reqwest::blocking::Client::builder().no_proxy().build().expect("an HTTP client");
        let answer = client.post(format!("{}/indexes/films/search", self.url)).json(body).send().expect("an answer");
        answer.json().expect("JSON")
    }
}

#[test]
fn the_demo_loads_films_and_a_second_start_finds_them() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut demo = Demo::start(command(folder.path(), &["--port", "0"]));
    assert!(demo.said.contains("Lamina demo: 4000 films, loaded in "), "{}", demo.said);
    for searches in [format!("search --url {} --index films wizrad of oz", demo.url), "'year > 1980'".to_owned()] {
        assert!(demo.said.contains(&searches), "{}", demo.said);
    }
    assert!(demo.said.contains("Semantic search: static models"), "{}", demo.said);
    let found = demo.search(&json!({"q": "wizrad of oz", "limit": 1}));
    assert_eq!(found["hits"][0]["title"], "The Wizard of Oz");
    let found = demo.search(&json!({"q": "harrison ford replicants", "limit": 1}));
    assert_eq!(found["hits"][0]["title"], "Blade Runner");
    let found = demo.search(&json!({"q": "space", "filter": "year > 1980", "facets": ["genres"]}));
    assert!(found["facetDistribution"]["genres"]["Science Fiction"].as_u64() > Some(10), "{found}");
    assert!(demo.interrupt().success());

    let mut demo = Demo::start(command(folder.path(), &["--port", "0", "--no-open"]));
    assert!(demo.said.contains("4000 films, loaded by an earlier start"), "{}", demo.said);
    assert!(demo.interrupt().success());
    assert!(!folder.path().join("elsewhere").exists(), "the variables of other servers are not read");
}

#[test]
fn a_page_is_opened_where_a_desktop_is() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let opener = folder.path().join("xdg-open");
    std::fs::write(&opener, format!("#!/bin/sh\necho \"$@\" >>{:?}\nexit 3\n", folder.path().join("opened"))).unwrap();
    std::fs::set_permissions(&opener, std::fs::Permissions::from_mode(0o700)).unwrap();
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").expect("a path"));
    let data = folder.path().join("data");
    let data = data.to_str().expect("text");
    let opened = || std::fs::read_to_string(folder.path().join("opened")).ok();

    let mut quiet = command(folder.path(), &["--port=0", "--no-open", "--db-path", data]);
    quiet.env("DISPLAY", ":9").env("PATH", &path);
    assert!(Demo::start(quiet).interrupt().success());
    assert_eq!(opened(), None);

    let mut with_desktop = command(folder.path(), &["--port=0", "--db-path", data]);
    with_desktop.env("DISPLAY", ":9").env("PATH", &path);
    let mut demo = Demo::start(with_desktop);
    let line = soon(|| opened().filter(|text| text.ends_with('\n')));
    assert_eq!(line, format!("{}/\n", demo.url));
    assert!(demo.interrupt().success());
}

#[track_caller]
fn refused(output: &Output, status: i32, reason: &str) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{said}");
    assert!(said.contains(reason), "no `{reason}` in: {said}");
}

#[test]
fn what_keeps_a_demo_from_starting_is_said() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let run = |options: &[&str]| command(folder.path(), options).output().expect("the binary starts");
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port().to_string();
    refused(
        &run(&["--port", &port]),
        1,
        &format!("lamina demo: port {port} is in use: choose another one with --port"),
    );
    for wrong in ["--port=70000", "--port=-1", "--port=x", "--port="] {
        refused(&run(&[wrong]), 2, "--port");
    }
    refused(&run(&["films"]), 2, "films");
    let letters = folder.path().join("letters");
    std::fs::create_dir(&letters).expect("a folder");
    std::fs::write(letters.join("letter.txt"), "x").expect("a file");
    refused(&run(&["--port=0", "--db-path", "letters"]), 1, "letter.txt");

    let demo = Demo::start(command(folder.path(), &["--port=0"]));
    refused(&run(&["--port=0"]), 1, "choose another folder with --db-path");
    drop(demo);
}

#[test]
fn the_sample_is_given_to_who_may_add_documents() {
    let server = Server::with_options(&["--master-key", "0123456789abcdef"]);
    server.get("/sample").refused(401, "missing_authorization_header");
    let server = server.with_key("0123456789abcdef");
    let key = |actions: &[&str]| {
        let body = json!({"actions": actions, "indexes": ["films"], "expiresAt": null});
        server.post("/keys", body).ok()["key"].as_str().expect("a key").to_owned()
    };
    let (reader, writer) = (key(&["search"]), key(&["documents.add"]));
    let ask = |key: &str| {
        server.send(reqwest::blocking::Client::new().get(format!("{}/sample", server.url)).bearer_auth(key))
    };
    ask(&reader).refused(403, "invalid_api_key");
    let sample = ask(&writer).ok();
    assert_eq!(sample["documents"].as_array().map(Vec::len), Some(4000));
    // As a page loads it: each part to the route that takes it.
    server.done(&server.patch("/indexes/films/settings", sample["settings"].clone()));
    server.done(&server.post("/indexes/films/documents?primaryKey=id", sample["documents"].clone()));
    for search in sample["searches"].as_array().expect("searches") {
        assert_ne!(server.search("films", search.clone())["hits"], json!([]), "{search}");
    }
}
