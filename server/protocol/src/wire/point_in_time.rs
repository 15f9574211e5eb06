//! `pointInTime` of a search: several requests that see one state of an index while writes go on.

use std::time::Duration;

use lamina_base::error::ApiResult;
use uuid::Uuid;

use super::json::At;
use super::query_string::Parameter;

/// How long a view is kept after its last use, unless the request says otherwise.
const KEEP_ALIVE: Duration = Duration::from_secs(60);
/// At most this.
const KEEP_ALIVE_MAX: Duration = Duration::from_secs(60 * 60);

/// What a search asks of a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PointInTime {
    /// The view to use; a new one of the present if absent.
    pub id: Option<Uuid>,
    /// How long it is to be kept from now on; zero ends it with this search.
    pub keep_alive: Duration,
}

impl Default for PointInTime {
    fn default() -> PointInTime {
        PointInTime { id: None, keep_alive: KEEP_ALIVE }
    }
}

impl PointInTime {
    /// The object of a body.
    ///
    /// # Errors
    /// Other forms, with the code of the value.
    pub fn read(at: At<'_>) -> ApiResult<PointInTime> {
        let mut asked = PointInTime::default();
        at.fields(&["id", "keepAliveMs"], |name, field| {
            match name {
                "id" => {
                    asked.id = field.optional(|field| {
                        let text = field.string()?;
                        Uuid::parse_str(&text).map_err(|_| field.invalid(not_an_id(&text)))
                    })?;
                }
                _ => {
                    if let Some(millis) = field.optional(|field| field.positive_integer())? {
                        asked.keep_alive = keep_alive(millis);
                    }
                }
            }
            Ok(())
        })?;
        Ok(asked)
    }
}

/// The view that a parameter of a query string names; an empty one asks for a new view.
pub(super) fn id(parameter: &Parameter<'_>) -> ApiResult<Option<Uuid>> {
    match parameter.text()? {
        "" => Ok(None),
        text => Uuid::parse_str(text).map(Some).map_err(|_| parameter.invalid(not_an_id(text))),
    }
}

/// The time that a request asks for, within what is allowed.
pub(super) fn keep_alive(millis: u64) -> Duration {
    Duration::from_millis(millis).min(KEEP_ALIVE_MAX)
}

fn not_an_id(text: &str) -> String {
    format!("`{text}` is not a valid `id` of a point in time.")
}

#[cfg(test)]
mod tests {
    use lamina_base::error::Code;
    use serde_json::{Value, json};

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
