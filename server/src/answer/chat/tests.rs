//! Conversations with providers that do not stop.

use std::future::pending;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use bytes::Bytes;
use lamina_base::outbound::Outbound;
use lamina_protocol::wire::chats::{ChatSettings, Completion, Source};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::*;

/// Reads all of a request: a connection that is closed before that takes its answer with it.
fn read_request(stream: &mut TcpStream) {
    let (mut read, mut piece) = (Vec::new(), [0; 4096]);
    loop {
        let text = String::from_utf8_lossy(&read).to_lowercase();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if length.is_none_or(|length| body.len() >= length.parse().unwrap()) {
                return;
            }
        }
        match stream.read(&mut piece) {
            Ok(length) if length > 0 => read.extend_from_slice(&piece[..length]),
            _ => return,
        }
    }
}

/// A provider that is asked, and then says what it likes for as long as the connection lasts; its address.
fn provider(speak: impl Fn(&mut TcpStream) -> io::Result<()> + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            read_request(&mut stream);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n").and_then(|()| speak(&mut stream));
        }
    });
    url
}

/// A conversation with it, and what the client reads of it.
fn conversation(base_url: String, time_max: Duration) -> (Conversation, mpsc::Receiver<Bytes>) {
    let settings = ChatSettings { source: Source::VLlm, base_url: Some(base_url), ..ChatSettings::default() };
    let completion =
        Completion::from_body(&json!({"model": "m", "stream": true, "messages": [{"role": "user", "content": "?"}]}));
    let (events, received) = Events::channel(1000);
    let outbound = Outbound::new("127.0.0.0/8".parse().unwrap()).unwrap();
    let indexes = vec![("films".to_owned(), "films".to_owned())];
    (Conversation { outbound, settings, completion: completion.unwrap(), indexes, events, time_max }, received)
}

async fn nothing(_: SearchCall) -> Result<SearchOutcome, String> {
    Err("nothing is searched here".to_owned())
}

/// The code of the error at the end of a conversation.
async fn error_code(mut received: mpsc::Receiver<Bytes>) -> String {
    let mut text = String::new();
    while let Some(event) = received.recv().await {
        text.push_str(std::str::from_utf8(&event).unwrap());
    }
    assert!(text.ends_with("data: [DONE]\n\n"), "{text}");
    let last = text.lines().filter_map(|line| line.strip_prefix("data: {")).next_back().unwrap_or_default();
    let event: Value = serde_json::from_str(&format!("{{{last}")).unwrap();
    event["error"]["code"].as_str().unwrap_or_default().to_owned()
}

const ASKS: &str = r#"data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"_meiliSearchInIndex","arguments":"{\"index_uid\":\"films\",\"q\":\"\",\"filter\":\"\"}"}}]}}]}

data: [DONE]

"#;

#[tokio::test]
async fn a_provider_that_speaks_without_end_is_left() {
    let drip = |stream: &mut TcpStream| -> io::Result<()> {
        loop {
            stream.write_all(b":")?;
            // A drip that never ends.
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    let (conversation, received) = conversation(provider(drip), Duration::from_millis(200));
    conversation.run(nothing, pending()).await;
    assert_eq!(error_code(received).await, "timeout");
    let flood = |stream: &mut TcpStream| -> io::Result<()> {
        let comment = format!(": {}\n", "x".repeat(100_000));
        loop {
            stream.write_all(comment.as_bytes())?;
        }
    };
    let (conversation, received) = self::conversation(provider(flood), TIME_MAX);
    conversation.run(nothing, pending()).await;
    assert_eq!(error_code(received).await, "provider_bad_response");
}

#[tokio::test]
async fn what_was_found_has_its_share_of_memory() {
    let (conversation, received) = conversation(provider(|stream| stream.write_all(ASKS.as_bytes())), TIME_MAX);
    let found =
        async |_: SearchCall| Ok::<_, String>(SearchOutcome { sources: Vec::new(), content: "x".repeat(17 << 20) });
    conversation.run(found, pending()).await;
    assert_eq!(error_code(received).await, "conversation_too_long");
    let large =
        |value: Value| Completion::from_body(&json!({"model": "m", "stream": true, "messages": [value]})).unwrap();
    assert!(check_size(&large(json!({"content": "x".repeat(1 << 20)}))).is_ok());
    // Little text, many values.
    let refused = check_size(&large(json!({"content": vec![json!([]); 100_000]}))).unwrap_err();
    assert_eq!(refused.code, Code::PayloadTooLarge);
}

fn stall(_: &mut TcpStream) -> io::Result<()> {
    // Longer than any test.
    std::thread::sleep(Duration::from_secs(60));
    Ok(())
}

#[tokio::test]
async fn a_conversation_ends_with_the_server() {
    let (conversation, received) = conversation(provider(stall), TIME_MAX);
    let stops = async {
        // The end comes in the middle of the request.
        tokio::time::sleep(Duration::from_millis(20)).await;
        Fault::new("server_stops", "the server stops")
    };
    conversation.run(nothing, stops).await;
    assert_eq!(error_code(received).await, "server_stops");
}

#[tokio::test]
async fn a_conversation_ends_with_its_client() {
    let (conversation, mut received) = conversation(provider(stall), TIME_MAX);
    let running = tokio::spawn(conversation.run(nothing, pending()));
    assert_eq!(received.recv().await.unwrap(), lamina_protocol::events::RETRY);
    drop(received);
    tokio::time::timeout(Duration::from_secs(20), running).await.expect("it ends").unwrap();
}
