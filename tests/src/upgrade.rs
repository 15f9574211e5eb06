//! A newer version on the folder of an older one, and an older one on that of a newer one.
//!
//! There is one format so far. What another version would find is written into `VERSION`: that file decides.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use crate::failover::try_write;
use crate::formats::version_of;
use crate::replication::{Group, KEY, after, film, until_published};
use crate::server::{Server, binary, soon, soon_as};

const OWN: &str = env!("CARGO_PKG_VERSION");

fn pretend(server: &Server, version: &str, format: u32) {
    fs::write(server.data_folder().join("VERSION"), version_of(version, format)).expect("a file of the folder");
}

fn kept(server: &Server) -> PathBuf {
    server.data_folder().join("before-upgrade")
}

/// Output of a start that serves nothing.
#[track_caller]
fn refused(server: &Server, options: &[&str]) -> String {
    let output = crate::server::command(server.folder(), &[]).args(options).output().expect("the binary starts");
    assert!(!output.status.success());
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A stopped server on a folder of version 0.0.1, in the format before ours.
fn older() -> Server {
    let mut server = Server::start();
    server.add("films", json!([{"id": 1, "title": "Alien"}]));
    assert!(server.terminate().success());
    pretend(&server, "0.0.1", 0);
    server
}

#[test]
fn an_older_folder_is_opened_and_its_files_are_kept_until_the_next_start() {
    let mut server = older();
    server.start_again();
    let line = format!("upgraded {} from version 0.0.1 to {OWN}; ", server.data_folder().display());
    assert_eq!(server.log().lines().filter(|said| said.contains(&line)).count(), 1, "{}", server.log());
    let task = server.wait_for(1);
    let details = json!({"upgradeFrom": "v0.0.1", "upgradeTo": format!("v{OWN}")});
    assert_eq!(
        (&task["type"], &task["status"], &task["details"]),
        (&json!("upgradeDatabase"), &json!("succeeded"), &details)
    );
    assert_eq!(task["indexUid"], json!(null));
    let said = fs::read_to_string(server.data_folder().join("VERSION")).unwrap();
    assert!(said.starts_with(&format!("{OWN}\nformat ")), "{said}");

    // What changes from now on changes nothing of what is kept.
    server.add("films", json!([{"id": 2}, {"id": 3}]));
    server.done(&server.post("/indexes/films/compact", json!({})));
    server.done(&server.delete("/indexes/films/documents/1"));
    let snapshot = server.done(&server.post("/snapshots", json!(null)));
    assert_eq!(snapshot["status"], "succeeded");
    assert!(server.terminate().success());
    let way_back = kept(&server);
    let verified = Command::new(binary()).args(["verify", "--db-path"]).arg(&way_back).output().expect("it runs");
    let said = String::from_utf8_lossy(&verified.stderr);
    assert!(said.contains("written by version 0.0.1"), "the version of before: {said}");
    let mut before = Server::start();
    // One that answers can be stopped.
    before.get("/health").ok();
    assert!(before.terminate().success());
    fs::remove_dir_all(before.data_folder()).unwrap();
    let copied = Command::new("cp").arg("-r").arg(&way_back).arg(before.data_folder()).status().expect("cp runs");
    assert!(copied.success());
    before.start_again();
    assert_eq!(before.document_count("films"), 1);
    assert_eq!(before.ids("films", json!({"q": "alien"})), [1]);

    server.start_again();
    assert!(!way_back.exists(), "gone with the next start");
    assert_eq!(server.document_count("films"), 2);
    let snapshot = server.folder().join("snapshots/data.snapshot");
    assert!(snapshot.join("indexes").exists());
    assert!(!snapshot.join("before-upgrade").exists(), "a snapshot has the database alone");
}

#[test]
fn an_upgrade_can_be_refused_and_asked_for() {
    let server = older();
    let said = refused(&server, &["--no-upgrade"]);
    assert!(said.contains(&format!("was written by version 0.0.1, this is version {OWN}")), "{said}");
    assert!(said.contains("without `--no-upgrade`"), "{said}");
    assert!(!kept(&server).exists(), "nothing has changed");
    assert!(refused(&server, &["--no-upgrade=maybe"]).contains("--no-upgrade"));
    for option in ["--upgrade-db", "--experimental-dumpless-upgrade"] {
        pretend(&server, "0.0.1", 0);
        let mut again = crate::server::launch(server.folder(), &["--no-upgrade".to_owned(), option.to_owned()]).0;
        again.kill().expect("it can be killed");
        again.wait().expect("it can be waited for");
    }
}

#[test]
fn an_older_version_says_which_one_to_start() {
    let mut server = older();
    for (version, format) in [("999.0.0", 1), ("999.0.0", 2), (OWN, 2)] {
        pretend(&server, version, format);
        let said = refused(&server, &["--upgrade-db"]);
        assert!(said.contains(&format!("start version {version}")), "{said}");
    }
    pretend(&server, OWN, 1);
    server.start_again();
    assert_eq!(server.document_count("films"), 1);
}

#[test]
fn the_files_are_kept_while_the_upgrade_fails() {
    let mut server = older();
    let index = fs::read_dir(server.data_folder().join("indexes")).unwrap().flatten().next().expect("an index").path();
    let manifest = fs::read_dir(&index).unwrap().flatten().map(|entry| entry.path());
    let manifest = manifest.into_iter().find(|path| path.to_string_lossy().contains("manifest-")).expect("a manifest");
    let whole = fs::read(&manifest).unwrap();
    fs::remove_file(&manifest).unwrap();
    fs::write(&manifest, b"damaged").unwrap();
    server.start_again();
    assert_eq!(server.wait_for(1)["status"], "failed");
    for _ in 0..2 {
        assert!(server.terminate().success());
        server.start_again();
        assert_eq!(server.wait_for(1)["status"], "failed");
        assert!(kept(&server).exists(), "{}", server.log());
    }
    assert!(server.log().contains("stays until the upgrade, task 1, has succeeded"), "{}", server.log());
    assert!(server.terminate().success());
    fs::write(&manifest, whole).unwrap();
    server.start_again();
    assert_eq!(server.wait_for(1)["status"], "succeeded");
    assert!(server.terminate().success());
    server.start_again();
    assert!(!kept(&server).exists());
    assert_eq!(server.document_count("films"), 1);
}

/// The steps of `docs/how-to/upgrade.md`: the replicas one by one, then the writer.
#[test]
fn a_group_is_upgraded_one_server_after_the_other() {
    let group = Group::new();
    let address = group.address();
    let options =
        ["--master-key", KEY, "--follow", &address, "--standby", "--takeover-after", "2s", "--publish-interval", "1s"];
    let member = || Server::with_options(&options).with_key(KEY);
    // The first one of a group takes an empty store over.
    let mut writer = member();
    let answer = soon(|| try_write(&mut writer, 1));
    let task = writer.done(&answer);
    let mut replicas = [group.replica(), member()];
    for (place, replica) in (2..).zip(&mut replicas) {
        after(replica, &task, "/indexes");
        assert!(replica.terminate().success());
        pretend(replica, "0.0.1", 0);
        replica.start_again();
        assert!(replica.log().contains("from version 0.0.1"), "{}", replica.log());
        // The writer is of the version before, and what it writes is read.
        let task = writer.add("films", json!([film(place, "Brazil")]));
        let found = after(replica, &task, "/indexes/films/search?q=brazil&limit=20");
        assert_eq!(found["hits"].as_array().map(Vec::len), Some(place as usize - 1));
        assert_eq!(task_count(replica), 0, "a replica has no tasks");
    }
    let task = writer.add("films", json!([film(9, "Dune")]));
    until_published(&writer, &task);
    assert!(writer.terminate().success());
    pretend(&writer, "0.0.1", 0);

    // While it is away the standby takes over, and what it writes goes on from there.
    let [replica, standby] = &mut replicas;
    let answer = soon(|| try_write(standby, 10));
    let task = standby.done(&answer);
    after(replica, &task, "/indexes/films/search");
    writer.start_again();
    let films = soon_as(|| count(replica), |count| *count == 5);
    assert_eq!(films, 5);
    assert_eq!(count(standby), 5);
}

fn task_count(server: &Server) -> u32 {
    let database = rusqlite::Connection::open(server.data_folder().join("tasks.sqlite")).expect("a database");
    database.query_row("SELECT count(*) FROM tasks", [], |row| row.get(0)).expect("a count")
}

fn count(server: &Server) -> Value {
    server.get("/indexes/films/stats").ok()["numberOfDocuments"].clone()
}
