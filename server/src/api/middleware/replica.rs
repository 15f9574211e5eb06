//! What a server that publishes or follows does with every request: reads that wait for a generation, writes that go to the
//! publisher, and the headers that say how far it is.

use std::time::Duration;

use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_replication::Role;
use warp::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri, header};
use warp::reply::Response;

use crate::app::AppState;
use crate::http::requests::error_answer;

/// Maximum time that a request waits for the generation that it requires.
const PATIENCE: Duration = Duration::from_secs(5);
const PARAMETER: &str = "minGeneration";
/// The last batch that answers show.
const GENERATION: HeaderName = HeaderName::from_static("lamina-generation");
/// Header with the time since this server was level with the store, in milliseconds.
const LAG: HeaderName = HeaderName::from_static("lamina-lag-ms");

/// The batch that an answer must show, and the target without saying so. `None` where nothing is asked.
///
/// # Errors
/// `invalid_min_generation`
pub(super) fn wanted_generation(uri: &Uri) -> ApiResult<Option<(u32, Uri)>> {
    let parameters = || uri.query().unwrap_or_default().split('&');
    let value_of = |parameter: &str| Some(parameter.strip_prefix(PARAMETER)?.strip_prefix('=')?.to_owned());
    let Some(value) = parameters().find_map(value_of) else { return Ok(None) };
    let generation = value.parse().map_err(|_| {
        let message = format!(
            "Invalid value in parameter `{PARAMETER}`: expected the `batchUid` of a task, a positive integer, but found `{value}`"
        );
        ApiError::new(Code::InvalidMinGeneration, message)
    })?;
    let rest: Vec<&str> = parameters().filter(|parameter| value_of(parameter).is_none()).collect();
    let target = if rest.is_empty() { uri.path().to_owned() } else { format!("{}?{}", uri.path(), rest.join("&")) };
    Ok(Some((generation, target.parse().expect("a part of a target is one"))))
}

/// The answer of a replica to what it does not do itself, if this is such a request. `uri`: as it was sent.
pub(super) fn passed_on(state: &AppState, uri: &Uri, is_read: bool) -> Option<Response> {
    let role = state.replication.role();
    if !matches!(role, Role::Replica | Role::Superseded) || is_read {
        return None;
    }
    let code = Code::ReplicaTakesNoWrites;
    let is = if role == Role::Replica { "is a replica" } else { "was the writer until another one took over" };
    let Some(writer) = state.replication.writer() else {
        let message = format!(
            "This server {is}: it answers searches and other reads. Ask the server that publishes, whose address is not known \
             here: start it with `--public-url`."
        );
        return Some(error_answer(state, &ApiError::new(code, message)));
    };
    let target =
        format!("{}{}", writer.trim_end_matches('/'), uri.path_and_query().map_or("/", |target| target.as_str()));
    let message = format!("This server {is}: writes and tasks are at {writer}.");
    let mut answer = error_answer(state, &ApiError::new(code, message));
    if let Ok(location) = HeaderValue::from_str(&target) {
        *answer.status_mut() = StatusCode::TEMPORARY_REDIRECT;
        answer.headers_mut().insert(header::LOCATION, location);
    }
    Some(answer)
}

/// Waits for the generation that a request asks for, on a replica. A publisher shows what it has finished.
///
/// # Errors
/// `generation_not_reached`
pub(super) async fn reach(state: &AppState, wanted: u32) -> ApiResult<()> {
    if state.replication.role() != Role::Replica || state.replication.reached(wanted, PATIENCE).await {
        return Ok(());
    }
    let have = state.replication.generation().map_or_else(|| "none yet".to_owned(), |have| have.to_string());
    let reason =
        state.replication.failure().map_or_else(String::new, |failure| format!(" Following fails: {failure}."));
    let message = format!(
        "This replica has not reached generation {wanted} within {} s; it has {have}.{reason} Ask again, or ask the \
         server that publishes.",
        PATIENCE.as_secs()
    );
    Err(ApiError::new(Code::GenerationNotReached, message))
}

/// Says how far this server is.
pub(super) fn say_how_far(state: &AppState, headers: &mut HeaderMap) {
    if state.replication.role() == Role::Alone {
        return;
    }
    if let Some(generation) = state.replication.generation() {
        headers.insert(GENERATION, generation.into());
    }
    if let Some(lag) = state.replication.lag() {
        headers.insert(LAG, u64::try_from(lag.as_millis()).unwrap_or(u64::MAX).into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generation_is_taken_out_of_the_target() {
        let of = |target: &str| wanted_generation(&target.parse().unwrap());
        let taken = |target: &str| of(target).unwrap().map(|(generation, uri)| (generation, uri.to_string()));
        assert_eq!(taken("/indexes"), None);
        assert_eq!(taken("/indexes?limit=1&xminGeneration=2"), None);
        assert_eq!(taken("/indexes?minGeneration=7"), Some((7, "/indexes".into())));
        assert_eq!(taken("/indexes?limit=1&minGeneration=7&offset=2"), Some((7, "/indexes?limit=1&offset=2".into())));
        for bad in ["", "-1", "x", "4294967296", "1.5"] {
            let error = of(&format!("/indexes?minGeneration={bad}")).unwrap_err();
            assert_eq!(error.code, Code::InvalidMinGeneration, "{bad}");
        }
    }
}
