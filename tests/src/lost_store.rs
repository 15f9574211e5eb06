//! Lost and damaged files of the task queue, and of what else lies beside the indexes: no index is lost with them, no wrong
//! answer is given, no uid is given twice, and what is lost for good is said. `just damage 500` makes the rounds many.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::server::{Server, binary, soon};

const LOG: &str = "tasks.sqlite-wal";
const DATABASE: &str = "tasks.sqlite";

fn rounds() -> u64 {
    std::env::var("LAMINA_DAMAGE_ROUNDS").map_or(8, |rounds| rounds.parse().expect("LAMINA_DAMAGE_ROUNDS is a number"))
}

/// Two indexes, some tasks, killed: the log of SQLite holds nearly all that SQLite knows.
fn killed() -> Server {
    let mut server = Server::start();
    for uid in ["films", "books"] {
        let documents: Value = (0..40).map(|id| json!({"id": id, "title": format!("{uid} number {id}")})).collect();
        server.add(uid, documents);
    }
    server.set("films", json!({"synonyms": {"movie": ["films"]}}));
    server.done(&server.patch("/indexes/books", json!({"primaryKey": "id"})));
    server.add("films", json!([{"id": 3, "title": "films number three"}]));
    server.kill();
    server
}

/// Documents and settings by index.
fn contents(server: &Server) -> Value {
    let list = server.get("/indexes?limit=100").ok();
    let uids = list["results"].as_array().expect("indexes").iter().map(|index| index["uid"].as_str().unwrap());
    uids.map(|uid| {
        let documents = server.get(&format!("/indexes/{uid}/documents?limit=1000")).ok();
        json!([uid, documents, server.get(&format!("/indexes/{uid}/settings")).ok()])
    })
    .collect()
}

fn last_task(server: &Server) -> Option<u64> {
    server.get("/tasks?limit=1").ok()["results"][0]["uid"].as_u64()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Puts the data folder of a stopped server back to what it was.
fn put_back(server: &Server, kept: &Path) {
    fs::remove_dir_all(server.data_folder()).unwrap();
    copy(kept, &server.data_folder());
}

pub(crate) fn keep(server: &Server) -> PathBuf {
    let kept = server.folder().join("kept");
    copy(&server.data_folder(), &kept);
    kept
}

/// Removes all files of SQLite that are there.
pub(crate) fn without_sqlite(server: &Server) {
    for name in [DATABASE, LOG, "tasks.sqlite-shm"] {
        if let Err(error) = fs::remove_file(server.data_folder().join(name)) {
            assert_eq!(error.kind(), std::io::ErrorKind::NotFound, "{name}: {error}");
        }
    }
}

fn change(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).unwrap();
    change(&mut bytes);
    fs::write(path, bytes).unwrap();
}

/// Names of the folders of indexes, wherever they are.
fn index_folders(server: &Server) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for folder in ["indexes", "quarantine"] {
        for entry in fs::read_dir(server.data_folder().join(folder)).into_iter().flatten() {
            let entry = entry.unwrap();
            if entry.path().is_dir() {
                found.insert(entry.file_name().to_string_lossy().chars().take(36).collect());
            }
        }
    }
    found
}

fn quarantined(server: &Server) -> Vec<String> {
    let entries = fs::read_dir(server.data_folder().join("quarantine")).into_iter().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Returns the output of a start that ends before it serves.
fn refusal(server: &Server) -> String {
    let mut command = Command::new(binary());
    command.arg("--db-path").arg(server.data_folder()).args(["--http-addr", "127.0.0.1:0", "--no-analytics"]);
    let log = server.folder().join("refusal");
    let mut process =
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(fs::File::create(&log).unwrap()).spawn().unwrap();
    let said = || fs::read_to_string(&log).unwrap();
    soon(|| {
        if let Some(status) = process.try_wait().unwrap() {
            assert!(!status.success());
            return Some(said());
        }
        if said().contains("Listening on") {
            process.kill().unwrap();
            process.wait().unwrap();
            panic!("it serves:\n{}", said());
        }
        None
    })
}

#[test]
fn a_flipped_bit_in_the_log_loses_nothing() {
    let mut server = killed();
    let kept = keep(&server);
    server.start_again();
    let (expected, tasks) = (contents(&server), last_task(&server));
    server.kill();
    let bytes = fs::metadata(kept.join(LOG)).unwrap().len() as usize;
    for place in [20, 5000, bytes / 3, bytes / 2, bytes - 5000] {
        put_back(&server, &kept);
        change(&server.data_folder().join(LOG), |log| log[place] ^= 1 << (place % 8));
        let (is_sound, said) = server.verify();
        assert!(!is_sound, "{said}");
        assert!(said.contains("tasks.sqlite-wal: DAMAGED"), "{said}");
        server.start_again();
        assert_eq!((contents(&server), last_task(&server)), (expected.clone(), tasks), "flipped at {place}");
        server.wait_for_log("nothing is lost");
        assert!(quarantined(&server).iter().any(|name| name.starts_with(LOG)), "{:?}", quarantined(&server));
        server.kill();
    }
}

#[test]
fn without_its_log_or_all_of_sqlite_the_indexes_keep_their_names() {
    let mut server = killed();
    let kept = keep(&server);
    server.start_again();
    let (expected, last) = (contents(&server), last_task(&server).unwrap());
    server.kill();
    let all = [DATABASE, LOG, "tasks.sqlite-shm"];
    for lost in [&[LOG][..], &all[..], &all[..2]] {
        put_back(&server, &kept);
        for name in lost {
            fs::remove_file(server.data_folder().join(name)).unwrap();
        }
        let (is_sound, said) = server.verify();
        assert!(!is_sound, "{said}");
        assert!(said.contains("its name was lost"), "{said}");
        assert!(said.contains("`films`"), "{said}");
        server.start_again();
        assert_eq!(contents(&server), expected, "without {lost:?}");
        let added = server.add("films", json!([{"id": 1000}]));
        assert!(added["uid"].as_u64().unwrap() > last, "{added}");
        assert!(added["batchUid"].as_u64().unwrap() > last, "{added}");
        for line in ["recovered the name of the index `books`", "tasks.sqlite was lost", "API keys"] {
            server.wait_for_log(line);
        }
        // The next start has nothing more to say, and goes on from there.
        server.kill();
        let start = server.log().len();
        server.start_again();
        assert!(!server.log()[start..].contains("ERROR"), "{}", &server.log()[start..]);
        assert!(server.add("films", json!([{"id": 1000}]))["uid"].as_u64() > added["uid"].as_u64());
        server.kill();
    }
}

#[test]
fn damage_of_the_log_that_nothing_puts_right_is_said_and_kept() {
    let mut server = killed();
    let kept = keep(&server);
    server.start_again();
    let (expected, last) = (contents(&server), last_task(&server).unwrap());
    server.kill();
    let bytes = fs::metadata(kept.join(LOG)).unwrap().len() as usize;
    let mut served = 0;
    for place in (600..bytes).step_by(bytes / 9) {
        put_back(&server, &kept);
        let before = index_folders(&server);
        change(&server.data_folder().join(LOG), |log| {
            let end = log.len().min(place + 1500);
            log[place..end].fill(0x5A);
        });
        if serves(&mut server) {
            served += 1;
            assert_eq!(contents(&server), expected, "damaged at {place}");
            let next = server.add("films", json!([{"id": 1001}]))["uid"].as_u64().unwrap();
            assert!(next > last, "uid {next} after {last}, damaged at {place}");
            server.kill();
        }
        assert_eq!(index_folders(&server), before, "damaged at {place}");
    }
    assert!(served > 0, "the test shows nothing");
}

/// Starts the server, or says that it does not start because what is there does not fit together.
fn serves(server: &mut Server) -> bool {
    if server.try_start_again() {
        return true;
    }
    let log = server.log();
    let said = log.lines().rev().find(|line| line.starts_with("error:")).unwrap_or_default();
    assert!(said.contains("Put back tasks.sqlite"), "no advice: {log}");
    assert!(said.contains("lamina verify"), "no advice: {log}");
    false
}

#[test]
fn an_older_copy_of_the_queue_is_refused() {
    let mut server = killed();
    server.start_again();
    server.kill();
    let older = keep(&server);
    server.start_again();
    for n in 0..3 {
        server.add("films", json!([{"id": 5, "title": format!("later {n}")}]));
    }
    let (expected, last) = (contents(&server), last_task(&server).unwrap());
    server.kill();
    without_sqlite(&server);
    for name in [DATABASE, LOG] {
        fs::copy(older.join(name), server.data_folder().join(name)).unwrap();
    }
    let said = refusal(&server);
    for part in ["`films` has applied batch", "older copy", "tasks.sqlite-wal", "move tasks.sqlite"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let (is_sound, said) = server.verify();
    assert!(!is_sound, "{said}");
    assert!(said.contains("no server starts here"), "{said}");
    // As the advice says.
    without_sqlite(&server);
    server.start_again();
    assert_eq!(contents(&server), expected);
    assert!(server.add("films", json!([{"id": 5}]))["uid"].as_u64().unwrap() > last);
}

/// The first page, from 1, of a table or an index of SQLite.
fn root_page(database: &Path, name: &str) -> usize {
    let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY | rusqlite::OpenFlags::SQLITE_OPEN_URI;
    // Immutable: neither a log nor a lock is made.
    let uri = format!("file:{}?immutable=1", database.display());
    let connection = rusqlite::Connection::open_with_flags(uri, flags).expect("a database");
    let query = "SELECT rootpage FROM sqlite_master WHERE name = ?1";
    let page: u32 = connection.query_row(query, [name], |row| row.get(0)).expect("a page");
    page as usize
}

#[test]
fn a_damaged_database_is_kept_and_the_keys_in_it_stay() {
    let mut server = Server::with_options(&["--master-key", "a master key of tests"]).with_key("a master key of tests");
    for n in 0..60 {
        server.add("films", json!([{"id": n, "title": "x".repeat(200)}]));
    }
    let key = json!({"name": "reader", "actions": ["search"], "indexes": ["films"], "expiresAt": null});
    let key = server.post("/keys", key).ok();
    let expected = contents(&server);
    // Until the log is empty: a server that ends does not always have the time for that.
    let database = server.data_folder().join(DATABASE);
    for _ in 0..50 {
        assert!(server.terminate().success());
        if fs::metadata(&database).unwrap().len() > 40_000 {
            break;
        }
        server.start_again();
    }
    assert!(fs::metadata(&database).unwrap().len() > 40_000, "all of it is in the log");
    let page = root_page(&database, "tasks_by_status");
    change(&database, |bytes| bytes[(page - 1) * 4096..][..2000].fill(0xEE));
    let (is_sound, said) = server.verify();
    assert!(!is_sound, "{said}");
    assert!(said.contains("tasks.sqlite: DAMAGED"), "{said}");
    server.start_again();
    assert_eq!(contents(&server), expected);
    assert!(server.add("films", json!([{"id": 7}]))["uid"].as_u64().unwrap() >= 60);
    assert_eq!(server.get(&format!("/keys/{}", key["uid"].as_str().unwrap())).ok()["key"], key["key"]);
    assert!(quarantined(&server).iter().any(|name| name.starts_with(DATABASE)));
}

#[test]
fn damaged_documents_of_a_waiting_task_fail_that_task_only() {
    let mut server = Server::with_options(&["--experimental-allowed-ip-networks", "127.0.0.0/8"]);
    server.add("films", json!([{"id": 0, "title": "first"}]));
    let held = server.hold_queue();
    let text = "word ".repeat(40);
    let large = |from: u32| -> Value { (from..from + 600).map(|id| json!({"id": id, "title": text})).collect() };
    let tasks: Vec<u64> = [1000, 2000, 3000]
        .map(|from| server.post("/indexes/films/documents", large(from)).body["taskUid"].as_u64().unwrap())
        .to_vec();
    server.kill();
    let folder = server.data_folder().join("payloads");
    let of = |from: u32| {
        let begins = format!("{{\"id\":{from},");
        let mut files = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
        files.find(|path| fs::read(path).unwrap().starts_with(begins.as_bytes())).expect("a payload")
    };
    fs::remove_file(of(1000)).unwrap();
    change(&of(2000), |bytes| bytes[70_000] = b'Q');
    let (is_sound, said) = server.verify();
    assert!(!is_sound, "{said}");
    for part in ["they are missing", "do not match their checksum"] {
        assert!(said.contains(part), "{said}");
    }
    server.start_again();
    server.release_queue(held);
    for (uid, part) in [(tasks[0], "they are missing"), (tasks[1], "checksum")] {
        let task = server.wait_for(uid);
        assert_eq!(
            (&task["status"], &task["error"]["code"]),
            (&json!("failed"), &json!("invalid_store_file")),
            "{task}"
        );
        assert!(task["error"]["message"].as_str().unwrap().contains(part), "{task}");
    }
    assert_eq!(server.wait_for(tasks[2])["status"], "succeeded");
    assert_eq!(server.document_count("films"), 601, "nothing of damaged documents is applied");
}

#[test]
fn a_server_starts_without_damaged_small_files() {
    let mut server = killed();
    for (name, damaged) in [("instance-uid", ""), ("experimental-features.json", "{\"met"), ("network.json", "[")] {
        fs::write(server.data_folder().join(name), damaged).unwrap();
    }
    let (is_sound, said) = server.verify();
    assert!(!is_sound, "{said}");
    assert_eq!(said.matches("DAMAGED").count(), 3, "{said}");
    server.start_again();
    assert_eq!(server.document_count("films"), 40);
    let names: Vec<String> = quarantined(&server);
    assert_eq!(names.len(), 3, "{names:?}");
    server.kill();
    let (is_sound, said) = server.verify();
    assert!(is_sound, "{said}");
    assert_eq!(said.matches("quarantine: ").count(), 3, "{said}");
}

#[test]
fn what_nothing_leads_to_is_put_aside_and_not_removed() {
    let mut server = killed();
    let indexes = server.data_folder().join("indexes");
    let one = fs::read_dir(&indexes).unwrap().next().unwrap().unwrap().path();
    copy(&one, &indexes.join("a-copy"));
    fs::write(indexes.join("notes"), "by hand").unwrap();
    fs::write(server.data_folder().join("payloads/notes"), "by hand").unwrap();
    let (is_sound, said) = server.verify();
    assert!(!is_sound, "{said}");
    assert!(said.contains("indexes/a-copy: DAMAGED: no index refers to it"), "{said}");
    server.start_again();
    assert_eq!(server.get("/indexes").ok()["total"], 2);
    let names = quarantined(&server);
    assert_eq!(names.len(), 3, "{names:?}");
    assert!(names[0].starts_with("a-copy-"));
    assert!(names[1].starts_with("notes-"));
    assert!(names[2].starts_with("notes-"));
}

#[test]
fn names_follow_renames_and_swaps() {
    let mut server = killed();
    server.start_again();
    server.done(&server.post("/swap-indexes", json!([{"indexes": ["films", "books"]}])));
    server.done(&server.patch("/indexes/books", json!({"uid": "pictures"})));
    let expected = contents(&server);
    server.kill();
    without_sqlite(&server);
    server.start_again();
    assert_eq!(contents(&server), expected);
}

#[test]
fn verify_changes_nothing_and_says_that_there_is_a_database() {
    let mut server = Server::start();
    server.kill();
    let (is_sound, said) = server.verify();
    assert!(is_sound, "{said}");
    assert!(said.contains("task queue: 0 tasks"), "{said}");
    let server = killed();
    let files = || {
        let entries = fs::read_dir(server.data_folder()).unwrap().map(|entry| entry.unwrap().path());
        let mut files: Vec<_> = entries.filter(|path| path.is_file()).collect();
        files.sort();
        files.into_iter().map(|path| (fs::read(&path).unwrap(), path)).collect::<Vec<_>>()
    };
    let before = files();
    let (is_sound, said) = server.verify();
    assert!(is_sound, "{said}");
    for part in ["task queue: 5 tasks, 0 of them waiting", "tasks.sqlite-wal: ", "API keys: ", "films: ", "books: "] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert_eq!(files(), before);
}

/// One kind of damage after the other to every file that is no segment.
#[test]
fn damage_anywhere_beside_the_indexes() {
    let mut server = killed();
    fs::write(server.data_folder().join("experimental-features.json"), r#"{"metrics":true}"#).unwrap();
    let kept = keep(&server);
    server.start_again();
    let (expected, last) = (contents(&server), last_task(&server).unwrap());
    server.kill();
    let mut seed = 0x9E37_79B9_7F4A_7C15_u64;
    let mut random = |below: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed % below.max(1) as u64) as usize
    };
    let files = [DATABASE, LOG, "instance-uid", "lock", "experimental-features.json"];
    let (mut served, mut refused) = (0, 0);
    for round in 0..rounds() {
        put_back(&server, &kept);
        let before = index_folders(&server);
        let name = files[if round % 3 < 2 { 1 - random(2) } else { random(files.len()) }];
        let path = server.data_folder().join(name);
        let (kind, length) = (random(4), fs::metadata(&path).unwrap().len() as usize);
        let place = random(length);
        match kind {
            0 if length > 0 => change(&path, |bytes| bytes[place] ^= 1 << (place % 8)),
            1 => change(&path, |bytes| bytes[place..].iter_mut().take(700).for_each(|byte| *byte = 0xC3)),
            2 => change(&path, |bytes| bytes.truncate(place)),
            _ => fs::remove_file(&path).unwrap(),
        }
        let what = format!("round {round}: damage {kind} of {name} at {place} of {length}");
        if serves(&mut server) {
            served += 1;
            assert_eq!(contents(&server), expected, "{what}");
            let next = server.add("films", json!([{"id": 1002}]))["uid"].as_u64().unwrap();
            assert!(next > last, "uid {next} after {last}, {what}");
            server.kill();
        } else {
            refused += 1;
        }
        assert_eq!(index_folders(&server), before, "{what}");
    }
    assert!(served > refused, "{served} served, {refused} refused");
}
