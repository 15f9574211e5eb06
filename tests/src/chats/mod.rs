//! `/chats`: workspaces, and conversations with a provider that behaves well, or does not.

mod misbehaving;

use serde_json::{Value, json};

use crate::keys::{MASTER, ask, make, start, value};
use crate::receiver::{Behaviour, Receiver};
use crate::server::Server;

const LOCAL: [&str; 2] = ["--experimental-allowed-ip-networks", "127.0.0.0/8"];
const SECRET: &str = "sk-a-secret-of-the-provider-0123456789";
const TOOLS: [&str; 3] = ["_meiliSearchProgress", "_meiliAppendConversationMessage", "_meiliSearchSources"];

/// A turn of the model as a provider streams it.
pub(crate) fn turn(chunks: &[Value]) -> Behaviour {
    let mut body: String = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
    body.push_str("data: [DONE]\n\n");
    said(body)
}

fn said(body: String) -> Behaviour {
    Behaviour::Say(200, "Content-Type: text/event-stream\r\n", body)
}

fn chunk(delta: Value, finish: Value) -> Value {
    json!({
        "id": "c1", "object": "chat.completion.chunk", "created": 7, "model": "m",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    })
}

/// A turn that asks for a search.
fn searching(arguments: &str) -> Behaviour {
    let (first, second) = arguments.split_at(arguments.len() / 2);
    let piece = |arguments: &str| json!({"tool_calls": [{"index": 0, "function": {"arguments": arguments}}]});
    let begin = json!({"index": 0, "id": "call_1", "type": "function", "function": {"name": "_meiliSearchInIndex", "arguments": ""}});
    turn(&[
        chunk(json!({"role": "assistant", "content": null, "tool_calls": [begin]}), Value::Null),
        chunk(piece(first), Value::Null),
        chunk(piece(second), Value::Null),
        chunk(json!({}), json!("tool_calls")),
    ])
}

fn saying(text: &str) -> Behaviour {
    turn(&[chunk(json!({"role": "assistant", "content": text}), Value::Null), chunk(json!({}), json!("stop"))])
}

/// A server with films, and a workspace whose provider follows the script.
fn with_provider(script: Vec<Behaviour>) -> (Server, Receiver) {
    let provider = Receiver::start(script);
    let server = start(&LOCAL).with_key(MASTER);
    server.patch("/experimental-features", json!({"chatCompletions": true})).ok();
    server.set("films", json!({"filterableAttributes": ["year"], "displayedAttributes": ["id", "title", "year"]}));
    server.set("secrets", json!({"filterableAttributes": ["owner"]}));
    server.add(
        "films",
        json!([{"id": 1, "title": "Dune", "year": 1984, "hidden": "x"}, {"id": 2, "title": "Alien", "year": 1979}]),
    );
    let url = provider.url.replace("/hook", "/v1/");
    server.patch("/chats/talk/settings", json!({"source": "vLlm", "baseUrl": url, "apiKey": SECRET})).ok();
    (server, provider)
}

fn question() -> Value {
    let tool = |name: &&str| json!({"type": "function", "function": {"name": name, "parameters": {"type": "object"}}});
    json!({
        "model": "m", "stream": true, "temperature": 0.25, "messages": [{"role": "user", "content": "which film has sand?"}],
        "tools": TOOLS.iter().map(tool).collect::<Value>(),
    })
}

/// The `data` of a stream, and that it is one.
#[track_caller]
pub(crate) fn events(text: &str) -> Vec<Value> {
    assert!(text.starts_with("retry: 10000\n\n"), "{text}");
    assert!(text.ends_with("data: [DONE]\n\n"), "{text}");
    let data = text.lines().filter_map(|line| line.strip_prefix("data: ")).filter(|data| *data != "[DONE]");
    data.map(|data| serde_json::from_str(data).expect("JSON")).collect()
}

/// Name and arguments of the calls that a client is shown.
fn shown(events: &[Value]) -> Vec<(String, Value)> {
    let call = |event: &Value| {
        let function = &event["choices"][0]["delta"]["tool_calls"][0]["function"];
        let arguments = serde_json::from_str(function["arguments"].as_str()?).expect("JSON");
        Some((function["name"].as_str()?.to_owned(), arguments))
    };
    events.iter().filter_map(call).collect()
}

#[test]
fn workspaces_have_settings_and_hide_secrets() {
    let mut server = start(&[]).with_key(MASTER);
    server.patch("/chats/a/settings", json!({})).refused(400, "feature_not_enabled");
    server.patch("/experimental-features", json!({"chatCompletions": true})).ok();
    assert_eq!(server.get("/chats").ok(), json!({"results": [], "offset": 0, "limit": 20, "total": 0}));
    server.get("/chats/a").refused(404, "chat_not_found");
    server.get("/chats/a/settings").refused(404, "chat_not_found");
    server.delete("/chats/a/settings").refused(404, "chat_not_found");
    server.delete("/chats/a").refused(404, "chat_not_found");
    server.get("/chats/a%20b").refused(400, "invalid_index_uid");
    server.get("/chats?page=1").refused(400, "bad_request");
    let made = server.patch("/chats/a/settings", json!({"apiKey": SECRET, "prompts": {"system": "Be brief."}})).ok();
    assert_eq!((&made["source"], &made["apiKey"]), (&json!("openAi"), &json!("sk-a-XXXXXX...")));
    assert_eq!(made["prompts"]["system"], "Be brief.");
    assert!(!made["prompts"]["searchDescription"].as_str().unwrap().is_empty());
    assert_eq!(made["orgId"], Value::Null);
    server.patch("/chats/b/settings", json!({})).ok();
    // As clients send it that always send all fields.
    let all = json!({"source": "openAi", "orgId": "", "projectId": "", "apiVersion": "", "deploymentId": "", "baseUrl": "", "apiKey": "", "prompts": {"system": ""}});
    let unset = server.patch("/chats/b/settings", all).ok();
    assert_eq!(unset, server.get("/chats/b/settings").ok());
    assert_eq!((&unset["baseUrl"], &unset["apiKey"]), (&Value::Null, &Value::Null));
    assert_eq!(unset["prompts"]["searchDescription"], made["prompts"]["searchDescription"]);
    for (body, code) in [
        (json!({"source": "vLlm"}), "bad_request"),
        (json!({"source": "azureOpenAi", "baseUrl": "http://a.org"}), "bad_request"),
        (json!({"source": "x"}), "bad_request"),
        (json!({"temperature": 1}), "bad_request"),
        (json!({"apiKey": 1}), "invalid_chat_completion_api_key"),
        (json!({"baseUrl": "nope"}), "invalid_chat_completion_base_api"),
        (json!({"prompts": {"system": 1}}), "invalid_chat_completion_system_prompt"),
    ] {
        server.patch("/chats/b/settings", body).refused(400, code);
    }
    server.kill();
    server.start_again();
    assert_eq!(server.get("/chats/a/settings").ok(), made);
    assert_eq!(server.get("/chats?limit=1&offset=1").ok()["results"], json!([{"uid": "b"}]));
    assert_eq!(server.delete("/chats/a/settings").ok()["apiKey"], Value::Null);
    assert_eq!(server.get("/chats/a").ok(), json!({"uid": "a"}));
    assert_eq!(server.delete("/chats/a").status, 204);
    assert_eq!(server.get("/chats").ok()["total"], 1);
    assert!(!server.log().contains(SECRET));
}

#[test]
fn a_model_searches_and_answers() {
    let arguments = r#"{"index_uid":"films","q":"dune","filter":"year < 2000"}"#;
    let (server, provider) = with_provider(vec![searching(arguments), saying("It is Dune.")]);
    let answer = server.post("/chats/talk/chat/completions", question());
    assert_eq!(answer.status, 200, "{answer:?}");
    let events = events(&answer.text);

    let first = provider.next();
    assert_eq!((first.method.as_str(), first.path.as_str()), ("POST", "/v1/chat/completions"));
    assert_eq!(first.header("authorization"), Some(format!("Bearer {SECRET}").as_str()));
    let sent: Value = serde_json::from_str(first.text()).unwrap();
    assert_eq!((&sent["stream"], &sent["temperature"], &sent["model"]), (&json!(true), &json!(0.25), &json!("m")));
    assert_eq!(sent["messages"][0]["role"], "system");
    assert_eq!(sent["messages"][1], question()["messages"][0]);
    let tools = sent["tools"].as_array().unwrap();
    assert_eq!((tools.len(), &tools[0]["function"]["name"]), (1, &json!("_meiliSearchInIndex")));
    let parameters = &tools[0]["function"]["parameters"];
    assert_eq!(parameters["properties"]["index_uid"]["enum"], json!(["films", "secrets"]));
    assert_eq!(parameters["required"], json!(["index_uid", "q", "filter"]));
    assert!(
        parameters["properties"]["filter"]["description"]
            .as_str()
            .unwrap()
            .contains("`films`: filterable attributes are year")
    );

    let second: Value = serde_json::from_str(provider.next().text()).unwrap();
    let found = &second["messages"][3];
    assert_eq!(second["messages"][2]["tool_calls"][0]["function"]["arguments"], arguments);
    assert_eq!((&found["role"], &found["tool_call_id"]), (&json!("tool"), &json!("call_1")));
    assert_eq!(found["content"], "id: 1\ntitle: Dune\nyear: 1984\n", "what is hidden stays so");

    let shown = shown(&events);
    let names: Vec<&str> = shown.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, [TOOLS[0], TOOLS[1], TOOLS[2], TOOLS[1]]);
    assert_eq!(
        shown[0].1,
        json!({"call_id": "call_1", "function_name": "_meiliSearchInIndex", "function_arguments": arguments})
    );
    assert_eq!(shown[1].1["role"], "assistant");
    assert_eq!(shown[2].1, json!({"call_id": "call_1", "sources": [{"id": 1, "title": "Dune", "year": 1984}]}));
    assert_eq!(shown[3].1, *found);
    let text: String = events.iter().filter_map(|event| event["choices"][0]["delta"]["content"].as_str()).collect();
    assert_eq!(text, "It is Dune.");
    assert_eq!(events.last().unwrap()["choices"][0]["finish_reason"], "stop");
    assert!(!answer.text.contains(SECRET));
    assert!(!server.log().contains(SECRET));
}

#[test]
fn an_index_says_what_it_is_about_and_how_it_is_searched() {
    let arguments = r#"{"index_uid":"films","q":"","filter":""}"#;
    let (server, provider) = with_provider(vec![searching(arguments), saying("Two films.")]);
    let route = "/indexes/films/settings/chat";
    let defaults = server.get(route).ok();
    assert_eq!(
        (&defaults["description"], &defaults["documentTemplateMaxBytes"], &defaults["searchParameters"]),
        (&json!(""), &json!(400), &json!({}))
    );
    assert!(defaults["documentTemplate"].as_str().unwrap().contains("{%"), "{defaults}");
    let chat = json!({"description": "Films of all times", "documentTemplate": "{{doc.title}} of {{doc.year}}",
        "documentTemplateMaxBytes": 5, "searchParameters": {"limit": 1, "sort": ["year:asc"]}});
    server.set("films", json!({"sortableAttributes": ["year"]}));
    let task = server.done(&server.patch(route, chat.clone()));
    assert_eq!(task["details"], json!({"chat": chat}));
    assert_eq!(server.get(route).ok(), chat);
    assert_eq!(server.get("/indexes/films/settings").ok()["chat"], chat);
    let answer = server.post("/chats/talk/chat/completions", question());
    assert_eq!(answer.status, 200, "{answer:?}");
    let sent: Value = serde_json::from_str(provider.next().text()).unwrap();
    let learnt = &sent["tools"][0]["function"]["parameters"]["properties"]["index_uid"]["description"];
    assert!(
        learnt.as_str().unwrap().contains("- `films`: Films of all times (filterable attributes are year)"),
        "{learnt}"
    );
    let second: Value = serde_json::from_str(provider.next().text()).unwrap();
    assert_eq!(second["messages"][3]["content"], "Alien", "one, sorted, cut");

    for (wrong, says) in [
        (json!({"description": 1}), "expected a string"),
        (json!({"documentTemplate": "{{doc."}), "the template is refused"),
        (json!({"documentTemplateMaxBytes": 0}), "from 1 to 65536"),
        (json!({"searchParameters": {"q": "x"}}), "Unknown field `q`"),
        (json!({"searchParameters": {"limit": "x"}}), "Inside `.searchParameters`"),
    ] {
        let answer = server.patch(route, wrong);
        assert_eq!(answer.status, 400, "{answer:?}");
        assert!(
            ["invalid_settings_index_chat", "bad_request"].contains(&answer.body["code"].as_str().unwrap()),
            "{answer:?}"
        );
        assert!(answer.text.contains(says), "{}", answer.text);
    }
    server.done(&server.patch(route, json!({"description": null, "searchParameters": {"sort": null}})));
    assert_eq!(server.get(route).ok()["searchParameters"], json!({"limit": 1}));
    server.done(&server.delete(route));
    assert_eq!(server.get(route).ok(), defaults);
    server.patch("/experimental-features", json!({"chatCompletions": false})).ok();
    server.get(route).refused(400, "feature_not_enabled");
    server.delete(route).refused(400, "feature_not_enabled");
    server.patch(route, json!({"description": "x"})).refused(400, "feature_not_enabled");
    server.patch("/indexes/films/settings", json!({"chat": {"description": "x"}})).refused(400, "feature_not_enabled");
    assert_eq!(server.get("/indexes/films/settings").ok().get("chat"), None);
}

#[test]
fn dumps_have_workspaces_and_what_indexes_say() {
    let server = start(&[]).with_key(MASTER);
    server.patch("/experimental-features", json!({"chatCompletions": true})).ok();
    let made = server.patch("/chats/a/settings", json!({"apiKey": SECRET, "prompts": {"system": "Be brief."}})).ok();
    server.patch("/chats/b/settings", json!({})).ok();
    server.set("films", json!({"chat": {"description": "films"}}));
    let task = server.done(&server.post("/dumps", Value::Null));
    let dump = server.folder().join(format!("dumps/{}.dump", task["details"]["dumpUid"].as_str().unwrap()));
    let restored = start(&["--import-dump", dump.to_str().unwrap()]).with_key(MASTER);
    assert_eq!(restored.get("/chats").ok()["results"], json!([{"uid": "a"}, {"uid": "b"}]));
    assert_eq!(restored.get("/chats/a/settings").ok(), made);
    let file = |server: &Server| std::fs::read_to_string(server.data_folder().join("chats.json")).unwrap();
    assert_eq!(file(&restored), file(&server), "secrets, too");
    assert_eq!(restored.get("/indexes/films/settings/chat").ok()["description"], "films");
}

#[test]
fn who_declares_nothing_is_shown_nothing_and_the_model_reads_what_fails() {
    let wrong = r#"{"index_uid":"films","q":"dune","filter":"title = Dune"}"#;
    let script = vec![
        searching(wrong),
        searching("{no json"),
        searching(r#"{"index_uid":"none","q":"","filter":""}"#),
        saying("Sorry."),
    ];
    let (server, provider) = with_provider(script);
    let mut body = question();
    body.as_object_mut().unwrap().remove("tools");
    let answer = server.post("/chats/talk/chat/completions", body);
    let events = events(&answer.text);
    assert!(shown(&events).is_empty());
    assert_eq!(events.len(), 2, "what is said, and the end: {events:?}");
    let contents: Vec<String> = (0..4)
        .map(|_| {
            let sent: Value = serde_json::from_str(provider.next().text()).unwrap();
            let last = sent["messages"].as_array().unwrap().last().unwrap().clone();
            last["content"].as_str().unwrap().to_owned()
        })
        .collect();
    assert!(contents[1].contains("`title` is not filterable"), "{contents:?}");
    assert!(contents[2].starts_with("The arguments of `_meiliSearchInIndex` are no JSON"), "{contents:?}");
    assert_eq!(contents[3], "Index `none` not found.");
}

#[test]
fn requests_that_are_not_done_are_refused() {
    let (server, provider) = with_provider(Vec::new());
    let post = |change: Value| {
        let mut body = question();
        body.as_object_mut().unwrap().extend(change.as_object().cloned().unwrap());
        server.post("/chats/talk/chat/completions", body)
    };
    let tool = |name: &str| json!([{"type": "function", "function": {"name": name}}]);
    post(json!({"stream": false})).refused(501, "unimplemented_non_streaming_chat_completions");
    post(json!({"n": 2})).refused(501, "unimplemented_multi_choice_chat_completions");
    post(json!({"tools": tool("mine")})).refused(501, "unimplemented_external_function_calling");
    post(json!({"tools": tool("_meiliSearchInIndex")})).refused(400, "bad_request");
    post(json!({"messages": "hi"})).refused(400, "bad_request");
    server.post("/chats/talk/chat/completions", json!({"model": "m", "stream": true})).refused(400, "bad_request");
    server.post("/chats/none/chat/completions", question()).refused(404, "chat_not_found");
    provider.nothing_more();
}

#[test]
fn a_provider_that_misbehaves_ends_the_conversation_with_an_error() {
    let refusal = json!({"error": {"type": "auth", "code": "invalid_api_key", "message": format!("no such key {SECRET}"), "param": null}});
    let scripts = [
        (Behaviour::Say(401, "", refusal.to_string()), "auth", "invalid_api_key"),
        (Behaviour::Answer(503), "invalid_request_error", "503"),
        (said("data: no json\n\n".to_owned()), "invalid_request_error", "provider_bad_response"),
        (said("data: [1]\n\n".to_owned()), "invalid_request_error", "provider_bad_response"),
        (said(format!("data: {}\n\n", json!({"error": {"message": "late"}}))), "invalid_request_error", ""),
        (said("x".repeat(2 << 20)), "invalid_request_error", "provider_bad_response"),
        (
            turn(&[chunk(json!({"tool_calls": [{"index": 9, "function": {"name": "f"}}]}), Value::Null)]),
            "invalid_request_error",
            "provider_bad_response",
        ),
    ];
    let (behaviours, expected): (Vec<Behaviour>, Vec<_>) =
        scripts.into_iter().map(|(behaviour, kind, code)| (behaviour, (kind, code))).unzip();
    let (server, _provider) = with_provider(behaviours);
    for (kind, code) in expected {
        let answer = server.post("/chats/talk/chat/completions", question());
        assert_eq!(answer.status, 200);
        let events = events(&answer.text);
        let error = events.last().expect("an error");
        assert_eq!((&error["type"], &error["error"]["type"]), (&json!("error"), &json!(kind)), "{error}");
        let found = error["error"]["code"].as_str().unwrap_or_default();
        assert!(found == code, "{error}");
        assert!(error["event_id"].is_string());
        assert!(error["error"]["event_id"].is_null());
        assert!(!answer.text.contains(SECRET), "{}", answer.text);
    }
    // Odd chunks are passed on or passed over, and nothing breaks.
    let odd = [
        json!({}),
        json!({"choices": []}),
        json!({"choices": 1}),
        json!({"choices": [1]}),
        json!({"choices": [{"delta": 1}]}),
    ];
    let (server, _provider) = with_provider(vec![turn(&odd), said(String::new())]);
    for _ in 0..2 {
        events(&server.post("/chats/talk/chat/completions", question()).text);
    }
    // A model that never ends.
    let endless = (0..30).map(|_| searching(r#"{"index_uid":"films","q":"","filter":""}"#)).collect();
    let (server, provider) = with_provider(endless);
    let answer = server.post("/chats/talk/chat/completions", question());
    assert_eq!(events(&answer.text).last().unwrap()["error"]["code"], "too_many_turns");
    for _ in 0..20 {
        provider.next();
    }
    provider.nothing_more();
    assert!(!server.log().contains("panicked"));
}

#[test]
fn conversations_search_what_their_key_may_and_reach_no_private_address() {
    let arguments = r#"{"index_uid":"secrets","q":"","filter":""}"#;
    let (server, provider) = with_provider(vec![searching(arguments), saying("No."), saying("No.")]);
    let key = value(&make(&server, &["chatCompletions", "search"], &["films"]));
    let talk = |key: &str| ask(&server, key, "POST", "/chats/talk/chat/completions", &question());
    assert_eq!(talk(&key).status, 200);
    let sent: Value = serde_json::from_str(provider.next().text()).unwrap();
    assert_eq!(sent["tools"][0]["function"]["parameters"]["properties"]["index_uid"]["enum"], json!(["films"]));
    let sent: Value = serde_json::from_str(provider.next().text()).unwrap();
    let content = sent["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap().to_owned();
    assert!(content.starts_with("The API key cannot acces the index `secrets`"), "{content}");
    let mute = value(&make(&server, &["chatCompletions"], &["*"]));
    assert_eq!(talk(&mute).status, 200);
    let sent: Value = serde_json::from_str(provider.next().text()).unwrap();
    assert_eq!(sent.get("tools"), None, "nothing can be searched");
    let other = value(&make(&server, &["search"], &["*"]));
    talk(&other).refused(403, "invalid_api_key");

    let guarded = Server::bare(&[]);
    guarded.patch("/experimental-features", json!({"chatCompletions": true})).ok();
    guarded.patch("/chats/talk/settings", json!({"source": "vLlm", "baseUrl": provider.url})).ok();
    let answer = guarded.post("/chats/talk/chat/completions", question());
    let error = events(&answer.text).pop().unwrap();
    assert_eq!(error["error"]["code"], "provider_unreachable", "{error}");
    provider.nothing_more();
}
