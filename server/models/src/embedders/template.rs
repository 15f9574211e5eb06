//! Templates of requests and answers: JSON with a placeholder where texts go in or vectors come out.
//!
//! `"{{..}}"` as the second element of an array says that the first stands for any number like it.

use std::fmt;

use lamina_engine::document::string_end;
use serde_json::Value;
use simd_json::prelude::*;
use simd_json::tape::Value as Node;

/// Stands for "and so on".
const REPEAT: &str = "{{..}}";

/// A step from a value into one of its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Key(String),
    Index(usize),
}

/// A vector of an answer, or what is in its place.
pub(super) type Found = Result<Vec<f32>, String>;

/// A template that was checked.
#[derive(Clone, Debug)]
pub(super) struct Template {
    /// The template as the settings have it.
    json: Value,
    name: &'static str,
    /// To the placeholder; with a repetition, to the array that holds it.
    path: Vec<Step>,
    /// From an element of that array to the placeholder.
    repeated: Option<Vec<Step>>,
    /// True if the placeholder takes JSON, not text.
    takes_json: bool,
}

/// Stands for a text in a request.
pub(super) const TEXT: &str = "{{text}}";
/// Stands for a fragment, which may be any JSON.
pub(super) const FRAGMENT: &str = "{{fragment}}";

/// A place in a template, as messages write it: `request.input[0]`.
struct Place<'p>(&'p str, &'p [Step]);

impl fmt::Display for Place<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.0)?;
        self.1.iter().try_for_each(|step| match step {
            Step::Key(key) => write!(formatter, ".{key}"),
            Step::Index(index) => write!(formatter, "[{index}]"),
        })
    }
}

struct Search<'t> {
    name: &'t str,
    placeholder: &'t str,
    /// Path of the placeholder, and the depth of the array that repeats it.
    found: Option<(Vec<Step>, Option<usize>)>,
}

impl Search<'_> {
    fn error<T>(&self, path: &[Step], what: impl fmt::Display) -> Result<T, String> {
        Err(format!("in `{}`: {what}", Place(self.name, path)))
    }

    fn walk(&mut self, value: &Value, path: &mut Vec<Step>, repeated_at: Option<usize>) -> Result<(), String> {
        match value {
            Value::String(text) if text == self.placeholder => {
                if let Some((first, _)) = &self.found {
                    let first = Place(self.name, first).to_string();
                    let placeholder = self.placeholder;
                    return self
                        .error(path, format_args!("Found \"{placeholder}\", but it was already present in `{first}`"));
                }
                self.found = Some((path.clone(), repeated_at));
                Ok(())
            }
            Value::String(text) if text == REPEAT => {
                self.error(path, format_args!("\"{REPEAT}\" appears outside of an array"))
            }
            Value::Array(elements) => self.array(elements, path, repeated_at),
            Value::Object(members) => members.iter().try_for_each(|(key, member)| {
                path.push(Step::Key(key.clone()));
                self.walk(member, path, repeated_at)?;
                path.pop();
                Ok(())
            }),
            _ => Ok(()),
        }
    }

    fn array(&mut self, elements: &[Value], path: &mut Vec<Step>, repeated_at: Option<usize>) -> Result<(), String> {
        let repeat = elements.iter().position(|element| element == REPEAT);
        match repeat {
            Some(_) if repeated_at.is_some() => {
                return self.error(
                    path,
                    format_args!("\"{REPEAT}\" appears nested inside of a value that is itself repeated"),
                );
            }
            Some(position) if position != 1 => {
                return self.error(
                    path,
                    format_args!("\"{REPEAT}\" expected at position #1, but found at position #{position}"),
                );
            }
            _ => {}
        }
        for (index, element) in elements.iter().enumerate() {
            if repeat == Some(index) {
                continue;
            }
            let inside = if repeat.is_some() && index == 0 { Some(path.len()) } else { repeated_at };
            let before = self.found.is_some();
            path.push(Step::Index(index));
            self.walk(element, path, inside)?;
            if repeat.is_some() && index == 0 && before == self.found.is_some() {
                let placeholder = self.placeholder;
                return self.error(path, format_args!("Expected \"{placeholder}\" inside of the repeated value"));
            }
            path.pop();
        }
        Ok(())
    }
}

impl Template {
    /// Checks a template named `name` for its one `placeholder`.
    ///
    /// # Errors
    /// Where and what is wrong.
    pub(super) fn new(json: &Value, name: &'static str, placeholder: &str) -> Result<Template, String> {
        let mut search = Search { name, placeholder, found: None };
        search.walk(json, &mut Vec::new(), None)?;
        let Some((mut path, repeated_at)) = search.found else {
            return Err(format!("in `{name}`: \"{placeholder}\" not found"));
        };
        let repeated = repeated_at.map(|depth| path.split_off(depth + 1));
        if repeated.is_some() {
            // The index of the element that stands for all.
            path.pop();
        }
        Ok(Template { json: json.clone(), name, path, repeated, takes_json: placeholder == FRAGMENT })
    }

    /// Reports whether a request takes several texts at once.
    pub(super) fn repeats(&self) -> bool {
        self.repeated.is_some()
    }

    /// Returns the value of a text in a request. Fragments are passed as the text of their JSON.
    fn value(&self, text: &str) -> Value {
        let fragment = self.takes_json.then(|| serde_json::from_str(text).ok()).flatten();
        fragment.unwrap_or_else(|| Value::from(text))
    }

    /// The request for `texts`: one, unless it repeats.
    pub(super) fn fill(&self, texts: &[String]) -> Value {
        let mut json = self.json.clone();
        let Some(place) = at_mut(&mut json, &self.path) else { return json };
        match &self.repeated {
            None => *place = texts.first().map_or(Value::Null, |text| self.value(text)),
            Some(inner) => {
                let Value::Array(elements) = place else { return json };
                let one = elements[0].clone();
                let filled = texts.iter().map(|text| {
                    let mut one = one.clone();
                    if let Some(place) = at_mut(&mut one, inner) {
                        *place = self.value(text);
                    }
                    one
                });
                let filled: Vec<Value> = filled.collect();
                elements.splice(0..2, filled);
            }
        }
        json
    }

    /// The vectors of an answer, which is JSON, or what programs write that take `NaN` and `Infinity` for JSON.
    ///
    /// # Errors
    /// What is no JSON.
    pub(super) fn read(&self, answer: &[u8]) -> Result<Result<Vec<Found>, String>, simd_json::Error> {
        // Texts are unescaped in place.
        let mut bytes = answer.to_vec();
        if let Ok(tape) = simd_json::to_tape(&mut bytes) {
            return Ok(self.extract(tape.as_value()));
        }
        let mut bytes = without_words(answer);
        Ok(self.extract(simd_json::to_tape(&mut bytes)?.as_value()))
    }

    /// The vectors of an answer, each or why it is none.
    ///
    /// # Errors
    /// Where the answer differs from the template.
    fn extract(&self, answer: Node<'_, '_>) -> Result<Vec<Found>, String> {
        let outer = at(answer, &self.path, self.name, &[])?;
        match &self.repeated {
            None => Ok(vec![vector(outer).map_err(|reason| self.refusal(&self.path, reason))]),
            Some(inner) => {
                let elements = outer.as_array();
                let elements = elements.ok_or_else(|| self.refusal(&self.path, "expected an array".to_owned()))?;
                let each = elements.iter().enumerate().map(|(index, element)| {
                    let mut path = self.path.clone();
                    path.push(Step::Index(index));
                    let found = at(element, inner, self.name, &path)?;
                    path.extend_from_slice(inner);
                    vector(found).map_err(|reason| self.refusal(&path, reason))
                });
                Ok(each.collect())
            }
        }
    }

    fn refusal(&self, path: &[Step], reason: String) -> String {
        format!("in `{}`: {reason}", Place(self.name, path))
    }
}

fn at_mut<'v>(value: &'v mut Value, path: &[Step]) -> Option<&'v mut Value> {
    path.iter().try_fold(value, |value, step| match step {
        Step::Key(key) => value.get_mut(key),
        Step::Index(index) => value.get_mut(index),
    })
}

fn at<'t, 'v>(value: Node<'t, 'v>, path: &[Step], name: &str, before: &[Step]) -> Result<Node<'t, 'v>, String> {
    let mut value = value;
    for (depth, step) in path.iter().enumerate() {
        let part = match step {
            Step::Key(key) => value.get(key.as_str()),
            Step::Index(index) => value.get_idx(*index),
        };
        value = part.ok_or_else(|| {
            let place: Vec<Step> = before.iter().chain(&path[..depth]).cloned().collect();
            let missing = match step {
                Step::Key(key) => format!("missing field \"{key}\""),
                Step::Index(index) => format!("missing element #{index}"),
            };
            format!("in `{}`: {missing}", Place(name, &place))
        })?;
    }
    Ok(value)
}

fn vector(value: Node<'_, '_>) -> Result<Vec<f32>, String> {
    let number =
        |number: Node<'_, '_>| number.cast_f64().map(|number| number as f32).filter(|number| number.is_finite());
    let numbers = value.as_array().and_then(|numbers| {
        let mut vector = Vec::with_capacity(numbers.len());
        for one in &numbers {
            vector.push(number(one)?);
        }
        Some(vector)
    });
    numbers.ok_or_else(|| "expected an array of numbers".to_owned())
}

/// The answer with `null` for words that are no JSON, such as `NaN` and `-Infinity`.
fn without_words(answer: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(answer.len() + 16);
    let mut rest = answer;
    while let Some(&byte) = rest.first() {
        let length = match byte {
            b'"' => (string_end(rest, 1) + 1).min(rest.len()),
            b'-' | b'a'..=b'z' | b'A'..=b'Z' => {
                1 + rest[1..].iter().take_while(|byte| byte.is_ascii_alphabetic()).count()
            }
            // A number, with its exponent.
            b'0'..=b'9' => rest.iter().take_while(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(byte)).count(),
            _ => 1,
        };
        let (piece, after) = rest.split_at(length);
        let is_word = piece.last().is_some_and(u8::is_ascii_alphabetic) && byte != b'"' && !byte.is_ascii_digit();
        let is_json = matches!(piece, b"true" | b"false" | b"null");
        out.extend_from_slice(if is_word && !is_json { b"null" } else { piece });
        rest = after;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn request(json: Value) -> Result<Template, String> {
        Template::new(&json, "request", "{{text}}")
    }

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn texts_go_in() {
        let one = request(json!({"model": "m", "input": {"prompt": "{{text}}"}})).unwrap();
        assert!(!one.repeats());
        assert_eq!(one.fill(&texts(&["a"])), json!({"model": "m", "input": {"prompt": "a"}}));
        let many = request(json!({"input": [{"t": ["{{text}}", 1]}, "{{..}}"]})).unwrap();
        assert!(many.repeats());
        assert_eq!(many.fill(&texts(&["a", "b"])), json!({"input": [{"t": ["a", 1]}, {"t": ["b", 1]}]}));
        assert_eq!(request(json!("{{text}}")).unwrap().fill(&texts(&["a"])), json!("a"));
        assert_eq!(request(json!(["{{text}}", "{{..}}"])).unwrap().fill(&texts(&["a", "b"])), json!(["a", "b"]));
    }

    #[test]
    fn fragments_go_in_as_json() {
        let template = Template::new(&json!({"in": ["{{fragment}}", "{{..}}"]}), "request", FRAGMENT).unwrap();
        assert_eq!(template.fill(&texts(&[r#"{"a":[1]}"#, r#""b""#])), json!({"in": [{"a": [1]}, "b"]}));
        let text = request(json!({"in": "{{text}}"})).unwrap();
        assert_eq!(text.fill(&texts(&["1"])), json!({"in": "1"}), "a text stays one");
    }

    #[test]
    fn vectors_come_out() {
        let read = |template: &Template, answer: &Value| template.read(answer.to_string().as_bytes()).unwrap();
        let one = Template::new(&json!({"a": [{"e": "{{embedding}}"}]}), "response", "{{embedding}}").unwrap();
        assert_eq!(read(&one, &json!({"a": [{"e": [1, 2.5]}], "more": 1})), Ok(vec![Ok(vec![1.0, 2.5])]));
        assert_eq!(read(&one, &json!({"a": []})), Err("in `response.a`: missing element #0".into()));
        assert_eq!(
            read(&one, &json!({"a": [{"e": ["x"]}]})),
            Ok(vec![Err("in `response.a[0].e`: expected an array of numbers".into())])
        );
        let many = json!({"data": [{"e": "{{embedding}}"}, "{{..}}"]});
        let many = Template::new(&many, "response", "{{embedding}}").unwrap();
        assert_eq!(read(&many, &json!({"data": [{"e": [1]}, {"e": [2]}]})), Ok(vec![Ok(vec![1.0]), Ok(vec![2.0])]));
        let missing = Err("in `response.data[0]`: missing field \"e\"".into());
        assert_eq!(read(&many, &json!({"data": [{}, {"e": [2]}]})), Ok(vec![missing, Ok(vec![2.0])]));
        // Numbers of every form, and texts that are no numbers.
        let wide = json!({"a": [{"e": [0, -3, 1e3, 18_446_744_073_709_551_615_u64]}]});
        assert_eq!(read(&one, &wide), Ok(vec![Ok(vec![0.0, -3.0, 1000.0, 1.844_674_4e19])]));
        let long = br#"{"a":[{"e":[123456789012345678901234567890]}]}"#;
        assert_eq!(one.read(long).unwrap(), Ok(vec![Ok(vec![1.234_567_9e29])]));
        for refused in [json!([null]), json!([true]), json!([[1]]), json!([1e39]), json!("1"), json!({"0": 1})] {
            let found = read(&one, &json!({"a": [{"e": refused}]}));
            let reason = Err("in `response.a[0].e`: expected an array of numbers".into());
            assert_eq!(found, Ok(vec![reason]), "{refused}");
        }
        // As many programs write what is no number.
        let words = br#"{"data": [{"e": [1, NaN]}, {"e": [-Infinity], "t": "a \" NaN"}, {"e": [2.5e-1]}, {"e": NaN, "ok": true}]}"#;
        let found = many.read(words).unwrap().unwrap();
        assert_eq!(found.iter().map(Result::is_ok).collect::<Vec<_>>(), [false, false, true, false]);
        assert_eq!(found[2], Ok(vec![0.25]));
        for broken in ["", "{", "{\"a\":[{\"e\":[1,]}]}", "<html>", "{\"a\":1} 2"] {
            one.read(broken.as_bytes()).unwrap_err();
        }
    }

    #[test]
    fn mistakes_are_located() {
        let refused = |json: Value| request(json).unwrap_err();
        assert_eq!(refused(json!({"a": 1})), "in `request`: \"{{text}}\" not found");
        assert_eq!(
            refused(json!({"input": ["{{..}}", "{{text}}"]})),
            "in `request.input`: \"{{..}}\" expected at position #1, but found at position #0"
        );
        assert_eq!(refused(json!({"a": "{{..}}"})), "in `request.a`: \"{{..}}\" appears outside of an array");
        assert_eq!(
            refused(json!({"a": [["{{text}}", "{{..}}"], "{{..}}"]})),
            "in `request.a[0]`: \"{{..}}\" appears nested inside of a value that is itself repeated"
        );
        assert_eq!(
            refused(json!({"a": ["x", "{{..}}"], "b": "{{text}}"})),
            "in `request.a[0]`: Expected \"{{text}}\" inside of the repeated value"
        );
        assert_eq!(
            refused(json!({"a": "{{text}}", "b": "{{text}}"})),
            "in `request.b`: Found \"{{text}}\", but it was already present in `request.a`"
        );
    }
}
