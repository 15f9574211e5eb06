//! `/metrics`: the state of the server for Prometheus.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::SystemTime;

use lamina_base::error::{ApiError, ApiResult};
use lamina_base::memory::resident;
use lamina_base::process_stats::ProcessStats;
use lamina_base::timestamp::Timestamp;
use lamina_data::access::Action;
use lamina_data::features::Feature;
use lamina_data::observe::{Exposition, Kind};
use lamina_data::tasks::blocking;
use lamina_engine::index::MergeStatus;
use lamina_replication::{Call, Replication, Role};
use warp::http::{HeaderValue, header};
use warp::reply::Response;

use crate::app::AppState;
use crate::http::requests::Request;
use crate::http::routing::{Answer, Route};

pub(super) const ROUTES: &[Route] = &[Route::get("/metrics", Action::MetricsGet)
    .about("Metrics for Prometheus; feature `metrics`", Answer::Text)
    .run(|request| Box::pin(metrics(request)))];

async fn metrics(request: Request) -> ApiResult<Response> {
    let state = Arc::clone(request.state());
    if !state.features.is_on(Feature::Metrics) {
        return Err(ApiError::feature_not_enabled("Getting metrics", "metrics"));
    }
    let page = blocking(move || page(&state)).await??;
    let mut response = Response::new(page.into());
    let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    Ok(response)
}

fn page(state: &AppState) -> ApiResult<String> {
    let mut page = Exposition::default();
    state.observations.http.write(&mut page);
    let degraded = state.observations.degraded_searches();
    page.gauge("degraded_search_requests", "Searches that reached their time limit.", degraded);
    page.counter(
        "searches_without_hits_total",
        "Searches that no document matched.",
        state.observations.searches_without_hits(),
    );
    page.counter(
        "slow_searches_total",
        "Searches that took longer than `--slow-search-ms`.",
        state.observations.slow.count(),
    );
    // Nothing here is personalised, and there are no chats: dashboards of other servers find their series all the same.
    page.gauge("personalized_search_requests", "Personalized searches.", 0);
    for (name, help) in [
        ("chat_searches_total", "Searches of conversations."),
        ("chat_prompt_tokens_total", "Tokens of prompts."),
        ("chat_completion_tokens_total", "Tokens of completions."),
        ("chat_tokens_total", "Tokens of chats."),
    ] {
        page.family(name, Kind::Counter, help);
    }
    indexes(state, &mut page)?;
    scrubber(state, &mut page);
    if state.replication.role() != Role::Alone {
        replication(&state.replication, &mut page);
    }
    searches(state, &mut page);
    tasks(state, &mut page)?;
    process(state, &mut page);
    Ok(page.finish())
}

/// Adds the figures of the process, under the names that clients of Prometheus give them.
fn process(state: &AppState, page: &mut Exposition) {
    if let Some(memory) = resident() {
        let help = "Memory of the process in RAM, in bytes, with the pages of indexes that the system can take back.";
        page.of_process("resident_memory_bytes", Kind::Gauge, help, memory.all_bytes);
        page.gauge("heap_bytes", "Memory of the process that no file backs, in bytes.", memory.heap_bytes);
    }
    let stats = ProcessStats::read();
    if let Some(seconds) = stats.cpu_seconds {
        page.of_process("cpu_seconds_total", Kind::Counter, "Time on all cores since the start, in seconds.", seconds);
    }
    if let Some(count) = stats.open_files {
        page.of_process("open_fds", Kind::Gauge, "Open file descriptors.", count);
    }
    if let Some(count) = stats.open_files_max {
        page.of_process("max_fds", Kind::Gauge, "Maximum number of open file descriptors.", count);
    }
    let started = state.observations.started;
    let since = started.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs_f64();
    page.of_process("start_time_seconds", Kind::Gauge, "Start of the process, in seconds since 1970.", since);
    let uptime = started.elapsed().unwrap_or_default().as_secs_f64();
    page.gauge("uptime_seconds", "Time since the start of the process.", uptime);
    page.family("build_info", Kind::Gauge, "1, with the version and the commit of the program as labels.");
    let commit = option_env!("LAMINA_COMMIT_SHA").unwrap_or("unknown");
    page.sample("build_info", &[("version", &env!("CARGO_PKG_VERSION")), ("commit", &commit)], 1);
}

fn indexes(state: &AppState, page: &mut Exposition) -> ApiResult<()> {
    let uids = state.instance.uids();
    let (mut used_bytes, mut last_update, mut counts) = (0, None, Vec::new());
    for uid in &uids {
        // One that cannot be read has its own error elsewhere; the others still count.
        let Ok(summary) = state.instance.summary(uid) else { continue };
        let Ok(merges) = state.instance.merge_status(uid) else { continue };
        used_bytes += summary.disk_bytes;
        last_update = last_update.max(Some(Timestamp::from(summary.updated_at)));
        counts.push((uid, summary.document_count, summary.segment_count, merges));
    }
    let database_bytes = state.instance.disk_bytes();
    let store_bytes = state.queue.store().disk_bytes();
    page.gauge("db_size_bytes", "Size of the database folder in bytes.", database_bytes);
    page.gauge("used_db_size_bytes", "Bytes in use.", (used_bytes + store_bytes).min(database_bytes));
    page.gauge("index_count", "Indexes.", uids.len());
    page.gauge("open_index_count", "Indexes that are open.", state.instance.open_count());
    page.family("index_docs_count", Kind::Gauge, "Documents of an index.");
    for (uid, count, ..) in &counts {
        page.sample("index_docs_count", &[("index", uid)], count);
    }
    page.family("index_segments_count", Kind::Gauge, "Segments of an index.");
    for (uid, _, segments, _) in &counts {
        page.sample("index_segments_count", &[("index", uid)], segments);
    }
    merges(page, counts.iter().map(|(uid, .., status)| (uid.as_str(), status)));
    if let Some(time) = last_update {
        let seconds = time.nanos() / 1_000_000_000;
        page.gauge("last_update", "Time of the last write to an index, in seconds since 1970.", seconds);
    }
    Ok(())
}

/// Adds the figures of the background check of checksums, and of the damage that it found.
fn scrubber(state: &AppState, page: &mut Exposition) {
    let (scrubber, findings) = (&state.scrubber, state.scrubber.findings());
    page.family(
        "scrubbed_bytes_total",
        Kind::Counter,
        "Bytes that were compared with their checksums since the start.",
    );
    page.sample("scrubbed_bytes_total", &[], scrubber.compared_bytes());
    page.gauge("scrub_due_bytes", "Bytes still to compare with their checksums.", scrubber.due_bytes());
    page.family("index_damaged_sections", Kind::Gauge, "Damaged sections of an index, by their checksums.");
    for uid in state.instance.uids() {
        let count = findings.iter().filter(|finding| finding.uid == uid).count();
        page.sample("index_damaged_sections", &[("index", &uid)], count);
    }
}

/// Adds the figures of publishing or following, and of its requests to the store.
fn replication(replication: &Replication, page: &mut Exposition) {
    page.family("replication_role", Kind::Gauge, "Role of the server: writer, replica or superseded.");
    page.sample("replication_role", &[("role", &replication.role().name())], 1);
    if let Some(lag) = replication.lag() {
        page.gauge("replication_lag_seconds", "Time since the server was level with the store.", lag.as_secs_f64());
    }
    if let Some(generation) = replication.generation() {
        page.gauge(
            "replication_generation",
            "Last batch published by the writer, or present on the replica.",
            generation,
        );
    }
    page.gauge(
        "replication_failing",
        "Whether publishing or following fails.",
        u8::from(replication.failure().is_some()),
    );
    let counters = [
        ("replication_failures_total", "Failures to publish or to follow.", replication.failure_count()),
        ("store_failures_total", "Calls of the store that failed.", replication.traffic().failures()),
    ];
    for (name, help, count) in counters {
        page.family(name, Kind::Counter, help);
        page.sample(name, &[], count);
    }
    let journal = replication.journal();
    let counters = [
        (
            "journal_records_total",
            "Records of tasks that were put into the store before they were acknowledged.",
            journal.records(),
        ),
        ("journal_tasks_total", "Tasks in them.", journal.tasks()),
        ("journal_refused_total", "Tasks that were refused because the store did not take them.", journal.refused()),
    ];
    for (name, help, count) in counters {
        page.family(name, Kind::Counter, help);
        page.sample(name, &[], count);
    }
    page.family(
        "journal_wait_seconds_total",
        Kind::Counter,
        "Total time that writes waited for their journal records.",
    );
    page.sample("journal_wait_seconds_total", &[], journal.waited().as_secs_f64());
    page.gauge("journal_records", "Journal records that no publication covers yet.", journal.length());
    let traffic = replication.traffic();
    page.family("store_calls_total", Kind::Counter, "Requests to the store.");
    for call in Call::ALL {
        page.sample("store_calls_total", &[("call", &call.name())], traffic.calls(call));
    }
    let (sent, received) = traffic.bytes();
    page.family("store_bytes_total", Kind::Counter, "Bytes of objects sent to and received from the store.");
    page.sample("store_bytes_total", &[("direction", &"sent")], sent);
    page.sample("store_bytes_total", &[("direction", &"received")], received);
}

/// Adds the figures of the background merges of each index.
fn merges<'a>(page: &mut Exposition, statuses: impl Iterator<Item = (&'a str, &'a MergeStatus)> + Clone) {
    type Count = fn(&MergeStatus) -> u64;
    let families: [(&str, Kind, &str, Count); 4] = [
        ("index_merging_segments", Kind::Gauge, "Segments that are being merged.", |s| s.running.len() as u64),
        ("index_merges_total", Kind::Counter, "Merges that were finished since the start.", |s| s.merge_count),
        ("index_merge_failed", Kind::Gauge, "Whether the last merge failed; it changed nothing.", |s| {
            u64::from(s.last_error.is_some())
        }),
        ("index_merge_out_of_space", Kind::Gauge, "Whether it failed because the disk was full.", |s| {
            u64::from(s.out_of_space)
        }),
    ];
    for (name, kind, help, count) in families {
        page.family(name, kind, help);
        statuses.clone().for_each(|(uid, status)| page.sample(name, &[("index", &uid)], count(status)));
    }
}

fn searches(state: &AppState, page: &mut Exposition) {
    let load = state.searches.load();
    page.gauge("search_queue_size", "Maximum number of waiting searches.", load.waiting_max);
    page.gauge("searches_running", "Running searches.", load.running);
    page.gauge("searches_waiting_to_be_processed", "Waiting searches.", load.waiting);
    let counts = state.instance.events().counts();
    for (name, help, count) in [
        ("events_total", "Events that were taken.", &counts.events),
        ("recorded_searches_total", "Searches that were recorded.", &counts.searches),
        (
            "unrecorded_searches_total",
            "Searches that were to be recorded while there was no room.",
            &counts.dropped_searches,
        ),
    ] {
        page.counter(name, help, count.load(Ordering::Relaxed));
    }
}

fn tasks(state: &AppState, page: &mut Exposition) -> ApiResult<()> {
    let store = state.queue.store();
    let live = state.queue.under_way();
    let counts = store.task_counts(live.as_deref())?;
    page.family("nb_tasks", Kind::Gauge, "Tasks by status, type and index.");
    for (kind, values) in [("statuses", &counts.statuses), ("types", &counts.kinds), ("indexes", &counts.indexes)] {
        for (value, count) in values {
            page.sample("nb_tasks", &[("kind", &kind), ("value", value)], count);
        }
    }
    page.gauge(
        "is_indexing",
        "Whether a batch is running.",
        u8::from(live.is_some() || !state.queue.background().is_empty()),
    );
    let latency =
        counts.oldest_waiting.map_or(0.0, |since| (Timestamp::now().nanos() - since.nanos()).max(0) as f64 / 1e9);
    page.gauge("task_queue_latency_seconds", "Age of the oldest unfinished task.", latency);
    let room = store.room();
    page.gauge("task_queue_max_size", "Maximum size of the task store in bytes.", room.bytes_max);
    page.gauge("task_queue_used_size", "Used size of the task store in bytes.", room.used_bytes);
    page.gauge(
        "task_queue_size_until_stop_registering",
        "Bytes of tasks that are taken before only those that make room are.",
        room.bytes_max.saturating_sub(room.used_bytes),
    );
    finished_batches(state, page);
    page.family(
        "batch_running_progress_trace",
        Kind::Gauge,
        "How far the steps of the running batch are, from 0 to 1.",
    );
    let Some(live) = live else { return Ok(()) };
    let steps = lamina_data::tasks::progress(&live);
    for step in steps["steps"].as_array().into_iter().flatten() {
        let number = |field: &str| step[field].as_f64().unwrap_or(0.0);
        let share = if number("total") > 0.0 { number("finished") / number("total") } else { 0.0 };
        let name = step["currentStep"].as_str().unwrap_or_default();
        page.sample("batch_running_progress_trace", &[("batch_uid", &live.uid), ("step_name", &name)], share.min(1.0));
    }
    Ok(())
}

fn finished_batches(state: &AppState, page: &mut Exposition) {
    let traces = state.queue.traces().get();
    let name = "last_finished_batches_progress_trace_ms";
    page.family(name, Kind::Gauge, "How long the steps of the last batches took.");
    for trace in &traces {
        for (step, time) in &trace.steps {
            let millis = time.as_secs_f64() * 1e3;
            page.sample(name, &[("batch_uid", &trace.batch_uid), ("step_name", step)], millis);
        }
    }
    let additions =
        || traces.iter().filter_map(|trace| Some((trace, trace.indexed_documents?, trace.index_uid.as_ref()?)));
    let name = "last_indexed_documents_count";
    page.family(name, Kind::Gauge, "Documents that the last batches with additions indexed.");
    for (trace, count, index) in additions() {
        page.sample(name, &[("batch_uid", &trace.batch_uid), ("index", index)], count);
    }
    let name = "last_indexed_documents_duration_ms";
    page.family(name, Kind::Gauge, "How long the last batches with additions took.");
    for (trace, _, index) in additions() {
        page.sample(name, &[("batch_uid", &trace.batch_uid), ("index", index)], trace.duration.as_millis());
    }
}
