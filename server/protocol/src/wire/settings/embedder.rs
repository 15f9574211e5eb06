//! One embedder: which fields each source has, and what can be checked without asking a provider.
//!
//! The engine keeps a configuration as the JSON that was sent, merged field by field; this module is what gives it a
//! shape.

use lamina_base::engine_errors::Sentence;
use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_base::outbound::is_framing;
use lamina_base::secret::shown_url;
use lamina_engine::index::embedding::{
    PASSAGE_TOKENS, PASSAGE_TOKENS_MAX, check_fragments_limits, check_template_limits,
};
use lamina_engine::index::settings::{
    DEFAULT_TEMPLATE, DEFAULT_TEMPLATE_BYTES_MAX, DIMENSIONS_MAX, INDEXING_FRAGMENTS, SEARCH_FRAGMENTS,
    STATIC_TEMPLATE_BYTES_MAX,
};
use lamina_models::embedders::{check_fragments, check_templates};
use serde_json::{Map, Value, json};

use super::secrets::redact;
use super::shape::Shape::{self, Anything, Choice, Count, Flag, Integer, Own, Text};
use super::shape::words;
use crate::wire::json::At;
use crate::wire::schema::{anything, at_least, exactly, map_of, named, or_null, share, text};

/// Source of vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    OpenAi,
    HuggingFace,
    Ollama,
    UserProvided,
    Rest,
    Composite,
    Static,
}

const SOURCES: [(&str, Source); 7] = [
    ("openAi", Source::OpenAi),
    ("huggingFace", Source::HuggingFace),
    ("ollama", Source::Ollama),
    ("userProvided", Source::UserProvided),
    ("rest", Source::Rest),
    ("composite", Source::Composite),
    ("static", Source::Static),
];

pub(super) const SOURCE_NAMES: [&str; SOURCES.len()] = words(&SOURCES);

impl Source {
    fn name(self) -> &'static str {
        SOURCES.iter().find(|(_, source)| *source == self).map_or("", |(name, _)| name)
    }

    fn of(configuration: &Map<String, Value>) -> Source {
        let name = configuration.get("source").and_then(Value::as_str);
        SOURCES.iter().find(|(word, _)| Some(*word) == name).map_or(Source::OpenAi, |(_, source)| *source)
    }
}

/// Presence of a field in a source.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Presence {
    Mandatory,
    Optional,
    Forbidden,
}

/// The fields of a configuration, in the order in which they are listed and shown.
const FIELDS: [(&str, Shape); 19] = [
    ("source", Choice(&SOURCE_NAMES)),
    ("model", Text),
    ("revision", Text),
    // How a model's tokens become one vector.
    ("pooling", Choice(&["useModel", "forceMean", "forceCls"])),
    ("apiKey", Text),
    ("dimensions", Own(|at| not_zero("dimensions", &at), || at_least(1))),
    ("binaryQuantized", Flag),
    ("documentTemplate", Own(template, text)),
    ("documentTemplateMaxBytes", Own(|at| not_zero("documentTemplateMaxBytes", &at), || at_least(1))),
    ("chunks", Own(chunks, || CHUNKS.schema())),
    ("url", Own(url, text)),
    ("indexingFragments", Own(fragments, fragments_schema)),
    ("searchFragments", Own(fragments, fragments_schema)),
    // Templates: any JSON with a placeholder somewhere.
    ("request", Anything),
    ("response", Anything),
    ("headers", Own(headers, || map_of(text()))),
    ("searchEmbedder", Own(|at| nested("searchEmbedder", &at), || named("Embedder"))),
    ("indexingEmbedder", Own(|at| nested("indexingEmbedder", &at), || named("Embedder"))),
    ("distribution", Own(distribution, distribution_schema)),
];

fn names() -> [&'static str; FIELDS.len()] {
    FIELDS.map(|(name, _)| name)
}

fn presence(field: &str, source: Source) -> Presence {
    use Source::{Composite, HuggingFace, Ollama, OpenAi, Rest, Static, UserProvided};
    let (mandatory, optional): (&[Source], &[Source]) = match field {
        "source" | "distribution" | "binaryQuantized" => return Presence::Optional,
        "model" => (&[Ollama, Static], &[OpenAi, HuggingFace]),
        "revision" => (&[], &[HuggingFace, Static]),
        "pooling" => (&[], &[HuggingFace]),
        "apiKey" => (&[], &[OpenAi, Ollama, Rest]),
        "dimensions" => (&[UserProvided], &[OpenAi, Ollama, Rest]),
        "documentTemplate" | "documentTemplateMaxBytes" | "chunks" => {
            (&[], &[OpenAi, HuggingFace, Ollama, Rest, Static])
        }
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
    let read = Shape::Fields(&FIELDS).read(at)?;
    let sent = at.object()?;
    if sent.get("source").is_some_and(|source| !source.is_null()) {
        let source = Source::of(sent);
        check_templates(sent).map_err(unusable)?;
        check_belonging(&place(&at), source, sent, |message| at.error(message))?;
        check_fragments(sent).map_err(unusable)?;
    }
    check_openai_model(&place(&at), sent, sent.contains_key("source"), |message| at.error(message))?;
    check_dimensions(&place(&at), sent, |message| at.error(message))?;
    Ok(read)
}

/// The place as this setting's own messages write it: always from `.embedders` on.
fn place(at: &At<'_>) -> String {
    let path = at.path();
    if path.starts_with(".embedders.") { path } else { format!(".embedders{path}") }
}

fn template(at: At<'_>) -> ApiResult<Value> {
    let text = at.string()?;
    check_template_limits(&text)
        .map_err(|limit| at.error(format!("`{}`: the template is refused: {}", place(&at), limit.sentence())))?;
    Ok(text.into())
}

/// Rules by which texts are cut into passages.
const CHUNKS: Shape = Shape::Record(&[
    ("maxTokens", false, Integer(1, PASSAGE_TOKENS_MAX)),
    ("overlap", false, Count),
    ("by", false, Choice(&["sentence", "word"])),
]);

/// Reads `chunks`; fields that are absent get their defaults.
fn chunks(at: At<'_>) -> ApiResult<Value> {
    let mut read = CHUNKS.read(at)?;
    let most = read["maxTokens"].as_u64().unwrap_or(PASSAGE_TOKENS);
    let overlap = read["overlap"].as_u64().unwrap_or(most / 10);
    if overlap >= most {
        return Err(at.error(format!("`{}`: `overlap` ({overlap}) must be less than `maxTokens` ({most})", place(&at))));
    }
    (read["maxTokens"], read["overlap"]) = (most.into(), overlap.into());
    if read["by"].is_null() {
        read["by"] = "sentence".into();
    }
    Ok(read)
}

fn url(at: At<'_>) -> ApiResult<Value> {
    let url = at.string()?;
    match reqwest::Url::parse(&url) {
        Ok(_) => Ok(url.into()),
        Err(reason) => Err(at.error(format!("`{}`: could not parse `{}`: {reason}", place(&at), shown_url(&url)))),
    }
}

fn headers(at: At<'_>) -> ApiResult<Value> {
    at.entries(|name, header| {
        if is_framing(name) {
            return Err(header.error(format!("`{}`: the server sets this header itself", place(&header))));
        }
        header.string().map(drop)
    })?;
    Ok(at.value().clone())
}

fn fragments(at: At<'_>) -> ApiResult<Value> {
    at.entries(|_, fragment| {
        if fragment.value().is_null() {
            return Ok(());
        }
        fragment.fields(&["value"], |_, _| Ok(()))?;
        if fragment.object()?.contains_key("value") { Ok(()) } else { Err(fragment.missing_field("value")) }
    })?;
    let values = at.object()?.values().filter_map(|fragment| fragment.get("value"));
    check_fragments_limits(values)
        .map_err(|limit| at.error(format!("`{}`: the fragments are refused: {}", place(&at), limit.sentence())))?;
    Ok(at.value().clone())
}

fn fragments_schema() -> Value {
    map_of(or_null(exactly([("value", anything())], &["value"])))
}

/// One side of a pair: an embedder without what belongs to the pair.
fn nested(side: &str, at: &At<'_>) -> ApiResult<Value> {
    let elsewhere: &[&str] = match side {
        "searchEmbedder" => &[
            "distribution",
            "binaryQuantized",
            "documentTemplate",
            "documentTemplateMaxBytes",
            "chunks",
            "indexingFragments",
        ],
        _ => &["distribution", "binaryQuantized", "searchFragments"],
    };
    at.fields(&names(), |name, field| {
        if elsewhere.contains(&name) && !field.value().is_null() {
            return Err(at.error(format!("`{}`: Field `{name}` unavailable inside `{side}`.", place(at))));
        }
        match FIELDS.iter().find(|(known, _)| *known == name) {
            Some((_, shape)) => shape.read_or_null(field).map(drop),
            None => Ok(()),
        }
    })?;
    let sent = at.object()?;
    let Some(source) = sent.get("source").and_then(Value::as_str) else {
        return Err(at.error(format!(
            "`{}`: Missing field `source`.\n  - note: this field is mandatory for nested embedders",
            place(at)
        )));
    };
    if matches!(Source::of(sent), Source::UserProvided | Source::Composite | Source::Static) {
        return Err(
            at.error(format!("`{}.source`: Source `{source}` is not available in a nested embedder", place(at)))
        );
    }
    check_templates(sent).map_err(unusable)?;
    check_belonging(&place(at), Source::of(sent), sent, |message| at.error(message))?;
    check_openai_model(&place(at), sent, true, |message| at.error(message))?;
    check_dimensions(&place(at), sent, |message| at.error(message))?;
    Ok(at.value().clone())
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

fn not_zero(name: &str, at: &At<'_>) -> ApiResult<Value> {
    match at.positive_integer()? {
        0 => Err(at.error(format!("`{}`: `{name}` cannot be zero", place(at)))),
        number => Ok(number.into()),
    }
}

fn distribution(at: At<'_>) -> ApiResult<Value> {
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
    Ok(at.value().clone())
}

fn distribution_schema() -> Value {
    let sigma = json!({ "type": "number", "exclusiveMinimum": 0, "maximum": 1 });
    exactly([("mean", share()), ("sigma", sigma)], &["mean", "sigma"])
}

/// Refuses fields that the source does not have and, after that, mandatory ones that are not there.
fn check_belonging(
    place: &str,
    source: Source,
    configuration: &Map<String, Value>,
    refuse: impl Fn(String) -> ApiError,
) -> ApiResult<()> {
    let given = |field: &str| configuration.get(field).is_some_and(|value| !value.is_null());
    for field in names() {
        if given(field) && presence(field, source) == Presence::Forbidden {
            let having = |(name, other): &(&str, Source)| {
                (presence(field, *other) != Presence::Forbidden).then(|| format!("`{name}`"))
            };
            let sources: Vec<String> = SOURCES.iter().filter_map(having).collect();
            let fields: Vec<String> = names()
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
    match names().into_iter().find(|field| presence(field, source) == Presence::Mandatory && !given(field)) {
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
    for field in names() {
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
        ("documentTemplateMaxBytes", source) if source == Source::Static || stored.contains_key("chunks") => {
            Some(json!(STATIC_TEMPLATE_BYTES_MAX))
        }
        ("documentTemplateMaxBytes", _) => Some(json!(DEFAULT_TEMPLATE_BYTES_MAX)),
        ("headers", Source::Rest) => Some(json!({})),
        _ => None,
    }
}

/// Returns the schema. The source determines the permitted fields; `docs/reference/embedders.md` has the table.
pub fn schema() -> Value {
    Shape::Fields(&FIELDS).schema()
}
