//! Replicas over Google Cloud Storage and Azure Blob Storage: small ones in this process, which check what they are asked.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::group_damage::{count, films, flip, segments, until_count};
use crate::object_storage::{contents, filled};
use crate::receiver::{Received, Reply, answering};
use crate::replication::after;
use crate::server::{Server, binary, until};

type Answer = (u16, Vec<u8>);

/// Time at which everything was written.
const WHEN: &str = "Fri, 27 Nov 2026 10:00:00 GMT";

#[derive(Default)]
struct Contents {
    objects: BTreeMap<String, Vec<u8>>,
    /// Creates what is there again, as a store does that knows no conditions.
    has_no_conditions: bool,
    tokens: usize,
    /// Objects that arrive in parts, by key: their parts by id, or in their order.
    uploads: BTreeMap<String, BTreeMap<String, Vec<u8>>>,
    /// Parts that have come.
    parts: usize,
    /// Address at which uploads begin.
    url: String,
    /// Headers of the next response, a line each.
    headers: String,
    refuses: bool,
    /// Parts are not answered.
    stalls: bool,
}

struct Store {
    url: String,
    contents: Arc<Mutex<Contents>>,
}

impl Store {
    fn start() -> Store {
        let contents = Arc::new(Mutex::new(Contents::default()));
        let shared = Arc::clone(&contents);
        let url = answering(move |request| {
            if request.method == "PUT" && shared.lock().expect("no thread panicked").stalls {
                // Longer than any test.
                std::thread::sleep(std::time::Duration::from_secs(600));
            }
            let mut contents = shared.lock().expect("no thread panicked");
            let (status, body) = contents.answer(&request);
            let headers = std::mem::take(&mut contents.headers);
            Some(Reply { status, headers, body })
        });
        contents.lock().expect("no thread panicked").url.clone_from(&url);
        Store { url, contents }
    }

    fn contents(&self) -> std::sync::MutexGuard<'_, Contents> {
        self.contents.lock().expect("no thread panicked")
    }
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        match (first, tail) {
            (b'%', [high, low, after @ ..]) => {
                let digits = [*high, *low];
                let digits = std::str::from_utf8(&digits).expect("ASCII");
                bytes.push(u8::from_str_radix(digits, 16).expect("two digits"));
                rest = after;
            }
            _ => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8(bytes).expect("UTF-8")
}

fn parameters(query: &str) -> BTreeMap<String, String> {
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (decoded(name), decoded(value))).collect()
}

fn position(bytes: &[u8], what: &[u8]) -> usize {
    bytes.windows(what.len()).position(|window| window == what).expect("it is there")
}

impl Contents {
    fn answer(&mut self, request: &Received) -> Answer {
        let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
        let query = parameters(query);
        match request.header("x-ms-version") {
            Some(_) => self.azure(request, path, &query),
            None => self.google(request, path, &query),
        }
    }

    fn create(&mut self, key: String, body: &[u8], if_none: bool, exists: Answer) -> Answer {
        if if_none && !self.has_no_conditions && self.objects.contains_key(&key) {
            return exists;
        }
        self.objects.insert(key, body.to_vec());
        (200, b"{}".to_vec())
    }

    fn read(&mut self, key: &str, range: Option<&str>) -> Answer {
        let Some(object) = self.objects.get(key) else { return (404, b"none".to_vec()) };
        let Some((first, last)) = range.and_then(|range| range.strip_prefix("bytes=")?.split_once('-')) else {
            return (200, object.clone());
        };
        let (first, last): (usize, usize) = (first.parse().expect("a number"), last.parse().expect("a number"));
        let end = object.len().min(last + 1);
        self.headers.push_str(&format!("Content-Range: bytes {first}-{}/{}\r\n", end - 1, object.len()));
        (206, object[first..end].to_vec())
    }

    /// The names of a page of three behind `after`, and whether there are more.
    fn page(&self, prefix: &str, from: &str) -> (Vec<&String>, Option<&String>) {
        let mut all = self.objects.keys().filter(|key| key.starts_with(prefix) && key.as_str() >= from);
        (all.by_ref().take(3).collect(), all.next())
    }

    fn google(&mut self, request: &Received, path: &str, query: &BTreeMap<String, String>) -> Answer {
        if path == "/token" {
            let claim = parameters(request.text());
            assert_eq!(claim["grant_type"], "urn:ietf:params:oauth:grant-type:jwt-bearer");
            assert_eq!(claim["assertion"].split('.').count(), 3);
            self.tokens += 1;
            return (200, json!({"access_token": "a token", "expires_in": 3600}).to_string().into_bytes());
        }
        assert_eq!(request.header("authorization"), Some("Bearer a token"));
        if self.refuses {
            return (403, b"{\"error\": {\"message\": \"Not you.\"}}".to_vec());
        }
        if let Some(key) = path.strip_prefix("/session/").map(decoded) {
            return self.session(request, key);
        }
        if query.get("uploadType").is_some_and(|kind| kind == "resumable") {
            let key = query["name"].clone();
            self.headers = format!("Location: {}/session/{}\r\n", self.url, key.replace(' ', "%20"));
            self.uploads.insert(key, BTreeMap::new());
            return (200, Vec::new());
        }
        if path == "/upload/storage/v1/b/films/o" {
            let boundary = request.header("content-type").unwrap().split_once("boundary=").unwrap().1;
            let body = &request.body;
            let name = position(body, b"\r\n\r\n") + 4;
            let name_end = name + position(&body[name..], format!("\r\n--{boundary}").as_bytes());
            let name: Value = serde_json::from_slice(&body[name..name_end]).expect("JSON");
            let content = name_end + position(&body[name_end..], b"\r\n\r\n") + 4;
            let content = &body[content..body.len() - format!("\r\n--{boundary}--").len()];
            let if_none = query.get("ifGenerationMatch").is_some_and(|number| number == "0");
            let exists = (412, b"{\"error\": {\"message\": \"conditionNotMet\"}}".to_vec());
            return self.create(name["name"].as_str().unwrap().to_owned(), content, if_none, exists);
        }
        match path.strip_prefix("/storage/v1/b/films/o/").map(decoded) {
            None => {
                assert_eq!((request.method.as_str(), path), ("GET", "/storage/v1/b/films/o"));
                let from = query.get("pageToken").unwrap_or(&query["startOffset"]);
                let (page, next) = self.page(&query["prefix"], from);
                let items: Vec<Value> = page.iter().map(|name| json!({ "name": name })).collect();
                (200, json!({"items": items, "nextPageToken": next}).to_string().into_bytes())
            }
            Some(key) if request.method == "DELETE" => {
                self.objects.remove(&key).map_or((404, Vec::new()), |_| (204, Vec::new()))
            }
            Some(key) => self.read(&key, request.header("range")),
        }
    }

    /// The parts of a large object come one after the other, the last of them with the length of all.
    fn session(&mut self, request: &Received, key: String) -> Answer {
        if request.method == "DELETE" {
            self.uploads.remove(&key);
            return (499, Vec::new());
        }
        let parts = self.uploads.get_mut(&key).expect("it was begun");
        let have: usize = parts.values().map(Vec::len).sum();
        let (range, all) =
            request.header("content-range").unwrap().strip_prefix("bytes ").unwrap().split_once('/').unwrap();
        let end = have + request.body.len();
        assert_eq!(range, if request.body.is_empty() { "*".to_owned() } else { format!("{have}-{}", end - 1) });
        parts.insert(format!("{have:020}"), request.body.clone());
        self.parts += 1;
        if all == "*" {
            assert!(end.is_multiple_of(256 << 10));
            assert!(end > have);
            return (308, Vec::new());
        }
        assert_eq!(all, end.to_string());
        let parts = self.uploads.remove(&key).expect("it is there");
        self.objects.insert(key, parts.into_values().flatten().collect());
        (200, b"{}".to_vec())
    }

    /// A part of a large object, or the list of those that make it.
    fn blocks(&mut self, request: &Received, key: String, query: &BTreeMap<String, String>) -> Answer {
        if query["comp"] == "block" {
            self.parts += 1;
            self.uploads.entry(key).or_default().insert(query["blockid"].clone(), request.body.clone());
            return (201, Vec::new());
        }
        let parts = self.uploads.remove(&key).expect("parts of it are there");
        let ids = request.text().split("<Uncommitted>").skip(1);
        let ids = ids.map(|rest| rest.split_once("</Uncommitted>").unwrap().0);
        self.objects.insert(key, ids.flat_map(|id| parts[id].clone()).collect());
        (201, Vec::new())
    }

    /// A batch of one request, which removes an object.
    fn remove_one(&mut self, request: &Received) -> Answer {
        let mut removed = request.text().lines().filter_map(|line| line.strip_prefix("DELETE ")?.split(' ').next());
        let key = decoded(removed.next().unwrap().strip_prefix("/container/").unwrap());
        assert_eq!(removed.next(), None);
        assert!(request.text().contains("Authorization: SharedKey films:"), "{request:?}");
        let status = self.objects.remove(&key).map_or("404 Not Found", |_| "202 Accepted");
        self.headers.push_str("Content-Type: multipart/mixed; boundary=b\r\n");
        let part =
            format!("--b\r\nContent-Type: application/http\r\nContent-ID: 0\r\n\r\nHTTP/1.1 {status}\r\n\r\n--b--\r\n");
        (202, part.into_bytes())
    }

    fn azure(&mut self, request: &Received, path: &str, query: &BTreeMap<String, String>) -> Answer {
        assert!(request.header("authorization").unwrap().starts_with("SharedKey films:"), "{request:?}");
        assert!(request.header("date").unwrap().ends_with(" GMT"));
        self.headers = format!("ETag: \"1\"\r\nLast-Modified: {WHEN}\r\n");
        if self.refuses {
            return (403, b"<Error><Code>AuthorizationFailure</Code><Message>Not you.</Message></Error>".to_vec());
        }
        match (request.method.as_str(), path.strip_prefix("/container/").map(decoded)) {
            ("GET", None) => {
                assert_eq!((path, query["comp"].as_str()), ("/container", "list"));
                let from = query.get("marker").map_or("", String::as_str);
                let (page, next) = self.page(&query["prefix"], from);
                let blob = |name: &&String| {
                    format!(
                        "<Blob><Name>{name}</Name><Properties><Last-Modified>{WHEN}</Last-Modified><Content-Length>1</Content-Length>\
                         <Content-Type>application/octet-stream</Content-Type></Properties></Blob>"
                    )
                };
                let blobs: String = page.iter().map(blob).collect();
                let next = next.map_or("", String::as_str);
                let text = format!(
                    "<EnumerationResults><Blobs>{blobs}</Blobs><NextMarker>{next}</NextMarker></EnumerationResults>"
                );
                (200, text.into_bytes())
            }
            ("POST", None) => {
                assert_eq!((path, query["comp"].as_str()), ("/container", "batch"));
                self.remove_one(request)
            }
            ("PUT", Some(key)) if query.contains_key("comp") => self.blocks(request, key, query),
            ("PUT", Some(key)) => {
                assert_eq!(request.header("x-ms-blob-type"), Some("BlockBlob"));
                let if_none = request.header("if-none-match") == Some("*");
                let exists = (409, b"<Error><Code>BlobAlreadyExists</Code></Error>".to_vec());
                self.create(key, &request.body, if_none, exists)
            }
            (_, Some(key)) => self.read(&key, request.header("range")),
            (method, None) => panic!("{method} {path}"),
        }
    }
}

/// The options for a store, by the name of its scheme, and what has to live as long as they are used.
fn options(store: &Store, scheme: &str) -> (Vec<String>, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let networks = "--experimental-allowed-ip-networks=127.0.0.1".to_owned();
    let options = if scheme == "gs" {
        let key = rcgen::KeyPair::generate_for(&rcgen::PKCS_RSA_SHA256).unwrap().serialize_pem();
        let file = folder.path().join("key.json");
        let account = json!({"client_email": "a@b", "private_key": key, "token_uri": format!("{}/token", store.url)});
        std::fs::write(&file, account.to_string()).unwrap();
        vec![networks, format!("--gcs-url={}", store.url), format!("--gcs-credentials-file={}", file.display())]
    } else {
        let url = format!("--azure-url={}", store.url);
        vec![networks, url, "--azure-account=films".to_owned(), "--azure-access-key=a2V5".to_owned()]
    };
    (options, folder)
}

fn replicates(scheme: &str, address: &str) {
    let store = Store::start();
    let (options, _kept) = options(&store, scheme);
    let start = |role: &str| {
        let all: Vec<&str> = [role, address].into_iter().chain(options.iter().map(String::as_str)).collect();
        Server::with_options(&all)
    };
    let writer = start("--publish");
    writer.add("films", (0..50).map(|id| json!({"id": id, "title": format!("film {id}")})).collect());
    let task = writer.add("films", json!([{"id": 50, "title": "the last one"}]));
    let replica = start("--follow");
    let found = replica.get(&format!("/indexes/films/search?q=last&minGeneration={}", task["batchUid"])).ok();
    assert_eq!(found["hits"][0]["id"], 50);
    assert_eq!(replica.document_count("films"), 51);
    let command = Command::new(binary()).args(["store", "verify", "--json", address]).args(&options[1..]).output();
    let sound: Value = serde_json::from_slice(&command.expect("runs").stdout).expect("JSON");
    assert!(sound["sound"] == true, "{sound}");
    assert!(sound["objects"].as_u64() >= Some(3), "{sound}");
    let tokens = store.contents().tokens;
    assert_eq!((1..10).contains(&tokens), scheme == "gs", "{tokens} tokens: one is used for many requests");
    assert!(store.contents().objects.keys().all(|key| key.starts_with("a b/")), "all below the prefix");
}

#[test]
fn replicas_follow_over_google_cloud_storage() {
    replicates("gs", "gs://films/a b");
}

#[test]
fn replicas_follow_over_azure_blob_storage() {
    replicates("az", "az://container/a b");
}

/// A segment is damaged on the disk of the writer while the store `address` takes nothing. It never arrives there, other indexes
/// do, and the index comes back by `bring_back`, which is given the file.
fn withholds(scheme: &str, address: &str, bring_back: impl FnOnce(&Server, &Path)) {
    let store = Store::start();
    let (options, _kept) = options(&store, scheme);
    let start = |own: &[&str]| {
        let all: Vec<&str> = own.iter().copied().chain(options.iter().map(String::as_str)).collect();
        Server::with_options(&all)
    };
    // Nothing is compared in the background: only a publication can find the damage.
    let mut writer = start(&["--publish", address, "--publish-interval", "1s", "--scrub-rate", "0"]);
    let replica = start(&["--follow", address]);
    after(&replica, &writer.add("films", films(3)), "/indexes");
    store.contents().refuses = true;
    let before = segments(&writer);
    writer.add("films", films(300));
    let segment = segments(&writer).difference(&before).next().expect("a new segment").clone();
    flip(&segment, 0.5);
    store.contents().refuses = false;
    for id in 1..3 {
        writer.add("books", json!([{ "id": id }]));
        until_count(&replica, "books", id);
    }
    assert_eq!(count(&replica, "films"), 3);
    let name = segment.file_name().unwrap().to_str().unwrap();
    writer
        .wait_for_log(&format!("publishing: index `films`: the file `{name}` is damaged on this server: its checksum"));
    let damage = writer.get("/stats").ok()["scrubber"]["damages"][0].clone();
    assert_eq!((&damage["indexUid"], &damage["file"]), (&json!("films"), &json!(name)));
    writer.fails(&writer.post("/indexes/films/documents", json!([{"id": 7}])), "invalid_store_file");
    let sent: Vec<String> = store.contents().objects.keys().filter(|key| key.contains(name)).cloned().collect();
    assert!(sent.is_empty(), "{sent:?}");
    assert!(store.contents().uploads.is_empty(), "{sent:?}");
    assert!(writer.terminate().success());
    bring_back(&writer, &segment);
    writer.start_again();
    let task = writer.add("films", films(301));
    assert_eq!(after(&replica, &task, "/indexes/films/stats")["numberOfDocuments"], 301);
    let search = "/indexes/films/search?q=number&limit=0";
    assert_eq!(replica.get(search).ok()["estimatedTotalHits"], 301);
    assert_eq!(count(&replica, "books"), 2);
}

#[test]
fn a_file_that_is_damaged_on_its_way_to_google_cloud_storage_is_sent_once_it_is_put_back() {
    withholds("gs", "gs://films/a b", |_, segment| flip(segment, 0.5));
}

#[test]
fn a_file_that_is_damaged_on_its_way_to_azure_blob_storage_is_withheld_until_it_is_repaired() {
    withholds("az", "az://container/a b", |writer, _| {
        let repair = Command::new(binary()).args(["repair", "--apply", "--db-path"]).arg(writer.data_folder()).output();
        let repair = repair.expect("runs");
        assert!(repair.status.success(), "{}", String::from_utf8_lossy(&repair.stderr));
    });
}

/// An index that is built into the store `address` is attached by a server.
fn attaches(scheme: &str, address: &str) {
    let store = Store::start();
    let (options, folder) = options(&store, scheme);
    std::fs::write(folder.path().join("films.ndjson"), "{\"id\": 1, \"title\": \"Alien\"}\n").unwrap();
    let output = format!("{address}/films-1");
    let build = |options: &[String]| {
        let mut command = Command::new(binary());
        command.current_dir(folder.path()).args(["build", "films.ndjson"]).args(options);
        command.args(["--output", &output]).output().expect("runs")
    };
    let built = build(&options[1..]);
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    assert!(!build(&options[1..]).status.success(), "there is one");
    let all: Vec<&str> = ["--attach-dir", address].into_iter().chain(options.iter().map(String::as_str)).collect();
    let server = Server::with_options(&all);
    server.done(&server.post("/indexes/films/attach", json!({"folder": "films-1"})));
    assert_eq!(server.search("films", json!({"q": "alien"}))["hits"][0]["id"], 1);
    server.fails(&server.post("/indexes/more/attach", json!({"folder": "films-2"})), "invalid_index_folder");
}

#[test]
fn a_built_index_goes_through_google_cloud_storage() {
    attaches("gs", "gs://films/a b");
}

#[test]
fn a_built_index_goes_through_azure_blob_storage() {
    attaches("az", "az://container/a b");
}

/// A snapshot goes to `address` in parts, and a server starts from it.
fn snapshots(scheme: &str, address: &str) {
    let store = Store::start();
    let (options, kept) = options(&store, scheme);
    let own = ["--experimental-s3-multipart-part-size=20 KB", "--snapshot-store", address];
    let all: Vec<&str> = own.into_iter().chain(options.iter().map(String::as_str)).collect();
    let server = filled(&all);
    server.done(&server.post("/snapshots", json!(null)));
    let archive = store.contents().objects["a b/data.snapshot"].clone();
    assert!(store.contents().parts > 1, "{}", archive.len());
    assert!(store.contents().uploads.is_empty(), "{}", archive.len());
    let file = kept.path().join("fetched.snapshot");
    std::fs::write(&file, archive).unwrap();
    let restored = Server::with_options(&["--import-snapshot", file.to_str().unwrap()]);
    assert_eq!(contents(&restored), contents(&server));
    // The next one takes its place; one that is refused does not.
    server.done(&server.post("/snapshots", json!(null)));
    store.contents().refuses = true;
    let task = server.fails(&server.post("/snapshots", json!(null)), "invalid_s3_snapshot_request");
    assert!(task["error"]["message"].as_str().unwrap().contains("Not you."), "{task}");
    assert_eq!(store.contents().objects.len(), 1);
    assert_eq!(std::fs::read_dir(server.folder().join("snapshots")).unwrap().count(), 0, "nothing is left behind");
}

#[test]
fn snapshots_go_to_google_cloud_storage() {
    snapshots("gs", "gs://films/a b");
}

#[test]
fn snapshots_go_to_azure_blob_storage() {
    snapshots("az", "az://container/a b");
}

#[test]
fn a_snapshot_that_is_canceled_leaves_nothing_in_google_cloud_storage() {
    let store = Store::start();
    let (options, _kept) = options(&store, "gs");
    let all: Vec<&str> =
        ["--snapshot-store", "gs://films"].into_iter().chain(options.iter().map(String::as_str)).collect();
    let server = filled(&all);
    store.contents().stalls = true;
    let snapshot = server.post("/snapshots", json!(null));
    until(|| !store.contents().uploads.is_empty());
    server.done(&server.post("/tasks/cancel?types=snapshotCreation", json!(null)));
    assert_eq!(server.wait(&snapshot)["status"], "canceled");
    assert!(store.contents().uploads.is_empty());
    assert!(store.contents().objects.is_empty());
}

/// Returns the output of a start that fails.
fn refusal(options: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(binary());
    for name in ["AZURE_STORAGE_ACCOUNT_NAME", "AZURE_STORAGE_ACCOUNT", "GOOGLE_APPLICATION_CREDENTIALS"] {
        command.env_remove(name);
    }
    let output = command.arg("--db-path").arg(folder.path().join("data")).args(options).output().expect("runs");
    assert!(!output.status.success());
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_store_that_cannot_be_used_is_refused_at_the_start() {
    for (scheme, address) in [("gs", "gs://films/p"), ("az", "az://container/p")] {
        let store = Store::start();
        store.contents().has_no_conditions = true;
        let (options, _kept) = options(&store, scheme);
        let all: Vec<&str> = ["--publish", address].into_iter().chain(options.iter().map(String::as_str)).collect();
        let said = refusal(&all);
        assert!(said.contains("it lets an object be created twice"), "{said}");
    }
    let said = refusal(&["--publish", "az://container/p"]);
    assert!(said.contains("`--azure-account` is missing"), "{said}");
    let said = refusal(&["--publish", "az://container/p", "--azure-account", "a"]);
    assert!(said.contains("`--azure-access-key` is missing"), "{said}");
    let said = refusal(&["--snapshot-store", "az://container/p"]);
    assert!(said.contains("`--azure-account` is missing"), "{said}");
    let said = refusal(&["--snapshot-store", "file:///snapshots"]);
    assert!(said.contains("use `--snapshot-dir`"), "{said}");
    let said = refusal(&["--follow", "gs://films/p", "--gcs-credentials-file", "/nowhere.json"]);
    assert!(said.contains("`--gcs-credentials-file /nowhere.json`"), "{said}");
}
