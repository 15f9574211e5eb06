//! The mark that a writer keeps with its documents: `mark`, `ifMark`.

use serde_json::{Value, json};

use crate::server::Server;

const DOCUMENTS: &str = "/indexes/films/documents";

fn mark(server: &Server) -> Value {
    server.get("/indexes/films").ok()["mark"].clone()
}

#[test]
fn a_position_stays_with_the_documents_until_others_write() {
    let server = Server::start();
    let add = |query: &str| server.post(&format!("{DOCUMENTS}?{query}"), json!([{"id": 1}]));
    let delete = |query: &str| server.post(&format!("{DOCUMENTS}/delete-batch?{query}"), json!([]));
    server.fails(&add("ifMark=a"), "index_not_found");
    assert_eq!(server.get("/indexes/films").status, 404, "it is not made by a write that expects it");
    server.done(&add("mark=a%20%2F1"));
    assert_eq!(mark(&server), "a /1");
    server.done(&server.put(&format!("{DOCUMENTS}?ifMark=a%20%2F1"), json!([{"id": 2}])));
    assert_eq!(mark(&server), "a /1");
    for _ in 0..2 {
        server.done(&delete("ifMark=a%20%2F1&mark=b"));
        assert_eq!(mark(&server), "b", "a repetition does no harm");
    }
    server.done(&server.delete(&format!("{DOCUMENTS}/2?ifMark=b&mark=c")));
    server.done(&server.patch("/indexes/films/settings", json!({"sortableAttributes": ["id"]})));
    assert_eq!(mark(&server), "c", "settings write no documents");
    server.done(&server.delete(&format!("{DOCUMENTS}?ifMark=c&mark=d")));
    server.fails(&add("ifMark=c&mark=e"), "index_mark_mismatch");
    assert_eq!((mark(&server), server.document_count("films")), (json!("d"), 0));
    // A clone has the documents, and the mark with them; who writes without it removes it.
    server.done(&server.post("/indexes/films/clone", json!({"uid": "copy"})));
    assert_eq!(server.get("/indexes/copy").ok()["mark"], "d");
    server.done(&add(""));
    assert_eq!(mark(&server), Value::Null);
    add("mark=").refused(400, "invalid_index_mark");
    add("mark=a&unknown=1").refused(400, "bad_request");
}

/// Tasks of one batch: none is decided by what another would have removed.
#[test]
fn a_clearing_that_fails_takes_nothing_with_it() {
    let server = Server::start();
    server.done(&server.post(&format!("{DOCUMENTS}?mark=a"), json!([{"id": 1}])));
    let held = server.hold_queue();
    let added = server.post(DOCUMENTS, json!([{"id": 2}]));
    let cleared = server.delete(&format!("{DOCUMENTS}?ifMark=a&mark=b"));
    server.release_queue(held);
    server.done(&added);
    server.fails(&cleared, "index_mark_mismatch");
    assert_eq!(server.document_count("films"), 2);
}
