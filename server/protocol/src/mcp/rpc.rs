//! Messages: JSON-RPC 2.0.

use serde_json::{Value, json};

use super::tools::Tools;
use super::versions::{self, Era, Headers, Unfit};
use super::{Backend, excerpt};

/// Messages that may come together.
const BATCH_MAX: usize = 50;
/// Longest text that numbers a message: the answer repeats it.
const ID_BYTES_MAX: usize = 256;
/// Time for which a client may treat a list as fresh. Fields and indexes change while the client works.
const LIST_TTL_MS: u64 = 60_000;

const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;
const METHOD_NOT_FOUND: i32 = -32601;
const INVALID_PARAMS: i32 = -32602;

/// Reply to a request.
#[derive(Debug, PartialEq)]
pub struct Reply {
    pub message: Value,
    pub standing: Standing,
}

/// Status of a reply, for transports that have statuses of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The message was understood, whatever came of it.
    Answered,
    /// The message is none, or none of its version.
    Malformed,
    /// There is no such method.
    NoMethod,
}

/// Reason why a message is not executed.
struct Failure {
    code: i32,
    reason: String,
    data: Option<Value>,
    standing: Standing,
}

impl Failure {
    fn malformed(code: i32, reason: &str) -> Failure {
        Failure { code, reason: reason.to_owned(), data: None, standing: Standing::Malformed }
    }

    fn reply(self, id: &Value) -> Reply {
        let mut error = json!({ "code": self.code, "message": self.reason });
        if let Some(data) = self.data {
            error["data"] = data;
        }
        Reply { message: json!({ "jsonrpc": "2.0", "id": id, "error": error }), standing: self.standing }
    }
}

impl From<Unfit> for Failure {
    fn from(unfit: Unfit) -> Failure {
        let (code, reason, data) = unfit.error();
        Failure { code, reason, data, standing: Standing::Malformed }
    }
}

/// Returns what is answered to a message, or to several in an array; nothing to notifications and answers. `None` is one that is no
/// JSON. `headers` are those of the request that brought it, if one did.
pub async fn answer<B: Backend>(
    message: Option<&Value>,
    headers: Option<&Headers<'_>>,
    tools: &Tools<B>,
) -> Option<Reply> {
    let messages = match message {
        None => return Some(Failure::malformed(PARSE_ERROR, "the message is no JSON").reply(&Value::Null)),
        Some(Value::Array(messages)) => messages,
        Some(message) => return one(message, headers, tools).await,
    };
    if messages.len() > BATCH_MAX || !messages.iter().any(Value::is_object) {
        let reason = format!("an array of messages has 1 to {BATCH_MAX} objects");
        return Some(Failure::malformed(INVALID_REQUEST, &reason).reply(&Value::Null));
    }
    if let Err(unfit) = versions::check_several(messages, headers) {
        return Some(Failure::from(unfit).reply(&Value::Null));
    }
    let mut answers = Vec::new();
    for message in messages {
        answers.extend(one(message, None, tools).await.map(|reply| reply.message));
    }
    (!answers.is_empty()).then_some(Reply { message: Value::Array(answers), standing: Standing::Answered })
}

async fn one<B: Backend>(message: &Value, headers: Option<&Headers<'_>>, tools: &Tools<B>) -> Option<Reply> {
    let era = match versions::era(message, headers) {
        Ok(era) => era,
        Err(unfit) => return Some(Failure::from(unfit).reply(readable_id(message))),
    };
    let method = message["method"].as_str();
    // An answer, to a question that was never asked.
    if method.is_none() && message.get("result").or(message.get("error")).is_some() {
        return None;
    }
    if !message.is_object() || message.get("id").is_some_and(|id| !is_id(id)) {
        let reason =
            format!("a message is an object, and its `id` a number, or a text of at most {ID_BYTES_MAX} bytes");
        return Some(Failure::malformed(INVALID_REQUEST, &reason).reply(&Value::Null));
    }
    let Some(method) = method else {
        return Some(Failure::malformed(INVALID_REQUEST, "the message has no `method`").reply(readable_id(message)));
    };
    // Without an id no answer is expected.
    let id = message.get("id")?;
    Some(match carried_out(method, &message["params"], era, tools).await {
        Ok(result) => {
            let message = json!({ "jsonrpc": "2.0", "id": id, "result": in_era(result, era) });
            Reply { message, standing: Standing::Answered }
        }
        Err(failure) => failure.reply(id),
    })
}

async fn carried_out<B: Backend>(
    method: &str,
    parameters: &Value,
    era: Era,
    tools: &Tools<B>,
) -> Result<Value, Failure> {
    let refused = |code, reason: String, standing| Failure { code, reason, data: None, standing };
    Ok(match method {
        "initialize" if era == Era::Handshake => initialized(parameters),
        "server/discover" => cacheable(discovered()),
        "ping" if era == Era::Handshake => json!({}),
        "tools/list" if era == Era::Stateless => cacheable(json!({ "tools": tools.list().await })),
        "tools/list" => json!({ "tools": tools.list().await }),
        "tools/call" => {
            let name = parameters["name"].as_str();
            let name = name
                .ok_or_else(|| refused(INVALID_PARAMS, "`params.name` names a tool".to_owned(), Standing::Answered))?;
            let called = tools.call(name, &parameters["arguments"]).await;
            called.map_err(|reason| refused(INVALID_PARAMS, reason, Standing::Answered))?
        }
        other => {
            let standing = if era == Era::Stateless { Standing::NoMethod } else { Standing::Answered };
            return Err(refused(METHOD_NOT_FOUND, format!("there is no method `{}`", excerpt(other)), standing));
        }
    })
}

fn is_id(id: &Value) -> bool {
    match id {
        Value::String(text) => text.len() <= ID_BYTES_MAX,
        other => other.is_number(),
    }
}

/// The number of a message, as far as it can be read.
fn readable_id(message: &Value) -> &Value {
    message.get("id").filter(|id| is_id(id)).unwrap_or(&Value::Null)
}

/// The version of the client, if it is known here; else the newest that is.
fn initialized(parameters: &Value) -> Value {
    let asked = parameters["protocolVersion"].as_str();
    let known = versions::WITH_HANDSHAKE;
    let version = asked.filter(|asked| known.contains(asked)).unwrap_or(known[0]);
    json!({
        "protocolVersion": version, "capabilities": capabilities(), "serverInfo": server(), "instructions": INSTRUCTIONS,
    })
}

fn discovered() -> Value {
    json!({ "supportedVersions": versions::all(), "capabilities": capabilities(), "instructions": INSTRUCTIONS })
}

const INSTRUCTIONS: &str = "Searches documents. Words may have typos. `list_indexes` says what there is and which fields \
                            filters, facets and sorts may use. Ask whole questions as they are: a document needs only some of \
                            their words.";

fn capabilities() -> Value {
    json!({ "tools": {} })
}

fn server() -> Value {
    json!({ "name": "lamina", "title": "Lamina", "version": env!("CARGO_PKG_VERSION") })
}

/// Returns what may be kept for a while, by the caller alone: others may have other rights.
fn cacheable(mut result: Value) -> Value {
    result["ttlMs"] = LIST_TTL_MS.into();
    result["cacheScope"] = "private".into();
    result
}

/// A result with what its version adds to each.
fn in_era(mut result: Value, era: Era) -> Value {
    if era == Era::Stateless {
        result["resultType"] = "complete".into();
        result["_meta"] = json!({ versions::SERVER: server() });
    }
    result
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

    async fn with(headers: Option<&Headers<'_>>, text: &str) -> Option<Reply> {
        answer(serde_json::from_str(text).ok().as_ref(), headers, &Tools::new(Nowhere, None)).await
    }

    async fn ask(text: &str) -> Option<Value> {
        with(None, text).await.map(|reply| reply.message)
    }

    fn version(version: &str) -> Headers<'_> {
        Headers { version: Some(version), ..Headers::default() }
    }

    #[tokio::test]
    async fn versions_are_agreed_on_whatever_the_header_says() {
        let newest = versions::WITH_HANDSHAKE[0];
        for (asked, expected) in
            [("2024-11-05", "2024-11-05"), (newest, newest), ("1999-01-01", newest), ("2026-07-28", newest)]
        {
            let line = json!({"id": 1, "method": "initialize", "params": {"protocolVersion": asked}}).to_string();
            for header in ["2025-11-25", "2026-07-28", "2099-01-01", "x"] {
                let reply = with(Some(&version(header)), &line).await.expect("an answer");
                assert_eq!(reply.standing, Standing::Answered);
                assert_eq!(reply.message["result"]["protocolVersion"], expected, "{asked} {header}");
            }
        }
    }

    #[tokio::test]
    async fn afterwards_the_header_names_a_known_version() {
        let ping = json!({"id": 7, "method": "ping"}).to_string();
        for known in versions::WITH_HANDSHAKE {
            assert_eq!(with(Some(&version(known)), &ping).await.expect("an answer").standing, Standing::Answered);
        }
        for body in [ping.clone(), format!("[{ping}]"), json!({"method": "notifications/initialized"}).to_string()] {
            let reply = with(Some(&version("2099-01-01")), &body).await.expect("an answer");
            assert_eq!(
                (reply.standing, &reply.message["error"]["code"]),
                (Standing::Malformed, &json!(-32022)),
                "{body}"
            );
            let data = &reply.message["error"]["data"];
            assert_eq!(data["requested"], "2099-01-01");
            assert_eq!(data["supported"][0], "2026-07-28");
        }
        // The version without a handshake needs more of a message.
        let reply = with(Some(&version("2026-07-28")), &ping).await.expect("an answer");
        assert_eq!((reply.standing, &reply.message["error"]["code"]), (Standing::Malformed, &json!(INVALID_PARAMS)));
        assert_eq!(reply.message["id"], 7);
        let reply = with(Some(&version("2026-07-28")), &format!("[{ping}]")).await.expect("an answer");
        assert_eq!((reply.standing, &reply.message["error"]["code"]), (Standing::Malformed, &json!(INVALID_REQUEST)));
    }

    fn stateless(method: &str, more: Value) -> Value {
        let mut message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": more});
        message["params"]["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {},
        });
        message
    }

    #[tokio::test]
    async fn requests_may_name_their_version_themselves() {
        let discovered = ask(&stateless("server/discover", json!({})).to_string()).await.expect("an answer");
        let result = &discovered["result"];
        assert_eq!(result["supportedVersions"], json!(versions::all()));
        assert_eq!((&result["resultType"], &result["cacheScope"]), (&json!("complete"), &json!("private")));
        assert!(result["capabilities"]["tools"].is_object());
        assert!(result["ttlMs"].is_u64());
        let listed = ask(&stateless("tools/list", json!({})).to_string()).await.expect("an answer");
        let result = &listed["result"];
        assert!(result["tools"].is_array(), "{result}");
        assert!(result["ttlMs"].is_u64(), "{result}");
        assert_eq!(result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "lamina");
        // A client of before gets what it knows.
        let plain = ask(&json!({"id": 1, "method": "tools/list"}).to_string()).await.expect("an answer");
        assert!(plain["result"]["ttlMs"].is_null());
        assert!(plain["result"]["resultType"].is_null());
        let mut bare = stateless("tools/list", json!({}));
        bare["params"]["_meta"].as_object_mut().unwrap().remove("io.modelcontextprotocol/clientCapabilities");
        let refused = with(None, &bare.to_string()).await.expect("an answer");
        assert_eq!(
            (refused.standing, &refused.message["error"]["code"]),
            (Standing::Malformed, &json!(INVALID_PARAMS))
        );
        let mut future = stateless("tools/list", json!({}));
        future["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2099-01-01");
        let refused = ask(&future.to_string()).await.expect("an answer");
        assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!(1), &json!(-32022)));
        // Where each request names its version, there is no handshake, and no `ping`.
        for method in ["resources/list", "initialize", "ping"] {
            let none = with(None, &stateless(method, json!({})).to_string()).await.expect("an answer");
            assert_eq!((none.standing, &none.message["error"]["code"]), (Standing::NoMethod, &json!(METHOD_NOT_FOUND)));
        }
    }

    #[tokio::test]
    async fn headers_say_what_the_message_says() {
        let call = stateless("tools/call", json!({"name": "list_indexes"})).to_string();
        let right = Headers { version: Some("2026-07-28"), method: Some("tools/call"), name: Some("list_indexes") };
        for (headers, standing) in [
            (right, Standing::Answered),
            (Headers { name: Some("=?base64?bGlzdF9pbmRleGVz?="), ..right }, Standing::Answered),
            (Headers { name: Some("=?base64?bGlzdA==?="), ..right }, Standing::Malformed),
            (Headers { name: Some("=?base64?_?="), ..right }, Standing::Malformed),
            (Headers { name: None, ..right }, Standing::Malformed),
            (Headers { method: Some("tools/list"), ..right }, Standing::Malformed),
            (Headers { method: None, ..right }, Standing::Malformed),
            (Headers { version: None, ..right }, Standing::Malformed),
            (Headers { version: Some("2025-11-25"), ..right }, Standing::Malformed),
        ] {
            let reply = with(Some(&headers), &call).await.expect("an answer");
            assert_eq!(reply.standing, standing, "{headers:?}: {reply:?}");
            let code = &reply.message["error"]["code"];
            assert_eq!(*code == -32020, standing == Standing::Malformed, "{headers:?}: {reply:?}");
        }
    }

    #[tokio::test]
    async fn messages_that_are_wrong_get_errors() {
        for (text, code) in [
            ("{", PARSE_ERROR),
            ("1", INVALID_REQUEST),
            ("[]", INVALID_REQUEST),
            ("[1]", INVALID_REQUEST),
            ("{\"id\": 1}", INVALID_REQUEST),
            ("{\"id\": [1], \"method\": \"ping\"}", INVALID_REQUEST),
            ("{\"id\": null, \"method\": \"ping\"}", INVALID_REQUEST),
            (json!({"id": "x".repeat(300), "method": "ping"}).to_string().as_str(), INVALID_REQUEST),
            ("{\"id\": 1, \"method\": \"resources/list\"}", METHOD_NOT_FOUND),
            ("{\"id\": 1, \"method\": \"tools/call\", \"params\": {}}", INVALID_PARAMS),
            ("{\"id\": 1, \"method\": \"tools/call\", \"params\": {\"name\": \"drop\"}}", INVALID_PARAMS),
        ] {
            let reply = with(None, text).await.expect("an answer");
            assert_eq!(reply.message["error"]["code"], code, "{text}");
            let is_malformed = [PARSE_ERROR, INVALID_REQUEST].contains(&code);
            assert_eq!(reply.standing == Standing::Malformed, is_malformed, "{text}");
        }
        let long = json!({"id": 1, "method": "m".repeat(100_000)}).to_string();
        assert!(ask(&long).await.expect("an answer").to_string().len() < 1000);
    }

    #[tokio::test]
    async fn notifications_and_answers_get_nothing() {
        for silent in [
            json!({"method": "notifications/initialized"}),
            json!({"method": "notifications/cancelled", "params": {"requestId": 1}}),
            json!({"method": "no/such"}),
            json!({"id": 3, "result": {}}),
            json!({"id": null, "error": {"code": -32700, "message": ""}}),
            json!({"id": [1], "result": {}}),
        ] {
            assert_eq!(ask(&silent.to_string()).await, None, "{silent}");
            assert_eq!(ask(&json!([silent]).to_string()).await, None, "{silent}");
        }
        assert_eq!(ask("{\"id\": \"a\", \"method\": \"ping\"}").await.expect("an answer")["id"], "a");
    }

    #[tokio::test]
    async fn several_messages_get_an_answer_each() {
        let ping = |id: u32| json!({"id": id, "method": "ping"});
        let note = json!({"method": "notifications/initialized"});
        let answers = ask(&json!([ping(1), note, 5, ping(2), {"id": "x", "method": "no"}]).to_string()).await;
        let answers = answers.expect("answers");
        let ids: Vec<&Value> = answers.as_array().unwrap().iter().map(|one| &one["id"]).collect();
        assert_eq!(ids, [&json!(1), &json!(null), &json!(2), &json!("x")]);
        assert_eq!(answers[1]["error"]["code"], INVALID_REQUEST);
        let many = with(None, &json!(vec![ping(1); BATCH_MAX + 1]).to_string()).await.expect("an answer");
        assert_eq!(many.standing, Standing::Malformed);
    }
}
