//! Tools for language models: `lamina mcp` over standard input and output, and `/mcp` over HTTP.

use std::io::Write;
use std::process::{Command, Stdio};

use reqwest::Method;
use reqwest::header::ACCEPT;
use serde_json::{Value, json};

use crate::keys::{MASTER, ask, make, value};
use crate::server::{Server, UNREACHABLE, binary};

/// Returns the responses to these messages.
fn answers(url: &str, arguments: &[&str], messages: &[Value]) -> Vec<Value> {
    let mut command = Command::new(binary());
    command.args(["mcp", "--url", url]).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut process = command.spawn().expect("the binary starts");
    let mut input = process.stdin.take().expect("a pipe");
    for message in messages {
        writeln!(input, "{message}").expect("it reads");
    }
    drop(input);
    let output = process.wait_with_output().expect("it ends");
    assert!(output.status.success());
    let lines = String::from_utf8(output.stdout).expect("text");
    lines.lines().map(|line| serde_json::from_str(line).expect("a line is a message")).collect()
}

fn call(name: &str, arguments: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}})
}

/// Parses the text of a result.
fn result_text(result: &Value) -> Value {
    serde_json::from_str(result["content"][0]["text"].as_str().expect("text")).expect("JSON")
}

/// The result of one call.
fn called(url: &str, options: &[&str], name: &str, arguments: Value) -> Value {
    let mut answers = answers(url, options, &[call(name, arguments)]);
    assert_eq!(answers.len(), 1);
    answers.remove(0)
}

fn films() -> Server {
    let server = Server::start();
    server.set("films", json!({"filterableAttributes": ["year"], "sortableAttributes": ["year"]}));
    server.add(
        "films",
        json!([{"id": 1, "title": "Alien", "year": 1979}, {"id": 2, "title": "Aliens", "year": 1986}, {"id": 3, "title": "Up", "year": 2009}]),
    );
    server
}

#[test]
fn a_client_introduces_itself_and_lists_the_tools() {
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}});
    let messages = [
        hello,
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": "two", "method": "tools/list"}),
    ];
    let said = answers(UNREACHABLE, &[], &messages);
    assert_eq!(said.len(), 2, "a notification has no answer: {said:?}");
    assert_eq!((&said[0]["id"], &said[0]["result"]["protocolVersion"]), (&json!(0), &json!("2025-03-26")));
    assert_eq!(said[1]["id"], "two");
    let names = |tools: &Value| -> Vec<String> {
        let tools = tools.as_array().expect("a list").iter();
        tools.map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect()
    };
    let all = &said[1]["result"]["tools"];
    assert_eq!(names(all), ["list_indexes", "search", "fetch", "facets", "get_settings", "explain"]);
    assert_eq!(all[1]["inputSchema"]["required"], json!(["index", "q"]));
    assert!(all[1]["inputSchema"]["properties"]["limit"]["maximum"].is_u64());
    // Bound to an index, tools have no choice of one.
    let bound = answers(UNREACHABLE, &["--index", "films"], &messages);
    let tools = &bound[1]["result"]["tools"];
    assert_eq!(names(tools), ["search", "fetch", "facets", "get_settings", "explain"]);
    assert!(tools.as_array().unwrap().iter().all(|tool| tool["inputSchema"]["properties"]["index"].is_null()));
}

#[test]
fn tools_answer() {
    let server = films();
    let ask = |name: &str, arguments: Value| {
        let answer = called(&server.url, &[], name, arguments);
        assert_eq!(answer["result"]["isError"], false, "{answer}");
        result_text(&answer["result"])
    };
    let listed = ask("list_indexes", json!({}));
    let films = &listed["results"][0];
    assert_eq!((&films["uid"], &films["filterableAttributes"]), (&json!("films"), &json!(["year"])), "{listed}");
    let found =
        ask("search", json!({"index": "films", "q": "alein", "sort": ["year:desc"], "fields": ["title"], "limit": 1}));
    assert_eq!(found, json!({"hits": [{"title": "Aliens"}], "estimatedTotalHits": 2}));
    let found = ask("search", json!({"index": "films", "q": "", "filter": "year > 1990", "matching_strategy": "all"}));
    assert_eq!(found["hits"][0]["title"], "Up");
    let fetched = ask("fetch", json!({"index": "films", "ids": ["3", "9"]}));
    assert_eq!((&fetched["results"], &fetched["total"]), (&json!([{"id": 3, "title": "Up", "year": 2009}]), &json!(1)));
    let counted = ask("facets", json!({"index": "films", "facets": ["year"], "q": "alien"}));
    assert_eq!(counted["facetDistribution"]["year"], json!({"1979": 1, "1986": 1}));
    assert_eq!(counted["facetStats"]["year"]["max"], 1986.0);
    assert_eq!(ask("get_settings", json!({"index": "films"}))["sortableAttributes"], json!(["year"]));
    let why = ask("explain", json!({"index": "films", "q": "alien", "document_id": "3"}));
    assert_eq!(why["explanation"]["document"]["isHit"], false, "{why}");
}

#[test]
fn what_is_wrong_is_said_to_the_model() {
    let server = films();
    for (name, arguments, message) in
        [("drop", json!({}), "there is no tool `drop`"), ("search", json!([]), "`params.arguments` must be an object")]
    {
        let answer = called(&server.url, &[], name, arguments);
        assert_eq!((&answer["error"]["code"], &answer["error"]["message"]), (&json!(-32602), &json!(message)));
    }
    // What a model can correct is a result, which it reads.
    for (name, arguments, message) in [
        ("search", json!({"index": "films"}), "`search` needs the argument `q`"),
        ("search", json!({"q": "x"}), "`search` needs the argument `index`"),
        ("search", json!({"index": "films", "q": [1]}), "the argument `q` of `search` must be a string"),
        (
            "search",
            json!({"index": "films", "q": "x", "limit": -1}),
            "the argument `limit` of `search` must be an integer from 1 to 50",
        ),
        (
            "fetch",
            json!({"index": "films", "ids": vec![3; 101]}),
            "the argument `ids` of `fetch` must be an array of 1 to 100 strings",
        ),
        ("search", json!({"index": "films", "q": "x", "p": "y"}), "`search` has no argument `p`"),
    ] {
        let answer = called(&server.url, &[], name, arguments);
        let result = &answer["result"];
        assert_eq!((&result["isError"], &result["content"][0]["text"]), (&json!(true), &json!(message)));
    }
    let refused = |url: &str, options: &[&str], arguments: Value, reason: &str| {
        let answer = called(url, options, "search", arguments);
        let said = answer["result"]["content"][0]["text"].as_str().expect("text");
        assert!(answer["result"]["isError"] == true, "{answer}");
        assert!(said.contains(reason), "{answer}");
    };
    refused(&server.url, &[], json!({"index": "absent", "q": ""}), "Index `absent` not found.");
    refused(&server.url, &[], json!({"index": "films", "q": "", "filter": "title = x"}), "not filterable");
    refused(&server.url, &["--index", "absent"], json!({"q": ""}), "Index `absent` not found.");
    refused(UNREACHABLE, &[], json!({"index": "films", "q": ""}), "cannot connect to");
    let server = Server::with_options(&["--master-key", "0123456789abcdef"]);
    refused(&server.url, &[], json!({"index": "films", "q": ""}), "Give a key with --api-key");
    let key = ["--api-key", "0123456789abcdef"];
    refused(&server.url, &key, json!({"index": "films", "q": ""}), "Index `films` not found.");
}

#[test]
fn the_same_tools_answer_over_http() {
    let server = films();
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}});
    let said = server.post("/mcp", hello).ok();
    assert_eq!(said["result"]["protocolVersion"], "2025-06-18");
    let listed = |path: &str| server.post(path, json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})).ok();
    assert_eq!(listed("/mcp")["result"]["tools"].as_array().unwrap().len(), 6);
    assert_eq!(listed("/mcp?index=films")["result"]["tools"].as_array().unwrap().len(), 5);
    let note = server.post("/mcp", json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    assert_eq!((note.status, note.text.as_str()), (202, ""));

    let called =
        |path: &str, name: &str, arguments: Value| server.post(path, call(name, arguments)).ok()["result"].clone();
    let all = [
        ("list_indexes", json!({})),
        ("search", json!({"index": "films", "q": "alein"})),
        ("fetch", json!({"index": "films", "ids": ["3"]})),
        ("facets", json!({"index": "films", "facets": ["year"]})),
        ("get_settings", json!({"index": "films"})),
        ("explain", json!({"index": "films", "q": "alien", "document_id": "3"})),
        ("search", json!({"index": "absent", "q": ""})),
        ("search", json!({"index": "a/../b", "q": ""})),
    ];
    let messages: Vec<Value> = all.iter().map(|(name, arguments)| call(name, arguments.clone())).collect();
    let over_pipes = answers(&server.url, &[], &messages);
    for ((name, arguments), by_pipe) in all.iter().zip(over_pipes) {
        let by_http = called("/mcp", name, arguments.clone());
        if by_http["isError"] == true {
            let said = |answer: &Value| answer["content"][0]["text"].as_str().expect("text").to_owned();
            assert!(said(&by_pipe["result"]).contains(&said(&by_http)), "{name}: {by_pipe} {by_http}");
        } else {
            // How long each step took differs.
            let place = if name == &"explain" { "/explanation/document" } else { "" };
            let (by_http, by_pipe) = (result_text(&by_http), result_text(&by_pipe["result"]));
            assert_eq!(by_http.pointer(place), by_pipe.pointer(place), "{name}");
            assert!(by_http.pointer(place).is_some(), "{name}");
        }
    }
    let bound = called("/mcp?index=films", "search", json!({"q": "up"}));
    assert_eq!(result_text(&bound)["hits"][0]["id"], 3);

    // As an event, for clients that take nothing else.
    let request = server.request(Method::POST, "/mcp").header(ACCEPT, "text/event-stream");
    let event = server.send(request.json(&json!({"id": 1, "method": "ping"})));
    assert_eq!(event.text, "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n");
    let several = server.post("/mcp", json!([{"id": 1, "method": "ping"}, {"id": 2, "method": "ping"}])).ok();
    assert_eq!(several[1], json!({"jsonrpc": "2.0", "id": 2, "result": {}}));
}

#[test]
fn over_http_messages_that_are_none_are_refused() {
    let server = Server::start();
    let ping = || json!({"id": 1, "method": "ping"});
    let with = |name: &str, value: &str| server.request(Method::POST, "/mcp").header(name, value).json(&ping());
    let send = |body: &str| {
        let request = server.request(Method::POST, "/mcp").header("content-type", "application/json");
        server.send(request.body(body.to_owned()))
    };
    for (body, code) in [("{", -32700), ("[]", -32600), ("[1]", -32600), ("null", -32600), ("{\"id\": 1}", -32600)] {
        let answer = send(body);
        assert_eq!((answer.status, &answer.body["error"]["code"]), (400, &json!(code)), "{body}");
    }
    send("").refused(400, "missing_payload");
    server.send(server.request(Method::POST, "/mcp").body("{}")).refused(415, "missing_content_type");
    let unknown = server.send(with("mcp-protocol-version", "1999-01-01"));
    assert_eq!((unknown.status, &unknown.body["error"]["code"], &unknown.body["id"]), (400, &json!(-32022), &json!(1)));
    assert_eq!(server.send(with("mcp-protocol-version", "2025-03-26")).status, 200);
    assert_eq!(server.send(with("accept", "text/html")).status, 406);
    server.post("/mcp?index=a%20b", ping()).refused(400, "invalid_index_uid");
    server.post("/mcp?indes=a", ping()).refused(400, "bad_request");
    // There are no streams of the server's own, and no sessions to end.
    for method in [Method::GET, Method::DELETE] {
        assert_eq!(server.send(server.request(method, "/mcp")).status, 405);
    }
    // Nor may a page of somewhere else ask a server without a key.
    server.send(with("origin", "https://elsewhere.example")).refused(403, "foreign_origin");
}

#[test]
fn over_http_tools_do_what_the_key_may_do() {
    let server = crate::keys::start(&[]);
    for index in ["films", "books"] {
        let added =
            ask(&server, MASTER, "POST", &format!("/indexes/{index}/documents"), &json!([{"id": 1, "title": "Up"}]));
        crate::keys::finish(&server, &added);
    }
    let key = value(&make(&server, &["search"], &["films"]));
    let called = |name: &str, arguments: Value| {
        ask(&server, &key, "POST", "/mcp", &call(name, arguments)).ok()["result"].clone()
    };
    assert_eq!(result_text(&called("search", json!({"index": "films", "q": "up"})))["hits"][0]["id"], 1);
    for (name, arguments, reason) in [
        ("search", json!({"index": "books", "q": "up"}), "cannot acces the index `books`"),
        ("get_settings", json!({"index": "films"}), "The provided API key is invalid."),
        ("fetch", json!({"index": "films", "ids": ["1"]}), "The provided API key is invalid."),
        ("list_indexes", json!({}), "The provided API key is invalid."),
    ] {
        let result = called(name, arguments);
        let said = result["content"][0]["text"].as_str().expect("text");
        assert!(result["isError"] == true, "{name}: {result}");
        assert!(said.contains(reason), "{name}: {result}");
    }
    // Without a key, or with one that may not search, no message is read.
    server.send(server.request(Method::POST, "/mcp").json(&json!({}))).refused(401, "missing_authorization_header");
    let other = value(&make(&server, &["documents.get"], &["*"]));
    ask(&server, &other, "POST", "/mcp", &json!({})).refused(403, "invalid_api_key");
}

/// A client of a version that is not known here agrees on one that is; one of 2026-07-28 needs no agreement.
#[test]
fn clients_of_every_version_are_answered() {
    let server = films();
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2099-01-01"}});
    let header = |version: &str| server.request(Method::POST, "/mcp").header("mcp-protocol-version", version);
    let agreed = server.send(header("2099-01-01").json(&hello)).ok();
    assert_eq!(agreed["result"]["protocolVersion"], "2025-11-25");
    assert_eq!(server.send(header("2025-11-25").json(&json!({"id": 1, "method": "ping"}))).status, 200);

    let message = |method: &str, more: Value| {
        let mut message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": more});
        message["params"]["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {},
        });
        message
    };
    let send = |method: &str, name: Option<&str>, message: &Value| {
        let request = header("2026-07-28").header("mcp-method", method);
        let request = name.into_iter().fold(request, |request, name| request.header("mcp-name", name));
        server.send(request.json(message))
    };
    let found = send("server/discover", None, &message("server/discover", json!({}))).ok();
    assert_eq!(found["result"]["supportedVersions"][0], "2026-07-28");
    let searches = message("tools/call", json!({"name": "search", "arguments": {"index": "films", "q": "up"}}));
    let found = send("tools/call", Some("search"), &searches).ok();
    assert_eq!(
        (&found["result"]["resultType"], &result_text(&found["result"])["hits"][0]["id"]),
        (&json!("complete"), &json!(3))
    );
    for (method, name, message, status, code) in [
        ("tools/list", Some("search"), &searches, 400, -32020),
        ("tools/call", Some("fetch"), &searches, 400, -32020),
        ("tools/call", None, &searches, 400, -32020),
        ("prompts/list", None, &message("prompts/list", json!({})), 404, -32601),
        ("ping", None, &json!({"id": 1, "method": "ping"}), 400, -32602),
    ] {
        let refused = send(method, name, message);
        assert_eq!((refused.status, &refused.body["error"]["code"]), (status, &json!(code)), "{method} {name:?}");
    }
}

/// Arguments that one index or all of them understand: fields, crops, embedders, many ids.
#[test]
fn searches_take_what_a_model_needs() {
    let server = Server::start();
    let settings = json!({
        "filterableAttributes": ["year"], "sortableAttributes": ["year"],
        "embedders": {"own": {"source": "userProvided", "dimensions": 2}},
    });
    server.set("texts", settings);
    let long = format!("{}needle{}", "hay ".repeat(50), " straw".repeat(50));
    let documents: Vec<Value> = (0..60)
        .map(|id| json!({"id": id, "text": if id == 7 { &long } else { "other" }, "year": id, "_vectors": {"own": [1, id]}}))
        .collect();
    server.add("texts", json!(documents));
    let ask = |name: &str, arguments: Value| {
        let result = server.post("/mcp?index=texts", call(name, arguments)).ok()["result"].clone();
        assert_eq!(result["isError"], false, "{result}");
        result_text(&result)
    };
    let found = ask("search", json!({"q": "needle", "fields": ["id"], "crop": ["text"], "crop_length": 3}));
    assert_eq!(found["hits"], json!([{"id": 7, "text": "…hay needle straw…"}]));
    let found = ask("search", json!({"q": "needle", "crop": ["text:1"]}));
    assert_eq!(found["hits"], json!([{"id": 7, "text": "…needle…", "year": 7}]));
    // Words that no document has do not hide the ones that one has.
    let found = ask("search", json!({"q": "how would a person ever find the needle"}));
    assert_eq!(found["hits"][0]["id"], 7);
    let ids: Vec<u32> = (0..60).collect();
    assert_eq!(ask("fetch", json!({"ids": ids, "fields": ["id"]}))["results"].as_array().map(Vec::len), Some(60));
    let refused = server.post("/mcp?index=texts", call("search", json!({"q": "x", "hybrid": {"embedder": "no"}}))).ok();
    assert!(refused["result"]["content"][0]["text"].as_str().expect("text").contains("`no`"), "{refused}");
    let listed =
        |path: &str| server.post(path, json!({"id": 1, "method": "tools/list"})).ok()["result"]["tools"].to_string();
    assert!(listed("/mcp?index=texts").contains("Fields: `year`"));
    assert!(listed("/mcp?index=texts").contains("`own`"));
    assert!(listed("/mcp").contains("`texts`: filters and facets by `year`"), "{}", listed("/mcp"));
}

/// By an alias and with a tenant token, tools do what the request that they stand for does.
#[test]
fn aliases_and_tenant_tokens_hold_for_every_tool() {
    let server = crate::keys::start(&[]);
    let documents = json!([{"id": 1, "title": "Up", "group": "a"}, {"id": 2, "title": "Up", "group": "b"}]);
    for index in ["films", "books"] {
        let set = ask(
            &server,
            MASTER,
            "PATCH",
            &format!("/indexes/{index}/settings"),
            &json!({"filterableAttributes": ["group"]}),
        );
        crate::keys::finish(&server, &set);
        crate::keys::finish(&server, &ask(&server, MASTER, "POST", &format!("/indexes/{index}/documents"), &documents));
    }
    let made = ask(&server, MASTER, "PUT", "/aliases/present", &json!({"indexUid": "films"}));
    crate::keys::finish(&server, &made);
    let actions = ["search", "documents.get", "settings.get", "indexes.get"];
    let called = |key: &str, path: &str, name: &str, arguments: Value| {
        ask(&server, key, "POST", path, &call(name, arguments)).ok()["result"].clone()
    };
    let every = [
        ("search", json!({"q": "up"})),
        ("fetch", json!({"ids": [1]})),
        ("facets", json!({"facets": ["group"]})),
        ("get_settings", json!({})),
        ("explain", json!({"q": "up", "document_id": 1})),
    ];
    let made = make(&server, &actions, &["films"]);
    let key = value(&made);
    for (name, arguments) in &every {
        let by_alias = called(MASTER, "/mcp?index=present", name, arguments.clone());
        assert_eq!(by_alias["isError"], false, "{name}: {by_alias}");
        let mut named = arguments.clone();
        named["index"] = json!("present");
        assert_eq!(called(MASTER, "/mcp", name, named.clone())["isError"], false, "{name}");
        // The key is for what the alias names, or it is not, as in any other request.
        let elsewhere = json!({"index": "books"});
        named.as_object_mut().unwrap().extend(elsewhere.as_object().unwrap().clone());
        assert_eq!(called(&key, "/mcp", name, named)["isError"], true, "{name}");
    }
    let tools = ask(&server, &key, "POST", "/mcp", &json!({"id": 1, "method": "tools/list"})).ok().to_string();
    assert!(tools.contains("`films`"), "{tools}");
    assert!(!tools.contains("`books`"), "{tools}");
    let token = crate::tenants::token(&made, json!({"films": {"filter": "group = a"}}));
    let found = result_text(&called(&token, "/mcp", "search", json!({"index": "films", "q": "up"})));
    assert_eq!((&found["estimatedTotalHits"], &found["hits"][0]["id"]), (&json!(1), &json!(1)));
    let counted = called(&token, "/mcp", "facets", json!({"index": "films", "facets": ["group"]}));
    assert_eq!(counted["structuredContent"]["facetDistribution"]["group"], json!({"a": 1}));
    let why = result_text(&called(&token, "/mcp", "explain", json!({"index": "films", "q": "up", "document_id": 2})));
    assert_eq!(why["explanation"]["document"]["reason"], "documentNotFound", "{why}");
    // What tokens open nowhere, they do not open here.
    for (name, arguments) in [("fetch", json!({"index": "films", "ids": [1]})), ("list_indexes", json!({}))] {
        assert_eq!(called(&token, "/mcp", name, arguments)["isError"], true, "{name}");
    }
}
