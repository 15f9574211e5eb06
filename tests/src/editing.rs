//! Documents that a function edits.

use serde_json::{Value, json};

use crate::server::{Answer, Server};

fn server() -> Server {
    let server = Server::start();
    server.patch("/experimental-features", json!({"editDocumentsByFunction": true})).ok();
    server
}

fn edit(server: &Server, body: Value) -> Answer {
    server.post("/indexes/films/documents/edit", body)
}

fn documents(server: &Server) -> Value {
    server.get("/indexes/films/documents").ok()["results"].clone()
}

#[test]
fn a_function_changes_and_deletes_documents() {
    let server = server();
    server.set("films", json!({"filterableAttributes": ["year"]}));
    server.add(
        "films",
        json!([
            {"id": 1, "title": "Alien", "year": 1979},
            {"id": 2, "title": "Up", "year": 2009, "note": 1.50},
            {"id": 3, "title": "Heat", "year": 1995},
        ]),
    );
    let function = "if doc.year > context.newest { doc = () } else { doc.title = doc.title.to_upper(); doc.decade = doc.year / 10 * 10 }";
    let task = server.done(&edit(&server, json!({"function": function, "context": {"newest": 2000}})));
    assert_eq!(task["type"], "documentEdition");
    assert_eq!(
        task["details"],
        json!({
            "editedDocuments": 2, "deletedDocuments": 1, "context": {"newest": 2000}, "function": function,
            "originalFilter": null,
        })
    );
    assert_eq!(
        documents(&server),
        json!([
            {"id": 1, "title": "ALIEN", "year": 1979, "decade": 1970},
            {"id": 3, "title": "HEAT", "year": 1995, "decade": 1990},
        ])
    );
    assert_eq!(server.ids("films", json!({"q": "heat"})), [3]);

    let task = server.done(&edit(&server, json!({"function": "doc.seen = true", "filter": "year > 1990"})));
    let details = &task["details"];
    assert_eq!((&details["editedDocuments"], &details["originalFilter"]), (&json!(1), &json!("\"year > 1990\"")));
    assert_eq!(documents(&server)[0]["seen"], Value::Null);
    let again = server.done(&edit(&server, json!({"function": "doc.year = doc.year"})));
    assert_eq!(again["details"]["editedDocuments"], 0, "what is as it was is not written");
}

#[test]
fn one_failure_leaves_everything_as_it_was() {
    let server = server();
    server.add("films", json!([{"id": 1, "n": 1}, {"id": 2, "n": "two"}, {"id": 3, "n": 3}]));
    let before = documents(&server);
    let code = "edit_documents_by_function_error";
    for (function, reason) in [
        ("doc.n = doc.n - 1", "encountered while running the function: Function not found"),
        ("if doc.id == 3 { throw \"no\" } doc = ()", "Runtime error: no"),
        ("loop {}", "Too many operations"),
        ("doc.id += 1", "Document editions cannot modify a document's primary key"),
        ("doc = 1", "Document editions must keep documents as objects"),
    ] {
        let task = server.fails(&edit(&server, json!({"function": function})), code);
        let message = task["error"]["message"].as_str().unwrap();
        assert!(message.starts_with("Index `films`: "), "{message}");
        assert!(message.contains(reason), "{message}");
        assert_eq!((&task["details"]["editedDocuments"], &task["details"]["deletedDocuments"]), (&json!(0), &json!(0)));
        assert_eq!(documents(&server), before);
    }
}

#[test]
fn mistakes_are_reported_at_once() {
    let server = Server::start();
    edit(&server, json!({"function": ""})).refused(400, "feature_not_enabled");
    edit(&server, json!({"foo": 1})).refused(400, "bad_request");
    edit(&server, json!({})).refused(400, "missing_document_edition_function");
    server.patch("/experimental-features", json!({"editDocumentsByFunction": true})).ok();
    for (body, code) in [
        (json!({}), "missing_document_edition_function"),
        (json!({"function": 1}), "invalid_document_edition_function_filter"),
        (json!({"function": "doc.a = "}), "bad_request"),
        (json!({"function": "import \"x\" as x"}), "bad_request"),
        (json!({"function": "", "context": "x"}), "invalid_document_edition_context"),
        (json!({"function": "", "filter": ""}), "invalid_document_filter"),
        (json!({"function": "", "filter": "a = "}), "invalid_document_filter"),
    ] {
        edit(&server, body).refused(400, code);
    }
    server.fails(&edit(&server, json!({"function": ""})), "index_not_found");
    server.add("films", json!([{"id": 1}]));
    let task = server.fails(&edit(&server, json!({"function": "", "filter": "a = 1"})), "invalid_document_filter");
    assert!(task["error"]["message"].as_str().unwrap().starts_with("Index `films`: Attribute `a` is not filterable"));
}

#[test]
fn vectors_stay_with_their_documents() {
    let server = server();
    server.set("films", json!({"embedders": {"e": {"source": "userProvided", "dimensions": 2}}}));
    server.add("films", json!([{"id": 1, "_vectors": {"e": [1, 0]}}, {"id": 2, "_vectors": {"e": null}}]));
    server.done(&edit(&server, json!({"function": "doc.x = doc.keys().len()"})));
    let list = server.get("/indexes/films/documents?retrieveVectors=true").ok();
    assert_eq!(list["results"][0]["x"], 1, "the function does not see them");
    assert_eq!(list["results"][0]["_vectors"]["e"]["embeddings"], json!([[1.0, 0.0]]));
    server.done(&edit(&server, json!({"function": "doc._vectors = #{e: [0.5, 0.5]}"})));
    let list = server.get("/indexes/films/documents?retrieveVectors=true").ok();
    assert_eq!(list["results"][1]["_vectors"]["e"]["embeddings"], json!([[0.5, 0.5]]));
}

/// Enough documents for the changes to go through a file.
#[test]
fn many_documents_are_edited_in_one_commit() {
    let server = server();
    let text = "word ".repeat(120);
    let documents: Vec<Value> = (0..10_000).map(|id| json!({"id": id, "text": text})).collect();
    server.add("films", json!(documents));
    let task = server
        .done(&edit(&server, json!({"function": "doc.even = doc.id % 2 == 0; if doc.id % 10 == 9 { doc = () }"})));
    assert_eq!(
        (&task["details"]["editedDocuments"], &task["details"]["deletedDocuments"]),
        (&json!(9000), &json!(1000))
    );
    assert_eq!(server.document_count("films"), 9000);
    // Files go after the end of their task is stored, and before the next one begins.
    server.done(&server.post("/indexes", json!({"uid": "next"})));
    let payloads = std::fs::read_dir(server.data_folder().join("payloads")).unwrap().count();
    assert_eq!(payloads, 0, "no file stays behind");
}
