//! Snapshots in an object store: a small one in this process that takes uploads in parts, and stumbles.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::receiver::{Received, Reply, answering};
use crate::server::{Server, until};

/// Content of the store, and its requests.
#[derive(Default)]
struct Contents {
    /// By upload, then by number.
    uploads: BTreeMap<String, BTreeMap<u32, Vec<u8>>>,
    /// By path.
    objects: BTreeMap<String, Vec<u8>>,
    asked: Vec<String>,
    /// Requests that are still to fail.
    failures: usize,
    aborted: usize,
    refuses: bool,
    /// Parts are not answered.
    stalls: bool,
    /// Bodies of requests to take a role.
    taken: Vec<String>,
    /// Time at which the keys of the role expire.
    end: &'static str,
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
            let stalls = request.method == "PUT" && shared.lock().expect("no thread panicked").stalls;
            if stalls {
                // Longer than any test.
                std::thread::sleep(std::time::Duration::from_secs(600));
            }
            let (status, headers, body) = shared.lock().expect("no thread panicked").answer(&request);
            Some(Reply { status, headers, body: body.into() })
        });
        Store { url, contents }
    }

    fn contents(&self) -> std::sync::MutexGuard<'_, Contents> {
        self.contents.lock().expect("no thread panicked")
    }

    fn options(&self) -> Vec<&str> {
        let fixed = [
            "--experimental-allowed-ip-networks=127.0.0.1",
            "--s3-bucket-region=here",
            "--s3-bucket-name=backups",
            "--s3-snapshot-prefix=of tests",
            "--s3-access-key=AKIATEST",
            "--s3-secret-key=very secret",
            "--experimental-s3-multipart-part-size=20 KB",
            "--s3-bucket-url",
        ];
        fixed.into_iter().chain([self.url.as_str()]).collect()
    }
}

impl Contents {
    fn keys_of_role(&mut self, request: &Received) -> (u16, String, String) {
        assert_eq!((request.method.as_str(), request.header("authorization")), ("POST", None));
        assert_eq!(request.header("content-type"), Some("application/x-www-form-urlencoded"));
        if self.failures > 0 {
            self.failures -= 1;
            return (500, String::new(), "<ErrorResponse><Error><Code>Oops</Code></Error></ErrorResponse>".to_owned());
        }
        self.taken.push(request.text().to_owned());
        if self.refuses {
            let body = "<ErrorResponse><Error><Code>ExpiredTokenException</Code></Error></ErrorResponse>";
            return (400, String::new(), body.to_owned());
        }
        let keys = format!(
            "<AssumeRoleWithWebIdentityResponse><Credentials><AccessKeyId>ASIATEST</AccessKeyId>\
             <SecretAccessKey>secret of a session</SecretAccessKey><SessionToken>token/{}==</SessionToken>\
             <Expiration>{}</Expiration></Credentials></AssumeRoleWithWebIdentityResponse>",
            self.taken.len(),
            self.end
        );
        (200, String::new(), keys)
    }

    fn answer(&mut self, request: &Received) -> (u16, String, String) {
        if request.path == "/sts" {
            return self.keys_of_role(request);
        }
        let authorization = request.header("authorization").unwrap_or_default();
        let key = match request.header("x-amz-security-token") {
            Some(token) => {
                let was_given = (1..=self.taken.len()).any(|number| token == format!("token/{number}=="));
                assert!(was_given, "{token}");
                assert!(authorization.contains(";x-amz-security-token,"), "{authorization}");
                "ASIATEST"
            }
            None => "AKIATEST",
        };
        assert!(authorization.starts_with(&format!("AWS4-HMAC-SHA256 Credential={key}/")), "{authorization}");
        assert!(authorization.contains("/here/s3/aws4_request,"), "{authorization}");
        assert_eq!(request.header("x-amz-content-sha256").map(str::len), Some(64));
        let (path, query) = request.path.split_once('?').expect("all requests have a query");
        self.asked.push(format!("{} {path}", request.method));
        if self.refuses {
            let body = "<Error><Code>AccessDenied</Code><Message>Not you.</Message></Error>";
            return (403, String::new(), body.to_owned());
        }
        if self.failures > 0 {
            self.failures -= 1;
            return (503, String::new(), "<Error><Code>SlowDown</Code></Error>".to_owned());
        }
        let parameter = |name: &str| query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
        match (request.method.as_str(), parameter("uploadId")) {
            ("POST", None) => {
                let id = format!("upload/{}", self.uploads.len());
                self.uploads.insert(id.clone(), BTreeMap::new());
                (200, String::new(), format!("<Result><UploadId>{id}</UploadId></Result>"))
            }
            ("PUT", Some(id)) => {
                let number: u32 = parameter("partNumber").expect("a number").parse().expect("a number");
                let upload = self.uploads.get_mut(&id.replace("%2F", "/")).expect("it was begun");
                upload.insert(number, request.body.clone());
                (200, format!("ETag: \"tag {number}\"\r\n"), String::new())
            }
            ("POST", Some(id)) => {
                let parts = self.uploads.remove(&id.replace("%2F", "/")).expect("it was begun");
                let listed = request.text().matches("<Part>").count();
                assert_eq!((listed, parts.keys().copied().max()), (parts.len(), Some(listed as u32)));
                let first = request.text().split("<Part>").nth(1).expect("a part");
                assert!(first.contains("<PartNumber>1</PartNumber>"), "{first}");
                assert!(first.contains("tag 1"), "{first}");
                self.objects.insert(path.to_owned(), parts.into_values().flatten().collect());
                (200, String::new(), "<Result><ETag>tag of all</ETag></Result>".to_owned())
            }
            ("DELETE", Some(id)) => {
                self.uploads.remove(&id.replace("%2F", "/"));
                self.aborted += 1;
                (204, String::new(), String::new())
            }
            other => panic!("unexpected: {other:?}"),
        }
    }
}

const OBJECT: &str = "/backups/of%20tests/data.snapshot";

pub(crate) fn filled(options: &[&str]) -> Server {
    let server = Server::with_options(options);
    // Nothing that compresses well, so that there are several parts.
    let text = |id: u64| {
        (0..40).map(|n| format!("{:x} ", (id * 40 + n).wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect::<String>()
    };
    server.add("films", (0..400).map(|id| json!({"id": id, "text": text(id)})).collect());
    server.set("films", json!({"synonyms": {"movie": ["film"]}}));
    server
}

pub(crate) fn contents(server: &Server) -> [Value; 2] {
    ["/indexes/films/documents?limit=1000", "/indexes/films/settings"].map(|path| server.get(path).ok())
}

#[test]
fn a_server_starts_from_a_snapshot_that_went_through_a_store() {
    let store = Store::start();
    let server = filled(&store.options());
    store.contents().failures = 2;
    let task = server.done(&server.post("/snapshots", json!(null)));
    assert!(!server.folder().join("snapshots/data.snapshot").exists(), "there only");
    let archive = store.contents().objects.get(OBJECT).cloned().expect("an object of that name");
    let parts = store.contents().asked.iter().filter(|asked| asked.starts_with("PUT")).count();
    assert!(parts > 3, "{parts} parts, {} bytes", archive.len());
    assert!(archive.len() > 3 * 20_000, "{parts} parts, {} bytes", archive.len());
    let batch = server.get(&format!("/batches/{}", task["batchUid"])).ok();
    assert!(batch["stats"]["progressTrace"].get("processing tasks > linking the indexes").is_some(), "{batch}");

    let file = server.folder().join("fetched.snapshot");
    std::fs::write(&file, archive).unwrap();
    let restored = Server::with_options(&["--import-snapshot", file.to_str().unwrap()]);
    assert_eq!(contents(&restored), contents(&server));
    assert_eq!(restored.wait_for(task["uid"].as_u64().unwrap())["status"], "succeeded");
    assert_eq!(restored.get("/tasks").ok()["total"], server.get("/tasks").ok()["total"]);
    // The next one takes its place.
    server.done(&server.post("/snapshots", json!(null)));
    assert_eq!(store.contents().objects.len(), 1);
    assert_eq!(store.contents().aborted, 0);
}

#[test]
fn a_store_that_refuses_or_fails_is_reported() {
    let store = Store::start();
    let server = filled(&store.options());
    store.contents().refuses = true;
    let task = server.fails(&server.post("/snapshots", json!(null)), "invalid_s3_snapshot_request");
    let message = task["error"]["message"].as_str().unwrap();
    assert!(message.contains("AccessDenied: Not you."), "{message}");
    assert!(!message.contains("secret"), "{message}");
    store.contents().refuses = false;
    // Begun, and then nothing works but the end.
    store.contents().failures = 5;
    server.fails(&server.post("/snapshots", json!(null)), "s3_snapshot_server_error");
    assert!(store.contents().objects.is_empty());
    let unfinished = std::fs::read_dir(server.folder().join("snapshots")).unwrap().count();
    assert_eq!(unfinished, 0, "nothing is left behind");
    server.done(&server.post("/snapshots", json!(null)));

    let options: Vec<&str> = store.options().into_iter().filter(|option| !option.contains("allowed")).collect();
    let server = Server::bare(&options);
    let task = server.fails(&server.post("/snapshots", json!(null)), "invalid_s3_snapshot_parameters");
    assert!(task["error"]["message"].as_str().unwrap().contains("Rejected IP"), "{task}");
}

#[test]
fn a_canceled_snapshot_ends_at_once_and_leaves_no_parts() {
    let store = Store::start();
    let server = filled(&store.options());
    store.contents().stalls = true;
    let snapshot = server.post("/snapshots", json!(null));
    until(|| !store.contents().uploads.is_empty());
    let batch = server.get("/batches?statuses=processing").ok()["results"][0].clone();
    let steps = batch["progress"]["steps"].as_array().expect("steps");
    assert_eq!(
        (&steps[1]["currentStep"], &steps[1]["finished"]),
        (&json!("sending the snapshot"), &json!(3)),
        "{batch}"
    );
    server.done(&server.post("/tasks/cancel?types=snapshotCreation", json!(null)));
    assert_eq!(server.wait(&snapshot)["status"], "canceled");
    let contents = store.contents();
    assert_eq!((contents.uploads.len(), contents.aborted, contents.objects.len()), (0, 1, 0));
}

#[test]
fn a_role_gives_keys_that_are_fetched_again_before_they_end() {
    let store = Store::start();
    let folder = tempfile::tempdir().unwrap();
    let token = folder.path().join("token");
    std::fs::write(&token, "of a pod+1\n").unwrap();
    let keys = |option: &&str| !option.contains("-key=");
    let token_option = format!("--experimental-s3-web-identity-token-file={}", token.display());
    let sts_option = format!("--s3-sts-url={}/sts", store.url);
    let role = ["--experimental-s3-role-arn=arn:aws:iam::1:role/backups", &token_option, &sts_option];
    let options: Vec<&str> = role.into_iter().chain(store.options().into_iter().filter(keys)).collect();
    let server = filled(&options);
    store.contents().end = "2999-01-01T00:00:00Z";
    store.contents().failures = 1;
    server.done(&server.post("/snapshots", json!(null)));
    assert!(store.contents().objects.contains_key(OBJECT));
    let form = "Action=AssumeRoleWithWebIdentity&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fbackups&RoleSessionName=lamina&\
                Version=2011-06-15&WebIdentityToken=of%20a%20pod%2B1";
    assert_eq!(store.contents().taken, [form]);
    // These are good for long; those of a server that is started again have ended when they come.
    server.done(&server.post("/snapshots", json!(null)));
    assert_eq!(store.contents().taken.len(), 1);
    store.contents().end = "2001-01-01T00:00:00Z";
    std::fs::write(&token, "another").unwrap();
    let mut server = server;
    server.terminate();
    server.start_again();
    server.done(&server.post("/snapshots", json!(null)));
    let requests = store.contents().taken.len();
    assert!(requests > 3, "each request asked for its own: {requests}");
    assert!(store.contents().taken.last().unwrap().ends_with("&WebIdentityToken=another"));

    store.contents().refuses = true;
    let task = server.fails(&server.post("/snapshots", json!(null)), "invalid_s3_snapshot_request");
    assert!(task["error"]["message"].as_str().unwrap().contains("ExpiredTokenException"), "{task}");
    std::fs::remove_file(&token).unwrap();
    let task = server.fails(&server.post("/snapshots", json!(null)), "invalid_s3_snapshot_parameters");
    assert!(task["error"]["message"].as_str().unwrap().contains("token file"), "{task}");
}
