//! Tenant tokens in a group: what a key of the writer has signed is good wherever the master key is the same, also after a takeover.

use jsonwebtoken::Algorithm;
use serde_json::{Value, json};

use crate::keys::ask;
use crate::replication::{Group, KEY, after};
use crate::server::{Answer, Server, until};
use crate::tenants::sign;

const OTHER_KEY: &str = "another-master-key-than-theirs";

/// Searches as a tenant who may see the films of one company.
fn search(server: &Server, token: &str) -> Answer {
    ask(server, token, "POST", "/indexes/films/search", &json!({"q": ""}))
}

fn ids(answer: &Answer) -> Vec<u64> {
    answer.body["hits"]
        .as_array()
        .map_or_else(Vec::new, |hits| hits.iter().filter_map(|hit| hit["id"].as_u64()).collect())
}

fn follower(group: &Group, master_key: &[&str]) -> Server {
    let address = group.address();
    Server::with_options(&[&["--follow", &address], master_key].concat())
}

/// A token of a new key, and the uid of the key.
fn token(writer: &Server) -> (String, Value) {
    let key = writer.post("/keys", json!({"actions": ["search"], "indexes": ["films"], "expiresAt": null})).body;
    let claims = json!({"apiKeyUid": key["uid"], "searchRules": {"films": {"filter": "company = a"}}});
    (sign(Algorithm::HS256, &claims, key["key"].as_str().expect("a value")), key["uid"].clone())
}

#[test]
fn a_token_is_good_on_every_server_with_the_master_key_of_the_writer() {
    let group = Group::new();
    let writer = group.writer();
    writer.set("films", json!({"filterableAttributes": ["company"]}));
    let task = writer.add("films", json!([{"id": 1, "company": "a"}, {"id": 2, "company": "b"}]));
    let (token, uid) = token(&writer);
    let same = follower(&group, &["--master-key", KEY]).with_key(KEY);
    let mut other = follower(&group, &["--master-key", OTHER_KEY]).with_key(OTHER_KEY);
    after(&same, &task, "/indexes");
    after(&other, &task, "/indexes");
    // The key comes a moment later; its filter is that of the writer.
    until(|| search(&same, &token).status == 200);
    assert_eq!([&writer, &same].map(|server| ids(&search(server, &token))), [[1], [1]]);
    // With another master key, the key has another value: its server says so, and lets no token of the writer in.
    other.wait_for_log("another master key than the writer");
    until(|| ask(&other, OTHER_KEY, "GET", &format!("/keys/{}", uid.as_str().unwrap()), &Value::Null).status == 200);
    search(&other, &token).refused(403, "invalid_api_key");
    let own_key = ask(&other, OTHER_KEY, "GET", &format!("/keys/{}", uid.as_str().unwrap()), &Value::Null).ok();
    let claims = json!({"apiKeyUid": uid, "searchRules": ["*"]});
    let own = sign(Algorithm::HS256, &claims, own_key["key"].as_str().unwrap());
    assert_eq!(search(&other, &own).status, 200);
    for server in [&writer, &same] {
        search(server, &own).refused(403, "invalid_api_key");
    }
    // Started with the right one, it is like the others.
    assert!(other.terminate().success());
    let other = other.with_other_options(&["--master-key", KEY, "--follow", &group.address()]);
    until(|| ids(&search(&other, &token)) == [1]);
    // What is deleted at the writer is deleted everywhere.
    assert_eq!(writer.delete(&format!("/keys/{}", uid.as_str().unwrap())).status, 204);
    for server in [&same, &other] {
        until(|| search(server, &token).status == 403);
    }
}

#[test]
fn a_token_outlives_its_writer() {
    let group = Group::new();
    let mut writer = group.writer();
    writer.set("films", json!({"filterableAttributes": ["company"]}));
    let task = writer.add("films", json!([{"id": 1, "company": "a"}, {"id": 2, "company": "b"}]));
    let (token, uid) = token(&writer);
    let mut taker = group.replica();
    after(&taker, &task, "/indexes");
    until(|| ids(&search(&taker, &token)) == [1]);
    writer.kill();
    assert!(taker.terminate().success());
    let taker = taker.with_other_options(&["--master-key", KEY, "--publish", &group.address()]);
    let replica = group.replica();
    until(|| ids(&search(&replica, &token)) == [1]);
    assert_eq!(ids(&search(&taker, &token)), [1]);
    assert_eq!(taker.delete(&format!("/keys/{}", uid.as_str().unwrap())).status, 204);
    search(&taker, &token).refused(403, "invalid_api_key");
    until(|| search(&replica, &token).status == 403);
}
