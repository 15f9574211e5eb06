//! The text of a document, as an embedder's Liquid template makes it.

use liquid_core::model::{Array, Object, ObjectView, Value};
use serde_json::Value as Json;

use super::bounded::{Allowance, Keep, Program, SOURCE_BYTES_MAX};
use super::error::TemplateError;
use super::limit::TemplateLimit;
use super::passages::PassageTemplate;
use super::probe::{any_variables, check_variables};

/// Most bytes of the JSON of a fragment's value, and of all fragments of one kind together.
const FRAGMENT_BYTES_MAX: usize = SOURCE_BYTES_MAX;
const FRAGMENTS_BYTES_MAX: usize = 4 * SOURCE_BYTES_MAX;

/// Reason for which no text was rendered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RenderFailure {
    /// Something is read that is not there, in the words of the library.
    Missing(String),
    /// A limit was reached.
    Limit(TemplateLimit),
}

impl From<TemplateError> for RenderFailure {
    fn from(error: TemplateError) -> RenderFailure {
        match error {
            TemplateError::Wrong(message) => RenderFailure::Missing(message),
            TemplateError::Limit(limit) => RenderFailure::Limit(limit),
        }
    }
}

/// Refuses a document template that passes a limit: of its text, of its nesting, or because it would take too long for any
/// document. What else may be wrong with it is found when it is used.
///
/// # Errors
/// The limit.
pub fn check_template_limits(template: &str) -> Result<(), TemplateLimit> {
    match Program::parse(template).and_then(|program| check_variables(&program)) {
        Err(TemplateError::Limit(limit)) => Err(limit),
        _ => Ok(()),
    }
}

/// Refuses fragments of one kind whose JSON is too long as a whole.
///
/// # Errors
/// The limit.
pub fn check_fragments_size<'v>(values: impl IntoIterator<Item = &'v Json>) -> Result<(), TemplateLimit> {
    let bytes: usize = values.into_iter().map(|value| value.to_string().len()).sum();
    if bytes > FRAGMENTS_BYTES_MAX {
        return Err(TemplateLimit::FragmentsBytes { found: bytes, most: FRAGMENTS_BYTES_MAX });
    }
    Ok(())
}

/// Refuses fragments of one kind that pass a limit: of their texts, of the nesting, or because they would take too long for
/// any input. What else may be wrong with them is found when they are used.
///
/// # Errors
/// The limit.
pub fn check_fragments_limits<'v>(values: impl IntoIterator<Item = &'v Json>) -> Result<(), TemplateLimit> {
    let allowance = Allowance::for_input(0);
    for value in values {
        let rendered = Node::new(value).and_then(|node| node.render(any_variables(), &allowance));
        if let Err(TemplateError::Limit(limit)) = rendered {
            return Err(limit);
        }
    }
    Ok(())
}

/// Template or templates that are rendered for a document.
#[derive(Debug)]
pub(in super::super) enum DocumentTemplate {
    /// One text, in passages.
    Text(PassageTemplate),
    /// Any number of JSON values, each as text.
    Fragments(Vec<JsonTemplate>),
}

/// Texts that represent a document to its embedder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Rendered {
    /// A vector is made of each.
    pub(in super::super) texts: Vec<String>,
    /// A bit for each fragment that there is a text of, by its position.
    pub(in super::super) fragments: u32,
}

impl DocumentTemplate {
    /// The texts of a document. A fragment that reads a field that is not there is left out.
    ///
    /// # Errors
    /// A field that a text template reads and the document does not have, or a limit.
    pub(in super::super) fn render(
        &self,
        document: &[u8],
        is_searchable: &dyn Fn(&str) -> bool,
    ) -> Result<Rendered, RenderFailure> {
        let fragments = match self {
            DocumentTemplate::Text(template) => {
                let texts = template.render(document, is_searchable)?.texts().collect();
                return Ok(Rendered { texts, fragments: 0 });
            }
            DocumentTemplate::Fragments(fragments) => fragments,
        };
        let variables = TemplateVariables::of_document(document)?;
        let mut rendered = Rendered::default();
        for (position, fragment) in fragments.iter().enumerate() {
            match fragment.render(&variables) {
                Ok(value) => {
                    rendered.texts.push(value.to_string());
                    rendered.fragments |= 1 << position;
                }
                Err(RenderFailure::Missing(_)) => {}
                Err(limit) => return Err(limit),
            }
        }
        Ok(rendered)
    }
}

/// A JSON value whose texts are templates.
pub struct JsonTemplate(Node);

enum Node {
    Text(Program),
    Array(Vec<Node>),
    Object(Vec<(String, Node)>),
    Other(Json),
}

impl std::fmt::Debug for JsonTemplate {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("JsonTemplate")
    }
}

/// Variables that templates may read, by name, and the limit on the total cost of all of them.
pub struct TemplateVariables {
    values: Object,
    allowance: Allowance,
}

impl std::fmt::Debug for TemplateVariables {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("TemplateVariables")
    }
}

impl TemplateVariables {
    /// The values by their names.
    pub fn new<'n>(values: impl IntoIterator<Item = (&'n str, Json)>) -> TemplateVariables {
        let values = values.into_iter().map(|(name, value)| (name.to_owned().into(), liquid_value(value)));
        TemplateVariables { values: values.collect(), allowance: Allowance::for_input(0) }
    }

    /// Creates the variables for indexing fragments: `doc`, parsed from the JSON of a document. A longer document gets
    /// a larger allowance.
    ///
    /// # Errors
    /// When the document is not JSON.
    pub fn of_document(document: &[u8]) -> Result<TemplateVariables, RenderFailure> {
        let json: Json = serde_json::from_slice(document).map_err(|error| RenderFailure::Missing(error.to_string()))?;
        let allowance = Allowance::for_input(document.len());
        Ok(TemplateVariables { allowance, ..TemplateVariables::new([("doc", json)]) })
    }

    /// The same, for which at most `bytes` may be read and made.
    #[must_use]
    pub fn within(self, bytes: u64) -> TemplateVariables {
        TemplateVariables { allowance: self.allowance.within(bytes), ..self }
    }
}

impl JsonTemplate {
    /// Parses every text in `json`.
    ///
    /// # Errors
    /// What is wrong with one of them, or that `json` is too long.
    pub fn new(json: &Json) -> Result<JsonTemplate, TemplateError> {
        let bytes = json.to_string().len();
        if bytes > FRAGMENT_BYTES_MAX {
            return Err(TemplateLimit::FragmentBytes { found: bytes, most: FRAGMENT_BYTES_MAX }.into());
        }
        Node::new(json).map(JsonTemplate)
    }

    /// The value with all texts rendered.
    ///
    /// # Errors
    /// A variable that a text reads and that is not there, or a limit.
    pub fn render(&self, variables: &TemplateVariables) -> Result<Json, RenderFailure> {
        Ok(self.0.render(&variables.values, &variables.allowance)?)
    }
}

impl Node {
    /// Builds the tree of `json`. Recurses as deep as `json` is nested, which the JSON parser bounds.
    fn new(json: &Json) -> Result<Node, TemplateError> {
        Ok(match json {
            Json::String(text) => Node::Text(Program::parse(text)?),
            Json::Array(elements) => Node::Array(elements.iter().map(Node::new).collect::<Result<_, _>>()?),
            Json::Object(members) => {
                let member = |(name, value): (&String, &Json)| Ok((name.clone(), Node::new(value)?));
                Node::Object(members.iter().map(member).collect::<Result<_, TemplateError>>()?)
            }
            other => Node::Other(other.clone()),
        })
    }

    fn render(&self, variables: &dyn ObjectView, allowance: &Allowance) -> Result<Json, TemplateError> {
        let render = |node: &Node| node.render(variables, allowance);
        Ok(match self {
            Node::Text(program) => Json::String(program.render(variables, allowance, Keep::All)?),
            Node::Array(elements) => Json::Array(elements.iter().map(render).collect::<Result<_, _>>()?),
            Node::Object(members) => {
                let member = |(name, node): &(String, Node)| Ok((name.clone(), render(node)?));
                Json::Object(members.iter().map(member).collect::<Result<_, TemplateError>>()?)
            }
            Node::Other(value) => value.clone(),
        })
    }
}

/// A text template that was parsed.
pub struct TextTemplate {
    program: Program,
    bytes_max: usize,
    reads_bare_fields: bool,
    /// Value of the variable `passages`.
    mark: &'static str,
}

impl std::fmt::Debug for TextTemplate {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("TextTemplate").field("bytes_max", &self.bytes_max).finish_non_exhaustive()
    }
}

impl TextTemplate {
    /// Parses `template`; texts are cut to `bytes_max` bytes.
    ///
    /// # Errors
    /// What is wrong with it, for instance a variable that there is not, or the limit that it passes.
    pub fn new(template: &str, bytes_max: usize) -> Result<TextTemplate, TemplateError> {
        let program = Program::parse(template)?;
        check_variables(&program)?;
        Ok(TextTemplate { program, bytes_max, reads_bare_fields: false, mark: "" })
    }

    /// Works like [`TextTemplate::new`], for a template that may also read the fields of a document without `doc.`
    /// before their names.
    ///
    /// # Errors
    /// A syntax error in the template, or the limit that it exceeds.
    pub fn with_bare_fields(template: &str, bytes_max: usize) -> Result<TextTemplate, TemplateError> {
        let program = Program::parse(template)?;
        match program.render(any_variables(), &Allowance::for_input(0), Keep::First(0)) {
            Err(TemplateError::Limit(limit)) => Err(limit.into()),
            _ => Ok(TextTemplate { program, bytes_max, reads_bare_fields: true, mark: "" }),
        }
    }

    /// The same template, whose variable `passages` renders to `mark`.
    pub(super) fn marked(self, mark: &'static str) -> TextTemplate {
        TextTemplate { mark, ..self }
    }

    /// The text of a document. `is_searchable` is asked for top-level fields. Costs a parsed copy of the document.
    ///
    /// # Errors
    /// A field that the template reads and the document does not have, or a limit.
    pub fn render(&self, document: &[u8], is_searchable: &dyn Fn(&str) -> bool) -> Result<String, RenderFailure> {
        self.render_within(document, is_searchable, u64::MAX)
    }

    /// Works like [`TextTemplate::render`], but reads and produces at most `bytes`.
    ///
    /// # Errors
    /// The errors of [`TextTemplate::render`].
    pub fn render_within(
        &self,
        document: &[u8],
        is_searchable: &dyn Fn(&str) -> bool,
        bytes: u64,
    ) -> Result<String, RenderFailure> {
        let members: serde_json::Map<String, Json> =
            serde_json::from_slice(document).map_err(|error| RenderFailure::Missing(error.to_string()))?;
        let (mut doc, mut fields) = (Object::new(), Array::new());
        for (name, value) in members {
            let value = liquid_value(value);
            let mut field = Object::new();
            field.insert("name".into(), Value::scalar(name.clone()));
            field.insert("is_searchable".into(), Value::scalar(is_searchable(&name)));
            field.insert("value".into(), value.clone());
            fields.push(Value::Object(field));
            doc.insert(name.into(), value);
        }
        let mut globals = if self.reads_bare_fields { doc.clone() } else { Object::new() };
        globals.insert("doc".into(), Value::Object(doc));
        globals.insert("fields".into(), Value::Array(fields));
        globals.insert("passages".into(), Value::scalar(self.mark));
        let allowance = Allowance::for_input(document.len()).within(bytes);
        Ok(self.program.render(&globals, &allowance, Keep::First(self.bytes_max))?)
    }
}

fn liquid_value(json: Json) -> Value {
    match json {
        Json::Null => Value::Nil,
        Json::Bool(value) => Value::scalar(value),
        Json::Number(number) => match number.as_i64() {
            Some(integer) => Value::scalar(integer),
            None => Value::scalar(number.as_f64().unwrap_or(0.0)),
        },
        Json::String(text) => Value::scalar(text),
        Json::Array(elements) => Value::Array(elements.into_iter().map(liquid_value).collect()),
        Json::Object(members) => {
            Value::Object(members.into_iter().map(|(name, value)| (name.into(), liquid_value(value))).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::settings::DEFAULT_TEMPLATE;

    fn render(template: &str, bytes_max: usize, document: &str) -> Result<String, RenderFailure> {
        TextTemplate::new(template, bytes_max).unwrap().render(document.as_bytes(), &|name| name != "hidden")
    }

    #[test]
    fn the_default_lists_searchable_fields() {
        let text = render(DEFAULT_TEMPLATE, 400, r#"{"id":1,"title":"Kefir","hidden":2,"none":null}"#);
        assert_eq!(text.unwrap(), "id: 1\ntitle: Kefir\n");
    }

    #[test]
    fn fields_are_read_by_path() {
        let document = r#"{"a":{"b":"x"},"tags":["red","blue"],"n":null}"#;
        assert_eq!(
            render("{{ doc.a.b }}, {{doc.tags}}, {{ doc.tags | join: '+' }}.{{doc.n}}", 400, document).unwrap(),
            "x, redblue, red+blue."
        );
        assert_eq!(render("{% if doc.missing %}{{doc.missing}}{% else %}-{% endif %}", 400, document).unwrap(), "-");
        assert!(render("{{ doc.missing }}", 400, document).is_err());
    }

    #[test]
    fn fields_may_stand_alone_where_they_are_allowed_to() {
        let render = |template: &str, document: &str| {
            let template = TextTemplate::with_bare_fields(template, 400).unwrap();
            template.render(document.as_bytes(), &|_| true)
        };
        let document = r#"{"title":"Dune","doc":"own","a":{"b":1}}"#;
        assert_eq!(
            render("{{ title }}, {{ doc.title }}, {{ a.b }}, {{ doc.doc }}", document).unwrap(),
            "Dune, Dune, 1, own"
        );
        assert_eq!(render("{% if year %}{{ year }}{% else %}-{% endif %}", document).unwrap(), "-");
        assert_eq!(render(DEFAULT_TEMPLATE, r#"{"fields":1}"#).unwrap(), "fields: 1\n");
        assert!(render("{{ year }}", document).is_err());
        assert!(TextTemplate::with_bare_fields("{{ title", 400).is_err());
        assert!(TextTemplate::new("{{ title }}", 400).is_err(), "nowhere else");
    }

    #[test]
    fn texts_are_cut_between_characters() {
        assert_eq!(render("{{doc.t}}", 4, r#"{"t":"aéé"}"#).unwrap(), "aé");
        assert_eq!(render("{{doc.t}}", 5, r#"{"t":"aéé"}"#).unwrap(), "aéé");
    }

    #[test]
    fn fragments_are_left_out_where_a_field_is_missing() {
        let fragment = |json: Json| JsonTemplate::new(&json).unwrap();
        let template = DocumentTemplate::Fragments(vec![
            fragment(serde_json::json!({"text": ["{{ doc.name }}", 1]})),
            fragment(serde_json::json!({"image": "{{ doc.poster.url }}"})),
            fragment(serde_json::json!("{{ doc.name }} is a {{ doc.breed }}")),
        ]);
        let render = |document: &str| template.render(document.as_bytes(), &|_| true).unwrap();
        let all = render(r#"{"name":"a\"b","breed":"c","poster":{"url":"u"}}"#);
        assert_eq!(all.texts, [r#"{"text":["a\"b",1]}"#, r#"{"image":"u"}"#, r#""a\"b is a c""#]);
        assert_eq!(all.fragments, 0b111);
        assert_eq!(
            render(r#"{"poster":{"url":"u"}}"#),
            Rendered { texts: vec![r#"{"image":"u"}"#.into()], fragments: 2 }
        );
        assert_eq!(render("{}"), Rendered::default());
        assert!(JsonTemplate::new(&serde_json::json!([{"a": "{{ doc."}])).is_err());
    }

    #[test]
    fn mistakes_are_found_early() {
        assert!(TextTemplate::new("{% if %}", 4).is_err());
        assert!(TextTemplate::new("{{ doc.", 4).is_err());
        for template in [
            "{{ title }}",
            "{% if doc.x %}{{ x }}{% endif %}",
            "{% for field in fields %}{{ field.vaelu }}{% endfor %}",
            "{% for tag in doc.tags %}{{ tag }}{% endfor %}{{ other }}",
            "{{ fields[0].title }}",
        ] {
            assert!(TextTemplate::new(template, 4).is_err(), "{template}");
        }
        for template in [
            DEFAULT_TEMPLATE,
            "{{ doc.a.b[3].c | upcase | split: ', ' | join: '-' }}",
            "{% for tag in doc.tags %}{{ tag.name | append: '!' }}{% endfor %}",
            "{% assign x = doc.a %}{{ x.y }}{% capture c %}{{ doc }}{% endcapture %}{{ c }}",
            "{% if doc.price > 10 and doc.tags contains 'a' %}{{ doc.n | plus: 1 | times: 2 }}{% endif %}",
            "{{ doc.date | date: '%Y' }}{{ doc.tags | first }}{{ doc.tags.first.name }}{{ doc.tags | map: 'a' | sort }}",
            "{% for field in fields %}{{ field.value.a.b }}{{ forloop.index }}{% endfor %}",
            "{{ fields.size }}{{ fields[3].name }}{% for i in (1..doc.count) %}{{ doc.parts[i].name }}{% endfor %}",
            "{% case doc.kind %}{% when 'a' %}{{ doc.a }}{% else %}{{ doc.b }}{% endcase %}",
        ] {
            let refused = TextTemplate::new(template, 4).err();
            assert_eq!(refused, None, "{template}");
        }
    }

    #[test]
    fn the_texts_of_a_document_share_what_they_may_cost() {
        let long = "x".repeat(1 << 20);
        let document = serde_json::json!({"id": 1, "long": long}).to_string();
        let many: Vec<Json> = (0..40).map(|_| Json::from("{{ doc.long }}")).collect();
        let template = |values: &[Json]| {
            let fragments = values.iter().map(|value| JsonTemplate::new(value).expect("parses"));
            DocumentTemplate::Fragments(fragments.collect())
        };
        let render = |template: DocumentTemplate| template.render(document.as_bytes(), &|_| true);
        assert_eq!(render(template(&many[..8])).expect("fits").texts.len(), 8);
        for fragments in [template(&many), template(&[Json::from(many.clone())])] {
            assert!(matches!(render(fragments), Err(RenderFailure::Limit(_))));
        }
    }

    #[test]
    fn fragments_that_never_end_are_refused_beforehand() {
        let endless = serde_json::json!({"a": ["{% for i in (1..3000000000) %}x{% endfor %}"]});
        let limit = check_fragments_limits([&endless]).expect_err("refused");
        assert!(matches!(limit, TemplateLimit::Steps { .. }), "{limit}");
        let loops: Vec<Json> = (0..30).map(|_| Json::from("{% for i in (1..50000) %}x{% endfor %}")).collect();
        check_fragments_limits(&loops[..2]).expect("one may be long");
        check_fragments_limits(&loops).expect_err("all together take too long");
        check_fragments_limits([&Json::from("{{ q.a.b | upcase }}{{ media.c }}"), &Json::from("{{ doc.")])
            .expect("no limit");
    }
}
