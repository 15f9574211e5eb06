//! One embedder: which fields each source has, and what can be checked without asking a provider.
//!
//! The engine keeps a configuration as the JSON that was sent, merged field by field; this module is what gives it a
//! shape.

use lamina_base::engine_errors::Sentence;
use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_base::outbound::is_framing;
use lamina_base::secret::shown_url;
use lamina_engine::index::embedding::{check_fragments_limits, check_template_limits};
use lamina_engine::index::settings::{
    DEFAULT_TEMPLATE, DEFAULT_TEMPLATE_BYTES_MAX, DIMENSIONS_MAX, INDEXING_FRAGMENTS, SEARCH_FRAGMENTS,
};
use lamina_models::embedders::{check_fragments, check_templates};
use serde_json::{Map, Value, json};

use super::secrets::redact;
use super::values::words;
use crate::wire::json::At;
use crate::wire::schema::{anything, at_least, exactly, flag, map_of, named, one_of, or_null, share, text};

/// Source of vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    OpenAi,
    HuggingFace,
    Ollama,
    UserProvided,
    Rest,
    Composite,
}

const SOURCES: [(&str, Source); 6] = [
    ("openAi", Source::OpenAi),
    ("huggingFace", Source::HuggingFace),
    ("ollama", Source::Ollama),
    ("userProvided", Source::UserProvided),
    ("rest", Source::Rest),
    ("composite", Source::Composite),
];

impl Source {
    fn name(self) -> &'static str {
        SOURCES.iter().find(|(_, source)| *source == self).map_or("", |(name, _)| name)
    }

    fn of(configuration: &Map<String, Value>) -> Source {
        let name = configuration.get("source").and_then(Value::as_str);
        SOURCES.iter().find(|(word, _)| Some(*word) == name).map_or(Source::OpenAi, |(_, source)| *source)
    }
}

/// Methods of combining the vectors of a model's tokens into one.
const POOLINGS: [(&str, ()); 3] = [("useModel", ()), ("forceMean", ()), ("forceCls", ())];

/// The words of `source`.
pub(super) fn sources() -> Vec<&'static str> {
    words(&SOURCES)
}

/// Presence of a field in a source.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Presence {
    Mandatory,
    Optional,
    Forbidden,
}

/// The fields of a configuration, in the order in which they are listed and shown.
pub(super) const FIELDS: [&str; 18] = [
    "source",
    "model",
    "revision",
    "pooling",
    "apiKey",
    "dimensions",
    "binaryQuantized",
    "documentTemplate",
    "documentTemplateMaxBytes",
    "url",
    "indexingFragments",
    "searchFragments",
    "request",
    "response",
    "headers",
    "searchEmbedder",
    "indexingEmbedder",
    "distribution",
];

fn presence(field: &str, source: Source) -> Presence {
    use Source::{Composite, HuggingFace, Ollama, OpenAi, Rest, UserProvided};
    let (mandatory, optional): (&[Source], &[Source]) = match field {
        "source" | "distribution" | "binaryQuantized" => return Presence::Optional,
        "model" => (&[Ollama], &[OpenAi, HuggingFace]),
        "revision" | "pooling" => (&[], &[HuggingFace]),
        "apiKey" => (&[], &[OpenAi, Ollama, Rest]),
        "dimensions" => (&[UserProvided], &[OpenAi, Ollama, Rest]),
        "documentTemplate" | "documentTemplateMaxBytes" => (&[], &[OpenAi, HuggingFace, Ollama, Rest]),
        "url" => (&[Rest], &[OpenAi, Ollama]),
        "request" | "response" => (&[Rest], &[]),
        "headers" | "indexingFragments" | "searchFragments" => (&[], &[Rest]),
        "searchEmbedder" | "indexingEmbedder" => (&[Composite], &[]),
        _ => (&[], &[]),
    };
    if mandatory.contains(&source) {
        Presence::Mandatory
    } else if optional.contains(&source) {
        Presence::Optional
    } else {
        Presence::Forbidden
    }
}

/// Reads a configuration as sent: types and ranges of every field, and with a `source` also which fields belong.
///
/// # Errors
/// `feature_not_enabled` for what this server does not offer, else the code of the setting.
pub(super) fn read(at: At<'_>) -> ApiResult<Value> {
    at.fields(&FIELDS, |name, field| if field.value().is_null() { Ok(()) } else { check_field(name, field) })?;
    let sent = at.object()?;
    if sent.get("source").is_some_and(|source| !source.is_null()) {
        let source = Source::of(sent);
        check_templates(sent).map_err(unusable)?;
        check_belonging(&place(&at), source, sent, |message| at.error(message))?;
        check_fragments(sent).map_err(unusable)?;
    }
    check_openai_model(&place(&at), sent, sent.contains_key("source"), |message| at.error(message))?;
    check_dimensions(&place(&at), sent, |message| at.error(message))?;
    Ok(at.value().clone())
}

/// The place as this setting's own messages write it: always from `.embedders` on.
fn place(at: &At<'_>) -> String {
    let path = at.path();
    if path.starts_with(".embedders.") { path } else { format!(".embedders{path}") }
}

fn check_field(name: &str, field: At<'_>) -> ApiResult<()> {
    match name {
        "source" => drop(field.one_of(&SOURCES)?),
        "model" | "revision" | "apiKey" => drop(field.string()?),
        "documentTemplate" => {
            if let Err(limit) = check_template_limits(&field.string()?) {
                let reason = limit.sentence();
                return Err(field.error(format!("`{}`: the template is refused: {reason}", place(&field))));
            }
        }
        "pooling" => drop(field.one_of(&POOLINGS)?),
        "dimensions" | "documentTemplateMaxBytes" => not_zero(name, field)?,
        "binaryQuantized" => drop(field.boolean()?),
        "url" => {
            let url = field.string()?;
            if let Err(reason) = reqwest::Url::parse(&url) {
                return Err(field.error(format!(
                    "`{}`: could not parse `{}`: {reason}",
                    place(&field),
                    shown_url(&url)
                )));
            }
        }
        "headers" => field.entries(|name, header| {
            if is_framing(name) {
                return Err(header.error(format!("`{}`: the server sets this header itself", place(&header))));
            }
            header.string().map(drop)
        })?,
        "distribution" => distribution(field)?,
        "indexingFragments" | "searchFragments" => {
            field.entries(|_, fragment| {
                if fragment.value().is_null() {
                    return Ok(());
                }
                fragment.fields(&["value"], |_, _| Ok(()))?;
                if fragment.object()?.contains_key("value") { Ok(()) } else { Err(fragment.missing_field("value")) }
            })?;
            let fragments = field.object()?.values().filter_map(|fragment| fragment.get("value"));
            if let Err(limit) = check_fragments_limits(fragments) {
                let reason = limit.sentence();
                return Err(field.error(format!("`{}`: the fragments are refused: {reason}", place(&field))));
            }
        }
        "searchEmbedder" | "indexingEmbedder" => {
            nested(name, field)?;
        }
        // `request` and `response` are templates: any JSON.
        _ => {}
    }
    Ok(())
}

/// One side of a pair: an embedder without what belongs to the pair.
fn nested(side: &str, at: At<'_>) -> ApiResult<()> {
    let elsewhere: &[&str] = match side {
        "searchEmbedder" => {
            &["distribution", "binaryQuantized", "documentTemplate", "documentTemplateMaxBytes", "indexingFragments"]
        }
        _ => &["distribution", "binaryQuantized", "searchFragments"],
    };
    at.fields(&FIELDS, |name, field| {
        if field.value().is_null() {
            return Ok(());
        }
        if elsewhere.contains(&name) {
            return Err(at.error(format!("`{}`: Field `{name}` unavailable inside `{side}`.", place(&at))));
        }
        check_field(name, field)
    })?;
    let sent = at.object()?;
    let Some(source) = sent.get("source").and_then(Value::as_str) else {
        return Err(at.error(format!(
            "`{}`: Missing field `source`.\n  - note: this field is mandatory for nested embedders",
            place(&at)
        )));
    };
    if matches!(Source::of(sent), Source::UserProvided | Source::Composite) {
        return Err(
            at.error(format!("`{}.source`: Source `{source}` is not available in a nested embedder", place(&at)))
        );
    }
    check_templates(sent).map_err(unusable)?;
    check_belonging(&place(&at), Source::of(sent), sent, |message| at.error(message))?;
    check_openai_model(&place(&at), sent, true, |message| at.error(message))?;
    check_dimensions(&place(&at), sent, |message| at.error(message))
}

/// A configuration that could not be used.
fn unusable(reason: String) -> ApiError {
    ApiError::new(Code::VectorEmbeddingError, format!("Error while generating embeddings: user error: {reason}"))
}

/// Refuses fragments where they are switched off.
///
/// # Errors
/// `feature_not_enabled`
pub(super) fn check_multimodal(patch: &Value) -> ApiResult<()> {
    let Some(sent) = patch.as_object() else { return Ok(()) };
    let names = [INDEXING_FRAGMENTS, SEARCH_FRAGMENTS];
    if let Some(name) = names.into_iter().find(|name| sent.get(*name).is_some_and(|value| !value.is_null())) {
        return Err(ApiError::feature_not_enabled(format!("setting `{name}`"), "multimodal"));
    }
    let nested = ["searchEmbedder", "indexingEmbedder"].into_iter().filter_map(|name| sent.get(name));
    nested.into_iter().try_for_each(check_multimodal)
}

/// Refuses what is switched off.
///
/// # Errors
/// `feature_not_enabled`
pub(super) fn check_composite(patch: &Value) -> ApiResult<()> {
    let Some(sent) = patch.as_object() else { return Ok(()) };
    if sent.get("source").and_then(Value::as_str) == Some("composite") {
        return Err(ApiError::feature_not_enabled("using `\"composite\"` as source", "composite embedders"));
    }
    let nested = ["searchEmbedder", "indexingEmbedder"];
    match nested.into_iter().find(|name| sent.get(*name).is_some_and(|value| !value.is_null())) {
        Some(name) => Err(ApiError::feature_not_enabled(format!("setting `{name}`"), "composite embedders")),
        None => Ok(()),
    }
}

fn not_zero(name: &str, field: At<'_>) -> ApiResult<()> {
    match field.positive_integer()? {
        0 => Err(field.error(format!("`{}`: `{name}` cannot be zero", place(&field)))),
        _ => Ok(()),
    }
}

fn distribution(at: At<'_>) -> ApiResult<()> {
    let (mut mean, mut sigma) = (None, None);
    at.fields(&["mean", "sigma"], |name, field| {
        let number = field.number()?;
        if !(0.0..=1.0).contains(&number) || (name == "sigma" && number == 0.0) {
            let range =
                if name == "sigma" { "greater than `0.0` and at most `1.0`" } else { "between `0.0` and `1.0`" };
            return Err(field.invalid(format!("the value of `{name}` is invalid, expected a float {range}.")));
        }
        *(if name == "mean" { &mut mean } else { &mut sigma }) = Some(number);
        Ok(())
    })?;
    mean.ok_or_else(|| at.missing_field("mean"))?;
    sigma.ok_or_else(|| at.missing_field("sigma"))?;
    Ok(())
}

/// Refuses fields that the source does not have and, after that, mandatory ones that are not there.
fn check_belonging(
    place: &str,
    source: Source,
    configuration: &Map<String, Value>,
    refuse: impl Fn(String) -> ApiError,
) -> ApiResult<()> {
    let given = |field: &str| configuration.get(field).is_some_and(|value| !value.is_null());
    for field in FIELDS {
        if given(field) && presence(field, source) == Presence::Forbidden {
            let having = |(name, other): &(&str, Source)| {
                (presence(field, *other) != Presence::Forbidden).then(|| format!("`{name}`"))
            };
            let sources: Vec<String> = SOURCES.iter().filter_map(having).collect();
            let fields: Vec<String> = FIELDS
                .iter()
                .filter(|field| presence(field, source) != Presence::Forbidden)
                .map(|field| format!("`{field}`"))
                .collect();
            return Err(refuse(format!(
                "`{place}`: Field `{field}` unavailable for source `{source}`.\n  - note: `{field}` is available for \
                 sources: {}\n  - note: available fields for source `{source}`: {}",
                sources.join(", "),
                fields.join(", "),
                source = source.name(),
            )));
        }
    }
    match FIELDS.iter().find(|field| presence(field, source) == Presence::Mandatory && !given(field)) {
        Some(field) => Err(refuse(format!(
            "`{place}`: Missing field `{field}` (note: this field is mandatory for source `{}`)",
            source.name()
        ))),
        None => Ok(()),
    }
}

/// Model names and sizes that the source stands for, whatever the address: others are what the source `rest` is for.
fn check_openai_model(
    place: &str,
    configuration: &Map<String, Value>,
    source_known: bool,
    refuse: impl Fn(String) -> ApiError,
) -> ApiResult<()> {
    if !source_known || Source::of(configuration) != Source::OpenAi {
        return Ok(());
    }
    let model = configuration.get("model").and_then(Value::as_str).unwrap_or(OPENAI_DEFAULT_MODEL);
    let Some((_, dimensions_max)) = OPENAI_MODELS.iter().find(|(name, _)| *name == model) else {
        return Err(refuse(format!(
            "`{place}.model`: Invalid model `{model}` for OpenAI. Supported models: {:?}",
            OPENAI_MODELS.map(|(name, _)| name)
        )));
    };
    match (configuration.get("dimensions").and_then(Value::as_u64), dimensions_max) {
        (Some(found), Some(max)) if found > *max => Err(refuse(format!(
            "`{place}.dimensions`: Model `{model}` does not support overriding its dimensions to a value higher than \
             {max}. Found {found}"
        ))),
        (Some(found), None) if found != 1536 => Err(refuse(format!(
            "`{place}.dimensions`: Model `{model}` does not support overriding its native dimensions of 1536. Found \
             {found}"
        ))),
        _ => Ok(()),
    }
}

/// Refuses vectors that no index holds. What the model allows is checked before.
fn check_dimensions(
    place: &str,
    configuration: &Map<String, Value>,
    refuse: impl Fn(String) -> ApiError,
) -> ApiResult<()> {
    match configuration.get("dimensions").and_then(Value::as_u64) {
        Some(found) if found > u64::from(DIMENSIONS_MAX) => Err(refuse(format!(
            "`{place}.dimensions`: `dimensions` cannot be higher than {DIMENSIONS_MAX}. Found {found}"
        ))),
        _ => Ok(()),
    }
}

const OPENAI_DEFAULT_MODEL: &str = "text-embedding-3-small";
/// Models of the provider's own service, with the most dimensions that may be asked for (`None`: not to be changed).
const OPENAI_MODELS: [(&str, Option<u64>); 3] =
    [("text-embedding-ada-002", None), ("text-embedding-3-small", Some(1536)), ("text-embedding-3-large", Some(3072))];

/// Checks configurations after merging with the stored ones.
pub(super) fn check_merged(stored: &Map<String, Value>, embedders: &Map<String, Value>) -> ApiResult<()> {
    let refuse = |message: String| ApiError::new(Code::InvalidSettingsEmbedders, message);
    if embedders.contains_key("") {
        return Err(refuse("`.embedders`: the name of an embedder cannot be empty".to_owned()));
    }
    for (name, configuration) in embedders {
        let Value::Object(configuration) = configuration else { continue };
        let place = format!(".embedders.{name}");
        let is_binary = |configuration: Option<&Value>| configuration == Some(&Value::Bool(true));
        let was_binary = is_binary(stored.get(name).and_then(|before| before.get("binaryQuantized")));
        if was_binary && !is_binary(configuration.get("binaryQuantized")) {
            return Err(refuse(format!(
                "`{place}.binaryQuantized`: Cannot disable the binary quantization.\n  - note: the full vectors are not \
                 kept\n  - note: remove the embedder and add it again to start over"
            )));
        }
        check_belonging(&place, Source::of(configuration), configuration, refuse)?;
        check_openai_model(&place, configuration, true, refuse)?;
        check_templates(configuration).map_err(unusable)?;
        check_fragments(configuration).map_err(unusable)?;
    }
    Ok(())
}

/// A stored configuration as clients see it: the fields of its source with their defaults, secrets redacted.
pub(super) fn show(configuration: &Value) -> Value {
    let Value::Object(stored) = configuration else { return configuration.clone() };
    let source = Source::of(stored);
    let mut shown = Map::new();
    for field in FIELDS {
        if presence(field, source) == Presence::Forbidden {
            continue;
        }
        let value = match stored.get(field) {
            Some(value) if !value.is_null() => Some(value.clone()),
            _ if field.starts_with("documentTemplate") && stored.contains_key(INDEXING_FRAGMENTS) => None,
            _ => default_of(field, source, stored),
        };
        if let Some(value) = value {
            shown.insert(field.to_owned(), value);
        }
    }
    let mut shown = Value::Object(shown);
    redact(&mut shown);
    shown
}

fn default_of(field: &str, source: Source, stored: &Map<String, Value>) -> Option<Value> {
    match (field, source) {
        ("source", _) => Some(json!(source.name())),
        ("model", Source::OpenAi) => Some(json!(OPENAI_DEFAULT_MODEL)),
        ("model", Source::HuggingFace) => Some(json!("BAAI/bge-base-en-v1.5")),
        // A revision belongs to a model, so only the default model has a default one.
        ("revision", Source::HuggingFace) if !stored.contains_key("model") => {
            Some(json!("617ca489d9e86b49b8167676d8220688b99db36e"))
        }
        ("pooling", Source::HuggingFace) => Some(json!("useModel")),
        ("documentTemplate", _) => Some(json!(DEFAULT_TEMPLATE)),
        ("documentTemplateMaxBytes", _) => Some(json!(DEFAULT_TEMPLATE_BYTES_MAX)),
        ("headers", Source::Rest) => Some(json!({})),
        _ => None,
    }
}

/// Returns the schema. The source determines the permitted fields; `docs/semantic-search.md` has the table.
pub fn schema() -> Value {
    exactly(FIELDS.into_iter().map(|name| (name, or_null(field_schema(name)))), &[])
}

fn field_schema(name: &str) -> Value {
    match name {
        "source" => one_of(&sources()),
        "pooling" => one_of(&words(&POOLINGS)),
        "dimensions" | "documentTemplateMaxBytes" => at_least(1),
        "binaryQuantized" => flag(),
        "headers" => map_of(text()),
        "distribution" => {
            let sigma = json!({ "type": "number", "exclusiveMinimum": 0, "maximum": 1 });
            exactly([("mean", share()), ("sigma", sigma)], &["mean", "sigma"])
        }
        "searchEmbedder" | "indexingEmbedder" => named("Embedder"),
        // Templates: any JSON with a placeholder somewhere.
        "request" | "response" => anything(),
        "indexingFragments" | "searchFragments" => map_of(or_null(exactly([("value", anything())], &["value"]))),
        _ => text(),
    }
}
