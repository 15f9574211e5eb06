//! `pointInTime` of a search: several pages of one state of an index while writes go on.

use std::time::Duration;

use serde_json::Value;
use uuid::Uuid;

use super::json::At;
use super::query_string::QueryString;
use crate::error::{ApiResult, Code};

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

/// The parameters of a query string.
pub const PARAMETERS: [&str; 2] = ["pointInTime", "pointInTimeKeepAliveMs"];

impl PointInTime {
    /// Takes `pointInTime` out of the body of a search; what is left is the search's own.
    ///
    /// # Errors
    /// `invalid_search_point_in_time`
    pub fn take(body: &mut Value) -> ApiResult<Option<PointInTime>> {
        let taken = body.as_object_mut().and_then(|fields| fields.shift_remove("pointInTime"));
        let Some(value) = taken.filter(|value| !value.is_null()) else { return Ok(None) };
        let mut asked = PointInTime { id: None, keep_alive: KEEP_ALIVE };
        // The path of messages is the one in the body.
        let body = serde_json::json!({ "pointInTime": value });
        At::root(&body).fields(&["pointInTime"], |_, object| {
            object.code(Code::InvalidSearchPointInTime).fields(&["id", "keepAliveMs"], |name, field| {
                let field = field.code(Code::InvalidSearchPointInTime);
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
            })
        })?;
        Ok(Some(asked))
    }

    /// Takes `pointInTime` and `pointInTimeKeepAliveMs` out of a query string; either asks for a view.
    ///
    /// # Errors
    /// `invalid_search_point_in_time`
    pub fn split(query: &str) -> ApiResult<(String, Option<PointInTime>)> {
        let is_own = |pair: &&str| !pair.split('=').next().is_some_and(|name| PARAMETERS.contains(&name));
        let own: Vec<&str> = query.split('&').filter(is_own).collect();
        let taken: Vec<&str> = query.split('&').filter(|pair| !is_own(pair)).collect();
        if taken.is_empty() {
            return Ok((query.to_owned(), None));
        }
        let mut asked = PointInTime { id: None, keep_alive: KEEP_ALIVE };
        QueryString::parse(&taken.join("&")).parameters(&PARAMETERS, |name, parameter| {
            let parameter = parameter.code(Code::InvalidSearchPointInTime);
            if name == "pointInTimeKeepAliveMs" {
                asked.keep_alive = keep_alive(parameter.positive_integer()?);
                return Ok(());
            }
            let text = parameter.text()?;
            if !text.is_empty() {
                asked.id = Some(Uuid::parse_str(text).map_err(|_| parameter.invalid(not_an_id(text)))?);
            }
            Ok(())
        })?;
        Ok((own.join("&"), Some(asked)))
    }
}

fn keep_alive(millis: u64) -> Duration {
    Duration::from_millis(millis).min(KEEP_ALIVE_MAX)
}

fn not_an_id(text: &str) -> String {
    format!("`{text}` is no `id` of a point in time as answers give it.")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn bodies_and_query_strings_ask_alike() {
        let id = Uuid::from_u128(7);
        let take = |mut body: Value| PointInTime::take(&mut body).map(|asked| (body, asked));
        for (body, query, expected) in [
            (json!({"q": "a"}), "q=a".to_owned(), None),
            (json!({"q": "a", "pointInTime": {}}), "q=a&pointInTime=".to_owned(), Some((None, 60_000))),
            (
                json!({"pointInTime": {"id": id, "keepAliveMs": 5}, "q": "a"}),
                format!("pointInTime={id}&q=a&pointInTimeKeepAliveMs=5"),
                Some((Some(id), 5)),
            ),
            (
                json!({"q": "a", "pointInTime": {"id": null, "keepAliveMs": 1_000_000_000}}),
                "q=a&pointInTimeKeepAliveMs=1000000000".to_owned(),
                Some((None, 3_600_000)),
            ),
        ] {
            let expected = expected.map(|(id, millis)| PointInTime { id, keep_alive: Duration::from_millis(millis) });
            assert_eq!(take(body).unwrap(), (json!({"q": "a"}), expected));
            assert_eq!(PointInTime::split(&query).unwrap(), ("q=a".to_owned(), expected));
        }
    }

    #[test]
    fn other_forms_are_refused_with_the_code_of_the_parameter() {
        for value in [json!("x"), json!({"id": "x"}), json!({"id": 1}), json!({"keepAliveMs": -1}), json!({"days": 1})]
        {
            let error = PointInTime::take(&mut json!({ "pointInTime": value })).unwrap_err();
            assert!(error.message.contains(".pointInTime"), "{}", error.message);
        }
        for query in ["pointInTime=x", "pointInTimeKeepAliveMs=soon"] {
            assert_eq!(PointInTime::split(query).unwrap_err().code, Code::InvalidSearchPointInTime);
        }
    }
}
