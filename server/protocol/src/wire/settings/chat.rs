//! `chat`: what a model in a conversation learns of an index, and how it searches there; behind an experimental feature.

use lamina_base::engine_errors::Sentence;
use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_base::options::Feature;
use lamina_engine::index::Settings;
use lamina_engine::index::embedding::{TextTemplate, check_template_limits};
use lamina_engine::index::settings::{DEFAULT_TEMPLATE, DEFAULT_TEMPLATE_BYTES_MAX, SettingId};
use serde_json::{Map, Value, json};

use super::kind::{IsOn, Presence, SettingKind, plain};
use super::shape::Shape::{self, Fields, Integer, Own};
use crate::wire::json::At;
use crate::wire::schema::{anything, exactly, one_of, or_null, share, text, texts};
use crate::wire::search::{MATCHING_STRATEGIES, SearchQuery};

/// Parameters that a search of a model may have besides its words and its filter.
const PARAMETERS: [&str; 7] =
    ["hybrid", "limit", "sort", "distinct", "matchingStrategy", "attributesToSearchOn", "rankingScoreThreshold"];
/// Parameters that are texts.
const WORDS: [&str; 2] = ["distinct", "matchingStrategy"];
/// Bytes of a description: the model reads it in each conversation.
const DESCRIPTION_BYTES_MAX: usize = 10_000;
/// Bytes of what the model reads of a document, at most.
const DOCUMENT_BYTES_MAX: u64 = 65_536;
/// Hits of one search of a model.
const LIMIT_MAX: usize = 1000;

const FIELDS: Shape = Fields(&[
    ("description", Own(read_description, text)),
    ("documentTemplate", Own(read_template, text)),
    ("documentTemplateMaxBytes", Integer(1, DOCUMENT_BYTES_MAX)),
    ("searchParameters", Own(read_parameters, parameters_schema)),
]);

pub(super) const CHAT: SettingKind = SettingKind {
    presence: Presence::WithFeature(Feature::ChatCompletions),
    shown: |written| shown(written.as_object()),
    portable,
    check_features: |value, is_on| {
        if is_on(Feature::ChatCompletions) || value.is_null() {
            return Ok(());
        }
        Err(ApiError::feature_not_enabled("setting `chat` in the index settings", "chat completions"))
    },
    ..plain(
        SettingId::Chat,
        ["chat", "chat"],
        Code::InvalidSettingsIndexChat,
        FIELDS,
        &[],
        [
            "for [conversations](../how-to/conversations.md): the `description` of the index that the model reads, \
             the text of each document, and the parameters of its searches; needs the experimental feature \
             `chatCompletions`",
            "object: `description`, `documentTemplate`, `documentTemplateMaxBytes` (400), `searchParameters` (`hybrid`, `limit`, \
             `sort`, `distinct`, `matchingStrategy`, `attributesToSearchOn`, `rankingScoreThreshold`)",
            r#"{"description": "films with year and genres", "searchParameters": {"limit": 5}}"#,
        ],
    )
};

/// # Errors
/// `feature_not_enabled` for the setting's own route while the feature is off.
pub fn check_route(kind: Option<&SettingKind>, is_on: IsOn<'_>) -> ApiResult<()> {
    match kind {
        Some(kind) if kind.id == SettingId::Chat && !is_on(Feature::ChatCompletions) => {
            Err(ApiError::feature_not_enabled("Using `chat` of the index settings", "chat completions"))
        }
        _ => Ok(()),
    }
}

/// Returns the description of an index for the model; empty unless it is set.
pub fn description(settings: &Settings) -> &str {
    settings.chat.get("description").and_then(Value::as_str).unwrap_or_default()
}

/// Returns the parameters of its searches besides words and filter.
pub fn search_parameters(settings: &Settings) -> Map<String, Value> {
    settings.chat.get("searchParameters").and_then(Value::as_object).cloned().unwrap_or_default()
}

/// The template of what it reads of a document, and the most bytes of that.
pub fn document_template(settings: &Settings) -> (&str, usize) {
    let text = settings.chat.get("documentTemplate").and_then(Value::as_str).unwrap_or(DEFAULT_TEMPLATE);
    let bytes_max = settings.chat.get("documentTemplateMaxBytes").and_then(Value::as_u64);
    (text, bytes_max.and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(DEFAULT_TEMPLATE_BYTES_MAX))
}

/// Returns the template of a document for the model.
///
/// # Errors
/// Returns the reason why the template cannot be read. The setting was checked, so only one of another version can
/// fail.
pub fn template(settings: &Settings) -> Result<TextTemplate, String> {
    let (text, bytes_max) = document_template(settings);
    TextTemplate::with_bare_fields(text, bytes_max).map_err(|error| error.to_string())
}

/// Returns the settings as clients see them, with defaults.
fn shown(chat: Option<&Map<String, Value>>) -> Value {
    let of = |field: &str| chat.and_then(|chat| chat.get(field)).cloned();
    let default = |field: &str| match field {
        "description" => json!(""),
        "documentTemplate" => json!(DEFAULT_TEMPLATE),
        "documentTemplateMaxBytes" => json!(DEFAULT_TEMPLATE_BYTES_MAX),
        _ => json!({}),
    };
    FIELDS.names().into_iter().map(|field| (field.to_owned(), of(field).unwrap_or_else(|| default(field)))).collect()
}

fn portable(mut chat: Value) -> Value {
    if let Some(Value::Object(parameters)) = chat.get_mut("searchParameters") {
        parameters.retain(|name, value| !(name == "matchingStrategy" && value == "any"));
        if let Some(Value::Object(hybrid)) = parameters.get_mut("hybrid") {
            hybrid.retain(|name, _| ["embedder", "semanticRatio"].contains(&name.as_str()));
        }
    }
    chat
}

/// Makes null of an empty text in the place of one of `names`.
fn unset_empty(fields: &mut Map<String, Value>, names: &[&str]) {
    for name in names {
        if let Some(value) = fields.get_mut(*name).filter(|value| value.as_str() == Some("")) {
            *value = Value::Null;
        }
    }
}

fn read_description(at: At<'_>) -> ApiResult<Value> {
    let text = at.string()?;
    match text.len() {
        0..=DESCRIPTION_BYTES_MAX => Ok(text.into()),
        found => Err(at.invalid(format!("{found} bytes; at most {DESCRIPTION_BYTES_MAX} are allowed."))),
    }
}

/// A template; an empty text is none, as clients send it that always send all fields.
fn read_template(at: At<'_>) -> ApiResult<Value> {
    let text = at.string()?;
    let refuse = |reason: String| at.invalid(format!("the template is refused: {reason}"));
    check_template_limits(&text).map_err(|limit| refuse(limit.sentence()))?;
    TextTemplate::with_bare_fields(&text, 1).map_err(|error| refuse(error.to_string()))?;
    Ok(if text.is_empty() { Value::Null } else { text.into() })
}

fn read_parameters(at: At<'_>) -> ApiResult<Value> {
    at.fields(&PARAMETERS, |_, _| Ok(()))?;
    let mut sent = at.object()?.clone();
    unset_empty(&mut sent, &WORDS);
    let mut given = sent.clone();
    given.retain(|_, value| !value.is_null());
    let refuse = |reason: &str| at.error(format!("Inside `{}`: {reason}", at.path()));
    let query = SearchQuery::from_body(&Value::Object(given)).map_err(|error| refuse(&error.message))?;
    if query.limit > LIMIT_MAX {
        return Err(refuse(&format!("`limit` is {}; at most {LIMIT_MAX} is allowed.", query.limit)));
    }
    Ok(Value::Object(sent))
}

fn parameters_schema() -> Value {
    let strategies: Vec<&str> = MATCHING_STRATEGIES.iter().map(|(name, _)| *name).chain([""]).collect();
    let parameter = |name: &str| match name {
        // As in searches.
        "hybrid" => anything(),
        "limit" => json!({ "type": "integer", "minimum": 0, "maximum": LIMIT_MAX }),
        "sort" | "attributesToSearchOn" => texts(),
        "matchingStrategy" => one_of(&strategies),
        "rankingScoreThreshold" => share(),
        _ => text(),
    };
    exactly(PARAMETERS.map(|name| (name, or_null(parameter(name)))), &[])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::settings;

    #[test]
    fn what_is_read_and_refused() {
        for (wrong, place) in [
            (json!("films"), ".chat"),
            (json!({"prompt": "x"}), ".chat"),
            (json!({"description": 1}), ".chat.description"),
            (json!({"description": "x".repeat(10_001)}), ".chat.description"),
            (json!({"documentTemplate": "{{doc."}), ".chat.documentTemplate"),
            (json!({"documentTemplateMaxBytes": 0}), ".chat.documentTemplateMaxBytes"),
            (json!({"searchParameters": []}), ".chat.searchParameters"),
            (json!({"searchParameters": {"q": "x"}}), ".chat.searchParameters"),
            (json!({"searchParameters": {"limit": "5"}}), ".chat.searchParameters"),
            (json!({"searchParameters": {"limit": 1001}}), ".chat.searchParameters"),
            (json!({"searchParameters": {"matchingStrategy": "some"}}), ".chat.searchParameters"),
        ] {
            let ApiError { code, message, .. } = settings::read(&json!({ "chat": wrong })).unwrap_err();
            assert!([Code::InvalidSettingsIndexChat, Code::BadRequest].contains(&code), "{message}");
            assert!(message.contains(place), "{message}");
        }
        let sent = json!({"description": "films", "searchParameters": {"limit": 5, "sort": null}});
        let patch = settings::read(&json!({ "chat": sent })).unwrap();
        let stored = settings::merged(&Settings::default(), &patch).unwrap();
        assert_eq!((description(&stored), search_parameters(&stored)["limit"].clone()), ("films", json!(5)));
        let shown = settings::show(&stored, &|_| true)["chat"].clone();
        assert_eq!(shown["documentTemplateMaxBytes"], 400);
        assert_eq!(shown["documentTemplate"], DEFAULT_TEMPLATE);
        assert_eq!(settings::show(&stored, &|_| false).get("chat"), None);
        assert!(template(&stored).is_ok());
        assert!(template(&Settings::default()).is_ok());
        let empty =
            json!({"documentTemplate": "", "searchParameters": {"matchingStrategy": "", "distinct": "", "limit": 2}});
        let patch = settings::read(&json!({ "chat": empty })).unwrap();
        let stored = settings::merged(&stored, &patch).unwrap();
        assert_eq!(document_template(&stored).0, DEFAULT_TEMPLATE);
        assert_eq!(search_parameters(&stored).get("matchingStrategy"), None);
        for text in ["{{ title }}", "{{ doc.title }}"] {
            let patch = settings::read(&json!({ "chat": {"documentTemplate": text} })).unwrap();
            let stored = settings::merged(&Settings::default(), &patch).unwrap();
            assert_eq!(template(&stored).unwrap().render(br#"{"title":"Dune"}"#, &|_| true).unwrap(), "Dune");
        }
    }
}
