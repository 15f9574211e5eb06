//! `explain`: why hits are hits.

use lamina_base::error::{ApiResult, Code};
use serde_json::{Value, json};

use crate::wire::json::At;
use crate::wire::schema::{exactly, flag, text};
use crate::wire::text_fields::{self, Given, TextField, TextFields};

/// Hits to explain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExplainQuery {
    /// Beside the hits: why this document is one, or is not.
    pub document_id: Option<String>,
}

impl ExplainQuery {
    /// Fields as parameters of a query string.
    pub(super) const TEXT_FIELDS: TextFields = TextFields { fields: &IN_QUERY_STRINGS, join };

    /// Reads `true`, or an object that names a document.
    pub(super) fn read(at: At<'_>) -> ApiResult<Option<ExplainQuery>> {
        if !at.value().is_object() {
            return Ok(at.boolean()?.then(ExplainQuery::default));
        }
        let mut query = ExplainQuery::default();
        at.fields(&["documentId"], |_, field| {
            query.document_id = field.optional(|field| match field.value() {
                // Ids that are integers are written as such in documents.
                Value::Number(number) if number.is_i64() || number.is_u64() => Ok(number.to_string()),
                _ => field.string(),
            })?;
            Ok(())
        })?;
        Ok(Some(query))
    }

    /// The value as a body has it.
    pub(super) fn written(&self) -> Value {
        match &self.document_id {
            Some(id) => json!({ "documentId": id }),
            None => json!(true),
        }
    }

    pub(super) fn schema() -> Value {
        let document = exactly([("documentId", json!({ "type": ["string", "integer", "null"] }))], &[]);
        json!({ "anyOf": [{ "type": ["boolean", "null"] }, document] })
    }
}

const IN_QUERY_STRINGS: [TextField; 2] = [
    TextField {
        name: "explain",
        code: Code::InvalidSearchExplain,
        of_text: text_fields::flag,
        check: |_| Ok(()),
        schema: flag,
    },
    TextField {
        name: "explainDocumentId",
        code: Code::InvalidSearchExplain,
        of_text: text_fields::text,
        check: |_| Ok(()),
        schema: text,
    },
];

fn join(given: &Given) -> ApiResult<Value> {
    let id = given.value("explainDocumentId");
    Ok(if id.is_null() { given.value("explain") } else { json!({ "documentId": id }) })
}
