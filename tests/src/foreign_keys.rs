//! `foreignKeys`: filters on documents of other indexes, and these documents in hits.

use serde_json::json;

use crate::server::Server;

fn library() -> Server {
    let server = Server::start();
    server.patch("/experimental-features", json!({"foreignKeys": true})).ok();
    server.add(
        "authors",
        json!([
            {"id": "leguin", "name": "Ursula K. Le Guin", "born": 1929, "secret": 1},
            {"id": "lem", "name": "Stanisław Lem", "born": 1921, "secret": 2},
            {"id": "butler", "name": "Octavia E. Butler", "born": 1947, "secret": 3},
        ]),
    );
    server.set("authors", json!({"filterableAttributes": ["born", "name"], "displayedAttributes": ["id", "name"]}));
    server.add(
        "books",
        json!([
            {"id": 1, "title": "Solaris", "by": {"author": "lem"}},
            {"id": 2, "title": "Kindred", "by": {"author": "butler"}},
            {"id": 3, "title": "An anthology", "by": {"author": ["leguin", "butler", "missing"]}},
            {"id": 4, "title": "Anonymous"},
        ]),
    );
    let key = json!({"foreignIndexUid": "authors", "fieldName": "by.author"});
    server.set("books", json!({"filterableAttributes": ["by.author", "title"], "foreignKeys": [key]}));
    server
}

#[test]
fn filters_ask_the_other_index() {
    let server = library();
    for (filter, expected) in [
        ("_foreign(by.author, born > 1940)", &[2, 3][..]),
        ("_foreign(by.author, born < 1930 AND name STARTS WITH stan)", &[1]),
        ("NOT _foreign(by.author, born > 1940)", &[1, 4]),
        ("title = Kindred OR _foreign(\"by.author\", born = 1921)", &[1, 2]),
        ("_foreign(by.author, born > 2000)", &[]),
    ] {
        assert_eq!(server.ids("books", json!({"filter": filter})), expected, "{filter}");
    }
    for filter in ["_foreign(title, born > 1)", "_foreign(by.author, secret = 1)", "_foreign(by.author)"] {
        server.post("/indexes/books/search", json!({"filter": filter})).refused(400, "invalid_search_filter");
    }
    server.patch("/experimental-features", json!({"foreignKeys": false})).ok();
    let filter = json!({"filter": "_foreign(by.author, born > 1940)"});
    for path in ["search", "documents/fetch", "documents/delete"] {
        server.post(&format!("/indexes/books/{path}"), filter.clone()).refused(400, "feature_not_enabled");
    }
}

#[test]
fn lists_ask_the_other_index_and_writes_do_not() {
    let server = library();
    let filter = "_foreign(by.author, born > 1940)";
    let listed = server.post("/indexes/books/documents/fetch", json!({"filter": filter, "fields": ["id"]})).ok();
    assert_eq!(listed["results"], json!([{"id": 2}, {"id": 3}]));
    let unknown = json!({"filter": "_foreign(title, born > 1)"});
    server.post("/indexes/books/documents/fetch", unknown).refused(400, "invalid_document_filter");
    server.post("/indexes/books/documents/delete", json!({"filter": filter})).refused(400, "invalid_document_filter");
    server.patch("/experimental-features", json!({"editDocumentsByFunction": true})).ok();
    let edit = json!({"filter": filter, "function": "doc.seen = true"});
    server.post("/indexes/books/documents/edit", edit).refused(400, "invalid_document_filter");
    assert_eq!(server.get("/indexes/books/documents").ok()["total"], 4);
}

#[test]
fn hits_show_the_documents_they_refer_to() {
    let server = library();
    let author = |query: serde_json::Value| server.search("books", query)["hits"][0]["by"]["author"].clone();
    let lem = json!({"id": "lem", "name": "Stanisław Lem"});
    assert_eq!(author(json!({"q": "solaris"})), lem);
    let several = json!([
        {"id": "leguin", "name": "Ursula K. Le Guin"}, {"id": "butler", "name": "Octavia E. Butler"}, "missing",
    ]);
    assert_eq!(author(json!({"q": "anthology"})), several);
    let formatted = server.search("books", json!({"q": "solaris", "attributesToHighlight": ["title"]}));
    let formatted = &formatted["hits"][0]["_formatted"];
    assert_eq!((&formatted["title"], &formatted["by"]["author"]), (&json!("<em>Solaris</em>"), &lem));
    let merged =
        server.post("/multi-search", json!({"federation": {}, "queries": [{"indexUid": "books", "q": "solaris"}]}));
    assert_eq!(merged.ok()["hits"][0]["by"]["author"], lem);
    server.patch("/experimental-features", json!({"foreignKeys": false})).ok();
    assert_eq!(author(json!({"q": "solaris"})), "lem");
}

#[test]
fn changes_of_the_other_index_are_seen_at_once() {
    let server = library();
    let path = "/indexes/books/search?q=solaris";
    let ask = |tag: Option<String>| {
        let request = server.request(reqwest::Method::GET, path);
        let request = tag.into_iter().fold(request, |request, tag| request.header("If-None-Match", tag));
        let answer = request.send().expect("an answer");
        let tag = answer.headers().get("ETag").map(|tag| tag.to_str().expect("text").to_owned());
        (answer.status().as_u16(), tag, answer.text().expect("a body"))
    };
    let (_, tag, before) = ask(None);
    assert!(before.contains("Stanisław"), "{before}");
    server.add("authors", json!([{"id": "lem", "name": "S. Lem"}]));
    let (status, _, after) = ask(tag);
    assert_eq!(status, 200, "{status} {after}");
    assert!(after.contains("S. Lem"), "{status} {after}");
}

#[test]
fn the_setting_is_there_with_its_feature() {
    let server = library();
    let keys = json!([{"foreignIndexUid": "authors", "fieldName": "by.author"}]);
    assert_eq!(server.get("/indexes/books/settings").ok()["foreignKeys"], keys);
    assert_eq!(server.get("/indexes/books/settings/foreign-keys").ok(), keys);
    assert_eq!(server.get("/indexes/authors/settings").ok()["foreignKeys"], json!([]));
    server.patch("/indexes/books/settings", json!({"foreignKeys": 1})).refused(400, "invalid_settings_foreign_keys");
    server.patch("/experimental-features", json!({"foreignKeys": false})).ok();
    assert!(server.get("/indexes/books/settings").ok().get("foreignKeys").is_none());
    server.put("/indexes/books/settings/foreign-keys", json!([])).refused(400, "feature_not_enabled");
}
