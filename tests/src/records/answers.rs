//! Answers as lines of a golden file.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use regex::{Captures, Regex};
use reqwest::Method;
use reqwest::blocking::{RequestBuilder, Response};
use reqwest::header::{ALLOW, CONTENT_TYPE, HeaderMap, HeaderName, RETRY_AFTER, WWW_AUTHENTICATE};
use serde_json::Value;

use crate::keys::MASTER;
use crate::server::Server;

/// Lists of at least so many names are written once.
const NAMES_MIN: usize = 8;
const NOTED: [HeaderName; 3] = [ALLOW, RETRY_AFTER, WWW_AUTHENTICATE];

type Variants = BTreeMap<String, BTreeSet<String>>;

/// A server, and what its answers have in common.
pub(super) struct Recorder {
    pub(super) server: Server,
    /// Statuses, types and links by their codes.
    codes: Mutex<Variants>,
    /// Lists of names that messages repeat, by what stands in the place of each.
    lists: Mutex<Variants>,
    list: Regex,
    masks: Vec<(Regex, &'static str)>,
}

impl Recorder {
    pub(super) fn new(server: Server) -> Recorder {
        let masks = [
            (regex::escape(&server.url), "{server}"),
            (regex::escape(&server.folder().to_string_lossy()), "{folder}"),
            ("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}".to_owned(), "{uuid}"),
            (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z".to_owned(), "{date}"),
            (r"has number \d+".to_owned(), "has number {state}"),
            (r#""processingTimeMs":\d+"#.to_owned(), r#""processingTimeMs":"{time}""#),
            (r#""\d+(\.\d+)?(n|µ|m|)s""#.to_owned(), r#""{time}""#),
        ];
        let masks = masks.map(|(pattern, mask)| (Regex::new(&pattern).expect("a pattern"), mask)).into();
        let list = format!("`[^`]*`(, `[^`]*`){{{},}}", NAMES_MIN - 1);
        let list = Regex::new(&list).expect("a pattern");
        Recorder { server, codes: Mutex::default(), lists: Mutex::default(), list, masks }
    }

    /// A request of the master that registers no task.
    pub(super) fn request(&self, method: &str, path: &str) -> RequestBuilder {
        self.request_with(MASTER, method, path)
    }

    /// A request with a key that registers no task.
    pub(super) fn request_with(&self, key: &str, method: &str, path: &str) -> RequestBuilder {
        self.anonymous(method, path).bearer_auth(key)
    }

    /// A request without a key that registers no task.
    pub(super) fn anonymous(&self, method: &str, path: &str) -> RequestBuilder {
        let method = Method::from_bytes(method.as_bytes()).expect("a method");
        self.server.request(method, path).header("DryRun", "true")
    }

    /// Sends a JSON body as the master.
    pub(super) fn send_json(&self, method: &str, path: &str, body: &Value) -> String {
        self.send(self.request(method, path).json(body))
    }

    /// Sends a request. Of its answer, what it says of an error or a task, and what headers say that not all have.
    pub(super) fn send(&self, request: RequestBuilder) -> String {
        let response = request.send().unwrap_or_else(|error| panic!("no answer: {error:?}\n{}", self.server.log()));
        let status = response.status().as_u16();
        let headers = noted(response.headers());
        let said = self.said(status, response);
        let parts = [status.to_string(), said, headers];
        let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        assert_ne!(status, 500, "{}", parts.join(" "));
        parts.join(" ")
    }

    fn said(&self, status: u16, response: Response) -> String {
        // Streams do not end.
        if status < 300 && !is_json(response.headers()) {
            return String::new();
        }
        let text = response.text().expect("a text");
        let body: Value = serde_json::from_str(&text).unwrap_or_default();
        if let Some(code) = body["code"].as_str() {
            return self.refusal(status, code, &body);
        }
        match body["taskUid"].as_u64() {
            Some(_) => format!("task {}", body["type"].as_str().expect("a type")),
            None if status < 300 => String::new(),
            None => self.masked(&text),
        }
    }

    fn refusal(&self, status: u16, code: &str, body: &Value) -> String {
        let text = |name: &str| body[name].as_str().unwrap_or_else(|| panic!("no `{name}`: {body}"));
        let fields = body.as_object().expect("an object").keys().map(String::as_str).collect::<Vec<&str>>().join(", ");
        // The documentation may be elsewhere, by an option of the build.
        let (_, fragment) = text("link").split_once('#').expect("a fragment");
        let facts = format!("{status} {} {{docs}}#{fragment} ({fields})", text("type"));
        self.codes.lock().expect("no thread panicked").entry(code.to_owned()).or_default().insert(facts);
        format!("{code}: {}", self.masked(text("message")))
    }

    /// A text without what differs between runs, and with the names of lists in place of the lists.
    pub(super) fn masked(&self, text: &str) -> String {
        let masked = self
            .masks
            .iter()
            .fold(text.to_owned(), |text, (pattern, mask)| pattern.replace_all(&text, *mask).into_owned());
        let mut lists = self.lists.lock().expect("no thread panicked");
        let short = self.list.replace_all(&masked, |found: &Captures<'_>| {
            let names: Vec<&str> = found[0].split(", ").collect();
            let name = format!("{{{} … {}, {} names}}", names[0], names[names.len() - 1], names.len());
            lists.entry(name.clone()).or_default().insert(found[0].to_owned());
            name
        });
        short.into_owned()
    }

    /// The facts of all codes, and the lists.
    pub(super) fn common(&self) -> (Variants, Variants) {
        let of = |variants: &Mutex<Variants>| variants.lock().expect("no thread panicked").clone();
        (of(&self.codes), of(&self.lists))
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    headers.get(CONTENT_TYPE).is_some_and(|value| value == "application/json")
}

/// Headers that not every answer has, and a content type other than that of most.
fn noted(headers: &HeaderMap) -> String {
    let other_type = if is_json(headers) { None } else { Some(CONTENT_TYPE) };
    let names = NOTED.into_iter().chain(other_type);
    let notes = names.filter_map(|name| {
        let value = headers.get(&name)?;
        Some(format!("[{name}: {}]", value.to_str().expect("plain text")))
    });
    notes.collect::<Vec<String>>().join(" ")
}
