//! `rerankers`: configurations by name, merged field by field.

use lamina_base::engine_errors::Sentence;
use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_base::outbound::{is_framing, parse_url};
use lamina_base::secret::shown_url;
use lamina_engine::index::embedding::check_template_limits;
use lamina_engine::index::settings::{DEFAULT_TEMPLATE, SettingId};
use lamina_engine::index::{Settings, SettingsPatch};
use lamina_models::rerankers::{
    DEFAULT_MODEL, DEFAULT_REVISION, DEFAULT_TEXT_BYTES_MAX, HUGGING_FACE, REST, TEXT_BYTES_MAX, check_request,
};
use serde_json::{Map, Value, json};

use super::kind::{SettingKind, plain};
use super::secrets::{redact, redacted_entries};
use super::shape::Shape::{self, After, Anything, Choice, Entries, Fields, Integer, Own, Text};
use super::{bounds, shown_entries};
use crate::wire::json::At;
use crate::wire::schema::{map_of, text};

/// The fields of a configuration, in the order in which they are listed and shown.
const CONFIGURATION: Shape = Fields(&[
    ("source", Choice(&[REST, HUGGING_FACE])),
    ("url", Own(url, || json!({ "type": "string", "format": "uri", "pattern": "^[Hh][Tt][Tt][Pp][Ss]?:" }))),
    ("apiKey", Text),
    ("headers", Own(headers, || map_of(text()))),
    ("model", Text),
    ("revision", Text),
    // Any JSON with the placeholders somewhere, which is checked as a whole.
    ("request", Anything),
    ("documentTemplate", Own(template, text)),
    ("documentTemplateMaxBytes", Integer(1, TEXT_BYTES_MAX)),
]);
/// Fields that only one source has.
const OF_ONE_SOURCE: [(&str, &str); 5] =
    [("url", REST), ("apiKey", REST), ("headers", REST), ("request", REST), ("revision", HUGGING_FACE)];

pub(super) const RERANKERS: SettingKind = SettingKind {
    shown: |written| shown_entries(written, show),
    in_task: redacted_entries,
    check_merged,
    ..plain(
        SettingId::Rerankers,
        ["rerankers", "rerankers"],
        Code::InvalidSettingsRerankers,
        Entries(&After(&CONFIGURATION, check_sent), bounds::RERANKERS),
        &[],
        [
            "by name, the models that reorder the first hits of a search, see \
             [rerank](../how-to/rerank.md)",
            "object of objects",
            r#"{"cross": {"url": "http://127.0.0.1:8080/rerank"}}"#,
        ],
    )
    .when_set()
};

/// Checks with a `url` also whether its request can work.
fn check_sent(at: &At<'_>, sent: &Value) -> ApiResult<()> {
    match (&sent["url"], sent.as_object().and_then(request_of)) {
        (Value::String(_), Some(request)) => {
            check_request(request).map_err(|reason| at.error(format!("`{}`: {reason}", at.path())))
        }
        _ => Ok(()),
    }
}

/// The request of a configuration, if it has one of its own.
fn request_of(configuration: &Map<String, Value>) -> Option<&Value> {
    configuration.get("request").filter(|request| !request.is_null())
}

fn url(at: At<'_>) -> ApiResult<Value> {
    let url = at.string()?;
    match parse_url(&url) {
        Ok(_) => Ok(url.into()),
        Err(reason) => Err(at.error(format!("`{}`: could not parse `{}`: {reason}", at.path(), shown_url(&url)))),
    }
}

fn headers(at: At<'_>) -> ApiResult<Value> {
    at.entries(|name, header| {
        if is_framing(name) {
            return Err(header.invalid("the server sets this header itself."));
        }
        header.string().map(drop)
    })?;
    Ok(at.value().clone())
}

fn template(at: At<'_>) -> ApiResult<Value> {
    let text = at.string()?;
    check_template_limits(&text)
        .map_err(|limit| at.invalid(format!("the template is refused: {}", limit.sentence())))?;
    Ok(text.into())
}

/// A configuration whose parts were sent one by one is whole at the end.
fn check_merged(patch: &SettingsPatch, _: &Settings, after: &Settings) -> ApiResult<()> {
    if patch.rerankers.as_set().is_none() {
        return Ok(());
    }
    bounds::check_merged("rerankers", after.rerankers.len(), bounds::RERANKERS_MAX, Code::InvalidSettingsRerankers)?;
    let refuse = |message: String| Err(ApiError::new(Code::InvalidSettingsRerankers, message));
    if after.rerankers.contains_key("") {
        return refuse("`.rerankers`: the name of a reranker cannot be empty".to_owned());
    }
    for (name, configuration) in after.rerankers.iter() {
        let source = source(configuration);
        if source == REST && configuration.get("url").is_none() {
            return refuse(format!("`.rerankers.{name}`: Missing field `url`"));
        }
        let foreign = OF_ONE_SOURCE.iter().find(|(field, of)| *of != source && configuration.get(field).is_some());
        if let Some((field, of)) = foreign {
            return refuse(format!(
                "`.rerankers.{name}`: `{field}` is of source `{of}` only, and the source is `{source}`: set it to `null`"
            ));
        }
        if let Some(Err(reason)) = configuration.as_object().and_then(request_of).map(check_request) {
            return refuse(format!("`.rerankers.{name}`: {reason}"));
        }
    }
    Ok(())
}

fn source(configuration: &Value) -> &str {
    configuration.get("source").and_then(Value::as_str).unwrap_or(REST)
}

/// A stored configuration as clients see it: with its defaults, secrets redacted.
fn show(configuration: &Value) -> Value {
    let mut shown = Map::new();
    for field in CONFIGURATION.names() {
        let default = match field {
            "source" => Some(json!(REST)),
            "model" if source(configuration) == HUGGING_FACE => Some(json!(DEFAULT_MODEL)),
            "revision" if source(configuration) == HUGGING_FACE => Some(json!(DEFAULT_REVISION)),
            "documentTemplate" => Some(json!(DEFAULT_TEMPLATE)),
            "documentTemplateMaxBytes" => Some(json!(DEFAULT_TEXT_BYTES_MAX)),
            _ => None,
        };
        if let Some(value) = configuration.get(field).cloned().or(default) {
            shown.insert(field.to_owned(), value);
        }
    }
    let mut shown = Value::Object(shown);
    redact(&mut shown);
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::settings;

    #[test]
    fn rerankers_are_checked_and_masked() {
        let url = "https://user:s3cret-password@h/rerank?token=s3cret-token";
        for (wrong, place) in [
            (json!({"cross": "http://h/"}), ".rerankers.cross"),
            (json!({"cross": {"urls": "http://h/"}}), ".rerankers.cross"),
            (json!({"cross": {"source": "openAi"}}), ".rerankers.cross.source"),
            (json!({"cross": {"url": "h"}}), ".rerankers.cross.url"),
            (json!({"cross": {"url": "file:///etc/passwd"}}), ".rerankers.cross.url"),
            (json!({"cross": {"apiKey": 1}}), ".rerankers.cross.apiKey"),
            (json!({"cross": {"headers": {"Content-Length": "1"}}}), ".rerankers.cross.headers.Content-Length"),
            (json!({"cross": {"headers": {"a": 1}}}), ".rerankers.cross.headers.a"),
            (json!({"cross": {"model": []}}), ".rerankers.cross.model"),
            (json!({"cross": {"source": "huggingFace", "revision": 1}}), ".rerankers.cross.revision"),
            (json!({"cross": {"url": "http://h/", "request": {"query": "{{query}}"}}}), ".rerankers.cross"),
            (json!({"cross": {"documentTemplate": 1}}), ".rerankers.cross.documentTemplate"),
            (json!({"cross": {"documentTemplateMaxBytes": 0}}), ".rerankers.cross.documentTemplateMaxBytes"),
            (json!({"cross": {"documentTemplateMaxBytes": 65_537}}), ".rerankers.cross.documentTemplateMaxBytes"),
        ] {
            let ApiError { code, message, .. } = settings::read(&json!({ "rerankers": wrong })).unwrap_err();
            assert!([Code::InvalidSettingsRerankers, Code::BadRequest].contains(&code), "{message}");
            assert!(message.contains(place), "{message}");
        }
        let many: Map<String, Value> = (0..17).map(|n| (n.to_string(), json!({"url": "http://h/"}))).collect();
        let refused = settings::read(&json!({ "rerankers": many })).unwrap_err();
        assert_eq!(refused.code, Code::InvalidSettingsRerankers);
        let sent = json!({"rerankers": {"cross": {"url": url, "apiKey": "s3cret-key-1234567890", "headers": {"x": "s3cret"}}}});
        let patch = settings::read(&sent).unwrap();
        let stored = settings::merged(&Settings::default(), &patch).unwrap();
        let shown = settings::show(&stored, &|_| true)["rerankers"].clone();
        assert!(!shown.to_string().contains("s3cret-"), "{shown}");
        assert_eq!(
            (&shown["cross"]["source"], &shown["cross"]["documentTemplateMaxBytes"]),
            (&json!("rest"), &json!(2000))
        );
        assert!(!Value::Object(settings::details(&patch)).to_string().contains("s3cret-"), "of the task");
        assert_eq!(settings::written(&stored)["rerankers"], sent["rerankers"], "a dump has them");
        assert_eq!(settings::show(&Settings::default(), &|_| true).get("rerankers"), None);
    }

    #[test]
    fn fields_of_another_source_are_refused() {
        let request = json!({"cross": {"request": 1}});
        for (partly, reason) in [
            (json!({"cross": {"apiKey": "k"}}), "Missing field `url`"),
            (json!({"": {"url": "http://h/"}}), "the name of a reranker cannot be empty"),
            (request, "Missing field `url`"),
            (
                json!({"cross": {"url": "http://h/", "revision": "r"}}),
                "`revision` is of source `huggingFace` only, and the source is `rest`: set it to `null`",
            ),
            (
                json!({"cross": {"source": "huggingFace", "url": "http://h/"}}),
                "`url` is of source `rest` only, and the source is `huggingFace`: set it to `null`",
            ),
            (json!({"cross": {"source": "huggingFace", "request": {}}}), "`request` is of source `rest` only"),
        ] {
            let patch = settings::read(&json!({ "rerankers": partly })).unwrap();
            let refused = settings::merged(&Settings::default(), &patch).unwrap_err();
            assert_eq!(refused.code, Code::InvalidSettingsRerankers);
            assert!(refused.message.contains(reason), "{}", refused.message);
        }
        let patch = settings::read(&json!({"rerankers": {"here": {"source": "huggingFace"}}})).unwrap();
        let shown = settings::show(&settings::merged(&Settings::default(), &patch).unwrap(), &|_| true);
        let of_here = ["model", "revision"].map(|field| shown["rerankers"]["here"][field].clone());
        assert_eq!(of_here, ["cross-encoder/ms-marco-MiniLM-L-6-v2", "main"]);
    }
}
