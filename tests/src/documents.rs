//! Documents: add, update, read, delete.

use reqwest::Method;
use serde_json::{Value, json};

use crate::server::Server;

fn ids(list: &Value) -> Vec<Value> {
    list["results"].as_array().expect("results").iter().map(|document| document["id"].clone()).collect()
}

#[test]
fn post_replaces_and_put_merges() {
    let server = Server::start();
    let task = server.add("films", json!([{"id": 1, "title": "Alien", "year": 1979}, {"id": "a-B_2", "title": "Up"}]));
    assert_eq!(task["type"], "documentAdditionOrUpdate");
    assert_eq!(task["details"], json!({"receivedDocuments": 2, "indexedDocuments": 2}));
    assert_eq!(server.get("/indexes/films").ok()["primaryKey"], "id", "inferred");

    server.add("films", json!({"id": 1, "director": "Scott"}));
    assert_eq!(server.get("/indexes/films/documents/1").ok(), json!({"id": 1, "director": "Scott"}));
    server.done(&server.put("/indexes/films/documents", json!([{"id": 1, "title": "Alien", "director": "R. Scott"}])));
    assert_eq!(
        server.get("/indexes/films/documents/1").ok(),
        json!({"id": 1, "director": "R. Scott", "title": "Alien"})
    );
    assert_eq!(server.ids("films", json!({"q": "scott"})), [1]);
    assert_eq!(server.document_count("films"), 2);
}

#[test]
fn the_last_of_equal_ids_wins_and_the_type_of_an_id_does_not_matter() {
    let server = Server::start();
    let task = server.add("films", json!([{"id": 1, "n": "first"}, {"id": "1", "n": "second"}, {"id": 2, "n": "x"}]));
    assert_eq!(task["details"], json!({"receivedDocuments": 3, "indexedDocuments": 2}));
    assert_eq!(server.get("/indexes/films/documents/1").ok(), json!({"id": "1", "n": "second"}));
    server.done(&server.put("/indexes/films/documents", json!([{"id": 2, "a": 1}, {"id": 2, "b": 2}])));
    assert_eq!(server.get("/indexes/films/documents/2").ok(), json!({"id": 2, "n": "x", "a": 1, "b": 2}));
}

#[test]
fn ndjson_and_csv_are_read() {
    let server = Server::start();
    let path = "/indexes/films/documents";
    let ndjson = "{\"id\":1,\"t\":\"one\"}\n\n{\"id\":2,\"t\":\"two\"}{\"id\":3}";
    assert_eq!(server.done(&server.post_raw(path, "application/x-ndjson", ndjson))["details"]["indexedDocuments"], 3);
    let csv = "id,title,price:number,new:boolean,note\n4,\"a, \"\"b\"\"\nc\",1.5,true,\n5,d,7,false,x\n";
    server.done(&server.post_raw(path, "text/csv; charset=utf-8", csv));
    assert_eq!(
        server.get("/indexes/films/documents/4").ok(),
        json!({"id": "4", "title": "a, \"b\"\nc", "price": 1.5, "new": true, "note": null})
    );
    let semicolons = server.post_raw(&format!("{path}?csvDelimiter=;"), "text/csv", "id;title\n6;semi\n");
    server.done(&semicolons);
    assert_eq!(server.get("/indexes/films/documents/6").ok()["title"], "semi");
    assert_eq!(server.document_count("films"), 6);
}

#[test]
fn compressed_payloads_are_decoded() {
    let server = Server::start();
    let mut gzip = flate2::read::GzEncoder::new(&b"[{\"id\":1}]"[..], flate2::Compression::fast());
    let mut body = Vec::new();
    std::io::Read::read_to_end(&mut gzip, &mut body).unwrap();
    let request = |body: Vec<u8>| {
        server
            .request(Method::POST, "/indexes/films/documents")
            .header("Content-Type", "application/json")
            .header("Content-Encoding", "gzip")
            .body(body)
    };
    server.done(&server.send(request(body.clone())));
    body.truncate(body.len() - 6);
    server.send(request(body)).refused(400, "bad_request");
    assert_eq!(server.document_count("films"), 1);
}

#[test]
fn the_list_keeps_the_order_of_insertion() {
    let server = Server::start();
    let documents: Vec<Value> = (0..30).rev().map(|id| json!({"id": id, "n": id, "x": "y"})).collect();
    server.add("films", json!(documents));
    server.add("films", json!([{"id": 25, "n": "changed"}]));
    let list = server.get("/indexes/films/documents?offset=3&limit=3&fields=id,n").ok();
    assert_eq!(list["results"], json!([{"id": 26, "n": 26}, {"id": 25, "n": "changed"}, {"id": 24, "n": 24}]));
    assert_eq!((&list["total"], &list["limit"], &list["offset"]), (&json!(30), &json!(3), &json!(3)));
    // A name selects what is nested in it, and no key that only reads so.
    server.add("keys", json!([{"id": 1, "a.b": 1}, {"id": 2, "a": {"b": 2, "c": 3}}]));
    let keys = |fields| server.get(&format!("/indexes/keys/documents?fields={fields}")).ok()["results"].clone();
    assert_eq!(keys("a"), json!([{}, {"a": {"b": 2, "c": 3}}]));
    assert_eq!(keys("a.b"), json!([{"a.b": 1}, {"a": {"b": 2}}]));
    let hits = server.search("keys", json!({"attributesToRetrieve": ["a"]}))["hits"].clone();
    assert_eq!(hits, json!([{}, {"a": {"b": 2, "c": 3}}]));
    let fetched = server.post("/indexes/films/documents/fetch", json!({"limit": 2, "fields": ["id"]})).ok();
    assert_eq!(fetched["results"], json!([{"id": 29}, {"id": 28}]));
    let some = server.post("/indexes/films/documents/fetch", json!({"ids": [3, "28", 99]})).ok();
    assert_eq!(ids(&some), [28, 3]);
    server.get("/indexes/films/documents/99").refused(404, "document_not_found");
    server.get("/indexes/absent/documents").refused(404, "index_not_found");
    server.get("/indexes/films/documents?limit=-1").refused(400, "invalid_document_limit");
}

#[test]
fn deletes_of_every_kind() {
    let server = Server::start();
    let path = "/indexes/films/documents";
    server.add("films", json!((0..10).map(|id| json!({"id": id, "t": "word"})).collect::<Vec<_>>()));
    let one = server.done(&server.delete(&format!("{path}/3")));
    assert_eq!(one["details"], json!({"providedIds": 1, "deletedDocuments": 1, "originalFilter": null}));
    let never = server.done(&server.delete(&format!("{path}/33")));
    assert_eq!(never["details"]["deletedDocuments"], 0);
    let some = server.done(&server.post(&format!("{path}/delete-batch"), json!([1, "2", 3, 77])));
    assert_eq!(some["details"], json!({"providedIds": 4, "deletedDocuments": 2, "originalFilter": null}));
    assert_eq!(server.ids("films", json!({"q": "word"})), [0, 4, 5, 6, 7, 8, 9]);
    let all = server.done(&server.delete(path));
    assert_eq!(all["details"], json!({"deletedDocuments": 7}));
    assert_eq!(server.document_count("films"), 0);
    assert_eq!(server.search("films", json!({"q": "word"}))["estimatedTotalHits"], 0);
    server.fails(&server.delete("/indexes/absent/documents"), "index_not_found");
}

#[test]
fn the_primary_key_is_inferred_once() {
    let server = Server::start();
    server.fails(&server.post("/indexes/a/documents", json!([{"title": "x"}])), "index_primary_key_no_candidate_found");
    server.fails(
        &server.post("/indexes/a/documents", json!([{"aid": 1, "bid": 2}])),
        "index_primary_key_multiple_candidates_found",
    );
    server.done(&server.post("/indexes/a/documents?primaryKey=bid", json!([{"aid": 1, "bid": 2}])));
    server.fails(
        &server.post("/indexes/a/documents?primaryKey=aid", json!([{"aid": 1, "bid": 2}])),
        "index_primary_key_already_exists",
    );
    server.fails(&server.post("/indexes/a/documents", json!([{"aid": 1}])), "missing_document_id");
    assert_eq!(server.get("/indexes/a").ok()["primaryKey"], "bid");
    assert_eq!(server.document_count("a"), 1);
}

#[test]
fn skip_creation_touches_only_what_exists() {
    let server = Server::start();
    server.add("films", json!([{"id": 1, "a": 1}]));
    let documents = json!([{"id": 1, "b": 1}, {"id": 2, "b": 2}]);
    server.done(&server.put("/indexes/films/documents?skipCreation=true", documents));
    assert_eq!(server.get("/indexes/films/documents").ok()["results"], json!([{"id": 1, "a": 1, "b": 1}]));
}
