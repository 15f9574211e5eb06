//! Embedders of servers of a group.

use std::os::unix::fs::FileExt;

use super::*;
use crate::failover::look_again;
use crate::replication::{Group, KEY};

fn member(group: &Group, more: &[&str]) -> Server {
    let address = group.address();
    let options = ["--master-key", KEY, "--follow", &address, "--standby", "--takeover-after", "2s"];
    Server::with_options(&[&options[..], &LOCAL[..], more].concat()).with_key(KEY)
}

/// The next writer makes the vectors of all indexes whose documents wait, also where nothing has opened them.
#[test]
fn vectors_that_documents_wait_for_are_made_after_a_takeover() {
    let (group, model) = (Group::new(), Model::start());
    let mut first = member(&group, &[]);
    let indexes = ["cats", "dogs", "pets"];
    for uid in indexes {
        first.add(uid, json!([{"id": 1, "text": "a cat"}]));
        first.done(&first.patch(&format!("/indexes/{uid}/settings/embedders"), json!({"m": model.configuration()})));
    }
    model.be(Manner { holds: Some("slow"), ..Manner::default() });
    for uid in indexes {
        first.post(&format!("/indexes/{uid}/documents"), json!([{"id": 2, "text": "a slow snail"}]));
    }
    // Few stay open at the same time.
    let mut second = member(&group, &["--max-open-indexes", "1"]);
    let count = |server: &Server, uid: &str, key: &str| {
        server.get(&format!("/indexes/{uid}/stats")).body[key].as_u64().unwrap_or_default()
    };
    for uid in indexes {
        until(|| count(&second, uid, "numberOfDocuments") == 2);
        assert_eq!(count(&second, uid, "numberOfEmbeddings"), 1);
    }
    first.kill();
    model.be(Manner::default());
    for uid in indexes {
        soon(|| {
            look_again(&mut second);
            let request = second.request(reqwest::Method::GET, &format!("/indexes/{uid}/stats"));
            let answer = second.try_send(request).ok()?;
            (answer.body["numberOfEmbeddings"] == 2).then_some(())
        });
    }
}

/// Checks that documents that wait for vectors are written, and not published while their index is held back: a
/// root does not cover them.
#[test]
fn documents_that_wait_are_not_lost_with_a_damaged_index() {
    let (group, model) = (Group::new(), Model::start());
    let options = ["--durability", "store", "--scrub-rate", "0"];
    let mut first = member(&group, &options);
    first.add("pets", json!([{"id": 1, "text": "a cat"}]));
    first.done(&first.patch("/indexes/pets/settings/embedders", json!({"m": model.configuration()})));
    let mut second = member(&group, &options);
    until(|| second.get("/indexes/pets/stats").body["numberOfEmbeddings"] == 1);
    let (objects, away) = (group.folder.path().join("store/i"), group.folder.path().join("away"));
    std::fs::rename(&objects, &away).unwrap();
    std::fs::write(&objects, "no folder").unwrap();
    let segments = || {
        let indexes = std::fs::read_dir(first.data_folder().join("indexes")).unwrap();
        let files = indexes.flat_map(|index| std::fs::read_dir(index.unwrap().path()).unwrap());
        let paths = files.map(|file| file.unwrap().path());
        let is_segment = |path: &std::path::PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with("seg-");
        paths.filter(is_segment).collect::<std::collections::BTreeSet<_>>()
    };
    let before = segments();
    model.be(Manner { holds: Some("slow"), ..Manner::default() });
    let documents: Vec<Value> = (2..300).map(|id| json!({"id": id, "text": format!("a slow snail {id}")})).collect();
    first.post("/indexes/pets/documents", json!(documents));
    soon(|| first.search("pets", json!({"q": "snail"}))["hits"].as_array().filter(|hits| !hits.is_empty()).map(|_| ()));
    let segment = segments().difference(&before).next().expect("a new segment").clone();
    let file = std::fs::OpenOptions::new().read(true).write(true).open(segment).unwrap();
    let place = file.metadata().unwrap().len() / 2;
    let mut byte = [0];
    file.read_exact_at(&mut byte, place).unwrap();
    file.write_all_at(&[byte[0] ^ 1], place).unwrap();
    std::fs::remove_file(&objects).unwrap();
    std::fs::rename(&away, &objects).unwrap();
    first.wait_for_log("is damaged on this server");
    first.add("plain", json!([{"id": 1}]));
    until(|| second.get("/indexes/plain/stats").body["numberOfDocuments"] == 1);
    first.kill();
    model.be(Manner::default());
    soon(|| {
        look_again(&mut second);
        let request = second.request(reqwest::Method::GET, "/indexes/pets/stats");
        (second.try_send(request).ok()?.body["numberOfEmbeddings"] == 299).then_some(())
    });
}
