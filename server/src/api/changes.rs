//! `/indexes/{uid}/changes`: what became of documents since a state, once as lines, or as events that go on.

use std::fmt::Display;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::stream;
use lamina_base::budget::AnswerBudget;
use lamina_base::error::{ApiError, ApiResult};
use lamina_data::access::Action;
use lamina_data::tasks::blocking;
use lamina_engine::index::{At, Change, Snapshot};
use lamina_protocol::events::{CONTENT_TYPE, event};
use lamina_protocol::wire::generations;
use serde_json::{Value, json};
use warp::http::{HeaderValue, header};
use warp::reply::Response;

use crate::app::AppState;
use crate::http::requests::Request;
use crate::http::routing::{Answer, Route};
use crate::http::{UNBUFFERED, events_answer};

/// Header that a client of events sends when it reconnects.
const LAST_EVENT: &str = "last-event-id";
/// Interval at which a stream of events checks for a new state.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);
/// After this a stream of events ends when nothing has changed: its client comes back by itself, and a server that stops does not
/// wait for long.
const EVENTS_TIME: Duration = Duration::from_secs(5);

pub(super) const ROUTES: &[Route] = &[Route::get("/indexes/{indexUid}/changes", Action::DocumentsGet)
    .about("List the documents that changed since a state, as lines or as events", Answer::Lines)
    .query(|| &["since"])
    .run(|request| Box::pin(changes(request)))];

async fn changes(request: Request) -> ApiResult<Response> {
    let uid = request.index_uid()?;
    let wants_events = request.header(header::ACCEPT).is_some_and(|accepted| accepted.contains(CONTENT_TYPE));
    let came_back = request.header(LAST_EVENT).filter(|_| wants_events);
    let since = generations::since(&request.query(), came_back)?;
    let feed = Feed { state: Arc::clone(request.state()), uid, wants_events };
    let budget = feed.state.budgets.answer();
    let first = blocking({
        let (feed, budget) = (feed.clone(), budget.clone());
        move || {
            let before = feed.state.instance.whole_state_at(&feed.uid, Some(At::Generation(since)))?;
            feed.since(&before, &budget)
        }
    });
    let (lines, now) = first.await??;
    let lines = budget.body(lines);
    if wants_events {
        return Ok(events_answer(request.standing().limit(events(feed, lines, now))));
    }
    let mut response = Response::new(lines.into());
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/x-ndjson"));
    response.headers_mut().insert(UNBUFFERED.0, UNBUFFERED.1);
    Ok(response)
}

/// Index whose changes are requested, and their form.
#[derive(Clone)]
struct Feed {
    state: Arc<AppState>,
    uid: String,
    wants_events: bool,
}

impl Feed {
    /// A line, or an event, for each document that differs from `before`, and one that names the present state, with it.
    fn since(&self, before: &Snapshot, budget: &AnswerBudget) -> ApiResult<(Vec<u8>, Arc<Snapshot>)> {
        // Where nothing has changed, no document is read: not even of a damaged index.
        let mut now = self.state.instance.state(&self.uid)?;
        let mut lines = Vec::new();
        let (mut counted, mut refused, mut count) = (0, None, 0_u64);
        let mut see = |change: Change, key: &str| {
            count += 1;
            self.write(&mut lines, name(change), &json!({ "change": name(change), "id": key }), None);
            // Counted before there is more of it.
            if lines.len() > 2 * counted {
                refused = budget.take(lines.len() - counted).err();
                counted = lines.len();
            }
            refused.is_none()
        };
        if now.contents() != before.contents() {
            now = self.state.instance.snapshot(&self.uid)?;
            before.check_whole().and_then(|()| before.check_health()).map_err(ApiError::from)?;
            now.changes_since(before, &mut see).map_err(ApiError::from)?;
        }
        if let Some(refused) = refused {
            return Err(refused);
        }
        let end = json!({ "generation": now.contents(), "since": before.contents(), "changes": count });
        self.write(&mut lines, "generation", &end, Some(now.contents()));
        Ok((lines, now))
    }

    fn write(&self, lines: &mut Vec<u8>, name: &str, line: &Value, id: Option<u64>) {
        let id = id.as_ref().map(|id| id as &dyn Display);
        let text = if self.wants_events { event(Some(name), id, line) } else { format!("{line}\n") };
        lines.extend_from_slice(text.as_bytes());
    }
}

fn name(change: Change) -> &'static str {
    match change {
        Change::Added => "added",
        Change::Replaced => "replaced",
        Change::Deleted => "deleted",
    }
}

/// Streams the changes that were found, then those that follow. It holds the last seen state, so that no change is
/// missed, regardless of retained generations.
fn events(feed: Feed, first: Bytes, seen: Arc<Snapshot>) -> impl stream::Stream<Item = Bytes> {
    stream::unfold((Some(first), seen, feed), async |(first, seen, feed)| {
        if let Some(first) = first {
            return Some((first, (None, seen, feed)));
        }
        let (lines, now) = next(&feed, &seen).await?;
        Some((lines, (None, now, feed)))
    })
}

/// The next changes; `None` where the stream ends: none came for a while, or the index is gone or damaged.
async fn next(feed: &Feed, seen: &Arc<Snapshot>) -> Option<(Bytes, Arc<Snapshot>)> {
    let end = Instant::now() + EVENTS_TIME;
    loop {
        if feed.state.instance.state(&feed.uid).ok()?.contents() != seen.contents() {
            break;
        }
        if Instant::now() >= end {
            return None;
        }
        tokio::time::sleep(LOOK_INTERVAL).await;
    }
    let budget = feed.state.budgets.answer();
    let found = blocking({
        let (feed, seen, budget) = (feed.clone(), Arc::clone(seen), budget.clone());
        move || feed.since(&seen, &budget)
    });
    let (lines, now) = found.await.ok()?.ok()?;
    Some((budget.body(lines), now))
}
