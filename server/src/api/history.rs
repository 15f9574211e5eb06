//! `/stats/history`: the last hours of the server, for charts.

use std::sync::Arc;
use std::time::Instant;

use lamina_base::error::ApiResult;
use lamina_base::memory::resident;
use lamina_base::timestamp::Timestamp;
use lamina_data::access::Action;
use lamina_data::observe::{Gauges, Point, Window};
use lamina_data::tasks::blocking;
use lamina_protocol::wire::indexes::history_window;
use serde_json::{Value, json};
use warp::http::StatusCode;
use warp::reply::Response;

use crate::app::AppState;
use crate::http::json_answer;
use crate::http::requests::Request;
use crate::http::routing::{Answer, Route};

pub(super) const ROUTES: &[Route] = &[Route::get("/stats/history", Action::MetricsGet)
    .about("The last hours of the server: requests, response times, memory, disk, waiting tasks", Answer::Ok("History"))
    .query(|| &["window"])
    .run(|request| Box::pin(show(request)))];

async fn show(request: Request) -> ApiResult<Response> {
    let (name, window) = history_window(&request.query(), &Window::ALL)?;
    let state = Arc::clone(request.state());
    let points = blocking(move || {
        let gauges = gauges(&state, false)?;
        ApiResult::Ok(state.observations.history.points(window, Instant::now(), Timestamp::now(), gauges))
    });
    Ok(json_answer(StatusCode::OK, &history(name, window, &points.await??)))
}

/// Ends a step of the history. Blocks while files are counted.
///
/// # Errors
/// The tasks cannot be counted.
pub(crate) fn end_step(state: &AppState) -> ApiResult<()> {
    let history = &state.observations.history;
    let gauges = gauges(state, history.wants_disk())?;
    history.step(Instant::now(), Timestamp::now(), gauges);
    Ok(())
}

/// Measures the server. The disk only if it is to be counted; otherwise as it was last.
fn gauges(state: &AppState, counts_disk: bool) -> ApiResult<Gauges> {
    let memory = resident();
    let bytes = |bytes: i64| u64::try_from(bytes).unwrap_or_default();
    let known = state.observations.history.disk_bytes();
    Ok(Gauges {
        memory_bytes: memory.map_or(0, |memory| bytes(memory.all_bytes)),
        heap_bytes: memory.map_or(0, |memory| bytes(memory.heap_bytes)),
        disk_bytes: if counts_disk || known == 0 { state.instance.disk_bytes() } else { known },
        waiting_tasks: state.queue.store().unfinished_count()?,
    })
}

/// A list for each series, all of the same length: what charts take, and a fraction of a list of objects.
fn history(name: &str, window: Window, points: &[Point]) -> Value {
    let list = |of: fn(&Point) -> Value| points.iter().map(of).collect::<Vec<Value>>();
    let rounded = |number: f32| json!((f64::from(number) * 1e3).round() / 1e3);
    let rate = |of: fn(&Point) -> f32| points.iter().map(|point| rounded(of(point))).collect::<Vec<Value>>();
    let millis = |of: fn(&Point) -> Option<f32>| {
        points.iter().map(|point| of(point).map_or(Value::Null, rounded)).collect::<Vec<Value>>()
    };
    json!({
        "window": name,
        "stepSeconds": window.step_seconds(),
        "at": list(|point| json!(point.at)),
        "requestsPerSecond": rate(|point| point.requests_per_second),
        "failuresPerSecond": rate(|point| point.failures_per_second),
        "searchesPerSecond": rate(|point| point.searches_per_second),
        "requestP50Ms": millis(|point| point.request_p50),
        "requestP99Ms": millis(|point| point.request_p99),
        "searchP50Ms": millis(|point| point.search_p50),
        "searchP99Ms": millis(|point| point.search_p99),
        "memoryBytes": list(|point| json!(point.gauges.memory_bytes)),
        "heapBytes": list(|point| json!(point.gauges.heap_bytes)),
        "diskBytes": list(|point| json!(point.gauges.disk_bytes)),
        "waitingTasks": list(|point| json!(point.gauges.waiting_tasks)),
    })
}
