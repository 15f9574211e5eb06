//! Bad input of every kind: a clear refusal, nothing lost, no crash.

use reqwest::Method;
use serde_json::{Value, json};

use crate::server::Server;

const DOCUMENTS: &str = "/indexes/films/documents";

/// A server with one good document, which must be there and found at the end.
fn guarded(check: impl FnOnce(&Server)) {
    let server = Server::start();
    server.add("films", json!([{"id": 1, "title": "good"}]));
    check(&server);
    assert_eq!(server.get("/health").ok(), json!({"status": "available"}));
    assert_eq!(server.ids("films", json!({"q": "good"})), [1]);
    assert_eq!(server.get("/indexes/films/documents/1").ok(), json!({"id": 1, "title": "good"}));
    let log = server.log();
    assert!(!log.contains("panicked"), "{log}");
}

#[test]
fn broken_payloads_add_nothing() {
    guarded(|server| {
        let lines = |bad: &str| {
            let mut text: String = (100..2000).map(|id| format!("{{\"id\":{id}}}\n")).collect();
            text.push_str(bad);
            text.push_str("{\"id\":9000}\n");
            text
        };
        for (content_type, body) in [
            ("application/x-ndjson", lines("{\"id\":3,\n")),
            ("application/x-ndjson", lines("{\"id\":3}}\n")),
            ("application/x-ndjson", lines("[1]\n")),
            ("application/x-ndjson", lines("nonsense\n")),
            ("application/json", "[{\"id\":2},{\"id\":3]".into()),
            ("application/json", "[{\"id\":2}".into()),
            ("application/json", "{\"id\":2} trailing".into()),
            ("application/json", "[1, 2]".into()),
            ("application/json", "\"text\"".into()),
            ("application/json", "null".into()),
            ("application/json", "{\"id\":01}".into()),
            ("text/csv", "id,title\n2,a,b\n".into()),
            ("text/csv", "id,price:number\n2,cheap\n".into()),
            ("text/csv", "id,new:boolean\n2,maybe\n".into()),
        ] {
            let shown: String = body.chars().rev().take(60).collect::<Vec<char>>().into_iter().rev().collect();
            let answer = server.post_raw(DOCUMENTS, content_type, body);
            assert_eq!(answer.status, 400, "accepted: …{shown}");
            answer.refused(400, "malformed_payload");
        }
        assert_eq!(server.document_count("films"), 1);
    });
}

#[test]
fn invalid_utf8_is_refused() {
    guarded(|server| {
        let mut body = b"[{\"id\":2,\"title\":\"".to_vec();
        body.extend([0xff, 0xfe, b'a']);
        body.extend(b"\"}]");
        server.post_raw(DOCUMENTS, "application/json", body.clone()).refused(400, "malformed_payload");
        server.post_raw(DOCUMENTS, "application/x-ndjson", body).refused(400, "malformed_payload");
        // Half of a surrogate pair is correct JSON, though not a character: U+FFFD takes its place.
        let halves = r#"{"id":2,"title":"half \ud800 pair","\udc00":1}"#;
        for (kind, body) in [("application/json", format!("[{halves}]")), ("application/x-ndjson", halves.to_owned())] {
            server.done(&server.post_raw(DOCUMENTS, kind, body));
            let asked = json!({"q": "half pair", "attributesToHighlight": ["*"], "showMatchesPosition": true});
            let hit = server.search("films", asked)["hits"][0].clone();
            let shown = (&hit["title"], &hit["_formatted"]["title"], &hit["\u{fffd}"]);
            assert_eq!(
                shown,
                (&json!("half \u{fffd} pair"), &json!("<em>half</em> \u{fffd} <em>pair</em>"), &json!(1))
            );
            assert_eq!(server.ids("films", json!({"q": "half pair", "attributesToRetrieve": ["id"]})), [2]);
        }
        // Nor can any reader take a number that large.
        for number in ["1e400", "-1.5E309", &"9".repeat(400)] {
            let body = format!("{{\"id\":3,\"n\":[{number}]}}");
            server.post_raw(DOCUMENTS, "application/json", body.clone()).refused(400, "malformed_payload");
            server.post_raw(DOCUMENTS, "application/x-ndjson", body).refused(400, "malformed_payload");
        }
        server.post_raw(DOCUMENTS, "text/csv", "id,n:number\n3,1e400\n").refused(400, "malformed_payload");
        let search = server.post_raw("/indexes/films/search", "application/json", b"{\"q\":\"\xff\"}".to_vec());
        search.refused(400, "malformed_payload");
    });
}

#[test]
fn illegal_ids_fail_their_task_only() {
    guarded(|server| {
        let long = "a".repeat(512);
        for id in [
            json!(""),
            json!("a b"),
            json!("a/b"),
            json!("a.b"),
            json!("é"),
            json!(" 1"),
            json!(long),
            json!(1.5),
            json!(1.0),
            json!(1e300),
            json!(true),
            json!(null),
            json!([1]),
            json!({"a": 1}),
        ] {
            let answer = server.post(DOCUMENTS, json!([{"id": 2, "title": "before"}, {"id": id}, {"id": 3}]));
            let task = server.fails(&answer, "invalid_document_id");
            assert_eq!(task["details"], json!({"receivedDocuments": 3, "indexedDocuments": 0}), "{task}");
        }
        server.fails(&server.post(DOCUMENTS, json!([{"title": "none"}])), "missing_document_id");
        assert_eq!(server.document_count("films"), 1);
        let ids = json!([{"id": -5}, {"id": u64::MAX}, {"id": i64::MIN}, {"id": "a".repeat(511)}, {"id": "_-"}]);
        assert_eq!(server.add("films", ids)["details"]["indexedDocuments"], 5);
    });
}

#[test]
fn nothing_is_an_answer_too() {
    guarded(|server| {
        server.post_raw(DOCUMENTS, "application/json", "").refused(400, "missing_payload");
        server.post_raw(DOCUMENTS, "application/x-ndjson", "").refused(400, "missing_payload");
        let none = json!({"receivedDocuments": 0, "indexedDocuments": 0});
        assert_eq!(server.done(&server.post(DOCUMENTS, json!([])))["details"], none);
        assert_eq!(server.done(&server.post_raw(DOCUMENTS, "application/x-ndjson", " \n \n"))["details"], none);
        assert_eq!(server.done(&server.post_raw(DOCUMENTS, "text/csv", "id,title\n"))["details"], none);
        server.done(&server.post("/indexes/empty/documents", json!([])));
        assert_eq!(server.get("/indexes/empty").ok()["primaryKey"], Value::Null);
        assert_eq!(server.search("empty", json!({"q": "anything"}))["hits"], json!([]));
        server.add("films", json!([{"id": 2, "": "", "a": "", "b": [], "c": {}, "d": null, "e": [[], [{}]]}]));
        assert_eq!(
            server.get("/indexes/films/documents/2").ok(),
            json!({"id": 2, "": "", "a": "", "b": [], "c": {}, "d": null, "e": [[], [{}]]})
        );
        server.done(&server.post("/indexes/films/documents/delete-batch", json!([])));
        server.post_raw("/indexes/films/search", "application/json", "").refused(400, "missing_payload");
    });
}

#[test]
fn a_field_of_ten_megabytes_is_stored_and_searched() {
    guarded(|server| {
        let text = "lorem ipsum dolor sit amet ".repeat(400_000);
        server.add("films", json!([{"id": 2, "title": "huge", "text": format!("first {text} last")}]));
        assert_eq!(server.ids("films", json!({"q": "first lorem", "attributesToRetrieve": ["id"]})), [2]);
        let document = server.get("/indexes/films/documents/2").ok();
        assert_eq!(document["text"].as_str().unwrap().len(), text.len() + "first  last".len());
        let word = "x".repeat(10_000_000);
        server.add("films", json!([{"id": 3, "text": word}]));
        assert_eq!(server.document_count("films"), 3);
    });
}

#[test]
fn too_many_fields_fail_the_task() {
    guarded(|server| {
        let mut wide: serde_json::Map<String, Value> = (0..100_000).map(|i| (format!("f{i}"), json!(i))).collect();
        wide.insert("id".into(), json!(2));
        server.fails(&server.post(DOCUMENTS, json!([wide])), "max_fields_limit_exceeded");
        assert_eq!(server.document_count("films"), 1);
        server.add("films", json!([{"id": 4, "title": "still writable"}]));
        let many: serde_json::Map<String, Value> =
            (0..5_000).map(|i| (format!("g{i}"), json!("word"))).chain([("id".into(), json!(3))]).collect();
        server.add("films", json!([many]));
        assert!(server.ids("films", json!({"q": "word"})).contains(&json!(3)));
    });
}

#[test]
fn deep_nesting_neither_crashes_nor_hangs() {
    guarded(|server| {
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            for depth in [60, 1_000, 100_000] {
                let middle = if open == "[" { "" } else { "1" };
                let body = format!("{{\"id\":2,\"x\":{}{middle}{}}}", open.repeat(depth), close.repeat(depth));
                let answer = server.post_raw(DOCUMENTS, "application/json", body);
                match answer.status {
                    202 => drop(server.wait(&answer)),
                    _ => answer.refused(400, "malformed_payload"),
                }
                assert!(depth > 60 || answer.status == 202, "a depth of 60 is ordinary: {}", answer.text);
            }
        }
        server
            .post_raw("/indexes/films/search", "application/json", "[".repeat(100_000))
            .refused(400, "malformed_payload");
    });
}

#[test]
fn wrong_media_types_paths_and_methods() {
    guarded(|server| {
        server.post_raw(DOCUMENTS, "text/plain", "[]").refused(415, "invalid_content_type");
        server.send(server.request(Method::POST, DOCUMENTS).body("[]")).refused(415, "missing_content_type");
        server.post_raw("/indexes/films/search", "text/csv", "{}").refused(415, "invalid_content_type");
        server
            .post_raw("/indexes/films/documents?csvDelimiter=;", "application/json", "[]")
            .refused(415, "invalid_content_type");
        server
            .post_raw("/indexes/films/documents?csvDelimiter=ab", "text/csv", "id\n")
            .refused(400, "invalid_document_csv_delimiter");
        server.post_raw("/indexes/films/search", "application/json", "{\"q\":").refused(400, "malformed_payload");
        for (answer, status) in [
            (server.get("/nothing/here"), 404),
            (server.delete("/health"), 405),
            (server.put("/indexes/films/search", json!({})), 405),
        ] {
            assert_eq!((answer.status, answer.text.as_str()), (status, ""));
        }
    });
}

#[test]
fn a_payload_over_the_limit_is_refused() {
    let server = Server::with_options(&["--http-payload-size-limit", "10000"]);
    let big = json!([{"id": 1, "text": "x".repeat(10_000)}]);
    server.post(DOCUMENTS, big).refused(413, "payload_too_large");
    server.add("films", json!([{"id": 1}]));
    assert_eq!(server.document_count("films"), 1);
}

#[test]
fn a_master_key_guards_everything_but_health() {
    let server = Server::with_options(&["--master-key", "0123456789abcdef"]);
    assert_eq!(server.get("/health").status, 200);
    server.get("/indexes").refused(401, "missing_authorization_header");
    server.post("/indexes", json!({"uid": "a"})).refused(401, "missing_authorization_header");
    server.get("/tasks/0").refused(401, "missing_authorization_header");
    let server = server.with_key("wrong");
    server.get("/stats").refused(403, "invalid_api_key");
    let server = server.with_key("0123456789abcdef");
    server.add("films", json!([{"id": 1}]));
    assert_eq!(server.document_count("films"), 1);
}

#[test]
fn templates_and_functions_end_at_their_limits() {
    guarded(|server| {
        let embedder = |template: &str| {
            json!({"embedders": {"m": {
                "source": "rest", "url": "http://127.0.0.1:9/", "dimensions": 2, "request": "{{text}}",
                "response": "{{embedding}}", "documentTemplate": template
            }}})
        };
        for (template, words) in [
            ("{% if doc %}".repeat(1_500) + &"{% endif %}".repeat(1_500), "nested"),
            (format!("{{% if doc{} %}}{{% endif %}}", " and doc".repeat(20_000)), "bytes"),
            ("{% for i in (1..3000000000) %}x{% endfor %}".to_owned(), "steps"),
            ("{% for i in (1..10000) %}".repeat(3) + &"{% endfor %}".repeat(3), "steps"),
            (format!("{{% assign a = 'xxxxxxxx' %}}{}", "{% assign a = a | append: a %}".repeat(40)), "bytes"),
        ] {
            let answer = server.patch("/indexes/films/settings", embedder(&template));
            answer.refused(400, "invalid_settings_embedders");
            let message = answer.body["message"].as_str().expect("a message");
            assert!(message.contains(words), "{message}");
            assert!(message.len() < 1_000, "{message}");
        }
        server.patch("/experimental-features", json!({"multimodal": true})).ok();
        let fragments = |indexing: &str, search: &str| {
            json!({"embedders": {"m": {
                "source": "rest", "url": "http://127.0.0.1:9/", "dimensions": 2, "request": "{{fragment}}",
                "response": "{{embedding}}",
                "indexingFragments": {"a": {"value": {"deep": [indexing]}}}, "searchFragments": {"a": {"value": search}}
            }}})
        };
        let endless = "{% for i in (1..3000000000) %}x{% endfor %}";
        for (indexing, search) in [(endless, "{{ q }}"), ("{{ doc.name }}", endless)] {
            let answer = server.patch("/indexes/films/settings", fragments(indexing, search));
            answer.refused(400, "invalid_settings_embedders");
            assert!(answer.body["message"].as_str().expect("a message").contains("steps"), "{answer:?}");
        }
        let by_request = "{% for i in (1..media.count) %}x{% endfor %}";
        server.done(&server.patch("/indexes/asked/settings", fragments("{{ doc.name }}", by_request)));
        let media = json!({"media": {"count": 3_000_000_000_u32}, "hybrid": {"embedder": "m", "semanticRatio": 1.0}});
        let answer = server.post("/indexes/asked/search", media);
        answer.refused(400, "vector_embedding_error");
        assert!(answer.body["message"].as_str().expect("a message").contains("steps"), "{answer:?}");
        let by_document = embedder("{% for i in (1..doc.count) %}{{ i }}{% endfor %}");
        server.done(&server.patch("/indexes/counts/settings", by_document));
        let added = server.post("/indexes/counts/documents", json!([{"id": 7, "count": 3_000_000_000_u32}]));
        let task = server.fails(&added, "invalid_document_fields");
        assert!(task["error"]["message"].as_str().expect("a message").contains("document `7`"), "{task}");

        server.patch("/experimental-features", json!({"editDocumentsByFunction": true})).ok();
        for function in [
            "let a = #{}; for i in 0..2000 { a = #{x: a}; } doc.x = a;",
            "let f = || 1; loop { let g = f; f = || g; }",
            "let t = \"x\"; t.pad(9_000_000, 'x'); let all = []; for i in 0..900 { all.push(t + i); }",
        ] {
            let edited = server.post("/indexes/films/documents/edit", json!({"function": function}));
            server.fails(&edited, "edit_documents_by_function_error");
        }
    });
}
