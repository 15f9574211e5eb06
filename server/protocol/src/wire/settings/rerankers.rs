//! `rerankers`: configurations by name, merged field by field.

use lamina_base::engine_errors::Sentence;
use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_base::outbound::{is_framing, parse_url};
use lamina_base::secret::shown_url;
use lamina_engine::index::embedding::check_template_limits;
use lamina_engine::index::settings::{DEFAULT_TEMPLATE, SettingId};
use lamina_engine::index::{Setting, Settings, SettingsPatch};
use lamina_models::rerankers::{
    DEFAULT_MODEL, DEFAULT_REVISION, DEFAULT_TEXT_BYTES_MAX, HUGGING_FACE, REST, TEXT_BYTES_MAX, check_request,
};
use serde_json::{Map, Value, json};

use super::bounds;
use super::kind::{Presence, Reference, SettingKind, WriteVerb};
use super::secrets::redact;
use super::values::{map, sent, setting};
use crate::wire::json::At;
use crate::wire::schema::{anything, exactly, map_of, one_of, or_null, text};

/// Sources of an order.
const SOURCES: [(&str, ()); 2] = [(REST, ()), (HUGGING_FACE, ())];

/// The fields of a configuration, in the order in which they are listed and shown.
const FIELDS: [&str; 9] = [
    "source",
    "url",
    "apiKey",
    "headers",
    "model",
    "revision",
    "request",
    "documentTemplate",
    "documentTemplateMaxBytes",
];
/// Fields that only one source has.
const OF_ONE_SOURCE: [(&str, &str); 5] =
    [("url", REST), ("apiKey", REST), ("headers", REST), ("request", REST), ("revision", HUGGING_FACE)];

pub(super) const RERANKERS: SettingKind = SettingKind {
    id: SettingId::Rerankers,
    key: "rerankers",
    route: "rerankers",
    verb: WriteVerb::Patch,
    presence: Presence::WhenSet,
    code: Code::InvalidSettingsRerankers,
    bounds: bounds::rerankers,
    read: |at, patch| {
        patch.rerankers = setting(at, |at| map(at, |one| setting(one, read)))?;
        Ok(())
    },
    written: |settings| match settings.rerankers.is_empty() {
        true => Value::Null,
        false => Value::Object(settings.rerankers.clone()),
    },
    shown: |written| match written {
        Value::Object(rerankers) => {
            rerankers.into_iter().map(|(name, one)| (name, show(&one))).collect::<Map<_, _>>().into()
        }
        other => other,
    },
    // Clients of the protocol do not know it, so a reset of all settings does not show it.
    sent: |patch| patch.rerankers.as_set().map(|changes| changes.iter().map(sent_one).collect::<Map<_, _>>().into()),
    check_merged,
    schema: || map_of(or_null(schema())),
    reference: Reference {
        purpose: "by name, the models that reorder the first hits of a search, see \
                  [relevance](relevance.md#another-order-for-the-first-hits)",
        value: "object of objects",
        example: r#"{"cross": {"url": "http://127.0.0.1:8080/rerank"}}"#,
    },
    ..SettingKind::PLAIN
};

fn sent_one((name, change): (&String, &Setting<Value>)) -> (String, Value) {
    let redacted = |configuration: &Value| {
        let mut shown = configuration.clone();
        redact(&mut shown);
        shown
    };
    (name.clone(), sent(change, redacted).unwrap_or_default())
}

/// Reads a configuration as sent: types and ranges of every field, and with a `url` also whether its request can work.
fn read(at: At<'_>) -> ApiResult<Value> {
    at.fields(&FIELDS, |name, field| if field.value().is_null() { Ok(()) } else { check_field(name, field) })?;
    let sent = at.object()?;
    if let (Some(Value::String(_)), Some(request)) = (sent.get("url"), request_of(sent)) {
        check_request(request).map_err(|reason| at.error(format!("`{}`: {reason}", at.path())))?;
    }
    Ok(at.value().clone())
}

/// The request of a configuration, if it has one of its own.
fn request_of(configuration: &Map<String, Value>) -> Option<&Value> {
    configuration.get("request").filter(|request| !request.is_null())
}

fn check_field(name: &str, field: At<'_>) -> ApiResult<()> {
    match name {
        "source" => field.one_of(&SOURCES),
        "url" => {
            let url = field.string()?;
            let checked = parse_url(&url).map(drop);
            let place = field.path();
            checked.map_err(|reason| field.error(format!("`{place}`: could not parse `{}`: {reason}", shown_url(&url))))
        }
        "headers" => field.entries(|name, header| {
            if is_framing(name) {
                return Err(header.invalid("the server sets this header itself."));
            }
            header.string().map(drop)
        }),
        // Any JSON, which is checked as a whole.
        "request" => Ok(()),
        "documentTemplate" => {
            let limits = check_template_limits(&field.string()?);
            limits.map_err(|limit| field.invalid(format!("the template is refused: {}", limit.sentence())))
        }
        "documentTemplateMaxBytes" => match field.positive_integer()? {
            1..=TEXT_BYTES_MAX => Ok(()),
            found => Err(field.invalid(format!("expected a number from 1 to {TEXT_BYTES_MAX}, but found {found}"))),
        },
        _ => field.string().map(drop),
    }
}

/// A configuration whose parts were sent one by one is whole at the end.
fn check_merged(patch: &SettingsPatch, _: &Settings, after: &Settings) -> ApiResult<()> {
    if patch.rerankers.as_set().is_none() {
        return Ok(());
    }
    bounds::merged_rerankers(after)?;
    let refuse = |message: String| Err(ApiError::new(Code::InvalidSettingsRerankers, message));
    if after.rerankers.contains_key("") {
        return refuse("`.rerankers`: the name of a reranker cannot be empty".to_owned());
    }
    for (name, configuration) in &after.rerankers {
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
    for field in FIELDS {
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

fn schema() -> Value {
    let field = |name: &str| match name {
        "source" => one_of(&SOURCES.map(|(name, ())| name)),
        "url" => json!({ "type": "string", "format": "uri", "pattern": "^[Hh][Tt][Tt][Pp][Ss]?:" }),
        "headers" => map_of(text()),
        // Any JSON with the placeholders somewhere.
        "request" => anything(),
        "documentTemplateMaxBytes" => json!({ "type": "integer", "minimum": 1, "maximum": TEXT_BYTES_MAX }),
        _ => text(),
    };
    exactly(FIELDS.map(|name| (name, or_null(field(name)))), &[])
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
