//! `/tasks/stream` and `/batches/stream`: what happens to the queue, as server-sent events.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use lamina_base::budget::AnswerBudget;
use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_base::timestamp::Timestamp;
use lamina_data::access::{Action, Rights};
use lamina_data::features::Feature;
use lamina_data::tasks::{Follower, LiveBatch, Mark, Missed, Page, RecordedEvent, Status, Task, TaskEvent, blocking};
use lamina_protocol::events::{RETRY, STILL_HERE, event};
use lamina_protocol::wire::tasks::{Bounds, Paging, TaskFilter};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::mpsc;
use warp::reply::Response;

use crate::api::hidden_names::{hide_in_batch, hide_in_task};
use crate::app::AppState;
use crate::http::requests::Request;
use crate::http::routing::{Answer, Route};
use crate::http::{arriving, events_answer};

/// Interval of the check whether the server must stop.
const PAUSE: Duration = Duration::from_secs(1);
/// Number of them without an event, after which a comment is sent.
const QUIET_PAUSES: u32 = 15;
/// Interval at which the progress of a batch is checked.
const LOOK_AGAIN: Duration = Duration::from_millis(250);
/// Events that wait for the client.
const EVENTS_WAITING: usize = 8;
/// Tasks that are read at once.
const PAGE_TASKS: u64 = 100;

/// Subject of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Subject {
    Tasks,
    Batches,
}

pub(super) const ROUTES: &[Route] = &[
    Route::get("/tasks/stream", Action::TasksGet)
        .about("Stream task events; feature `tasksStreamingRoute`", Answer::Events)
        .run(|request| Box::pin(tasks(request))),
    Route::get("/batches/stream", Action::TasksGet)
        .about("Stream batch events; feature `tasksStreamingRoute`", Answer::Events)
        .run(|request| Box::pin(batches(request))),
];

async fn tasks(request: Request) -> ApiResult<Response> {
    stream(&request, Subject::Tasks)
}

async fn batches(request: Request) -> ApiResult<Response> {
    stream(&request, Subject::Batches)
}

fn stream(request: &Request, subject: Subject) -> ApiResult<Response> {
    let state = request.state();
    if !state.features.is_on(Feature::TasksStreamingRoute) {
        let route = if subject == Subject::Tasks { "/tasks/stream" } else { "/batches/stream" };
        return Err(ApiError::feature_not_enabled(format!("calling the {route} route"), "tasks_streaming_route"));
    }
    let listener = state.queue.listen().ok_or_else(|| {
        ApiError::new(Code::BadRequest, "The streams of tasks and batches have as many readers as they may.")
    })?;
    let last = request.header("last-event-id").and_then(Mark::parse);
    let (sender, events) = mpsc::channel(EVENTS_WAITING);
    let streaming = Streaming { state: Arc::clone(state), rights: request.rights().clone(), subject, sender };
    tokio::spawn(streaming.run(listener, last));
    Ok(events_answer(request.standing().limit(arriving(events))))
}

/// The client is gone, or the server stops.
struct Over;

struct Streaming {
    state: Arc<AppState>,
    rights: Rights,
    subject: Subject,
    sender: mpsc::Sender<Bytes>,
}

impl Streaming {
    /// Ends with the client, or with the answer.
    async fn run(self, mut listener: Follower, last: Option<Mark>) {
        let _over = self.follow(&mut listener, last).await;
    }

    async fn follow(&self, listener: &mut Follower, last: Option<Mark>) -> Result<(), Over> {
        self.send(RETRY.to_owned()).await?;
        let mut seen = listener.since;
        if let Some(last) = last {
            self.replay(last, seen).await?;
        }
        let mut quiet = 0;
        let mut progress = HashMap::new();
        loop {
            let is_watching = self.subject == Subject::Batches && !self.state.queue.at_work().is_empty();
            let pause = if is_watching { LOOK_AGAIN } else { PAUSE };
            match tokio::time::timeout(pause, listener.events.recv()).await {
                Ok(Ok((mark, event))) => {
                    quiet = 0;
                    seen = mark;
                    self.show(mark, event).await?;
                }
                Ok(Err(RecvError::Lagged(_))) => {
                    // The oldest that is still there comes next; what came before it is looked up.
                    let Ok((mark, event)) = listener.events.recv().await else { continue };
                    self.replay(seen, Mark { number: mark.number.saturating_sub(1), ..mark }).await?;
                    seen = mark;
                    self.show(mark, event).await?;
                }
                Ok(Err(RecvError::Closed)) => return Ok(()),
                Err(_) if self.state.queue.is_closing() => return Ok(()),
                Err(_) if is_watching => self.show_progress(seen, &mut progress).await?,
                Err(_) => {
                    quiet += 1;
                    if quiet >= QUIET_PAUSES {
                        quiet = 0;
                        self.send(STILL_HERE.to_owned()).await?;
                    } else if self.sender.is_closed() {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Shows something as it happens.
    async fn show(&self, mark: Mark, event: TaskEvent) -> Result<(), Over> {
        match (event, self.subject) {
            (TaskEvent::Registered(task), Subject::Tasks) => self.send_task(mark, &task).await,
            (TaskEvent::Begun(live), Subject::Tasks) => self.show_begun(mark, &live).await,
            (TaskEvent::Ended(batch), Subject::Tasks) => self.show_tasks(mark, of_batch(batch)).await,
            (TaskEvent::Registered(_), Subject::Batches) => Ok(()),
            (TaskEvent::Begun(live), Subject::Batches) => self.show_batch(mark, live.uid).await,
            (TaskEvent::Ended(batch), Subject::Batches) => self.show_batch(mark, batch).await,
        }
    }

    /// Shows what happened behind `last`, up to `until`: as it is now.
    async fn replay(&self, last: Mark, until: Mark) -> Result<(), Over> {
        let missed = match self.state.queue.missed(last, until) {
            Missed::All(missed) => missed,
            Missed::Since(at) => return self.show_since(until, at).await,
        };
        for (mark, event) in missed {
            match (event, self.subject) {
                (RecordedEvent::Registered(uid), Subject::Tasks) => {
                    let filter = TaskFilter { uids: Some(vec![uid]), ..TaskFilter::default() };
                    self.show_tasks(mark, filter).await?;
                }
                (RecordedEvent::Begun(batch) | RecordedEvent::Ended(batch), Subject::Tasks) => {
                    self.show_tasks(mark, of_batch(batch)).await?;
                }
                (RecordedEvent::Registered(_), Subject::Batches) => {}
                (RecordedEvent::Begun(batch) | RecordedEvent::Ended(batch), Subject::Batches) => {
                    self.show_batch(mark, batch).await?;
                }
            }
        }
        Ok(())
    }

    /// Shows what changed from an instant on, once.
    async fn show_since(&self, mark: Mark, at: Timestamp) -> Result<(), Over> {
        let from = Bounds { after: Some(Timestamp::from_nanos(at.nanos().saturating_sub(1))), before: None };
        let ended = TaskFilter { finished: from, ..TaskFilter::default() };
        let registered = TaskFilter {
            enqueued: from,
            statuses: Some(vec![Status::Enqueued, Status::Processing]),
            ..TaskFilter::default()
        };
        match self.subject {
            Subject::Tasks => {
                self.show_tasks(mark, ended).await?;
                self.show_tasks(mark, registered).await
            }
            Subject::Batches => self.show_batches(mark, ended).await,
        }
    }

    /// The tasks of a batch that begins. The store does not know of it, and may know its end already.
    async fn show_begun(&self, mark: Mark, live: &Arc<LiveBatch>) -> Result<(), Over> {
        for &uid in &live.tasks {
            let (queue, live) = (Arc::clone(&self.state.queue), Arc::clone(live));
            let Ok(Ok(mut task)) = blocking(move || queue.task(uid)).await else { continue };
            task.status = Status::Processing;
            (task.batch_uid, task.started_at) = (Some(live.uid), Some(live.started_at));
            (task.finished_at, task.error) = (None, None);
            self.send_task(mark, &task).await?;
        }
        Ok(())
    }

    /// All tasks that match, oldest first, as they are now.
    async fn show_tasks(&self, mark: Mark, filter: TaskFilter) -> Result<(), Over> {
        let filter = TaskFilter { visible: self.visible(), ..filter };
        let mut from = None;
        loop {
            let paging = Paging { limit: PAGE_TASKS, from, reverse: true };
            let page = self.state.queue.tasks(filter.clone(), paging, AnswerBudget::UNLIMITED).await;
            let Ok(Page { results, next, .. }) = page else { return Ok(()) };
            for task in &results {
                self.send_task(mark, task).await?;
            }
            if next.is_none() {
                return Ok(());
            }
            from = next;
        }
    }

    async fn show_batches(&self, mark: Mark, filter: TaskFilter) -> Result<(), Over> {
        let filter = TaskFilter { visible: self.visible(), ..filter };
        let mut from = None;
        loop {
            let paging = Paging { limit: PAGE_TASKS, from, reverse: true };
            let page = self.state.queue.batches(filter.clone(), paging, AnswerBudget::UNLIMITED).await;
            let Ok(Page { results, next, .. }) = page else { return Ok(()) };
            for batch in results {
                let batch = hide_in_batch(batch, &self.rights);
                self.send_event(mark, &serde_json::to_string(&batch).unwrap_or_default()).await?;
            }
            if next.is_none() {
                return Ok(());
            }
            from = next;
        }
    }

    async fn show_batch(&self, mark: Mark, uid: u32) -> Result<(), Over> {
        self.show_batches(mark, of_batch(uid)).await
    }

    /// The batches that work, where their progress is another than the one that was shown.
    async fn show_progress(&self, mark: Mark, shown: &mut HashMap<u32, String>) -> Result<(), Over> {
        let lives = self.state.queue.at_work();
        shown.retain(|uid, _| lives.iter().any(|live| live.uid == *uid));
        for live in lives {
            let is_seen =
                self.rights.visible().is_none() || live.index_uid.as_deref().is_some_and(|uid| self.rights.admits(uid));
            let (true, Ok(batch)) = (is_seen, self.state.queue.batch(live.uid)) else { continue };
            let text = serde_json::to_string(&hide_in_batch(batch, &self.rights)).unwrap_or_default();
            if shown.get(&live.uid) != Some(&text) {
                self.send_event(mark, &text).await?;
                shown.insert(live.uid, text);
            }
        }
        Ok(())
    }

    fn visible(&self) -> Option<Vec<String>> {
        self.rights.visible().map(<[String]>::to_vec)
    }

    /// A task, if the key of the request may know of it.
    async fn send_task(&self, mark: Mark, task: &Task) -> Result<(), Over> {
        let is_seen = self.rights.visible().is_none()
            || task.index_uid.as_deref().is_some_and(|index_uid| self.rights.admits(index_uid));
        if !is_seen {
            return Ok(());
        }
        let task = hide_in_task(task.clone(), &self.rights);
        let text = serde_json::to_string(&task.view(&self.state.error_docs)).unwrap_or_default();
        self.send_event(mark, &text).await
    }

    async fn send_event(&self, mark: Mark, data: &str) -> Result<(), Over> {
        self.send(event(None, Some(&mark), &data)).await
    }

    async fn send(&self, text: String) -> Result<(), Over> {
        self.sender.send(text.into()).await.map_err(|_| Over)
    }
}

fn of_batch(uid: u32) -> TaskFilter {
    TaskFilter { batch_uids: Some(vec![uid]), ..TaskFilter::default() }
}
