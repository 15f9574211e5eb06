//! `personalize`, which asks for an outside service that this server does not know.

use lamina_base::error::{ApiError, ApiResult, Code};
use serde_json::Value;

use crate::wire::json::{At, required};
use crate::wire::schema::text;
use crate::wire::text_fields::{TextField, TextFields};

/// Field as a parameter of a query string.
pub(super) const TEXT_FIELDS: TextFields = TextFields {
    fields: &[TextField {
        name: "personalizeUserContext",
        code: Code::InvalidSearchPersonalizeUserContext,
        of_text: |_| Err(unavailable()),
        check: |_| Ok(()),
        schema: text,
    }],
    join: |_| Ok(Value::Null),
};

/// Returns whether a value asks for anything.
pub(in crate::wire) fn is_personalized(at: At<'_>) -> ApiResult<bool> {
    let context = at.code(Code::InvalidSearchPersonalize).optional(|at| {
        let mut context = None;
        at.fields(&["userContext"], |_, field| {
            context = Some(field.code(Code::InvalidSearchPersonalizeUserContext).string()?);
            Ok(())
        })?;
        required(context, &at, "userContext", Code::InvalidSearchPersonalize)
    })?;
    Ok(context.is_some())
}

/// The refusal of what asks for it.
pub(in crate::wire) fn unavailable() -> ApiError {
    ApiError::feature_not_enabled("reranking search results with `personalize`", "personalization")
}
