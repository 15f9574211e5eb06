//! Indexes that are built without a server, and attached to one.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};

use crate::receiver::Receiver;
use crate::server::{Answer, Server, binary};

fn build(files: &[&Path], output: &Path, options: &[&str]) -> Output {
    let files = files.iter().map(|file| file.to_str().expect("UTF-8"));
    let command = Command::new(binary()).arg("build").args(files).arg("--output").arg(output).args(options).output();
    command.expect("runs")
}

fn refusal(output: &Output) -> String {
    assert!(!output.status.success());
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A folder with documents and settings, and a server that attaches from it.
fn setup() -> (tempfile::TempDir, Server) {
    let folder = files();
    let server = Server::with_options(&["--attach-dir", folder.path().to_str().unwrap()]);
    (folder, server)
}

fn files() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let lines: String =
        (0..500).map(|id| format!("{{\"id\": {id}, \"title\": \"film {id}\", \"year\": {}}}\n", id % 7)).collect();
    fs::write(folder.path().join("films.ndjson"), lines).unwrap();
    fs::write(folder.path().join("more.csv"), "id:number,title,year:number\n500,one more,3\n7,another seven,2\n")
        .unwrap();
    fs::write(folder.path().join("settings.json"), json!({"filterableAttributes": ["year"]}).to_string()).unwrap();
    folder
}

/// Builds in `folder` into a store.
fn build_into(folder: &Path, address: &str, options: &[&str]) -> Output {
    let command = Command::new(binary())
        .current_dir(folder)
        .args(["build", "films.ndjson", "--primary-key", "id", "--output", address])
        .args(options)
        .output();
    command.expect("runs")
}

/// The folders of indexes in the database of a server.
fn folders(server: &Server) -> usize {
    fs::read_dir(server.data_folder().join("indexes")).unwrap().count()
}

/// Replicas follow what is built into a store, and servers attach it.
#[test]
fn what_is_built_into_a_store_is_followed_and_attached() {
    let folder = files();
    let built = format!("file://{}/built", folder.path().display());
    let address = format!("{built}/films");
    let output = build_into(folder.path(), &address, &[]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    assert!(said.starts_with("500 documents, "), "{said}");
    assert!(said.contains(&address), "{said}");
    let names = || fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(
        names().all(|name| !name.to_string_lossy().starts_with("lamina-build")),
        "{:?}",
        names().collect::<Vec<_>>()
    );
    let verified = Command::new(binary()).args(["store", "verify", &address]).output().unwrap();
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stdout));

    let replica = Server::with_options(&["--follow", &address]);
    let found = replica.get("/indexes/films/search?q=film+30&minGeneration=0").ok();
    assert_eq!((&found["hits"][0]["id"], replica.document_count("films")), (&json!(30), 500));

    let publishing = format!("{built}/two");
    let mut server = Server::with_options(&["--attach-dir", &built, "--publish", &publishing]);
    let task = server.done(&server.post("/indexes/a/attach", json!({"folder": "films"})));
    assert_eq!((&task["type"], &task["details"]), (&json!("indexAttachment"), &json!({"folder": "films"})));
    server.done(&server.post("/indexes/b/attach", json!({"folder": "films"})));
    server.add("a", json!([{"id": 1000, "title": "new"}]));
    assert_eq!((server.document_count("a"), server.document_count("b"), folders(&server)), (501, 500, 2));
    // Its store has two by the time it has ended.
    server.terminate();
    server.start_again();
    let refused = |name: &str| {
        let task = server.fails(&server.post("/indexes/c/attach", json!({"folder": name})), "invalid_index_folder");
        task["error"]["message"].as_str().unwrap().to_owned()
    };
    assert!(refused("two").contains("there are 2 indexes, and not one"), "{}", refused("two"));
    assert!(refused("none").contains("nothing has been published there"));
    let is_segment = |path: &std::path::PathBuf| path.file_name().unwrap().to_string_lossy().starts_with("seg-");
    let index = fs::read_dir(folder.path().join("built/films/i")).unwrap().next().unwrap().unwrap().path();
    let segment = fs::read_dir(index).unwrap().map(|entry| entry.unwrap().path()).find(is_segment).unwrap();
    let mut bytes = fs::read(&segment).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&segment, bytes).unwrap();
    assert!(refused("films").contains("its checksum does not match"));
    assert_eq!((server.document_count("b"), folders(&server)), (500, 2));
}

#[test]
fn what_cannot_be_built_into_a_store_is_refused() {
    let folder = files();
    let address = |name: &str| format!("file://{}/{name}", folder.path().display());
    let refused = |address: &str, options: &[&str]| refusal(&build_into(folder.path(), address, options));
    assert!(build_into(folder.path(), &address("films"), &[]).status.success());
    assert!(refused(&address("films"), &[]).contains("something has been published to this store already"));
    assert!(refused(&address("the films"), &[]).contains("`the films` is not the uid of an index"));
    assert!(refused(&address("other"), &["--index-uid", "a/b"]).contains("`a/b` is not the uid of an index"));
    assert!(refused("plain", &["--index-uid", "films"]).contains("`--index-uid` is for stores"));
    assert!(refused("s3://bucket/films", &[]).contains("`--s3-bucket-url` is missing"));
    assert!(refused("ftp://bucket/films", &[]).contains("is not a store"));
    // Nor does a server publish over it: what is there would be lost.
    let started = Command::new(binary())
        .current_dir(folder.path())
        .args(["--db-path", "data", "--http-addr", "127.0.0.1:0", "--publish", &address("films")])
        .output();
    assert!(refusal(&started.unwrap()).contains("another server has published to this store"));
    let started = Command::new(binary())
        .current_dir(folder.path())
        .args(["--db-path", "more", "--http-addr", "127.0.0.1:0", "--attach-dir", "s3://bucket/films"])
        .output();
    assert!(refusal(&started.unwrap()).contains("`--attach-dir`: "));
}

#[test]
fn what_is_built_offline_is_an_index_like_any_other() {
    let (folder, mut server) = setup();
    let at = |name: &str| folder.path().join(name);
    let settings = at("settings.json");
    let built = build(
        &[&at("films.ndjson"), &at("more.csv")],
        &at("films-1"),
        &["--primary-key", "id", "--settings", settings.to_str().unwrap(), "--threads", "1", "--memory", "64 MiB"],
    );
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    assert!(String::from_utf8_lossy(&built.stderr).starts_with("501 documents, "));
    let built = build(&[&at("films.ndjson")], &at("films-2"), &["--json"]);
    let found: Value = serde_json::from_slice(&built.stdout).expect("JSON");
    assert_eq!((&found["documents"], &found["indexUid"]), (&json!(500), &Value::Null));
    assert_eq!((found["output"].as_str(), built.stderr.is_empty()), (at("films-2").to_str(), true));
    assert!(found["bytes"].as_u64() > Some(1000), "{found}");
    assert!(found["seconds"].as_f64() > Some(0.0), "{found}");
    let task = server.done(&server.post("/indexes/films/attach", json!({"folder": "films-1"})));
    assert_eq!((&task["type"], &task["details"]), (&json!("indexAttachment"), &json!({"folder": "films-1"})));
    assert_eq!(server.document_count("films"), 501);
    assert_eq!(server.get("/indexes/films").ok()["primaryKey"], "id");
    assert_eq!(server.search("films", json!({"q": "another seven", "filter": "year = 2"}))["hits"][0]["id"], 7);
    // The folder can go, or be attached again; the index is the server's own.
    server.done(&server.post("/indexes/again/attach", json!({"folder": "films-1"})));
    fs::remove_dir_all(at("films-1")).unwrap();
    server.add("films", json!([{"id": 1000, "title": "new"}]));
    server.kill();
    server.start_again();
    assert_eq!((server.document_count("films"), server.document_count("again")), (502, 501));
    assert_eq!(server.search("films", json!({"q": "film 30"}))["hits"][0]["id"], 30);
    server.terminate();
    let (is_sound, said) = server.verify();
    assert!(is_sound, "{said}");
}

#[test]
fn what_cannot_be_built_is_named_and_leaves_nothing() {
    let (folder, _server) = setup();
    let at = |name: &str| folder.path().join(name);
    let films = at("films.ndjson");
    fs::create_dir(at("there")).unwrap();
    assert!(refusal(&build(&[&films], &at("there"), &[])).contains("already exists"));
    assert!(refusal(&build(&[&at("none.ndjson")], &at("new"), &[])).contains("none.ndjson"));
    assert!(refusal(&build(&[&at("films.doc")], &at("new"), &[])).contains("unknown format"));
    fs::write(at("bad.json"), "[{\"id\": 1}, {\"id\": 2").unwrap();
    assert!(refusal(&build(&[&at("bad.json")], &at("new"), &[])).contains("bad.json"));
    fs::write(at("anonymous.ndjson"), "{\"title\": \"a\"}\n").unwrap();
    assert!(refusal(&build(&[&at("anonymous.ndjson")], &at("new"), &[])).contains("anonymous.ndjson"));
    let said: Value = serde_json::from_str(&refusal(&build(&[&at("none.ndjson")], &at("new"), &["--json"]))).unwrap();
    assert_eq!(said["command"], "build");
    assert!(said["error"]["message"].as_str().unwrap().contains("none.ndjson"), "{said}");
    let settings = |value: serde_json::Value| {
        fs::write(at("bad-settings.json"), value.to_string()).unwrap();
        refusal(&build(&[&films], &at("new"), &["--settings", at("bad-settings.json").to_str().unwrap()]))
    };
    assert!(settings(json!({"filterable": ["a"]})).contains("filterable"));
    assert!(settings(json!({"embedders": {"e": {"source": "openAi"}}})).contains("the embedder `e`"));
    assert!(!at("new").exists());
}

#[test]
fn what_cannot_be_attached_is_refused_with_its_reason() {
    let (folder, server) = setup();
    let at = |name: &str| folder.path().join(name);
    assert!(build(&[&at("films.ndjson")], &at("films-1"), &[]).status.success());
    for (body, code) in [
        (json!({}), "missing_index_folder"),
        (json!({"folder": ""}), "invalid_index_folder"),
        (json!({"folder": ".."}), "invalid_index_folder"),
        (json!({"folder": "a/b"}), "invalid_index_folder"),
        (json!({"folder": 7}), "invalid_index_folder"),
        (json!({"folder": "films-1", "x": 1}), "bad_request"),
    ] {
        server.post("/indexes/films/attach", body).refused(400, code);
    }
    server.post("/indexes/a b/attach", json!({"folder": "films-1"})).refused(400, "invalid_index_uid");
    server.fails(&server.post("/indexes/films/attach", json!({"folder": "none"})), "invalid_index_folder");
    assert!(!at("none").exists());
    fs::create_dir(at("empty")).unwrap();
    server.fails(&server.post("/indexes/films/attach", json!({"folder": "empty"})), "invalid_index_folder");
    server.done(&server.post("/indexes/films/attach", json!({"folder": "films-1"})));
    server.fails(&server.post("/indexes/films/attach", json!({"folder": "films-1"})), "index_already_exists");
    server.done(&server.put("/aliases/movies", json!({"indexUid": "films"})));
    server.post("/indexes/movies/attach", json!({"folder": "films-1"})).refused(400, "index_uid_is_alias");
    // A byte of the manifest, and a segment that is cut.
    let damage = |suffix: &str, change: &dyn Fn(&mut Vec<u8>)| {
        for file in fs::read_dir(at("films-1")).unwrap() {
            let path = file.unwrap().path();
            if path.file_name().unwrap().to_string_lossy().starts_with(suffix) {
                let mut bytes = fs::read(&path).unwrap();
                change(&mut bytes);
                // Anew: the index that was attached has the file under another name.
                fs::remove_file(&path).unwrap();
                fs::write(&path, bytes).unwrap();
            }
        }
    };
    damage("seg-", &|bytes| bytes.truncate(100));
    server.fails(&server.post("/indexes/other/attach", json!({"folder": "films-1"})), "invalid_index_folder");
    damage("manifest", &|bytes| bytes[20] ^= 1);
    server.fails(&server.post("/indexes/other/attach", json!({"folder": "films-1"})), "invalid_index_folder");
    assert_eq!(server.document_count("films"), 500);
}

/// Links lead anywhere, and a pipe never answers.
#[test]
fn links_and_pipes_are_not_attached() {
    use std::os::unix::fs::symlink;
    let (folder, server) = setup();
    let at = |name: &str| folder.path().join(name);
    assert!(build(&[&at("films.ndjson")], &at("films-1"), &[]).status.success());
    let refused = |name: &str| {
        let task = server.fails(&server.post("/indexes/other/attach", json!({"folder": name})), "invalid_index_folder");
        task["error"]["message"].as_str().unwrap().to_owned()
    };
    symlink(at("films-1"), at("link")).unwrap();
    assert!(refused("link").contains("it is a link"), "{}", refused("link"));
    let copy = |name: &str, replace: &dyn Fn(&Path)| {
        fs::create_dir(at(name)).unwrap();
        for entry in fs::read_dir(at("films-1")).unwrap() {
            let path = entry.unwrap().path();
            let target = at(name).join(path.file_name().unwrap());
            fs::copy(&path, &target).unwrap();
            if target.file_name().unwrap().to_string_lossy().starts_with("seg-") {
                fs::remove_file(&target).unwrap();
                replace(&target);
            }
        }
    };
    let segment = || {
        let files = fs::read_dir(at("films-1")).unwrap().map(|entry| entry.unwrap().path());
        files.into_iter().find(|path| path.to_string_lossy().contains("seg-")).unwrap()
    };
    copy("with-a-link", &|target| symlink(segment(), target).unwrap());
    copy("with-a-pipe", &|target| assert!(Command::new("mkfifo").arg(target).status().unwrap().success()));
    for name in ["with-a-link", "with-a-pipe"] {
        let said = refused(name);
        assert!(said.contains("seg-"), "{said}");
        assert!(said.contains("not a plain file"), "{said}");
    }
    // In a store, too.
    let built = format!("file://{}/built", folder.path().display());
    assert!(build_into(folder.path(), &format!("{built}/films"), &[]).status.success());
    symlink(at("built/films"), at("built/link")).unwrap();
    let server = Server::with_options(&["--attach-dir", &built]);
    let task = server.fails(&server.post("/indexes/other/attach", json!({"folder": "link"})), "invalid_index_folder");
    assert!(task["error"]["message"].as_str().unwrap().contains("it is a link"), "{task}");
}

/// An index that was built into a store, whose manifest and root say what a test likes, with right checksums.
struct Forged {
    root: PathBuf,
    manifest: PathBuf,
    sound: Vec<u8>,
    sound_root: Vec<u8>,
}

impl Forged {
    fn of(store: &Path) -> Forged {
        let newest = |within: &Path, begins: &str| {
            let paths = fs::read_dir(within).unwrap().map(|entry| entry.unwrap().path());
            let named = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with(begins);
            paths.filter(named).max().expect("an object")
        };
        let root = newest(&store.join("root"), "");
        let manifest = newest(&newest(&store.join("i"), ""), "manifest-");
        Forged { sound: fs::read(&manifest).unwrap(), sound_root: fs::read(&root).unwrap(), root, manifest }
    }

    /// Has the manifest name a segment of each of these lengths.
    fn set_lengths(&self, lengths: &[u64]) {
        let body_end = 16 + u32::from_le_bytes(self.sound[12..16].try_into().unwrap()) as usize;
        let mut body: Value = serde_json::from_slice(&self.sound[16..body_end]).unwrap();
        let segment = body["segments"][0].clone();
        let with = |(number, length): (usize, &u64)| {
            let mut segment = segment.clone();
            segment["meta"]["file"]["bytes"] = (*length).into();
            segment["meta"]["file"]["name"] = format!("seg-{number}.lam").into();
            segment
        };
        body["segments"] = lengths.iter().enumerate().map(with).collect();
        let text = serde_json::to_vec(&body).unwrap();
        let mut bytes = self.sound[..12].to_vec();
        bytes.extend(u32::try_from(text.len()).unwrap().to_le_bytes());
        bytes.extend(text);
        bytes.extend(&self.sound[body_end..self.sound.len() - 8]);
        bytes.extend(xxhash_rust::xxh3::xxh3_64(&bytes.clone()).to_le_bytes());
        let mut crc = flate2::Crc::new();
        crc.update(&bytes);
        fs::write(self.manifest.with_extension(format!("{:08x}", crc.sum())), &bytes).unwrap();
        let mut root: Value = serde_json::from_slice(&self.sound_root).unwrap();
        root.as_object_mut().unwrap().remove("checksum");
        root["indexes"][0]["manifest"]["checksum"] = crc.sum().into();
        let text = root.to_string();
        let mut crc = flate2::Crc::new();
        crc.update(text.as_bytes());
        let others = text.strip_suffix('}').unwrap();
        fs::write(&self.root, format!("{others},\"checksum\":\"{:08x}\"}}", crc.sum())).unwrap();
    }
}

#[test]
fn lengths_that_a_store_makes_up_take_no_memory() {
    let folder = files();
    let built = format!("file://{}/built", folder.path().display());
    assert!(build_into(folder.path(), &format!("{built}/films"), &[]).status.success());
    let forged = Forged::of(&folder.path().join("built/films"));
    let server = Server::with_options(&["--attach-dir", &built]);
    let mut replica = Server::with_options(&["--follow", &format!("{built}/films")]);
    for lengths in [vec![1_u64 << 62], vec![u64::MAX], vec![1 << 50], vec![u64::MAX - 50, 100], vec![1 << 63, 1 << 63]]
    {
        forged.set_lengths(&lengths);
        let answer = server.post("/indexes/other/attach", json!({"folder": "films"}));
        let task = server.wait_for(answer.body["taskUid"].as_u64().unwrap());
        assert_eq!(task["status"], "failed", "{lengths:?}: {task}");
        let said = task["error"]["message"].as_str().unwrap();
        let is_expected = |text: &&str| said.contains(text);
        assert!(["more than anything can have", "are free", "too large"].iter().any(is_expected), "{said}");
        // A replica of it answers, and says what is wrong.
        replica.kill();
        replica.start_again();
        replica.wait_for_log("following: ");
        assert_eq!(replica.get("/health").status, 200);
    }
    let (_, peak) = server.memory();
    assert!(peak < 1 << 20, "{peak} KiB");
}

/// Clones, attachments and restorations are tasks like others: webhooks name them, and who starts from a copy of the database carries
/// out those that waited.
#[test]
fn tasks_that_make_indexes_of_files_come_with_copies_of_the_database() {
    let folder = files();
    assert!(build(&[&folder.path().join("films.ndjson")], &folder.path().join("films-1"), &[]).status.success());
    let hook = Receiver::start([]);
    let of_attaching = ["--attach-dir", folder.path().to_str().unwrap()];
    let options = [
        &of_attaching[..],
        &["--keep", "1h", "--experimental-allowed-ip-networks=127.0.0.1", "--task-webhook-url", &hook.url],
    ]
    .concat();
    let server = Server::with_options(&options);
    let done = |answer: Answer, kind: &str| {
        let task = server.done(&answer);
        let mut text = String::new();
        flate2::read::GzDecoder::new(&hook.next().body[..]).read_to_string(&mut text).expect("packed");
        let said: Value = serde_json::from_str(&text).expect("one task");
        assert_eq!((&said, &said["type"]), (&task, &json!(kind)));
    };
    done(server.post("/indexes/films/attach", json!({"folder": "films-1"})), "indexAttachment");
    done(server.delete("/indexes/films/documents/7"), "documentDeletion");
    let before = server.get("/indexes/films/generations").ok()["results"][1]["generation"].clone();
    done(server.post("/indexes/films/restore", json!({"at": before})), "indexRestoration");
    // Copies overtake what waits behind documents.
    let many: Vec<Value> = (0..3000).map(|id| json!({"id": id, "text": "some words"})).collect();
    server.post("/indexes/busy/documents", many.into());
    let waiting = [
        server.post("/indexes/films/clone", json!({"uid": "copy"})),
        server.post("/indexes/more/attach", json!({"folder": "films-1"})),
    ];
    let copies = [server.post("/dumps", Value::Null), server.post("/snapshots", Value::Null)];
    let [dump, _] = copies.each_ref().map(|answer| server.done(answer));
    waiting.iter().for_each(|answer| drop(server.done(answer)));
    let dump = server.folder().join(format!("dumps/{}.dump", dump["details"]["dumpUid"].as_str().unwrap()));
    let snapshot = server.folder().join("snapshots/data.snapshot");
    for (option, copy) in [("--import-dump", dump), ("--import-snapshot", snapshot)] {
        let restored = Server::with_options(&[&of_attaching[..], &[option, copy.to_str().unwrap()]].concat());
        for answer in &waiting {
            let task = restored.wait_for(answer.body["taskUid"].as_u64().unwrap());
            assert_eq!(task["status"], "succeeded", "{option}: {task}");
        }
        assert_eq!((restored.document_count("copy"), restored.document_count("more")), (500, 500), "{option}");
        let types = "indexAttachment,indexClone,indexRestoration";
        assert_eq!(restored.get(&format!("/tasks?types={types}")).ok()["total"], 4, "{option}");
    }
}
