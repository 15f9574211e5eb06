//! Conversations with providers and clients that misbehave, and what a conversation may do.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use jsonwebtoken::Algorithm;

use super::*;
use crate::server::until;
use crate::tenants::sign;

const STREAM: &str = "Content-Type: text/event-stream\r\n";
const EVERYTHING: &str = r#"{"index_uid":"films","q":"","filter":""}"#;

/// The text of a turn.
fn written(behaviour: Behaviour) -> String {
    match behaviour {
        Behaviour::Say(_, _, body) => body,
        _ => unreachable!("turns are said"),
    }
}

#[track_caller]
fn conversation(server: &Server) -> Vec<Value> {
    events(&server.post("/chats/talk/chat/completions", question()).text)
}

fn said_text(events: &[Value]) -> String {
    events.iter().filter_map(|event| event["choices"][0]["delta"]["content"].as_str()).collect()
}

#[test]
fn a_turn_that_comes_byte_by_byte_is_read_and_one_that_ends_early_is_an_error() {
    let whole = written(saying("It is Düne."));
    let half = whole.split_once("\n\n").expect("events").0.to_owned() + "\n\n";
    let half_line = whole.split_once("\"finish_reason\":\"stop\"").expect("the end").0.to_owned();
    let without_done = whole.replace("data: [DONE]\n\n", "");
    let call = written(searching(EVERYTHING));
    let half_call = call.rsplit_once("data: {").expect("events").0.to_owned();
    let script = vec![
        Behaviour::Drip(STREAM, written(searching(EVERYTHING))),
        Behaviour::Drip(STREAM, whole.clone()),
        Behaviour::BreakOff(STREAM, half_line.clone()),
        Behaviour::Leave(STREAM, half_line),
        Behaviour::Leave(STREAM, half),
        Behaviour::Leave(STREAM, half_call),
        Behaviour::Leave(STREAM, String::new()),
        Behaviour::Leave("Content-Type: text/html\r\n", "<html>It works!</html>".to_owned()),
        Behaviour::Leave(STREAM, without_done),
    ];
    let (server, provider) = with_provider(script);
    let dripped = conversation(&server);
    assert_eq!((said_text(&dripped).as_str(), shown(&dripped).len()), ("It is Düne.", 4));
    for ends in ["as it said", "in a line", "between lines", "in a call", "at once", "with a page"] {
        let events = conversation(&server);
        assert_eq!(events.last().expect("an error")["error"]["code"], "provider_broke_off", "{ends}: {events:?}");
    }
    assert_eq!(said_text(&conversation(&server)), "It is Düne.", "the last chunk says that it is the last one");
    (0..9).for_each(|_| drop(provider.next()));
    provider.nothing_more();
}

#[test]
fn odd_calls_are_for_the_model_to_read() {
    let nested = format!(r#"{{"index_uid":{}"#, "[".repeat(100_000));
    let named_stop = turn(&[
        chunk(
            json!({"tool_calls": [{"index": 0, "id": "call_1", "function": {"name": "other", "arguments": "{}"}}]}),
            Value::Null,
        ),
        chunk(json!({}), json!("stop")),
    ]);
    let deep = said(format!("data: {{\"choices\":{}\n\n", "[".repeat(100_000)));
    let (server, provider) = with_provider(vec![
        searching(&nested[..60_000]),
        named_stop,
        searching(r#"{"index_uid":["films"],"q":"","filter":""}"#),
        saying("Well."),
        deep,
    ]);
    let events = conversation(&server);
    assert_eq!(said_text(&events), "Well.");
    let ends = events.iter().filter(|event| event["choices"][0]["finish_reason"] == "stop").count();
    assert_eq!(ends, 1, "the end of a turn with calls is not the end: {events:?}");
    provider.next();
    for expected in ["are no JSON", "There is no function `other`", "`index_uid` is missing"] {
        let sent: Value = serde_json::from_str(provider.next().text()).unwrap();
        let last = sent["messages"].as_array().unwrap().last().unwrap()["content"].to_string();
        assert!(last.contains(expected), "{last}");
    }
    let events = conversation(&server);
    assert_eq!(events.last().unwrap()["error"]["code"], "provider_bad_response", "{events:?}");
    // What a client sends has the same bounds as any JSON, and its own.
    let path = "/chats/talk/chat/completions";
    let deep = format!("{{\"model\":\"m\",\"stream\":true,\"messages\":[{{\"content\":{}", "[".repeat(10_000));
    server.post_raw(path, "application/json", deep).refused(400, "malformed_payload");
    let mut body = question();
    body["messages"] = json!([{"role": "user", "content": vec![json!([]); 100_000]}]);
    server.post(path, body).refused(413, "payload_too_large");
    provider.next();
    provider.nothing_more();
}

#[test]
fn errors_of_providers_give_no_part_of_the_key_away() {
    let long = |text: &str| format!("{}{SECRET}{text}", "x".repeat(480));
    let error = json!({"error": {"type": SECRET, "code": SECRET, "param": SECRET, "message": long("")}});
    let script = vec![
        Behaviour::Say(500, "", error.to_string()),
        Behaviour::Say(500, "", long(" in a page")),
        said(format!("data: {error}\n\n")),
        said(format!("data: {}\n\n", json!({"error": long("")}))),
    ];
    let (server, _provider) = with_provider(script);
    for _ in 0..4 {
        let answer = server.post("/chats/talk/chat/completions", question());
        assert_eq!(events(&answer.text).last().unwrap()["type"], "error");
        assert!(!answer.text.contains(&SECRET[..12]), "{}", answer.text);
        assert!(answer.text.len() < 4000);
    }
    assert!(!server.log().contains(&SECRET[..12]));
}

#[test]
fn redirects_lead_to_no_private_address_and_take_no_key_along() {
    let elsewhere = Receiver::start([saying("Hello.")]);
    let (server, provider) = with_provider(vec![
        Behaviour::Redirect("http://169.254.169.254/latest/meta-data".to_owned()),
        Behaviour::Redirect("http://[::1]:1/".to_owned()),
        Behaviour::Redirect("file:///etc/passwd".to_owned()),
        Behaviour::Redirect(elsewhere.url.clone()),
    ]);
    for _ in 0..3 {
        let events = conversation(&server);
        assert_eq!(events.last().unwrap()["error"]["code"], "provider_unreachable", "{events:?}");
    }
    assert_eq!(said_text(&conversation(&server)), "Hello.");
    assert!((0..4).all(|_| provider.next().header("authorization").is_some()));
    assert_eq!(elsewhere.next().header("authorization"), None);
}

#[test]
fn tenants_find_what_their_token_lets_them() {
    let (server, provider) = with_provider(vec![
        searching(EVERYTHING),
        searching(&EVERYTHING.replace("films", "secrets")),
        saying("Alien."),
    ]);
    let key = make(&server, &["chatCompletions", "search"], &["films", "secrets"]);
    let token =
        |rules: Value| sign(Algorithm::HS256, &json!({"apiKeyUid": key["uid"], "searchRules": rules}), &value(&key));
    let token_of_old = token(json!({"films": {"filter": "year < 1980"}}));
    let path = "/chats/talk/chat/completions";
    let answer = ask(&server, &token_of_old, "POST", path, &question());
    let calls = shown(&events(&answer.text));
    assert_eq!(calls[2].1["sources"], json!([{"id": 2, "title": "Alien", "year": 1979}]));
    assert_eq!(calls[6].1["sources"], json!([]));
    let first: Value = serde_json::from_str(provider.next().text()).unwrap();
    assert_eq!(first["tools"][0]["function"]["parameters"]["properties"]["index_uid"]["enum"], json!(["films"]));
    for (_, call) in calls.iter().filter(|(_, call)| call["role"] == "tool") {
        assert!(!call["content"].as_str().unwrap().contains("Dune"), "{call}");
    }
    // The token of a key that may not converse, and one that has ended.
    let mute = make(&server, &["search"], &["*"]);
    let claims = json!({"apiKeyUid": mute["uid"], "searchRules": ["*"]});
    let mute = sign(Algorithm::HS256, &claims, &value(&mute));
    ask(&server, &mute, "POST", path, &question()).refused(403, "invalid_api_key");
    let claims = json!({"apiKeyUid": key["uid"], "searchRules": ["*"], "exp": 1});
    let ended = sign(Algorithm::HS256, &claims, &value(&key));
    ask(&server, &ended, "POST", path, &question()).refused(403, "invalid_api_key");
}

/// A conversation whose client reads the status of the answer.
fn begun(server: &Server) -> (TcpStream, String) {
    let body = question().to_string();
    let mut stream = TcpStream::connect(server.url.trim_start_matches("http://")).expect("a connection");
    let request = format!(
        "POST /chats/talk/chat/completions HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {MASTER}\r\nContent-Type: \
         application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).expect("sent");
    let mut begin = [0; 12];
    stream.read_exact(&mut begin).expect("an answer");
    (stream, String::from_utf8_lossy(&begin[9..]).into_owned())
}

/// There is room for a number of conversations, and a client that leaves gives its place up, although its provider says nothing.
#[test]
fn a_client_that_leaves_ends_its_conversation() {
    let (server, _provider) = with_provider((0..65).map(|_| Behaviour::Stall).collect());
    let clients: Vec<(TcpStream, String)> = (0..64).map(|_| begun(&server)).collect();
    assert!(clients.iter().all(|(_, status)| status == "200"), "{clients:?}");
    server.post("/chats/talk/chat/completions", question()).refused(503, "too_many_search_requests");
    drop(clients);
    let start = Instant::now();
    until(|| begun(&server).1 == "200");
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}

#[test]
fn a_conversation_ends_with_the_server() {
    let (mut server, provider) = with_provider(vec![Behaviour::Stall]);
    let (mut client, status) = begun(&server);
    assert_eq!(status, "200");
    provider.next();
    assert!(server.terminate().success());
    let mut rest = String::new();
    client.read_to_string(&mut rest).expect("an answer that ends");
    assert!(rest.contains("\"code\":\"server_stops\""), "{rest}");
    assert!(rest.contains("data: [DONE]"), "{rest}");
}

#[test]
fn settings_that_cannot_be_used_are_refused() {
    let (server, _provider) = with_provider(Vec::new());
    for (body, code, says) in [
        (json!({"apiKey": "two\nlines"}), "invalid_chat_completion_api_key", "no HTTP header can hold"),
        (json!({"apiKey": "k".repeat(5000)}), "invalid_chat_completion_api_key", "at most 4096 are allowed"),
        (json!({"orgId": "a\u{1}"}), "invalid_chat_completion_org_id", "no HTTP header can hold"),
        (json!({"baseUrl": "file:///etc/passwd"}), "invalid_chat_completion_base_api", "neither `http` nor `https`"),
        (
            json!({"prompts": {"searchQParam": "x".repeat(20_001)}}),
            "invalid_chat_completion_search_query_param_prompt",
            "at most 20000 are allowed",
        ),
    ] {
        let answer = server.patch("/chats/talk/settings", body);
        answer.refused(400, code);
        assert!(answer.text.contains(says), "{}", answer.text);
    }
}
