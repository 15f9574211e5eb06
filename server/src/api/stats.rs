//! `/stats` and `/indexes/{uid}/stats`.

use std::collections::BTreeMap;
use std::sync::Arc;

use lamina_base::aliases::Alias;
use lamina_base::error::{ApiError, ApiResult};
use lamina_base::options::human_size;
use lamina_base::timestamp::Timestamp;
use lamina_data::access::{Action, Rights};
use lamina_data::tasks::blocking;
use lamina_engine::index::{DamageSummary, IndexReport, IndexSummary, SegmentReport};
use lamina_protocol::wire::indexes::StatsParameters;
use serde_json::{Map, Value, json};
use warp::http::StatusCode;
use warp::reply::Response;

use super::unreadable::Unreadable;
use crate::app::AppState;
use crate::http::json_answer;
use crate::http::requests::Request;
use crate::http::routing::{Answer, Route};

const PARAMETERS: &[&str] = &["showInternalDatabaseSizes", "sizeFormat"];

pub(super) const OF_SERVER: &[Route] = &[Route::get("/stats", Action::StatsGet)
    .event("Stats Seen")
    .about("Statistics of all indexes", Answer::Ok("Stats"))
    .query(|| PARAMETERS)
    .run(|request| Box::pin(of_all(request)))];

pub(super) const OF_INDEX: &[Route] = &[Route::get("/indexes/{indexUid}/stats", Action::StatsGet)
    .event("Stats Seen")
    .about("Statistics of an index", Answer::Ok("IndexStats"))
    .query(|| PARAMETERS)
    .run(|request| Box::pin(of_one(request)))];

async fn of_all(request: Request) -> ApiResult<Response> {
    let parameters = StatsParameters::from_query(&request.query())?;
    let (state, rights) = (Arc::clone(request.state()), request.rights().clone());
    let body = blocking(move || -> ApiResult<Value> {
        let mut indexes = Map::new();
        let (mut used_bytes, mut last_update) = (0, None);
        let mut unreadable = Unreadable::default();
        for uid in state.instance.uids().into_iter().filter(|uid| rights.admits(uid)) {
            let read = state.instance.summary(&uid).and_then(|summary| {
                let mut stats = index_stats(&state, &uid, &summary, state.queue.is_indexing(&uid), parameters)?;
                add_names_and_states(&mut stats, &state, &uid, &rights);
                Ok((summary, stats))
            });
            let Some((summary, stats)) = unreadable.sift(&state, &uid, read) else { continue };
            used_bytes += summary.disk_bytes;
            last_update = last_update.max(Some(Timestamp::from(summary.updated_at)));
            indexes.insert(uid, stats);
        }
        let database_bytes = state.instance.disk_bytes();
        let mut body = json!({
            "databaseSize": size(database_bytes, parameters),
            "usedDatabaseSize": size((used_bytes + state.queue.store().disk_bytes()).min(database_bytes), parameters),
            "lastUpdate": last_update,
            "indexes": indexes,
            "scrubber": state.scrubber.show(|uid| rights.admits(uid)),
        });
        unreadable.report(&mut body);
        Ok(body)
    });
    Ok(json_answer(StatusCode::OK, &body.await??))
}

async fn of_one(request: Request) -> ApiResult<Response> {
    let uid = request.index_uid()?;
    let parameters = StatsParameters::from_query(&request.query())?;
    let (state, rights) = (Arc::clone(request.state()), request.rights().clone());
    let body = blocking(move || {
        let summary = state.instance.summary(&uid)?;
        let mut stats = index_stats(&state, &uid, &summary, state.queue.is_indexing(&uid), parameters)?;
        add_names_and_states(&mut stats, &state, &uid, &rights);
        Ok::<_, ApiError>(stats)
    });
    Ok(json_answer(StatusCode::OK, &body.await??))
}

fn index_stats(
    state: &AppState,
    uid: &str,
    summary: &IndexSummary,
    is_indexing: bool,
    parameters: StatsParameters,
) -> ApiResult<Value> {
    let documents = summary.document_count;
    let mut stats = json!({
        "numberOfDocuments": documents,
        "rawDocumentDbSize": size(summary.store_bytes, parameters),
        "avgDocumentSize": size(summary.json_bytes.checked_div(documents).unwrap_or(0), parameters),
        "isIndexing": is_indexing,
        "numberOfEmbeddings": summary.vectors.vectors,
        "numberOfEmbeddedDocuments": summary.vectors.documents,
        "fieldDistribution": *summary.field_distribution,
    });
    if !summary.damaged.is_empty() {
        stats["damagedSegments"] = summary.damaged.iter().map(damaged_segment).collect();
    }
    if parameters.internal_sizes {
        let report = state.instance.index(uid)?.report();
        let used: u64 = report.segments.iter().flat_map(|segment| &segment.sections).map(|(_, bytes)| *bytes).sum();
        let (used, all) = (used + report.manifest_bytes, summary.disk_bytes + report.manifest_bytes);
        stats["indexSize"] = size(all, parameters);
        stats["usedIndexSize"] = size(used.min(all), parameters);
        add_internal_sizes(&mut stats, &report, parameters);
    }
    Ok(stats)
}

/// Adds the aliases of the index that the key may see, and the number of retained generations, if there are any.
fn add_names_and_states(stats: &mut Value, state: &AppState, uid: &str, rights: &Rights) {
    let aliases = state.instance.aliases();
    let is_of = |(name, alias): &(&String, &Alias)| alias.index_uid == uid && rights.admits(name);
    let names: Vec<&String> = aliases.iter().filter(is_of).map(|(name, _)| name).collect();
    if !names.is_empty() {
        stats["aliases"] = json!(names);
    }
    if !state.options.backups.keep.is_zero() {
        stats["keptStates"] = state.instance.kept_state_count(uid).into();
    }
}

/// Sizes of the manifest, which every index has, and of the parts of segments, for which the index is opened.
fn add_internal_sizes(stats: &mut Value, report: &IndexReport, parameters: StatsParameters) {
    let mut sections = BTreeMap::from([("manifest", report.manifest_bytes)]);
    for (name, bytes) in report.segments.iter().flat_map(|segment| &segment.sections) {
        *sections.entry(name).or_default() += bytes;
    }
    let sizes = sections.into_iter().map(|(name, bytes)| (name.to_owned(), size(bytes, parameters)));
    stats["internalDatabaseSizes"] = Value::Object(sizes.collect());
    let segment = |segment: &SegmentReport| {
        json!({
            "numberOfDocuments": segment.doc_count - segment.deleted_count,
            "numberOfDeletedDocuments": segment.deleted_count,
            "size": size(segment.bytes, parameters),
        })
    };
    stats["segments"] = report.segments.iter().map(segment).collect();
}

fn damaged_segment(DamageSummary { damage, document_count }: &DamageSummary) -> Value {
    json!({
        "file": damage.file,
        "section": damage.section,
        "reason": damage.reason,
        "numberOfDocuments": document_count,
    })
}

fn size(bytes: u64, parameters: StatsParameters) -> Value {
    if parameters.human { human_size(bytes).into() } else { bytes.into() }
}
