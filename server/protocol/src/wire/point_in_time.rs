//! `pointInTime` of a search: several requests that see one state of an index while writes go on.

use std::time::Duration;

use lamina_base::error::{ApiResult, Code};
use serde_json::{Value, json};
use uuid::Uuid;

use super::json::At;
use super::schema::{count, exactly, or_null, text};
use crate::wire::text_fields::{self, Given, TextField, TextFields};

/// Default time for which a view is kept after its last use.
const KEEP_ALIVE: Duration = Duration::from_secs(60);
/// At most this.
const KEEP_ALIVE_MAX: Duration = Duration::from_secs(60 * 60);

/// Request of a search for a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PointInTime {
    /// The view to use; a new one of the present if absent.
    pub id: Option<Uuid>,
    /// Time for which the view is kept from now on; zero ends it with this search.
    pub keep_alive: Duration,
}

impl Default for PointInTime {
    fn default() -> PointInTime {
        PointInTime { id: None, keep_alive: KEEP_ALIVE }
    }
}

impl PointInTime {
    /// Fields as parameters of a query string.
    pub(super) const TEXT_FIELDS: TextFields = TextFields { fields: &IN_QUERY_STRINGS, join };

    /// The object of a body.
    ///
    /// # Errors
    /// Other forms, with the code of the value.
    pub fn read(at: At<'_>) -> ApiResult<PointInTime> {
        let mut asked = PointInTime::default();
        at.fields(&["id", "keepAliveMs"], |name, field| {
            match name {
                "id" => asked.id = field.optional(id)?,
                _ => {
                    if let Some(millis) = field.optional(|field| field.positive_integer())? {
                        asked.keep_alive = Duration::from_millis(millis).min(KEEP_ALIVE_MAX);
                    }
                }
            }
            Ok(())
        })?;
        Ok(asked)
    }

    /// The object as a body has it.
    pub(super) fn written(self) -> Value {
        json!({ "id": self.id, "keepAliveMs": u64::try_from(self.keep_alive.as_millis()).unwrap_or(u64::MAX) })
    }

    pub(super) fn schema() -> Value {
        let id = json!({ "type": ["string", "null"], "format": "uuid" });
        exactly([("id", id), ("keepAliveMs", or_null(count()))], &[])
    }
}

const IN_QUERY_STRINGS: [TextField; 2] = [
    TextField {
        name: "pointInTime",
        code: Code::InvalidSearchPointInTime,
        // An empty one asks for a new view.
        of_text: |parameter| Ok(Some(parameter.text()?).filter(|text| !text.is_empty()).into()),
        check: |at| at.optional(id).map(drop),
        schema: text,
    },
    TextField {
        name: "pointInTimeKeepAliveMs",
        code: Code::InvalidSearchPointInTime,
        of_text: text_fields::count,
        check: |_| Ok(()),
        schema: count,
    },
];

fn join(given: &Given) -> ApiResult<Value> {
    Ok(json!({ "id": given.value("pointInTime"), "keepAliveMs": given.value("pointInTimeKeepAliveMs") }))
}

fn id(at: At<'_>) -> ApiResult<Uuid> {
    let text = at.string()?;
    Uuid::parse_str(&text).map_err(|_| at.invalid(format!("`{text}` is not a valid `id` of a point in time.")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::query_string::QueryString;
    use crate::wire::search::SearchQuery;

    fn of_body(body: &Value) -> ApiResult<Option<PointInTime>> {
        SearchQuery::from_body(body).map(|query| query.point_in_time)
    }

    fn of_parameters(query: &str) -> ApiResult<Option<PointInTime>> {
        SearchQuery::from_parameters(&QueryString::parse(query)).map(|query| query.point_in_time)
    }

    #[test]
    fn bodies_and_query_strings_ask_alike() {
        let id = Uuid::from_u128(7);
        for (body, query, expected) in [
            (json!({"pointInTime": null}), String::new(), None),
            (json!({"pointInTime": {}}), "pointInTime=".to_owned(), Some((None, 60_000))),
            (
                json!({"pointInTime": {"id": id, "keepAliveMs": 5}}),
                format!("pointInTime={id}&q=a&pointInTimeKeepAliveMs=5"),
                Some((Some(id), 5)),
            ),
            (
                json!({"pointInTime": {"id": null, "keepAliveMs": 1_000_000_000}}),
                "pointInTimeKeepAliveMs=1000000000".to_owned(),
                Some((None, 3_600_000)),
            ),
        ] {
            let expected = expected.map(|(id, millis)| PointInTime { id, keep_alive: Duration::from_millis(millis) });
            assert_eq!(of_body(&body), Ok(expected));
            assert_eq!(of_parameters(&query), Ok(expected));
        }
    }

    #[test]
    fn other_forms_are_refused_with_the_code_of_the_parameter() {
        for value in [json!("x"), json!({"id": "x"}), json!({"id": 1}), json!({"keepAliveMs": -1}), json!({"days": 1})]
        {
            let error = of_body(&json!({ "pointInTime": value })).unwrap_err();
            assert_eq!(error.code, Code::InvalidSearchPointInTime);
            assert!(error.message.contains(".pointInTime"), "{}", error.message);
        }
        for query in ["pointInTime=x", "pointInTimeKeepAliveMs=soon"] {
            assert_eq!(of_parameters(query).unwrap_err().code, Code::InvalidSearchPointInTime);
        }
    }
}
