//! `?wait=searchable` on writes: the answer comes when the write has taken effect, or patience ends.

use std::time::Duration;

use lamina_base::error::{ApiResult, Code};

use super::query_string::QueryString;

const PATIENCE: Duration = Duration::from_secs(10);
const PATIENCE_MAX: Duration = Duration::from_secs(60);

/// Maximum time for which the response to a write may be held back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// At most this; the task goes on afterwards as if the client did not wait.
    pub patience: Duration,
}

impl Wait {
    /// Takes `wait` and `waitMs` out of a query string; what is left is the route's own.
    pub fn split(query: &str) -> (String, Option<String>) {
        let is_own = |pair: &&str| !matches!(pair.split('=').next(), Some("wait" | "waitMs"));
        let own: Vec<&str> = query.split('&').filter(is_own).collect();
        let wait: Vec<&str> = query.split('&').filter(|pair| !is_own(pair)).collect();
        (own.join("&"), (!wait.is_empty()).then(|| wait.join("&")))
    }

    /// Reads what [`Wait::split`] took out.
    ///
    /// # Errors
    /// `bad_request`
    pub fn read(query: &str) -> ApiResult<Option<Wait>> {
        let (mut is_asked, mut patience) = (false, PATIENCE);
        QueryString::parse(query).parameters(&["wait", "waitMs"], |name, parameter| {
            let parameter = parameter.code(Code::BadRequest);
            match name {
                "wait" => is_asked = parameter.one_of(&[("searchable", true)])?,
                _ => patience = Duration::from_millis(parameter.positive_integer()?).min(PATIENCE_MAX),
            }
            Ok(())
        })?;
        Ok(is_asked.then_some(Wait { patience }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_see_their_own_parameters() {
        let of = |query: &str| Wait::split(query);
        assert_eq!(of("a=1&b"), ("a=1&b".to_owned(), None));
        assert_eq!(of(""), (String::new(), None));
        assert_eq!(of("wait=searchable"), (String::new(), Some("wait=searchable".to_owned())));
        assert_eq!(of("a=1&wait=x&b=2&waitMs=3"), ("a=1&b=2".to_owned(), Some("wait=x&waitMs=3".to_owned())));
        assert_eq!(of("waiting=1"), ("waiting=1".to_owned(), None));
    }

    #[test]
    fn patience_is_bounded() {
        let millis = |query: &str| Wait::read(query).map(|wait| wait.map(|wait| wait.patience.as_millis()));
        assert_eq!(millis("wait=searchable"), Ok(Some(10_000)));
        assert_eq!(millis("wait=searchable&waitMs=5"), Ok(Some(5)));
        assert_eq!(millis("wait=searchable&waitMs=9999999"), Ok(Some(60_000)));
        assert_eq!(millis("waitMs=5"), Ok(None));
        assert_eq!(Wait::read("wait=forever").unwrap_err().code, Code::BadRequest);
        assert_eq!(Wait::read("wait=searchable&waitMs=x").unwrap_err().code, Code::BadRequest);
    }
}
