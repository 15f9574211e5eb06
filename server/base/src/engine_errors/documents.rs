//! Sentences about documents: their payloads, their ids, their vectors.

use lamina_engine::document::{
    GeoJsonError, IdError, InferError, PayloadReason, VECTORS_MAX, VectorsError, VectorsFault, VectorsPart,
};
use lamina_engine::index::embedding::{EmbeddingError, Misspelt, TemplateError, TemplateLimit};
use serde_json::Value;

use super::invalid_document_id;
use super::sentence::Sentence;

impl Sentence for PayloadReason {
    fn sentence(&self) -> String {
        match self {
            PayloadReason::Json { reason } => format!("Couldn't serialize document value: {reason}"),
            PayloadReason::Csv { reason } => reason.clone(),
            PayloadReason::CsvNumber { cell, row, reason } => {
                format!("Error parsing number {cell:?} at line {row}: {reason}")
            }
            PayloadReason::CsvBoolean { cell, row } => {
                format!("Error parsing boolean {cell:?} at line {row}: provided string was not `true` or `false`")
            }
            other => other.to_string(),
        }
    }
}

impl Sentence for IdError {
    fn sentence(&self) -> String {
        match self {
            IdError::Missing { primary_key, document } => {
                format!("Document doesn't have a `{primary_key}` attribute: `{document}`.")
            }
            IdError::Ambiguous { primary_key, document } => {
                format!("Document have too many matching `{primary_key}` attribute: `{document}`.")
            }
            IdError::Invalid { value } => invalid_document_id(value),
            other => other.to_string(),
        }
    }
}

impl Sentence for InferError {
    fn sentence(&self) -> String {
        const MANUALLY: &str = "Please specify the primary key manually using the `primaryKey` query parameter.";
        match self {
            InferError::NoCandidate => format!(
                "The primary key inference failed as the engine did not find any field ending with `id` in its name. \
                 {MANUALLY}"
            ),
            InferError::ManyCandidates { candidates } => match candidates.as_slice() {
                [first, second, ..] => format!(
                    "The primary key inference failed as the engine found {} fields ending with `id` in their names: \
                     '{first}' and '{second}'. {MANUALLY}",
                    candidates.len()
                ),
                _ => self.to_string(),
            },
            other => other.to_string(),
        }
    }
}

impl Sentence for VectorsError {
    fn sentence(&self) -> String {
        match self {
            VectorsError::NotAnObject { document_id, value } => format!(
                "The `_vectors` field in the document with id: `{document_id}` is not an object. Was expecting an object \
                 with a key for each embedder with manually provided vectors, but instead got `{value}`"
            ),
            VectorsError::Malformed { document_id, embedder, place, fault } => format!(
                "Bad embedder configuration in the document with id: `{document_id}`. {}",
                malformed(&format!("._vectors.{embedder}"), place, fault)
            ),
            VectorsError::TooMany { document_id, found } => format!(
                "Too many vectors for document with id {document_id}: found {found}, but limited to {VECTORS_MAX}."
            ),
            VectorsError::Dimensions { document_id, embedder, position, found, expected } => format!(
                "Invalid vector dimensions in document with id `{document_id}` in `._vectors.{embedder}`.\n  - note: \
                 embedding #{position} has dimensions {found}\n  - note: embedder `{embedder}` requires {expected}"
            ),
            VectorsError::Stored { expected, found } => {
                format!("Invalid vector dimensions: expected: `{expected}`, found: `{found}`.")
            }
            other => other.to_string(),
        }
    }
}

/// Describes the fault at `place` below `root`, which is the embedder.
fn malformed(root: &str, place: &str, fault: &VectorsFault) -> String {
    match fault {
        VectorsFault::Syntax(reason) => reason.clone(),
        VectorsFault::WrongType { expected, found: value } => {
            let expected = match expected {
                VectorsPart::All => "null, an array, or an object",
                VectorsPart::Vectors => "null, an array",
                VectorsPart::Vector => "an array",
                VectorsPart::Number => "a number",
                VectorsPart::Switch => "a boolean",
            };
            format!("Invalid value type at `{root}{place}`: expected {expected}, but found {}", found(value))
        }
        VectorsFault::UnknownField(name) => {
            format!("Unknown field `{name}` inside `{root}{place}`: expected one of `embeddings`, `regenerate`")
        }
        VectorsFault::MissingRegenerate => format!(
            "Missing field `{root}{place}`\n  - note: `{root}` must be an array of floats, an array of arrays of floats, \
             or an object with field `regenerate`"
        ),
        VectorsFault::TooLarge(number) => {
            format!("Invalid value at `{root}{place}`: `{number}` is too large for 32 bits")
        }
        other => other.to_string(),
    }
}

/// ``a boolean: `true` ``
fn found(value: &Value) -> String {
    let kind = match value {
        Value::Null => return "null".to_owned(),
        Value::Bool(_) => "a boolean",
        Value::Number(number) if number.is_u64() => "a positive integer",
        Value::Number(number) if number.is_i64() => "a negative integer",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    };
    format!("{kind}: `{value}`")
}

impl Sentence for EmbeddingError {
    fn sentence(&self) -> String {
        match self {
            EmbeddingError::Unusable(failure) => format!("Error while generating embeddings: {failure}"),
            EmbeddingError::Failed { embedder, failure } => {
                format!("While embedding documents for embedder `{embedder}`: {failure}")
            }
            EmbeddingError::NotProvided { embedder, document_id, others, misspelt } => {
                not_provided(embedder, document_id, *others, misspelt.as_deref())
            }
            EmbeddingError::Template { embedder, reason } => {
                let reason = reason.sentence();
                format!("`.embedders.{embedder}.documentTemplate`: cannot parse template: {reason}")
            }
            EmbeddingError::Render { document_id, reason } => {
                format!("missing field in document `{document_id}`: {reason}")
            }
            EmbeddingError::RenderLimit { embedder, document_id, limit } => format!(
                "the template of embedder `{embedder}` cannot be rendered for document `{document_id}`: {}",
                limit.sentence()
            ),
            other => other.to_string(),
        }
    }
}

impl Sentence for TemplateError {
    fn sentence(&self) -> String {
        match self {
            TemplateError::Limit(limit) => limit.sentence(),
            other => other.to_string(),
        }
    }
}

impl Sentence for TemplateLimit {
    /// Returns the message for a template, or for fragments, above a limit.
    fn sentence(&self) -> String {
        use TemplateLimit as Limit;
        match *self {
            Limit::Bytes { found, most } => {
                format!("it has {found} bytes, more than the {most} that a template may have")
            }
            Limit::Brackets { found, most } => {
                format!("it has {found} opening brackets, more than the {most} that a template may have")
            }
            Limit::Links { found, most } => format!(
                "it has the words `and`, `or` and `elsif` {found} times, more than the {most} that a template may have"
            ),
            Limit::Names { found, most } => {
                format!("it has {found} names behind dots, more than the {most} that a template may have")
            }
            Limit::Blanks { most } => format!("it has more than {most} blanks or line ends in a row"),
            Limit::Nesting { most } => format!("its blocks are nested more than {most} levels deep"),
            Limit::FragmentBytes { found, most } => {
                format!("it has {found} bytes, more than the {most} that a fragment may have")
            }
            Limit::FragmentsBytes { found, most } => {
                format!("they have {found} bytes together, more than the {most} that are allowed")
            }
            Limit::Steps { most } => format!("rendering takes more than {most} steps"),
            Limit::Work { most } => format!("rendering reads and makes more than {most} bytes for this input"),
            Limit::Output { most } => format!("its text has more than {most} bytes"),
            other => other.to_string(),
        }
    }
}

impl Sentence for GeoJsonError {
    fn sentence(&self) -> String {
        use GeoJsonError as Reason;
        match self {
            Reason::NotAnObject { found } => format!("expected an object, found `{found}`"),
            Reason::Missing { member } => format!("missing member `{member}`"),
            Reason::UnknownType { name } => format!("unknown type `{name}`"),
            Reason::NotAnArray { member, found } => {
                format!("expected `{member}` to be an array, found `{found}`")
            }
            Reason::Position { found } => {
                format!("a position is an array of at least two finite numbers, longitude first, found `{found}`")
            }
            Reason::TooFewPositions { what, least, found } => {
                format!("a {what} needs at least {least} positions, found {found}")
            }
            Reason::NoRing => "a polygon needs at least one ring".to_owned(),
            Reason::TooDeep { most } => format!("collections are nested more than {most} deep"),
            other => other.to_string(),
        }
    }
}

fn not_provided(embedder: &str, document_id: &str, others: u64, misspelt: Option<&Misspelt>) -> String {
    let hint = match misspelt {
        Some(Misspelt { found, meant }) => format!("try replacing `{found}` by `{meant}`"),
        None => format!("opt-out for a document with `_vectors.{embedder}: null`"),
    };
    let others = if others > 0 { format!(" and at least {others} other document(s)") } else { String::new() };
    format!(
        "While embedding documents for embedder `{embedder}`: no vectors provided for document `{document_id}`{others}\n\
         - Note: `{embedder}` has `source: userProvided`, so documents must provide embeddings as an array in \
         `_vectors.{embedder}`.\n- Hint: {hint}"
    )
}

#[cfg(test)]
mod tests {
    use lamina_engine::document::{
        DocumentBytesMax, PayloadError, PayloadFormat, SuppliedVectors, document_id, infer_primary_key,
        normalize_payload,
    };

    use super::*;

    fn parse(json: &str) -> Result<SuppliedVectors, String> {
        SuppliedVectors::parse("e", json, || "7".into()).map_err(|error| error.sentence())
    }

    #[test]
    fn every_mistake() {
        let bad = |json: &str| {
            let message = parse(json).unwrap_err();
            let lead = "Bad embedder configuration in the document with id: `7`. ";
            message.strip_prefix(lead).unwrap_or_else(|| panic!("{message}")).to_owned()
        };
        assert_eq!(
            bad(r#"{"embeddings":[1]}"#),
            "Missing field `._vectors.e.regenerate`\n  - note: `._vectors.e` must be an array of floats, an array of \
             arrays of floats, or an object with field `regenerate`"
        );
        assert_eq!(
            bad(r#"{"embeddings":[[1,true]],"regenerate":false}"#),
            "Invalid value type at `._vectors.e.embeddings[0][1]`: expected a number, but found a boolean: `true`"
        );
        assert_eq!(
            bad(r#"{"embeddings":[0.1,[0.2,0.3]],"regenerate":false}"#),
            "Invalid value type at `._vectors.e.embeddings[1]`: expected a number, but found an array: `[0.2,0.3]`"
        );
        assert!(bad("[1e99]").contains("too large"));
        assert!(bad("\"x\"").ends_with("but found a string: `\"x\"`"));
        assert!(bad(r#"{"regenerate":1}"#).ends_with("expected a boolean, but found a positive integer: `1`"));
        assert!(bad(r#"{"regenerat":true}"#).starts_with("Unknown field `regenerat` inside `._vectors.e`"));
        let many = format!("[{}]", vec!["[1]"; 257].join(","));
        assert!(parse(&many).unwrap_err().contains("found 257, but limited to 256"));
        let two = parse("[[1,2],[1]]").unwrap();
        assert!(two.check("e", 2, || "7".into()).unwrap_err().sentence().contains("embedding #1 has dimensions 1"));
    }

    #[test]
    fn ids() {
        let id = |line: &str| document_id(line.as_bytes(), "id").unwrap_err().sentence();
        assert!(id("{\"id\": [ 1, 2 ]}").starts_with("Document identifier `[1,2]` is invalid."));
        assert_eq!(id("{ \"title\" : \"a b\" }"), "Document doesn't have a `id` attribute: `{\"title\":\"a b\"}`.");
        let many = infer_primary_key(br#"{"object_id":1,"id":2,"aid":3}"#).unwrap_err().sentence();
        assert!(many.contains("found 3 fields ending with `id` in their names: 'aid' and 'id'."), "{many}");
    }

    #[test]
    fn payloads() {
        let refused = |format: PayloadFormat, payload: &[u8]| match normalize_payload(
            format,
            payload,
            &mut Vec::new(),
            &mut DocumentBytesMax(usize::MAX),
        ) {
            Err(PayloadError::Malformed(reason)) => reason.sentence(),
            other => panic!("{other:?}"),
        };
        let csv = |payload: &[u8]| refused(PayloadFormat::Csv { delimiter: b',' }, payload);
        assert_eq!(csv(b"n:number\n1\ndoggo\n"), "Error parsing number \"doggo\" at line 2: invalid float literal");
        assert_eq!(
            csv(b"b:boolean\ndoggo\n"),
            "Error parsing boolean \"doggo\" at line 1: provided string was not `true` or `false`"
        );
        assert!(refused(PayloadFormat::NdJson, b"{").starts_with("Couldn't serialize document value: "));
    }
}
