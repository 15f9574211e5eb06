//! Messages: JSON-RPC 2.0.

use serde_json::{Value, json};

use super::tools::Tools;
use super::{Backend, excerpt};

/// Versions of the protocol whose messages these are, the newest first.
pub(crate) const VERSIONS: [&str; 3] = ["2025-06-18", "2025-03-26", "2024-11-05"];

/// Messages that may come together.
const BATCH_MAX: usize = 50;
/// Longest text that numbers a message: the answer repeats it.
const ID_BYTES_MAX: usize = 256;

const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;
const METHOD_NOT_FOUND: i32 = -32601;
const INVALID_PARAMS: i32 = -32602;

/// What is answered to a message, or to several in an array; nothing to notifications. `None` is one that is no JSON.
pub(crate) async fn answer<B: Backend>(message: Option<&Value>, tools: &Tools<B>) -> Option<Value> {
    let messages = match message {
        None => return Some(failure(&Value::Null, PARSE_ERROR, "the message is no JSON")),
        Some(Value::Array(messages)) => messages,
        Some(message) => return one(message, tools).await,
    };
    if messages.is_empty() || messages.len() > BATCH_MAX || !messages.iter().all(Value::is_object) {
        let reason = format!("an array of messages has 1 to {BATCH_MAX} objects");
        return Some(failure(&Value::Null, INVALID_REQUEST, &reason));
    }
    let mut answers = Vec::new();
    for message in messages {
        answers.extend(one(message, tools).await);
    }
    (!answers.is_empty()).then_some(Value::Array(answers))
}

/// Whether an answer says that there was no message.
pub(crate) fn is_malformed(answer: &Value) -> bool {
    [PARSE_ERROR, INVALID_REQUEST].iter().any(|code| answer["error"]["code"] == *code)
}

async fn one<B: Backend>(message: &Value, tools: &Tools<B>) -> Option<Value> {
    if message.get("id").is_some_and(|id| !is_id(id)) {
        let reason = format!("`id` is a number, or a text of at most {ID_BYTES_MAX} bytes");
        return Some(failure(&Value::Null, INVALID_REQUEST, &reason));
    }
    let Some(method) = message["method"].as_str() else {
        // An answer, to a question that was never asked.
        let is_answer = message.get("result").or(message.get("error")).is_some();
        return (!is_answer).then(|| failure(&message["id"], INVALID_REQUEST, "the message has no `method`"));
    };
    // Without an id no answer is expected.
    let id = message.get("id")?;
    let result = match method {
        "initialize" => Ok(initialized(&message["params"])),
        "ping" => Ok(json!({})),
        "tools/list" => Ok(json!({ "tools": tools.list() })),
        "tools/call" => {
            let (name, arguments) = (message["params"]["name"].as_str(), &message["params"]["arguments"]);
            match name {
                Some(name) => tools.call(name, arguments).await.map_err(|message| (INVALID_PARAMS, message)),
                None => Err((INVALID_PARAMS, "`params.name` names a tool".to_owned())),
            }
        }
        other => Err((METHOD_NOT_FOUND, format!("there is no method `{}`", excerpt(other)))),
    };
    Some(match result {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        Err((code, message)) => failure(id, code, &message),
    })
}

fn is_id(id: &Value) -> bool {
    match id {
        Value::String(text) => text.len() <= ID_BYTES_MAX,
        other => other.is_number() || other.is_null(),
    }
}

/// The version of the client, if it is known here; else the newest that is.
fn initialized(parameters: &Value) -> Value {
    let asked = parameters["protocolVersion"].as_str();
    let version = asked.filter(|asked| VERSIONS.contains(asked)).unwrap_or(VERSIONS[0]);
    json!({
        "protocolVersion": version,
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "lamina", "title": "Lamina", "version": env!("CARGO_PKG_VERSION")},
        "instructions": "Searches documents. Words may have typos. `list_indexes` says what there is, `get_settings` which \
                         fields filters, facets and sorts may use. For whole questions use the strategy `any`.",
    })
}

fn failure(id: &Value, code: i32, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::Call;

    struct Nowhere;

    impl Backend for Nowhere {
        async fn call(&self, _: Call) -> Result<Value, String> {
            Err("nothing answers".to_owned())
        }
    }

    async fn ask(text: &str) -> Option<Value> {
        answer(serde_json::from_str(text).ok().as_ref(), &Tools::new(Nowhere, None)).await
    }

    #[tokio::test]
    async fn versions_are_agreed_on() {
        for (asked, expected) in [("2024-11-05", "2024-11-05"), ("1999-01-01", VERSIONS[0])] {
            let line = json!({"id": 1, "method": "initialize", "params": {"protocolVersion": asked}}).to_string();
            assert_eq!(ask(&line).await.expect("an answer")["result"]["protocolVersion"], expected);
        }
    }

    #[tokio::test]
    async fn messages_that_are_wrong_get_errors_and_notifications_nothing() {
        for (text, code) in [
            ("{", PARSE_ERROR),
            ("1", INVALID_REQUEST),
            ("[]", INVALID_REQUEST),
            ("[1]", INVALID_REQUEST),
            ("{\"id\": 1}", INVALID_REQUEST),
            ("{\"id\": [1], \"method\": \"ping\"}", INVALID_REQUEST),
            (json!({"id": "x".repeat(300), "method": "ping"}).to_string().as_str(), INVALID_REQUEST),
            ("{\"id\": 1, \"method\": \"resources/list\"}", METHOD_NOT_FOUND),
            ("{\"id\": 1, \"method\": \"tools/call\", \"params\": {}}", INVALID_PARAMS),
            ("{\"id\": 1, \"method\": \"tools/call\", \"params\": {\"name\": \"drop\"}}", INVALID_PARAMS),
        ] {
            let answer = ask(text).await.expect("an answer");
            assert_eq!(answer["error"]["code"], code, "{text}");
            assert_eq!(is_malformed(&answer), [PARSE_ERROR, INVALID_REQUEST].contains(&code), "{text}");
        }
        let long = json!({"id": 1, "method": "m".repeat(100_000)}).to_string();
        assert!(ask(&long).await.expect("an answer").to_string().len() < 1000);
        assert_eq!(ask("{\"method\": \"notifications/initialized\"}").await, None);
        assert_eq!(ask("{\"id\": 3, \"result\": {}}").await, None);
        assert_eq!(ask("{\"id\": \"a\", \"method\": \"ping\"}").await.expect("an answer")["id"], "a");
    }

    #[tokio::test]
    async fn several_messages_get_an_answer_each() {
        let ping = |id: u32| json!({"id": id, "method": "ping"});
        let note = json!({"method": "notifications/initialized"});
        let answers = ask(&json!([ping(1), note, ping(2)]).to_string()).await.expect("answers");
        assert_eq!(
            answers.as_array().unwrap().iter().map(|one| &one["id"]).collect::<Vec<_>>(),
            [&json!(1), &json!(2)]
        );
        assert_eq!(ask(&json!([note]).to_string()).await, None);
        let many = ask(&json!(vec![ping(1); BATCH_MAX + 1]).to_string()).await.expect("an answer");
        assert!(is_malformed(&many));
    }
}
