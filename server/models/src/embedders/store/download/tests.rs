//! Against a hub in this process, and its moods.

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use parking_lot::Mutex;

use super::super::file_names::{CONFIG, PICKLE, POOLING, SAFETENSORS, TOKENIZER};
use super::*;

const COMMITS: [&str; 2] = ["0123456789abcdef0123456789abcdef01234567", "89abcdef0123456789abcdef0123456789abcdef"];
const TOKEN: &str = "hub-secret";

/// A request: path, headers in small letters.
#[derive(Clone, Debug)]
struct Seen {
    path: String,
    headers: Vec<(String, String)>,
}

impl Seen {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| &**value)
    }
}

/// Behavior of the hub at the next request, with precedence over everything else.
#[derive(Clone, Debug)]
enum Mood {
    Status(u16),
    /// Ends the connection after so many bytes of the body.
    BreaksOff(usize),
    /// Sends bytes that are not the file's.
    Garbles,
}

#[derive(Default)]
struct Inner {
    /// By path below `/resolve/`: its content.
    files: HashMap<String, Vec<u8>>,
    /// By path: what it does when that is asked for, once each.
    moods: HashMap<String, Vec<Mood>>,
    /// The commit that `main` names; files of a commit are below its name.
    commit: Option<&'static str>,
    /// Commit that `main` names after the next request.
    commit_then: Option<&'static str>,
    needs_token: bool,
    seen: Vec<Seen>,
}

struct TestHub {
    url: String,
    inner: Arc<Mutex<Inner>>,
}

impl TestHub {
    fn start() -> TestHub {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let inner = Arc::new(Mutex::new(Inner::default()));
        let shared = Arc::clone(&inner);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&shared);
                // Who is cut off hangs up.
                std::thread::spawn(move || drop(serve(&stream, &shared)));
            }
        });
        TestHub { url, inner }
    }

    /// Has the files of a model in a commit; `version` is in all of them.
    fn has(&self, commit: &str, weights: &str, version: &str) {
        let mut inner = self.inner.lock();
        for name in [CONFIG, TOKENIZER, POOLING, weights] {
            let content = format!("{version} {name} ").repeat(if name == weights { 2000 } else { 1 });
            inner.files.insert(format!("{commit}/{name}"), content.into_bytes());
        }
    }

    fn moods(&self, path: &str, moods: &[Mood]) {
        self.inner.lock().moods.insert(path.to_owned(), moods.to_vec());
    }

    fn take_seen(&self) -> Vec<Seen> {
        std::mem::take(&mut self.inner.lock().seen)
    }
}

fn serve(mut stream: &TcpStream, inner: &Mutex<Inner>) -> io::Result<()> {
    let mut lines = BufReader::new(stream).lines();
    let first = lines.next().unwrap_or_else(|| Ok(String::new()))?;
    let lines = lines.map_while(Result::ok).take_while(|line| !line.is_empty());
    let pair = |line: String| line.split_once(": ").map(|(name, value)| (name.to_lowercase(), value.to_owned()));
    let seen =
        Seen { path: first.split(' ').nth(1).unwrap_or("").to_owned(), headers: lines.filter_map(pair).collect() };
    let path = seen.path.trim_start_matches("/org/model/resolve/").to_owned();
    let mut inner = inner.lock();
    inner.seen.push(seen.clone());
    let mood = inner.moods.get_mut(&path).filter(|moods| !moods.is_empty()).map(|moods| moods.remove(0));
    let is_allowed = !inner.needs_token || seen.header("authorization") == Some(&format!("Bearer {TOKEN}"));
    let of_commit = inner.commit.map_or(path.clone(), |commit| path.replacen("main/", &format!("{commit}/"), 1));
    let content = inner.files.get(&of_commit).cloned();
    let commit = inner.commit.map_or(String::new(), |commit| format!("X-Repo-Commit: {commit}\r\n"));
    inner.commit = inner.commit_then.take().or(inner.commit);
    drop(inner);
    let status = match mood {
        Some(Mood::Status(status)) => Some(status),
        _ if !is_allowed => Some(401),
        _ => None,
    };
    let (Some(content), None) = (content, status) else {
        let status = status.unwrap_or(404);
        return write!(stream, "HTTP/1.1 {status} X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    };
    let hash = digest::digest(&digest::SHA256, &content);
    let etag: String = hash.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    let same = seen.header("if-range") == Some(&format!("\"{etag}\""));
    let start = seen.header("range").filter(|_| same).and_then(|range| range[6..].trim_end_matches('-').parse().ok());
    let (status, start) = start.map_or((200, 0), |start: usize| (206, start));
    let mut body = content[start..].to_vec();
    write!(
        stream,
        "HTTP/1.1 {status} X\r\nContent-Length: {}\r\nETag: \"{etag}\"\r\n{commit}Content-Range: bytes {start}-{}/{}\r\n\
         Connection: close\r\n\r\n",
        body.len(),
        content.len() - 1,
        content.len()
    )?;
    match mood {
        Some(Mood::BreaksOff(length)) => body.truncate(length),
        Some(Mood::Garbles) => body[3] ^= 1,
        _ => {}
    }
    stream.write_all(&body)
}

struct Fixture {
    hub: TestHub,
    runtime: tokio::runtime::Runtime,
    folder: tempfile::TempDir,
    cancelled: AtomicBool,
}

impl Fixture {
    fn new() -> Fixture {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        Fixture {
            hub: TestHub::start(),
            runtime,
            folder: tempfile::tempdir().unwrap(),
            cancelled: AtomicBool::default(),
        }
    }

    fn download_as(&self, revision: &str, token: Option<&str>) -> Result<(), String> {
        let outbound = {
            let _guard = self.runtime.enter();
            Outbound::new("any".parse().unwrap()).unwrap()
        };
        let mut hub = Hub::new(&self.hub.url, token.map(str::to_owned), outbound);
        hub.pauses = Backoff::new(10, 1.0, 10).of_attempts(DOWNLOAD.attempts());
        let fetch = |download: &mut Download<'_>| {
            download.needs(CONFIG)?;
            download.needs(TOKENIZER)?;
            download.has(POOLING)?;
            if download.has(SAFETENSORS)? || download.has(PICKLE)? { Ok(()) } else { Err("no weights".to_owned()) }
        };
        hub.download("org/model", revision, &self.model(), fetch, &self.cancelled)
    }

    fn download(&self) -> Result<(), String> {
        self.download_as("main", None)
    }

    fn model(&self) -> PathBuf {
        self.folder.path().join("model/main")
    }

    /// The version in each of the files that are there.
    #[track_caller]
    fn check(&self, version: &str, weights: &str) {
        for name in [CONFIG, TOKENIZER, POOLING, weights] {
            let content = fs::read_to_string(self.model().join(name)).unwrap();
            let wrong = content.split_inclusive(' ').step_by(2).find(|word| word.trim_end() != version);
            assert_eq!(wrong, None, "{name}");
        }
        assert_eq!(self.unfinished(), [""; 0]);
    }

    /// Returns the remains of a download.
    fn unfinished(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.model().with_file_name(".main")) else { return Vec::new() };
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort_unstable();
        names
    }
}

#[test]
fn all_files_are_of_one_commit() {
    let fixture = Fixture::new();
    fixture.hub.has(COMMITS[0], SAFETENSORS, "old");
    fixture.hub.inner.lock().commit = Some(COMMITS[0]);
    fixture.hub.has(COMMITS[1], SAFETENSORS, "new");
    // The branch moves on when the first file is out.
    fixture.hub.inner.lock().commit_then = Some(COMMITS[1]);
    fixture.download().unwrap();
    fixture.check("old", SAFETENSORS);
    let paths: Vec<String> = fixture.hub.take_seen().into_iter().map(|seen| seen.path).collect();
    assert_eq!(paths[0], format!("/org/model/resolve/main/{CONFIG}"));
    let pinned = [TOKENIZER, POOLING, SAFETENSORS].map(|name| format!("/org/model/resolve/{}/{name}", COMMITS[0]));
    assert_eq!(paths[1..], pinned);
}

#[test]
fn revisions_and_weights_of_both_kinds() {
    let fixture = Fixture::new();
    fixture.hub.has("refs%2Fpr%2F1", PICKLE, "proposed");
    fixture.download_as("refs/pr/1", None).unwrap();
    fixture.check("proposed", PICKLE);
    assert_eq!(fixture.download_as("v2", None).unwrap_err(), "it has no `config.json` in revision `v2`");
}

#[test]
fn models_that_take_a_key() {
    let fixture = Fixture::new();
    fixture.hub.has("main", SAFETENSORS, "private");
    fixture.hub.inner.lock().needs_token = true;
    let refusal = fixture.download().unwrap_err();
    assert!(refusal.starts_with("it answered HTTP 401: "), "{refusal}");
    assert!(refusal.contains("`HF_TOKEN`"), "{refusal}");
    assert_eq!(fixture.hub.take_seen().len(), 1, "no key comes of asking again");
    fixture.download_as("main", Some(TOKEN)).unwrap();
    fixture.check("private", SAFETENSORS);
}

#[test]
fn a_broken_download_goes_on_where_it_broke_off() {
    let fixture = Fixture::new();
    fixture.hub.has("main", SAFETENSORS, "one");
    let weights = format!("main/{SAFETENSORS}");
    let moods = [Mood::BreaksOff(9000), Mood::Status(503), Mood::Status(429), Mood::BreaksOff(5000)];
    fixture.hub.moods(&weights, &moods);
    fixture.download().unwrap();
    fixture.check("one", SAFETENSORS);
    let ranges = fixture.hub.take_seen().into_iter().filter(|seen| seen.path.ends_with(SAFETENSORS));
    let ranges: Vec<Option<String>> = ranges.map(|seen| seen.header("range").map(str::to_owned)).collect();
    let expected = [None, Some("bytes=9000-"), Some("bytes=9000-"), Some("bytes=9000-"), Some("bytes=14000-")];
    assert_eq!(ranges, expected.map(|range| range.map(str::to_owned)));
}

#[test]
fn a_canceled_download_ends_between_its_tries() {
    let fixture = Fixture::new();
    fixture.hub.has("main", SAFETENSORS, "one");
    fixture.cancelled.store(true, Ordering::Relaxed);
    assert_eq!(fixture.download().unwrap_err(), "cancelled");
    assert!(!fixture.model().exists());
    fixture.cancelled.store(false, Ordering::Relaxed);
    fixture.download().unwrap();
    fixture.check("one", SAFETENSORS);
}

#[test]
fn a_later_call_goes_on_unless_the_file_is_another() {
    let fixture = Fixture::new();
    fixture.hub.has("main", SAFETENSORS, "one");
    let weights = format!("main/{SAFETENSORS}");
    let away = [Mood::BreaksOff(9000), Mood::Status(500), Mood::Status(500), Mood::Status(500)];
    fixture.hub.moods(&weights, &away);
    assert_eq!(fixture.download().unwrap_err(), "it answered HTTP 500");
    assert!(!fixture.model().exists(), "no model, or a whole one");
    assert!(fixture.unfinished().contains(&format!("{SAFETENSORS}.part")));
    fixture.hub.take_seen();
    fixture.download().unwrap();
    fixture.check("one", SAFETENSORS);
    let last = fixture.hub.take_seen().pop().unwrap();
    assert_eq!(last.header("range"), Some("bytes=9000-"), "as after a restart");

    fixture.hub.moods(&weights, &away);
    fixture.download().unwrap_err();
    fixture.hub.has("main", SAFETENSORS, "two");
    fixture.download().unwrap();
    fixture.check("two", SAFETENSORS);
}

#[test]
fn garbled_files_are_fetched_again_but_not_for_ever() {
    let fixture = Fixture::new();
    fixture.hub.has("main", SAFETENSORS, "one");
    let weights = format!("main/{SAFETENSORS}");
    fixture.hub.moods(&weights, &[Mood::Garbles]);
    fixture.download().unwrap();
    fixture.check("one", SAFETENSORS);
    fixture.hub.moods(&weights, &[Mood::Garbles, Mood::Garbles, Mood::Garbles, Mood::Garbles]);
    let refusal = fixture.download().unwrap_err();
    assert!(refusal.ends_with("is not what the hub has"), "{refusal}");
}
