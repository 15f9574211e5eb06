//! The text of a document, as an embedder's Liquid template makes it.

use liquid::model::{Array, Object, Value};
use serde_json::Value as Json;

use super::cut;

/// A template that was parsed.
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
    /// What is wrong with it.
    pub(in super::super) fn new(template: &str, bytes_max: usize) -> Result<TextTemplate, String> {
        let parser = liquid::ParserBuilder::with_stdlib().build().map_err(|error| error.to_string())?;
        let template = parser.parse(template).map_err(|error| error.to_string())?;
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
    fn mistakes_are_found_early() {
        assert!(TextTemplate::new("{% if %}", 4).is_err());
        assert!(TextTemplate::new("{{ doc.", 4).is_err());
    }
}
