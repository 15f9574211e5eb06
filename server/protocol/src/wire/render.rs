//! The body of POST `/render-template`: which template, and what it is rendered with.

use lamina_base::error::{ApiResult, Code};
use lamina_engine::index::settings::DEFAULT_TEMPLATE_BYTES_MAX;
use serde_json::{Value, json};

use super::json::{At, Kind, required};
use super::schema::{anything, at_least, exactly, index_uid, map_of, one_of, or_null, text};

/// Template to render.
#[derive(Clone, Debug, PartialEq)]
pub enum Template {
    /// The template for documents of an embedder.
    Document { index_uid: String, embedder: String },
    /// A fragment for documents.
    IndexingFragment { index_uid: String, embedder: String, fragment: String },
    /// A fragment for queries.
    SearchFragment { index_uid: String, embedder: String, fragment: String },
    /// The template for documents that a chat is shown.
    Chat { index_uid: String },
    /// A template for documents that comes with the request.
    InlineDocument { text: String, bytes_max: usize },
    /// A fragment that comes with the request.
    InlineFragment(Value),
}

/// Input of the rendering.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// Document that an index has stored under an id.
    IndexDocument { index_uid: String, id: String },
    /// A document that comes with the request.
    InlineDocument(Value),
    /// A query.
    InlineSearch { q: Option<String>, media: Option<Value> },
}

/// The whole body.
#[derive(Clone, Debug, PartialEq)]
pub struct RenderRequest {
    /// Template to render.
    pub template: Template,
    /// `None`: the template itself is all that is asked for.
    pub input: Option<Input>,
}

/// A kind with its fields: those that must be there, and others.
struct Shape {
    kind: &'static str,
    required: &'static [&'static str],
    optional: &'static [&'static str],
}

impl Shape {
    /// Returns whether its value is any JSON, so that null is one.
    fn takes_anything(&self) -> bool {
        self.kind == "inlineFragment"
    }
}

const fn shape(kind: &'static str, required: &'static [&'static str]) -> Shape {
    Shape { kind, required, optional: &[] }
}

const TEMPLATES: [Shape; 6] = [
    shape("documentTemplate", &["indexUid", "embedder"]),
    shape("indexingFragment", &["indexUid", "embedder", "fragment"]),
    shape("searchFragment", &["indexUid", "embedder", "fragment"]),
    shape("chatDocumentTemplate", &["indexUid"]),
    Shape { kind: "inlineDocumentTemplate", required: &["inline"], optional: &["documentTemplateMaxBytes"] },
    shape("inlineFragment", &["inline"]),
];

/// The fields of all kinds. Clients that always send all of them give those that a kind does not have no value.
const FIELDS: [&str; 6] = ["indexUid", "embedder", "fragment", "id", "inline", "documentTemplateMaxBytes"];

const INPUTS: [Shape; 3] = [
    shape("indexDocument", &["indexUid", "id"]),
    shape("inlineDocument", &["inline"]),
    shape("inlineSearch", &["inline"]),
];

/// Fields of a template or an input.
#[derive(Debug, Default)]
struct Fields {
    index_uid: Option<String>,
    embedder: Option<String>,
    fragment: Option<String>,
    id: Option<String>,
    inline: Option<Value>,
    search: (Option<String>, Option<Value>),
    bytes_max: Option<usize>,
}

impl RenderRequest {
    /// Reads the body.
    ///
    /// # Errors
    /// `invalid_render_template`, `invalid_render_input` and, for other fields, `bad_request`
    pub fn from_body(body: &Value) -> ApiResult<RenderRequest> {
        let (mut template, mut input) = (None, None);
        let root = At::root(body);
        root.fields(&["template", "input"], |name, field| {
            match name {
                "template" => template = Some(read_template(&field.code(Code::InvalidRenderTemplate))?),
                _ => input = field.code(Code::InvalidRenderInput).optional(|field| read_input(&field))?,
            }
            Ok(())
        })?;
        Ok(RenderRequest { template: required(template, &root, "template", Code::InvalidRenderTemplate)?, input })
    }

    /// The indexes that it reads.
    pub fn index_uids(&self) -> impl Iterator<Item = &str> {
        let of_input = match &self.input {
            Some(Input::IndexDocument { index_uid, .. }) => Some(index_uid.as_str()),
            _ => None,
        };
        self.template.index_uid().into_iter().chain(of_input)
    }
}

impl Template {
    /// The index whose settings hold it.
    pub fn index_uid(&self) -> Option<&str> {
        match self {
            Template::Document { index_uid, .. }
            | Template::IndexingFragment { index_uid, .. }
            | Template::SearchFragment { index_uid, .. }
            | Template::Chat { index_uid } => Some(index_uid),
            Template::InlineDocument { .. } | Template::InlineFragment(_) => None,
        }
    }
}

fn read_template(target: &At<'_>) -> ApiResult<Template> {
    let (kind, fields) = read(target, &TEMPLATES)?;
    let text = |text: Option<String>| text.unwrap_or_default();
    let index_uid = text(fields.index_uid);
    let (embedder, fragment) = (text(fields.embedder), text(fields.fragment));
    Ok(match kind {
        "documentTemplate" => Template::Document { index_uid, embedder },
        "indexingFragment" => Template::IndexingFragment { index_uid, embedder, fragment },
        "searchFragment" => Template::SearchFragment { index_uid, embedder, fragment },
        "chatDocumentTemplate" => Template::Chat { index_uid },
        "inlineDocumentTemplate" => Template::InlineDocument {
            text: fields.inline.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned(),
            bytes_max: fields.bytes_max.unwrap_or(DEFAULT_TEMPLATE_BYTES_MAX),
        },
        _ => Template::InlineFragment(fields.inline.unwrap_or_default()),
    })
}

fn read_input(target: &At<'_>) -> ApiResult<Input> {
    let (kind, fields) = read(target, &INPUTS)?;
    Ok(match kind {
        "indexDocument" => {
            Input::IndexDocument { index_uid: fields.index_uid.unwrap_or_default(), id: fields.id.unwrap_or_default() }
        }
        "inlineDocument" => Input::InlineDocument(fields.inline.unwrap_or_default()),
        _ => Input::InlineSearch { q: fields.search.0, media: fields.search.1 },
    })
}

/// The kind and the fields of a template or an input; all that must be there is.
fn read(target: &At<'_>, shapes: &'static [Shape]) -> ApiResult<(&'static str, Fields)> {
    let kinds: Vec<(&str, &Shape)> = shapes.iter().map(|shape| (shape.kind, shape)).collect();
    let mut found = None;
    target.entries(|name, field| {
        if name == "kind" {
            found = Some(field.one_of(&kinds)?);
        }
        Ok(())
    })?;
    let shape = found.ok_or_else(|| target.missing_field("kind"))?;
    let accepted: Vec<&str> =
        ["kind"].into_iter().chain(shape.required.iter().copied()).chain(shape.optional.iter().copied()).collect();
    let mut fields = Fields::default();
    target.entries(|name, field| {
        if is_unset(name, &field, shape) {
            return Ok(());
        }
        if !accepted.contains(&name) {
            return Err(target.unknown_field(name, &accepted));
        }
        match name {
            "indexUid" => fields.index_uid = Some(field.index_uid()?),
            "embedder" => fields.embedder = Some(field.string()?),
            "fragment" => fields.fragment = Some(field.string()?),
            "id" => fields.id = Some(document_id(&field)?),
            "documentTemplateMaxBytes" => fields.bytes_max = field.optional(|field| bytes_max(&field))?,
            "inline" => {
                match shape.kind {
                    "inlineDocumentTemplate" => drop(field.string()?),
                    "inlineDocument" => drop(field.object()?),
                    "inlineSearch" => fields.search = search(&field)?,
                    _ => {}
                }
                fields.inline = Some(field.value().clone());
            }
            _ => {}
        }
        Ok(())
    })?;
    let object = target.object()?;
    let is_there = |name: &str| object.get(name).is_some_and(|value| !value.is_null() || shape.takes_anything());
    match shape.required.iter().find(|name| !is_there(name)) {
        Some(missing) => Err(target.missing_field(missing)),
        None => Ok((shape.kind, fields)),
    }
}

/// Returns whether a field has no value: null, or an empty text where the kind does not have the field.
fn is_unset(name: &str, field: &At<'_>, shape: &Shape) -> bool {
    let is_own = shape.required.contains(&name) || shape.optional.contains(&name);
    match field.value() {
        Value::Null => FIELDS.contains(&name) && !(is_own && shape.takes_anything()),
        Value::String(text) => text.is_empty() && FIELDS.contains(&name) && !is_own,
        _ => false,
    }
}

fn document_id(field: &At<'_>) -> ApiResult<String> {
    match field.value() {
        Value::String(text) => Ok(text.clone()),
        Value::Number(number) if number.is_u64() || number.is_i64() => Ok(number.to_string()),
        _ => Err(field.wrong_type(&[Kind::PositiveInteger, Kind::NegativeInteger, Kind::String])),
    }
}

fn bytes_max(field: &At<'_>) -> ApiResult<usize> {
    match field.positive_integer()? {
        0 => Err(field.invalid("expected at least `1`")),
        bytes => Ok(usize::try_from(bytes).unwrap_or(usize::MAX)),
    }
}

fn search(field: &At<'_>) -> ApiResult<(Option<String>, Option<Value>)> {
    let (mut q, mut media) = (None, None);
    field.fields(&["q", "media"], |name, field| {
        match name {
            "q" => q = field.optional(|field| field.string())?,
            _ => media = field.optional(|field| field.object().cloned().map(Value::Object))?,
        }
        Ok(())
    })?;
    Ok((q, media))
}

/// The schema of the body.
pub fn schema() -> Value {
    let fields = [("template", any_of(&TEMPLATES)), ("input", or_null(any_of(&INPUTS)))];
    exactly(fields, &["template"])
}

/// The schema of the answer.
pub fn answer() -> Value {
    exactly([("template", anything()), ("rendered", anything())], &["template", "rendered"])
}

fn any_of(shapes: &[Shape]) -> Value {
    let of_shape = |shape: &Shape| {
        let is_own = |name: &&str| shape.required.contains(name) || shape.optional.contains(name);
        let own = FIELDS.iter().filter(|name| is_own(name)).map(|name| (*name, schema_of(name, shape.kind)));
        let others = FIELDS.iter().filter(|name| !is_own(name)).map(|name| (*name, unset()));
        let fields = own.chain(others).chain([("kind", one_of(&[shape.kind]))]);
        let required: Vec<&str> = shape.required.iter().copied().chain(["kind"]).collect();
        exactly(fields, &required)
    };
    json!({ "anyOf": shapes.iter().map(of_shape).collect::<Vec<Value>>() })
}

/// A field that a kind does not have.
fn unset() -> Value {
    json!({ "enum": [null, ""] })
}

fn schema_of(field: &str, kind: &str) -> Value {
    match (field, kind) {
        ("indexUid", _) => index_uid(),
        ("id", _) => json!({ "type": ["string", "integer"] }),
        ("documentTemplateMaxBytes", _) => or_null(at_least(1)),
        ("inline", "inlineDocument") => map_of(anything()),
        ("inline", "inlineSearch") => exactly([("q", or_null(text())), ("media", or_null(map_of(anything())))], &[]),
        ("inline", "inlineFragment") => anything(),
        _ => text(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(body: &Value) -> (Code, String) {
        let error = RenderRequest::from_body(body).unwrap_err();
        (error.code, error.message)
    }

    #[test]
    fn templates_and_inputs_are_read() {
        let body = json!({
            "input": {"id": 7, "indexUid": "films", "kind": "indexDocument"},
            "template": {"inline": "{{ doc.a }}", "kind": "inlineDocumentTemplate", "documentTemplateMaxBytes": 9},
        });
        let request = RenderRequest::from_body(&body).unwrap();
        assert_eq!(request.template, Template::InlineDocument { text: "{{ doc.a }}".into(), bytes_max: 9 });
        assert_eq!(request.input, Some(Input::IndexDocument { index_uid: "films".into(), id: "7".into() }));
        assert_eq!(request.index_uids().collect::<Vec<_>>(), ["films"]);
        let body = json!({
            "template": {"kind": "searchFragment", "indexUid": "a", "embedder": "e", "fragment": "f"},
            "input": {"kind": "inlineSearch", "inline": {"q": "x", "media": null}},
        });
        let request = RenderRequest::from_body(&body).unwrap();
        assert_eq!(request.input, Some(Input::InlineSearch { q: Some("x".into()), media: None }));
        // Clients that always send all fields.
        let body = json!({
            "template": {"kind": "chatDocumentTemplate", "indexUid": "a", "embedder": null, "fragment": "", "inline": null},
            "input": {"kind": "inlineDocument", "inline": {"a": 1}, "indexUid": null, "id": null},
        });
        let request = RenderRequest::from_body(&body).unwrap();
        assert_eq!(request.template, Template::Chat { index_uid: "a".into() });
        assert_eq!(request.input, Some(Input::InlineDocument(json!({"a": 1}))));
        let body = json!({"template": {"kind": "chatDocumentTemplate", "indexUid": "a"}, "input": null});
        assert_eq!(RenderRequest::from_body(&body).unwrap().input, None);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        let (code, message) = refused(&json!({}));
        assert_eq!((code, message.as_str()), (Code::InvalidRenderTemplate, "Missing field `template`"));
        let (code, message) = refused(&json!({"template": {"kind": "doc"}}));
        assert_eq!(code, Code::InvalidRenderTemplate);
        assert!(message.starts_with("Unknown value `doc` at `.template.kind`: "), "{message}");
        let (_, message) = refused(&json!({"template": {"kind": "documentTemplate", "indexUid": "a"}}));
        assert_eq!(message, "Missing field `embedder` inside `.template`");
        let (_, message) = refused(&json!({"template": {"indexUid": "a"}}));
        assert_eq!(message, "Missing field `kind` inside `.template`");
        let inline = |inline: Value| json!({"template": {"kind": "inlineFragment", "inline": 1}, "input": inline});
        for (input, expected) in [
            (
                json!({"kind": "inlineDocument", "inline": 1}),
                "Invalid value type at `.input.inline`: expected an object",
            ),
            (json!({"kind": "inlineDocument", "inline": {}, "id": 1}), "Unknown field `id` inside `.input`: "),
            (json!({"kind": "inlineDocument", "inline": {}, "x": null}), "Unknown field `x` inside `.input`: "),
            (json!({"kind": "inlineDocument", "inline": null}), "Missing field `inline` inside `.input`"),
            (json!({"kind": "inlineSearch", "inline": {"w": 1}}), "Unknown field `w` inside `.input.inline`: "),
            (json!({"kind": "indexDocument", "indexUid": "a", "id": 1.5}), "Invalid value type at `.input.id`: "),
            (json!([]), "Invalid value type at `.input`: expected an object"),
        ] {
            let (code, message) = refused(&inline(input));
            assert_eq!(code, Code::InvalidRenderInput, "{message}");
            assert!(message.starts_with(expected), "{message}");
        }
        let none = json!({"kind": "inlineDocumentTemplate", "inline": "a", "documentTemplateMaxBytes": 0});
        assert!(refused(&json!({"template": none})).1.ends_with("expected at least `1`"));
        assert_eq!(refused(&json!({"template": {"kind": "inlineFragment", "inline": 1}, "x": 1})).0, Code::BadRequest);
    }
}
