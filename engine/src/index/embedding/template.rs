//! The text of a document, as an embedder's Liquid template makes it.

use liquid::model::{Array, Object, Value};
use serde_json::Value as Json;

use super::cut;
use super::probe::check_variables;

/// What is read of a document.
#[derive(Debug)]
pub(in super::super) enum DocumentTemplate {
    /// One text.
    Text(TextTemplate),
    /// Any number of JSON values, each as text.
    Fragments(Vec<JsonTemplate>),
}

/// What a document is to its embedder.
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
    /// A field that a text template reads and the document does not have.
    pub(in super::super) fn render(
        &self,
        document: &[u8],
        is_searchable: &dyn Fn(&str) -> bool,
    ) -> Result<Rendered, String> {
        let fragments = match self {
            DocumentTemplate::Text(template) => {
                return Ok(Rendered { texts: vec![template.render(document, is_searchable)?], fragments: 0 });
            }
            DocumentTemplate::Fragments(fragments) => fragments,
        };
        let document: Json = serde_json::from_slice(document).map_err(|error| error.to_string())?;
        let variables = TemplateVariables::new([("doc", document)]);
        let mut rendered = Rendered::default();
        for (position, fragment) in fragments.iter().enumerate() {
            if let Ok(value) = fragment.render(&variables) {
                rendered.texts.push(value.to_string());
                rendered.fragments |= 1 << position;
            }
        }
        Ok(rendered)
    }
}

/// A JSON value whose texts are templates.
pub struct JsonTemplate(Node);

enum Node {
    Text(liquid::Template),
    Array(Vec<Node>),
    Object(Vec<(String, Node)>),
    Other(Json),
}

impl std::fmt::Debug for JsonTemplate {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("JsonTemplate")
    }
}

/// What templates may read, by name.
pub struct TemplateVariables(Object);

impl std::fmt::Debug for TemplateVariables {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("TemplateVariables")
    }
}

impl TemplateVariables {
    /// The values by their names.
    pub fn new<'n>(values: impl IntoIterator<Item = (&'n str, Json)>) -> TemplateVariables {
        let values = values.into_iter().map(|(name, value)| (name.to_owned().into(), liquid_value(value)));
        TemplateVariables(values.collect())
    }
}

impl JsonTemplate {
    /// Parses every text in `json`.
    ///
    /// # Errors
    /// What is wrong with one of them.
    pub fn new(json: &Json) -> Result<JsonTemplate, String> {
        let parser = liquid::ParserBuilder::with_stdlib().build().map_err(|error| error.to_string())?;
        Node::new(json, &parser).map(JsonTemplate)
    }

    /// The value with all texts rendered.
    ///
    /// # Errors
    /// A variable that a text reads and that is not there.
    pub fn render(&self, variables: &TemplateVariables) -> Result<Json, String> {
        self.0.render(&variables.0)
    }
}

impl Node {
    fn new(json: &Json, parser: &liquid::Parser) -> Result<Node, String> {
        Ok(match json {
            Json::String(text) => Node::Text(parser.parse(text).map_err(|error| error.to_string())?),
            Json::Array(elements) => {
                Node::Array(elements.iter().map(|element| Node::new(element, parser)).collect::<Result<_, _>>()?)
            }
            Json::Object(members) => {
                let member = |(name, value): (&String, &Json)| Ok((name.clone(), Node::new(value, parser)?));
                Node::Object(members.iter().map(member).collect::<Result<_, String>>()?)
            }
            other => Node::Other(other.clone()),
        })
    }

    fn render(&self, variables: &Object) -> Result<Json, String> {
        Ok(match self {
            Node::Text(template) => Json::String(template.render(variables).map_err(|error| error.to_string())?),
            Node::Array(elements) => {
                Json::Array(elements.iter().map(|element| element.render(variables)).collect::<Result<_, _>>()?)
            }
            Node::Object(members) => {
                let member = |(name, node): &(String, Node)| Ok((name.clone(), node.render(variables)?));
                Json::Object(members.iter().map(member).collect::<Result<_, String>>()?)
            }
            Node::Other(value) => value.clone(),
        })
    }
}

/// A text template that was parsed.
pub(in super::super) struct TextTemplate {
    template: liquid::Template,
    bytes_max: usize,
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
    /// What is wrong with it, for instance a variable that there is not.
    pub(in super::super) fn new(template: &str, bytes_max: usize) -> Result<TextTemplate, String> {
        let parser = liquid::ParserBuilder::with_stdlib().build().map_err(|error| error.to_string())?;
        let template = parser.parse(template).map_err(|error| error.to_string())?;
        check_variables(&template)?;
        Ok(TextTemplate { template, bytes_max })
    }

    /// The text of a document. `is_searchable` tells of top-level fields. Costs a parsed copy of the document.
    ///
    /// # Errors
    /// A field that the template reads and the document does not have.
    pub(in super::super) fn render(
        &self,
        document: &[u8],
        is_searchable: &dyn Fn(&str) -> bool,
    ) -> Result<String, String> {
        let document: serde_json::Map<String, Json> =
            serde_json::from_slice(document).map_err(|error| error.to_string())?;
        let (mut doc, mut fields) = (Object::new(), Array::new());
        for (name, value) in document {
            let value = liquid_value(value);
            let mut field = Object::new();
            field.insert("name".into(), Value::scalar(name.clone()));
            field.insert("is_searchable".into(), Value::scalar(is_searchable(&name)));
            field.insert("value".into(), value.clone());
            fields.push(Value::Object(field));
            doc.insert(name.into(), value);
        }
        let mut globals = Object::new();
        globals.insert("doc".into(), Value::Object(doc));
        globals.insert("fields".into(), Value::Array(fields));
        let mut text = self.template.render(&globals).map_err(|error| error.to_string())?;
        text.truncate(cut(&text, self.bytes_max).len());
        Ok(text)
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

    fn render(template: &str, bytes_max: usize, document: &str) -> Result<String, String> {
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
}
