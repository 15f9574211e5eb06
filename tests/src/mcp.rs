//! Tools for language models: `lamina mcp` over standard input and output, and `/mcp` over HTTP.

use std::io::Write;
use std::process::{Command, Stdio};

use reqwest::Method;
use reqwest::header::ACCEPT;
use serde_json::{Value, json};

use crate::keys::{MASTER, ask, make, value};
use crate::server::{Server, UNREACHABLE, binary};

/// What is answered to these messages.
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
        let result = &answer["result"];
        let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().expect("text")).expect("JSON");
        assert_eq!(text, result["structuredContent"]);
        text
    };
    assert_eq!(ask("list_indexes", json!({}))["results"][0]["uid"], "films");
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
    for (name, arguments, message) in [
        ("drop", json!({}), "there is no tool `drop`"),
        ("search", json!({"index": "films"}), "`search` needs the argument `q`"),
        ("search", json!({"q": "x"}), "`search` needs the argument `index`"),
        ("search", json!({"index": "films", "q": 1}), "the argument `q` of `search` must be: string"),
        (
            "search",
            json!({"index": "films", "q": "x", "limit": -1}),
            "the argument `limit` of `search` must be: integer",
        ),
        ("fetch", json!({"index": "films", "ids": [3]}), "the argument `ids` of `fetch` must be: array of strings"),
        ("search", json!({"index": "films", "q": "x", "p": "y"}), "`search` has no argument `p`"),
        ("search", json!([]), "`params.arguments` must be an object"),
    ] {
        let answer = called(&server.url, &[], name, arguments);
        assert_eq!((&answer["error"]["code"], &answer["error"]["message"]), (&json!(-32602), &json!(message)));
    }
    let refused = |url: &str, options: &[&str], arguments: Value, reason: &str| {
        let answer = called(url, options, "search", arguments);
        let said = answer["result"]["content"][0]["text"].as_str().expect("text");
        assert!(answer["result"]["isError"] == true && said.contains(reason), "{answer}");
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
            let place =
                if name == &"explain" { "/structuredContent/explanation/document" } else { "/structuredContent" };
            assert_eq!(by_http.pointer(place), by_pipe["result"].pointer(place), "{name}");
            assert!(by_http.pointer(place).is_some(), "{name}");
        }
    }
    let bound = called("/mcp?index=films", "search", json!({"q": "up"}));
    assert_eq!(bound["structuredContent"]["hits"][0]["id"], 3);

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
    server.send(with("mcp-protocol-version", "1999-01-01")).refused(400, "bad_request");
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
    assert_eq!(called("search", json!({"index": "films", "q": "up"}))["structuredContent"]["hits"][0]["id"], 1);
    for (name, arguments, reason) in [
        ("search", json!({"index": "books", "q": "up"}), "cannot acces the index `books`"),
        ("get_settings", json!({"index": "films"}), "The provided API key is invalid."),
        ("fetch", json!({"index": "films", "ids": ["1"]}), "The provided API key is invalid."),
        ("list_indexes", json!({}), "The provided API key is invalid."),
    ] {
        let result = called(name, arguments);
        let said = result["content"][0]["text"].as_str().expect("text");
        assert!(result["isError"] == true && said.contains(reason), "{name}: {result}");
    }
    // Without a key, or with one that may not search, no message is read.
    server.send(server.request(Method::POST, "/mcp").json(&json!({}))).refused(401, "missing_authorization_header");
    let other = value(&make(&server, &["documents.get"], &["*"]));
    ask(&server, &other, "POST", "/mcp", &json!({})).refused(403, "invalid_api_key");
}
