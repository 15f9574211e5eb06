//! Groups whose store is away, emptied or put back: no server takes what is in its place for the store, and nothing acknowledged is
//! lost.

use std::collections::BTreeSet;
use std::path::Path;

use reqwest::Method;
use serde_json::{Value, json};

use crate::failover::look_again;
use crate::replication::{Group, KEY, film, until_published};
use crate::server::{Server, binary, soon, until};

const IN_STORE: [&str; 4] = ["--durability", "store", "--durability-timeout", "1s"];

/// A server of a group in which any may be the writer, and nothing acknowledged is lost.
fn member(group: &Group) -> Server {
    let address = group.address();
    let options = ["--master-key", KEY, "--follow", &address, "--standby", "--takeover-after", "1s"];
    Server::with_options(&[&options[..], &IN_STORE[..]].concat()).with_key(KEY)
}

/// Waits until `/replicas` of a server reports the expected state.
#[track_caller]
fn says(server: &mut Server, role: &str, is_so: impl Fn(&Value) -> bool) {
    soon(|| {
        look_again(server);
        let answer = server.try_send(server.request(Method::GET, "/replicas")).ok()?;
        (answer.body["role"] == role && is_so(&answer.body["failure"])).then_some(())
    });
}

/// Puts something at the address of a store.
type Put = Box<dyn Fn(&Path)>;

/// Returns the replacements for a store that is away, at its address.
fn places(group: &Group) -> [(&'static str, Put); 3] {
    let older = group.folder.path().join("older");
    let copy = |from: &Path, to: &Path| {
        assert!(std::process::Command::new("cp").arg("-r").args([from, to]).status().unwrap().success());
    };
    copy(&group.folder.path().join("store"), &older);
    [
        ("nothing", Box::new(|_: &Path| ())),
        ("a mount point", Box::new(|place: &Path| std::fs::create_dir(place).unwrap())),
        ("an older state", Box::new(move |place: &Path| copy(&older, place))),
    ]
}

/// All files below a folder.
fn files(folder: &Path) -> BTreeSet<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { BTreeSet::from([path]) }).collect()
}

/// The writer of a group acknowledges nothing where its store is not, and makes no other one.
#[test]
fn a_running_writer_takes_nothing_else_for_its_store() {
    let group = Group::new();
    let mut writer = member(&group);
    let task = writer.add("films", json!([film(1, "Alien")]));
    until_published(&writer, &task);
    let (store, aside) = (group.folder.path().join("store"), group.folder.path().join("aside"));
    let mut expected = 1;
    for (what, put) in places(&group) {
        // Newer than any older state.
        expected += 1;
        let task = writer.add("films", json!([film(expected, "Alien")]));
        says(&mut writer, "writer", Value::is_null);
        until_published(&writer, &task);
        std::fs::rename(&store, &aside).unwrap();
        put(&store);
        let before = files(&store);
        let refused = writer.post("/indexes/films/documents", json!([film(1000, "Brazil")]));
        assert_eq!((refused.status, &refused.body["code"]), (503, &json!("store_not_reached")), "{what}: {refused:?}");
        assert!(refused.body["message"].as_str().unwrap().contains("not mounted"), "{what}: {refused:?}");
        assert_eq!(files(&store), before, "{what}");
        if store.exists() {
            std::fs::remove_dir_all(&store).unwrap();
        }
        std::fs::rename(&aside, &store).unwrap();
        expected += 1;
        writer.add("films", json!([film(expected, "Alien")]));
        assert_eq!(writer.document_count("films"), expected, "{what}: nothing of what was refused");
    }
}

/// A server that has been the writer does not begin anew because its store is away, nor does it forget what it has acknowledged.
#[test]
fn a_writer_that_starts_without_its_store_waits_for_it() {
    let group = Group::new();
    let mut writer = member(&group);
    writer.add("films", json!([film(1, "Alien")]));
    let (store, aside) = (group.folder.path().join("store"), group.folder.path().join("aside"));
    for (expected, (what, put)) in (2..).zip(places(&group).into_iter().take(2)) {
        let answer = writer.post("/indexes/films/documents", json!([film(9 + expected, "Brazil")]));
        assert_eq!(answer.status, 202);
        writer.kill();
        std::fs::rename(&store, &aside).unwrap();
        put(&store);
        writer.start_again();
        says(&mut writer, "replica", |failure| failure.as_str().is_some_and(|failure| failure.contains("Mount it")));
        assert_eq!(writer.post("/indexes/films/documents", json!([film(2, "Dune")])).status, 421, "{what}");
        assert!(writer.document_count("films") > 0, "{what}: what it has is searched");
        assert_eq!(files(&store), BTreeSet::new(), "{what}");
        if store.exists() {
            std::fs::remove_dir_all(&store).unwrap();
        }
        std::fs::rename(&aside, &store).unwrap();
        says(&mut writer, "writer", Value::is_null);
        until(|| writer.document_count("films") == expected);
    }
    // With `--publish`, too: its store is where it was, or elsewhere on purpose.
    writer.kill();
    std::fs::rename(&store, &aside).unwrap();
    let folder = writer.data_folder();
    let start = |address: &str| {
        let mut command = std::process::Command::new(binary());
        command.arg("--db-path").arg(&folder).args(["--http-addr", "127.0.0.1:0", "--master-key", KEY]);
        command.args(["--publish", address]).stdin(std::process::Stdio::null());
        command
    };
    let output = start(&group.address()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "{said}");
    assert!(said.contains("Mount it"), "{said}");
    assert!(!store.exists(), "{said}");
}
