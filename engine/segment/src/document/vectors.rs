//! The `_vectors` of a document: taken out of it, read, and put together when a document is updated.

use std::borrow::Cow;
use std::cell::RefCell;
use std::ops::ControlFlow;
use std::sync::LazyLock;

use memchr::memmem;
use serde_json::{Map, Value};
use simd_json::prelude::*;
use simd_json::tape;
use thiserror::Error;

use super::DocumentError;
use super::members::{Member, members};
use super::merge::{key_text, merge_documents};
use super::scan::fields;

/// The field.
const VECTORS_KEY: &str = "_vectors";

/// Vectors of one document and embedder, at most.
pub const VECTORS_MAX: usize = 256;

/// Error in the `_vectors` of a document. Ids of documents are JSON.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum VectorsError {
    /// `value` as JSON.
    #[error("the vectors of document {document_id} are no object but {value}")]
    NotAnObject { document_id: String, value: String },
    /// `place`: below the embedder, as in `.embeddings[0]`.
    #[error("the vectors of document {document_id} for embedder `{embedder}` at `{place}`: {fault}")]
    Malformed { document_id: String, embedder: String, place: String, fault: VectorsFault },
    #[error("document {document_id} has {found} vectors of one embedder, and may have {VECTORS_MAX}")]
    TooMany { document_id: String, found: usize },
    #[error(
        "vector {position} of document {document_id} for embedder `{embedder}` has {found} numbers, not {expected}"
    )]
    Dimensions { document_id: String, embedder: String, position: usize, found: usize, expected: usize },
    /// The vectors that are stored have another size (`expected`) than the embedder has now.
    #[error("stored vectors have {expected} numbers, the embedder's {found}")]
    Stored { expected: usize, found: usize },
}

/// Reason for which the vectors that a document supplies for an embedder are invalid.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum VectorsFault {
    #[error("{0}")]
    Syntax(String),
    #[error("{found} where there should be {expected:?}")]
    WrongType { expected: VectorsPart, found: Box<Value> },
    #[error("unknown field `{0}`")]
    UnknownField(String),
    /// An object has to say whether its vectors are made anew.
    #[error("there is no `regenerate`")]
    MissingRegenerate,
    /// A number as it is written.
    #[error("{0} is too large for 32 bits")]
    TooLarge(String),
}

/// Kind of value that is expected at a place of the vectors of one embedder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VectorsPart {
    /// Vectors, null, or an object with them.
    All,
    /// One vector or several, or null.
    Vectors,
    Vector,
    Number,
    /// Boolean that says whether vectors are regenerated.
    Switch,
}

/// Vectors that a document supplies for one embedder.
#[derive(Clone, Debug, PartialEq)]
pub struct SuppliedVectors {
    /// `None`: nothing, keep what there is. Empty: there are to be none.
    pub vectors: Option<Vec<Vec<f32>>>,
    /// True if the vectors are replaced when the text of the document changes.
    pub regenerate: bool,
}

/// Splits a document (one line) into the document without `_vectors` and the JSON text of `_vectors`, if it has them.
///
/// # Errors
/// When the line is no JSON object.
pub fn split_vectors(line: &[u8]) -> Result<(Cow<'_, [u8]>, Option<&str>), DocumentError> {
    /// Made once: that costs more than looking through a document.
    static KEY: LazyLock<memmem::Finder<'_>> = LazyLock::new(|| memmem::Finder::new(VECTORS_KEY));
    if KEY.find(line).is_none() {
        return Ok((Cow::Borrowed(line), None));
    }
    let (mut rest, mut found) = (b"{".to_vec(), None);
    fields(line, |key, value| {
        if key_text(line, key)? == VECTORS_KEY {
            found = Some(value);
        } else {
            if rest.len() > 1 {
                rest.push(b',');
            }
            rest.push(b'"');
            rest.extend_from_slice(&line[key.range()]);
            rest.extend_from_slice(b"\":");
            rest.extend_from_slice(&line[value]);
        }
        Ok(ControlFlow::Continue(()))
    })?;
    let Some(range) = found else { return Ok((Cow::Borrowed(line), None)) };
    rest.push(b'}');
    let start = range.start;
    let text = std::str::from_utf8(&line[range]);
    let text = text.map_err(|error| DocumentError::Utf8 { at: start + error.valid_up_to() })?;
    Ok((Cow::Owned(rest), Some(text)))
}

/// Works like [`merge_documents`], but if both have `_vectors`, also merges these by embedder: those that `new` names
/// replace those of `old`.
///
/// # Errors
/// When one of them is not a JSON object.
pub fn merge_with_vectors(old: &[u8], new: &[u8]) -> Result<Vec<u8>, DocumentError> {
    let mut merged = merge_documents(old, new)?;
    let (_, Some(old_vectors)) = split_vectors(old)? else { return Ok(merged) };
    let (_, Some(new_vectors)) = split_vectors(new)? else { return Ok(merged) };
    // What is no object is refused when the document is written.
    let (Ok(mut vectors), Ok(over)) = (members(old_vectors), members(new_vectors)) else {
        return Ok(merged);
    };
    for (name, value) in over {
        match vectors.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => *known = value,
            None => vectors.push((name, value)),
        }
    }
    let (rest, _) = split_vectors(&merged)?;
    let rest = rest.into_owned();
    merged = rest;
    append_vectors(&mut merged, &vectors);
    Ok(merged)
}

/// The JSON object of `entries`.
pub fn write_embedders(entries: &[Member<'_>]) -> Vec<u8> {
    let mut out = b"{".to_vec();
    for (place, (name, value)) in entries.iter().enumerate() {
        if place > 0 {
            out.push(b',');
        }
        out.extend_from_slice(Value::from(&**name).to_string().as_bytes());
        out.push(b':');
        out.extend_from_slice(value.get().as_bytes());
    }
    out.push(b'}');
    out
}

/// Adds `_vectors` with these entries to the end of a document without it; none if there are none.
pub fn append_vectors(document: &mut Vec<u8>, entries: &[Member<'_>]) {
    if !entries.is_empty() {
        append_member(document, VECTORS_KEY, &write_embedders(entries));
    }
}

/// Adds a member to the end of a JSON object; `value` is JSON.
pub fn append_member(object: &mut Vec<u8>, key: &str, value: &[u8]) {
    object.truncate(object.trim_ascii_end().len());
    let closing = object.pop();
    assert_eq!(closing, Some(b'}'), "members are added to objects");
    object.truncate(object.trim_ascii_end().len());
    if !object.ends_with(b"{") {
        object.push(b',');
    }
    object.extend_from_slice(Value::from(key).to_string().as_bytes());
    object.push(b':');
    object.extend_from_slice(value);
    object.push(b'}');
}

impl SuppliedVectors {
    /// Reads what a document says for `embedder`. `document_id` gives the id for an error, as JSON.
    ///
    /// # Errors
    /// [`VectorsError::Malformed`] and [`VectorsError::TooMany`].
    pub fn parse(
        embedder: &str,
        json: &str,
        document_id: impl Fn() -> String,
    ) -> Result<SuppliedVectors, VectorsError> {
        let supplied = match parse_fast(json) {
            Some(supplied) => supplied,
            None => supplied(json).map_err(|Misplaced { place, fault }| VectorsError::Malformed {
                document_id: document_id(),
                embedder: embedder.to_owned(),
                place,
                fault,
            })?,
        };
        match supplied.vectors.as_ref().map_or(0, Vec::len) {
            found if found > VECTORS_MAX => Err(VectorsError::TooMany { document_id: document_id(), found }),
            _ => Ok(supplied),
        }
    }

    /// Refuses vectors of another size.
    ///
    /// # Errors
    /// [`VectorsError::Dimensions`]
    pub fn check(&self, embedder: &str, expected: usize, document_id: impl Fn() -> String) -> Result<(), VectorsError> {
        let vectors = self.vectors.as_deref().unwrap_or_default();
        match vectors.iter().position(|vector| vector.len() != expected) {
            Some(position) => Err(VectorsError::Dimensions {
                document_id: document_id(),
                embedder: embedder.to_owned(),
                position,
                found: vectors[position].len(),
                expected,
            }),
            None => Ok(()),
        }
    }
}

/// The two forms that nearly all documents have; `None` for all others, right or wrong.
fn parse_fast(json: &str) -> Option<SuppliedVectors> {
    let given = |vectors: Vec<Vec<f32>>| {
        let finite = vectors.iter().flatten().all(|value| value.is_finite());
        finite.then_some(SuppliedVectors { vectors: Some(vectors), regenerate: false })
    };
    if json == "null" || json == "[]" {
        return given(Vec::new());
    }
    PARSING.with_borrow_mut(|kept| {
        let mut own = Parsing::default();
        let (text, buffers) = if json.len() > KEPT_BYTES_MAX { &mut own } else { kept };
        // Parsed in place.
        text.clear();
        text.extend_from_slice(json.as_bytes());
        let tape = simd_json::to_tape_with_buffers(text, buffers).ok()?;
        let outer = tape.as_value().as_array()?;
        let first = outer.iter().next()?;
        if first.is_array() { given(all(&outer, numbers)?) } else { given(vec![numbers(tape.as_value())?]) }
    })
}

/// A text, and what simd-json works with.
type Parsing = (Vec<u8>, simd_json::Buffers);

/// A longer text gets buffers of its own, so that it does not stay with the thread.
const KEPT_BYTES_MAX: usize = 64 << 10;

thread_local! {
    /// Kept between documents: vectors come by thousands.
    static PARSING: RefCell<Parsing> = RefCell::default();
}

fn numbers(value: tape::Value<'_, '_>) -> Option<Vec<f32>> {
    all(&value.as_array()?, |number| number.cast_f64().map(|number| number as f32))
}

/// Collects the result of `read` for every element, or returns `None` if it fails for one of them.
fn all<'t, 'j, T>(elements: &tape::Array<'t, 'j>, read: impl Fn(tape::Value<'t, 'j>) -> Option<T>) -> Option<Vec<T>> {
    let mut found = Vec::with_capacity(elements.len());
    for element in elements {
        found.push(read(element)?);
    }
    Some(found)
}

/// A fault and where it is, below the embedder.
struct Misplaced {
    place: String,
    fault: VectorsFault,
}

fn at(place: impl Into<String>, fault: VectorsFault) -> Misplaced {
    Misplaced { place: place.into(), fault }
}

fn wrong_type(place: impl Into<String>, expected: VectorsPart, found: &Value) -> Misplaced {
    at(place, VectorsFault::WrongType { expected, found: Box::new(found.clone()) })
}

/// Reads the general form.
fn supplied(json: &str) -> Result<SuppliedVectors, Misplaced> {
    let value: Value = serde_json::from_str(json).map_err(|error| at("", VectorsFault::Syntax(error.to_string())))?;
    match value {
        Value::Null => Ok(SuppliedVectors { vectors: Some(Vec::new()), regenerate: false }),
        Value::Array(_) => Ok(SuppliedVectors { vectors: Some(vectors(&value, "")?), regenerate: false }),
        Value::Object(fields) => explicit(&fields),
        other => Err(wrong_type("", VectorsPart::All, &other)),
    }
}

fn explicit(fields: &Map<String, Value>) -> Result<SuppliedVectors, Misplaced> {
    const EMBEDDINGS: &str = ".embeddings";
    const REGENERATE: &str = ".regenerate";
    if let Some(unknown) = fields.keys().find(|name| !matches!(name.as_str(), "embeddings" | "regenerate")) {
        return Err(at("", VectorsFault::UnknownField(unknown.clone())));
    }
    let vectors = match fields.get("embeddings") {
        None => None,
        Some(Value::Null) => Some(Vec::new()),
        Some(given) => Some(vectors(given, EMBEDDINGS)?),
    };
    match fields.get("regenerate") {
        // `null` says as little as nothing does; an empty list says that there are none as long as the text stays.
        Some(Value::Bool(true)) if fields.get("embeddings") == Some(&Value::Null) => {
            Ok(SuppliedVectors { vectors: None, regenerate: true })
        }
        Some(Value::Bool(regenerate)) => Ok(SuppliedVectors { vectors, regenerate: *regenerate }),
        None => Err(at(REGENERATE, VectorsFault::MissingRegenerate)),
        Some(other) => Err(wrong_type(REGENERATE, VectorsPart::Switch, other)),
    }
}

/// One vector or several, as the first element says.
fn vectors(value: &Value, place: &str) -> Result<Vec<Vec<f32>>, Misplaced> {
    let Value::Array(elements) = value else { return Err(wrong_type(place, VectorsPart::Vectors, value)) };
    match elements.first() {
        None => Ok(Vec::new()),
        Some(Value::Array(_)) => {
            let each = elements.iter().enumerate();
            each.map(|(position, element)| match element {
                Value::Array(numbers) => vector(numbers, &format!("{place}[{position}]")),
                other => Err(wrong_type(format!("{place}[{position}]"), VectorsPart::Vector, other)),
            })
            .collect()
        }
        Some(_) => Ok(vec![vector(elements, place)?]),
    }
}

fn vector(numbers: &[Value], place: &str) -> Result<Vec<f32>, Misplaced> {
    let each = numbers.iter().enumerate();
    each.map(|(position, number)| match number.as_f64().map(|number| number as f32) {
        Some(number) if number.is_finite() => Ok(number),
        Some(_) => Err(at(format!("{place}[{position}]"), VectorsFault::TooLarge(number.to_string()))),
        None => Err(wrong_type(format!("{place}[{position}]"), VectorsPart::Number, number)),
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(json: &str) -> Result<SuppliedVectors, String> {
        SuppliedVectors::parse("e", json, || "7".into()).map_err(|error| error.to_string())
    }

    #[test]
    fn every_form() {
        let given = |vectors: &[&[f32]], regenerate| {
            Ok(SuppliedVectors { vectors: Some(vectors.iter().map(|v| v.to_vec()).collect()), regenerate })
        };
        assert_eq!(parse("[0.5,-1]"), given(&[&[0.5, -1.0]], false));
        assert_eq!(parse("[[1,2],[3,4]]"), given(&[&[1.0, 2.0], &[3.0, 4.0]], false));
        assert_eq!(parse("[1e-3, 123456789012345678901234567890]"), given(&[&[0.001, 1.234_567_9e29]], false));
        assert_eq!(parse(" [ [ 0 ] ] "), given(&[&[0.0]], false));
        let long = vec![0.125_f32; 40_000];
        assert_eq!(parse(&serde_json::to_string(&long).unwrap()), given(&[&long], false));
        assert_eq!(parse("null"), given(&[], false));
        assert_eq!(parse("[]"), given(&[], false));
        assert_eq!(parse(r#"{"embeddings":[1],"regenerate":true}"#), given(&[&[1.0]], true));
        assert_eq!(parse(r#"{"embeddings":[[1],[2]],"regenerate":false}"#), given(&[&[1.0], &[2.0]], false));
        assert_eq!(parse(r#"{"embeddings":null,"regenerate":false}"#), given(&[], false));
        let unsaid = r#"{"embeddings":null,"regenerate":true}"#;
        assert_eq!(parse(unsaid), Ok(SuppliedVectors { vectors: None, regenerate: true }));
        assert_eq!(parse(r#"{"embeddings":[],"regenerate":true}"#), given(&[], true));
        assert_eq!(parse(r#"{"regenerate":true}"#), Ok(SuppliedVectors { vectors: None, regenerate: true }));
    }

    #[test]
    fn every_mistake() {
        let bad = |json: &str| match SuppliedVectors::parse("e", json, || "7".into()).unwrap_err() {
            VectorsError::Malformed { place, fault, .. } => (place, fault),
            other => panic!("{other}"),
        };
        let wrong_type = |place: &str, expected: VectorsPart, found: Value| {
            (place.to_owned(), VectorsFault::WrongType { expected, found: Box::new(found) })
        };
        assert_eq!(bad(r#"{"embeddings":[1]}"#), (".regenerate".to_owned(), VectorsFault::MissingRegenerate));
        assert_eq!(
            bad(r#"{"embeddings":[[1,true]],"regenerate":false}"#),
            wrong_type(".embeddings[0][1]", VectorsPart::Number, true.into())
        );
        assert_eq!(
            bad(r#"{"embeddings":[0.1,[0.2,0.3]],"regenerate":false}"#),
            wrong_type(".embeddings[1]", VectorsPart::Number, serde_json::json!([0.2, 0.3]))
        );
        assert_eq!(bad("[[1],2]"), wrong_type("[1]", VectorsPart::Vector, 2.into()));
        assert_eq!(bad("[1e99]"), ("[0]".to_owned(), VectorsFault::TooLarge("1e+99".to_owned())));
        assert_eq!(bad("\"x\""), wrong_type("", VectorsPart::All, "x".into()));
        assert_eq!(bad(r#"{"regenerate":1}"#), wrong_type(".regenerate", VectorsPart::Switch, 1.into()));
        let unknown = VectorsFault::UnknownField("regenerat".to_owned());
        assert_eq!(bad(r#"{"regenerat":true}"#), (String::new(), unknown));
        let many = format!("[{}]", vec!["[1]"; 257].join(","));
        let refused = SuppliedVectors::parse("e", &many, || "7".into());
        assert!(matches!(refused, Err(VectorsError::TooMany { found: 257, .. })));
        let two = parse("[[1,2],[1]]").unwrap();
        let refused = two.check("e", 2, || "7".into());
        assert!(matches!(refused, Err(VectorsError::Dimensions { position: 1, found: 1, .. })));
    }

    #[test]
    fn vectors_leave_the_document() {
        let line = br#"{"id":1,"_vectors":{"e":[1]},"t":"_vectors"}"#;
        let (rest, vectors) = split_vectors(line).unwrap();
        assert_eq!((&*rest, vectors), (&br#"{"id":1,"t":"_vectors"}"#[..], Some(r#"{"e":[1]}"#)));
        let plain = br#"{"t":"_vectors"}"#;
        assert_eq!(split_vectors(plain).unwrap(), (Cow::Borrowed(&plain[..]), None));
        assert_eq!(split_vectors(br#"{"\u005fvectors":1,"_vectors":2}"#).unwrap().1, Some("2"));
        assert!(split_vectors(b"[\"_vectors\"]").is_err());
    }

    #[test]
    fn updates_change_the_named_embedders() {
        let merged = merge_with_vectors(
            br#"{"id":1,"_vectors":{"a":[1],"b":[2]}}"#,
            br#"{"_vectors":{"b":null,"c":[3]},"t":1}"#,
        );
        assert_eq!(
            String::from_utf8(merged.unwrap()).unwrap(),
            r#"{"id":1,"t":1,"_vectors":{"a":[1],"b":null,"c":[3]}}"#
        );
        let merged = merge_with_vectors(br#"{"id":1,"_vectors":{"a":[1]}}"#, br#"{"t":1}"#);
        assert_eq!(String::from_utf8(merged.unwrap()).unwrap(), r#"{"id":1,"_vectors":{"a":[1]},"t":1}"#);
    }
}
