//! Requests that ask for all the memory there is: each is answered rightly or refused with a reason, and the process stays
//! small. `scripts/hostile-requests.py` sends the same to a server inside 512 and 256 MB.

use std::io::Write;

use reqwest::Method;
use serde_json::{Value, json};

use crate::server::{Answer, Server};

/// Memory limit of one response, and of one request. A few thousand documents exceed it.
const ONE_MAX_MIB: u64 = 8;
/// Answers and requests at the same time take twice as much. The allocator and the threads have some on top.
const GROWTH_MAX_KIB: u64 = (4 * ONE_MAX_MIB + 96) << 10;
const DOCUMENTS: u64 = 20_000;
const CLIENTS: usize = 8;

fn server() -> Server {
    let size = format!("{ONE_MAX_MIB} MiB");
    let server = Server::with_options(&[
        "--max-answer-memory",
        &size,
        "--max-request-memory",
        &size,
        "--max-indexing-memory",
        "128 MiB",
        "--answer-cache-size",
        "1 MiB",
    ]);
    server.set(
        "films",
        json!({
            "filterableAttributes": ["group", "name"], "sortableAttributes": ["group"],
            "pagination": {"maxTotalHits": 1_000_000}, "faceting": {"maxValuesPerFacet": 1_000_000},
        }),
    );
    let overview = "lorem ipsum dolor sit amet ".repeat(30);
    let mut lines = Vec::new();
    for id in 0..DOCUMENTS {
        let document = json!({"id": id, "name": format!("name {id} of many"), "group": id % 7, "overview": overview});
        writeln!(lines, "{document}").expect("a list takes everything");
    }
    server.done(&server.post_raw("/indexes/films/documents", "application/x-ndjson", lines));
    // One document of some megabytes.
    server.add("large", json!([{"id": 1, "text": "word and word or ".repeat(200_000)}, {"id": 2, "text": "word"}]));
    server
}

/// The answer is right, or says what to ask for instead.
#[track_caller]
fn answered(answer: &Answer, is_right: impl Fn(&Value) -> bool) {
    match answer.status {
        200 => assert!(is_right(&answer.body), "{:.300}", answer.text),
        400 => {
            answer.refused(400, "answer_too_large");
            assert!(answer.text.contains("`--max-answer-memory`"), "{}", answer.text);
        }
        503 => answer.refused(503, "too_many_search_requests"),
        _ => panic!("{} {:.300}", answer.status, answer.text),
    }
    assert!(answer.status == 200 || answer.text.len() < 5000);
}

/// Sends `request` from many clients at the same time.
#[track_caller]
fn from_many(server: &Server, path: &str, body: &Value, is_right: impl Fn(&Value) -> bool + Sync) -> Vec<u16> {
    std::thread::scope(|scope| {
        let ask = || {
            let answer = if body.is_null() { server.get(path) } else { server.post(path, body.clone()) };
            answered(&answer, &is_right);
            answer.status
        };
        let clients: Vec<_> = (0..CLIENTS).map(|_| scope.spawn(ask)).collect();
        clients.into_iter().map(|client| client.join().expect("every answer is fine")).collect()
    })
}

fn len(list: &Value) -> u64 {
    list.as_array().map_or(0, Vec::len) as u64
}

#[test]
fn answers_stay_inside_their_memory() {
    let server = server();
    server.forget_peak();
    let (before, _) = server.memory();
    // Lists are written while they are sent, whatever their length.
    let list = "/indexes/films/documents?limit=1000000";
    let statuses = from_many(&server, list, &Value::Null, |body| len(&body["results"]) == DOCUMENTS);
    assert!(statuses.contains(&200), "{statuses:?}");
    for sort in [json!(null), json!(["group:desc"])] {
        let fetch = json!({"limit": 1_000_000, "sort": sort, "filter": "group >= 0"});
        let answer = server.post("/indexes/films/documents/fetch", fetch).ok();
        assert_eq!((len(&answer["results"]), &answer["total"]), (DOCUMENTS, &json!(DOCUMENTS)));
    }
    // Searches are bounded.
    let all = json!({"q": "", "limit": 1_000_000});
    server.post("/indexes/films/search", all.clone()).refused(400, "answer_too_large");
    from_many(&server, "/indexes/films/search", &all, |_| false);
    let some = json!({"q": "lorem", "limit": 1000, "attributesToRetrieve": ["id"]});
    assert_eq!(len(&server.search("films", some)["hits"]), 1000);
    let marked = json!({
        "q": "lorem ipsum dolor", "limit": 5000, "attributesToHighlight": ["*"], "showMatchesPosition": true,
        "highlightPreTag": "x".repeat(1024), "highlightPostTag": "y".repeat(1024)
    });
    from_many(&server, "/indexes/films/search", &marked, |_| false);
    let request =
        json!({"q": "lorem", "limit": 1_000_000, "showRankingScoreDetails": true, "attributesToRetrieve": []});
    from_many(&server, "/indexes/films/search", &request, |body| len(&body["hits"]) == DOCUMENTS);
    let facets = json!({"limit": 0, "facets": ["*"]});
    from_many(&server, "/indexes/films/search", &facets, |body| {
        body["facetDistribution"]["name"].as_object().map(serde_json::Map::len) == Some(DOCUMENTS as usize)
    });
    let words = json!({"q": "lorem ipsum dolor ".repeat(30), "limit": 2000, "explain": true});
    server.post("/indexes/films/search", words).refused(400, "answer_too_large");
    // Many queries in one request.
    let query = json!({"indexUid": "films", "q": "lorem", "limit": 1000});
    from_many(&server, "/multi-search", &json!({"queries": vec![query; 100]}), |_| false);
    let query = json!({"indexUid": "films", "q": "lorem"});
    let merged = json!({"federation": {"limit": 1000}, "queries": vec![query; 100]});
    from_many(&server, "/multi-search", &merged, |body| len(&body["hits"]) == 1000);
    let few = json!({"federation": {"limit": 20}, "queries": vec![json!({"indexUid": "films", "q": "lorem"}); 100]});
    assert_eq!(len(&server.post("/multi-search", few).ok()["hits"]), 20);
    let (_, peak) = server.memory();
    assert!(peak < before + GROWTH_MAX_KIB, "{before} KiB before, {peak} KiB at most");
    assert_eq!(server.get("/health").status, 200);
}

#[test]
fn a_large_document_stays_inside_its_memory() {
    let server = server();
    server.forget_peak();
    let (before, _) = server.memory();
    let refused = |answer: Answer| answer.refused(400, "answer_too_large");
    refused(server.get("/indexes/large/documents/1"));
    refused(server.get("/indexes/large/documents"));
    assert_eq!(server.get("/indexes/large/documents/2").ok()["id"], 2);
    for more in [
        json!({}),
        json!({"attributesToRetrieve": ["id"]}),
        json!({"attributesToHighlight": ["text"]}),
        json!({"attributesToCrop": ["text"], "attributesToRetrieve": ["id"]}),
        json!({"showMatchesPosition": true, "explain": true}),
    ] {
        let mut query = json!({"q": "word"});
        query.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        refused(server.post("/indexes/large/search", query));
    }
    assert_eq!(len(&server.search("large", json!({"q": "word", "filter": null, "limit": 0}))["hits"]), 0);
    let (_, peak) = server.memory();
    assert!(peak < before + GROWTH_MAX_KIB, "{before} KiB before, {peak} KiB at most");
}

/// Checks that reads of documents by programs and templates count like any response.
#[test]
fn tools_and_templates_stay_inside_their_memory() {
    let server = server();
    server.patch("/experimental-features", json!({"renderRoute": true})).ok();
    server.forget_peak();
    let (before, _) = server.memory();
    let called = |name: &str, arguments: Value| {
        let params = json!({"name": name, "arguments": arguments});
        json!({"id": 1, "method": "tools/call", "params": params})
    };
    let said = |answer: &Value| answer["result"]["content"][0]["text"].as_str().expect("text").to_owned();
    let fetched = server.post("/mcp", called("fetch", json!({"index": "large", "ids": ["1"]}))).ok();
    assert!(fetched["result"]["isError"] == true, "{fetched}");
    assert!(said(&fetched).contains("`--max-answer-memory`"), "{fetched}");
    let fetched = server.post("/mcp", called("fetch", json!({"index": "large", "ids": ["2"]}))).ok();
    assert!(said(&fetched).contains("\"id\":2"), "{fetched}");
    let facets = server.post("/mcp", called("facets", json!({"index": "films", "facets": ["name"]}))).ok();
    let values =
        facets["result"]["structuredContent"]["facetDistribution"]["name"].as_object().map(serde_json::Map::len);
    assert!(facets["result"]["isError"] == true || values == Some(DOCUMENTS as usize), "{facets}");
    let several = json!(vec![called("search", json!({"index": "films", "q": "lorem", "limit": 50})); 50]);
    assert_eq!(len(&server.post("/mcp", several).ok()), 50);
    from_many(&server, "/mcp", &called("search", json!({"index": "films", "q": "lorem", "limit": 50})), |body| {
        body["result"]["content"][0]["text"].is_string()
    });

    let rendered = |inline: &str, id: &str| {
        json!({
            "template": {"kind": "inlineDocumentTemplate", "inline": inline},
            "input": {"kind": "indexDocument", "indexUid": "large", "id": id},
        })
    };
    server.post("/render-template", rendered("{{ doc.text }}", "1")).refused(400, "answer_too_large");
    assert_eq!(server.post("/render-template", rendered("{{ doc.text }}", "2")).ok()["rendered"], "word");
    let copies = "{% assign a = doc.text | append: doc.text %}".repeat(100);
    from_many(&server, "/render-template", &rendered(&copies, "2"), |body| body["rendered"] == "");
    let (_, peak) = server.memory();
    assert!(peak < before + GROWTH_MAX_KIB, "{before} KiB before, {peak} KiB at most");
}

#[test]
fn requests_stay_inside_their_memory() {
    let server = Server::with_options(&["--max-request-memory", &format!("{ONE_MAX_MIB} MiB")]);
    server.add("films", json!([{"id": 1, "title": "good"}]));
    server.forget_peak();
    let (before, _) = server.memory();
    let zipped = |text: &str| {
        let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        writer.write_all(text.as_bytes()).expect("a list takes everything");
        writer.finish().expect("a list takes everything")
    };
    let send = |method: Method, path: &str, body: Vec<u8>| {
        let request = server.request(method, path).header("Content-Type", "application/json");
        server.send(request.header("Content-Encoding", "gzip").body(body))
    };
    // Few bytes that become many, and few values that do.
    let lists = format!("{{\"q\":[{}[]]}}", "[],".repeat(3_000_000));
    let text = format!("{{\"q\":\"{}\"}}", "a".repeat(30_000_000));
    let tag = format!("{{\"highlightPreTag\":\"{}\"}}", "a".repeat(1_000_000));
    // Short enough as a text.
    let few = format!("[{}[]]", "[],".repeat(1_000_000));
    send(Method::POST, "/mcp", zipped(&few)).refused(413, "payload_too_large");
    for body in [&lists, &text] {
        let answer = send(Method::POST, "/indexes/films/search", zipped(body));
        answer.refused(413, "payload_too_large");
        assert!(answer.text.contains("`--max-request-memory`"), "{}", answer.text);
        send(Method::PATCH, "/indexes/films/settings", zipped(body)).refused(413, "payload_too_large");
        send(Method::POST, "/mcp", zipped(body)).refused(413, "payload_too_large");
    }
    send(Method::POST, "/indexes/films/search", zipped(&tag)).refused(400, "invalid_search_highlight_pre_tag");
    // What is refused is quoted, but not all of it.
    let (lists, text) = (vec![json!([]); 10_000], "é".repeat(10_000));
    for (path, body, code) in [
        ("/indexes/films/search", json!({"q": lists}), "invalid_search_q"),
        ("/indexes/films/search", json!({"filter": text}), "invalid_search_filter"),
        ("/indexes/films/search", json!({"sort": [text]}), "invalid_search_sort"),
        ("/indexes/films/search", json!({"facets": [text]}), "invalid_search_facets"),
        ("/indexes/films/search", json!({"matchingStrategy": text}), "invalid_search_matching_strategy"),
        ("/indexes/films/search", json!({"vector": text}), "invalid_search_vector"),
        ("/indexes/films/search", json!({text.as_str(): 1}), "bad_request"),
        ("/indexes/films/documents/fetch", json!({"fields": {"a": lists}}), "invalid_document_fields"),
        ("/indexes/films/documents/delete", json!({"filter": text}), "invalid_document_filter"),
        ("/indexes", json!({"uid": text}), "invalid_index_uid"),
        ("/multi-search", json!({"queries": [{"indexUid": text}]}), "invalid_index_uid"),
    ] {
        let answer = server.post(path, body);
        answer.refused(400, code);
        let message = answer.body["message"].as_str().expect("refusals have messages");
        assert!(message.len() <= 4100, "{path}: {} bytes: {message:.200}", message.len());
        assert!(message.contains('…'), "{path}: {} bytes: {message:.200}", message.len());
    }
    // Many ids are no tree of values.
    let ids: Vec<u32> = (0..100_000).collect();
    server.done(&server.post("/indexes/films/documents/delete-batch", json!(ids)));
    let (_, peak) = server.memory();
    assert!(peak < before + GROWTH_MAX_KIB, "{before} KiB before, {peak} KiB at most");
}
