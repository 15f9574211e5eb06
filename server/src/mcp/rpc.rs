//! Messages: JSON-RPC 2.0, one a line.

use serde_json::{Value, json};

use super::tools::Tools;

/// Versions of the protocol whose messages these are, the newest first.
const VERSIONS: [&str; 3] = ["2025-06-18", "2025-03-26", "2024-11-05"];

const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;
const METHOD_NOT_FOUND: i32 = -32601;
const INVALID_PARAMS: i32 = -32602;

/// What is answered to a message; nothing to notifications.
pub(super) async fn answer(line: &str, tools: &Tools) -> Option<Value> {
    let Ok(message) = serde_json::from_str::<Value>(line) else {
        return Some(failure(&Value::Null, PARSE_ERROR, "the line is no JSON"));
    };
    let Some(method) = message["method"].as_str() else {
        return Some(failure(&message["id"], INVALID_REQUEST, "the message has no `method`"));
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
        other => Err((METHOD_NOT_FOUND, format!("there is no method `{other}`"))),
    };
    Some(match result {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        Err((code, message)) => failure(id, code, &message),
    })
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
    use crate::client::{Client, ServerArgs};

    async fn ask(line: &str) -> Option<Value> {
        let server = ServerArgs { url: "http://127.0.0.1:1".to_owned(), api_key: None };
        answer(line, &Tools::new(Client::new(&server).expect("a client"), None)).await
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
        for (line, code) in [
            ("{", PARSE_ERROR),
            ("{\"id\": 1}", INVALID_REQUEST),
            ("{\"id\": 1, \"method\": \"resources/list\"}", METHOD_NOT_FOUND),
            ("{\"id\": 1, \"method\": \"tools/call\", \"params\": {}}", INVALID_PARAMS),
            ("{\"id\": 1, \"method\": \"tools/call\", \"params\": {\"name\": \"drop\"}}", INVALID_PARAMS),
        ] {
            assert_eq!(ask(line).await.expect("an answer")["error"]["code"], code, "{line}");
        }
        assert_eq!(ask("{\"method\": \"notifications/initialized\"}").await, None);
        assert_eq!(ask("{\"id\": \"a\", \"method\": \"ping\"}").await.expect("an answer")["id"], "a");
    }
}
