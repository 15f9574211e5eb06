//! Documents of other servers.

use std::time::Duration;

use lamina_base::budget::AnswerBudget;
use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_base::outbound::Outbound;
use lamina_data::network::Remote;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

use super::remote::{self, Question};
use crate::answer::search::ValuesWanted;

/// The time that other servers have for a read.
const PATIENCE: Duration = Duration::from_secs(15);

/// A page of another server's documents.
#[derive(Debug)]
pub(crate) struct RemotePage {
    /// The documents.
    pub(crate) results: Vec<Value>,
    /// Number of documents, including those beyond the page.
    pub(crate) total: u64,
}

impl RemotePage {
    /// Fetches the documents of the index from `remote`, which is called `name`; counted in `budget`.
    ///
    /// # Errors
    /// One of the `remote_*` codes, with the name.
    pub(crate) async fn fetch(
        outbound: &Outbound,
        name: &str,
        remote: &Remote,
        index_uid: &str,
        body: &Value,
        budget: &AnswerBudget,
    ) -> ApiResult<RemotePage> {
        let named = |error: ApiError| error.prefixed(format_args!("Remote `{name}`: "));
        let path = format!("/indexes/{}/documents/fetch", utf8_percent_encode(index_uid, NON_ALPHANUMERIC));
        let (action, wanted) = ("documents.get", ValuesWanted::AsSet);
        let question = Question { path: &path, action, body, wanted, with_metadata: false };
        let answered = remote::post(outbound, remote, question, PATIENCE, budget).await.map_err(named)?;
        let Value::Object(mut answer) = answered.body else { return Err(named(no_page())) };
        match (answer.remove("results"), answer.get("total").and_then(Value::as_u64)) {
            (Some(Value::Array(results)), Some(total)) if results.iter().all(Value::is_object) => {
                Ok(RemotePage { results, total })
            }
            _ => Err(named(no_page())),
        }
    }
}

fn no_page() -> ApiError {
    ApiError::new(Code::RemoteBadResponse, "the response is not a page of documents")
}
