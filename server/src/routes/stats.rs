//! `/stats` and `/indexes/{uid}/stats`.

use std::sync::Arc;

use lamina_engine::index::SegmentReport;
use serde_json::{Map, Value, json};
use warp::Filter;
use warp::http::StatusCode;
use warp::reply::Response;

use super::unreadable::Unreadable;
use crate::app::AppState;
use crate::error::ApiResult;
use crate::http::{Request, Routes, json_answer, request, respond};
use crate::options::human_size;
use crate::tasks::blocking;
use crate::timestamp::Timestamp;
use crate::wire::identifier::index_uid_in_path;
use crate::wire::indexes::StatsParameters;

pub(super) fn routes(state: &Arc<AppState>) -> Routes {
    let all = warp::path!("stats").and(warp::get()).and(request(state));
    let one = warp::path!("indexes" / String / "stats").and(warp::get()).and(request(state));
    let all = all.then(|request| respond(request, of_all));
    let one = one.then(|uid: String, request| respond(request, async move |request| of_one(&uid, &request).await));
    all.or(one).unify().boxed()
}

async fn of_all(request: Request) -> ApiResult<Response> {
    let parameters = StatsParameters::from_query(&request.query())?;
    let (state, rights) = (Arc::clone(request.state()), request.rights().clone());
    let body = blocking(move || -> ApiResult<Value> {
        let mut indexes = Map::new();
        let (mut used_bytes, mut last_update) = (0, None);
        let mut unreadable = Unreadable::default();
        for uid in state.instance.uids().into_iter().filter(|uid| rights.admits(uid)) {
            let read = state.instance.snapshot(&uid).and_then(|snapshot| {
                let stats = index_stats(&state, &uid, parameters)?;
                Ok((snapshot, stats))
            });
            let Some((snapshot, stats)) = unreadable.sift(&state, &uid, read) else { continue };
            used_bytes += snapshot.disk_bytes();
            last_update = last_update.max(Some(Timestamp::from(snapshot.updated_at())));
            indexes.insert(uid, stats);
        }
        let database_bytes = state.instance.disk_bytes();
        let mut body = json!({
            "databaseSize": size(database_bytes, parameters),
            "usedDatabaseSize": size((used_bytes + state.queue.store().disk_bytes()).min(database_bytes), parameters),
            "lastUpdate": last_update,
            "indexes": indexes,
        });
        unreadable.tell(&mut body);
        Ok(body)
    });
    Ok(json_answer(StatusCode::OK, &body.await??))
}

async fn of_one(uid: &str, request: &Request) -> ApiResult<Response> {
    let uid = index_uid_in_path(uid)?;
    let parameters = StatsParameters::from_query(&request.query())?;
    let state = Arc::clone(request.state());
    let body = blocking(move || index_stats(&state, &uid, parameters));
    Ok(json_answer(StatusCode::OK, &body.await??))
}

fn index_stats(state: &AppState, uid: &str, parameters: StatsParameters) -> ApiResult<Value> {
    let index = state.instance.index(uid)?;
    let snapshot = index.snapshot();
    let mut sections: Map<String, Value> = Map::new();
    let mut store_bytes = 0;
    let report = index.report();
    for (name, bytes) in report.segments.iter().flat_map(|segment| segment.sections.clone()) {
        if name == STORE_SECTION {
            store_bytes += bytes;
        }
        let sum = sections.get(&name).and_then(Value::as_u64).unwrap_or(0) + bytes;
        sections.insert(name, sum.into());
    }
    let document_count = snapshot.document_count();
    let vectors = snapshot.vector_counts();
    let mut stats = json!({
        "numberOfDocuments": document_count,
        "rawDocumentDbSize": size(store_bytes, parameters),
        "avgDocumentSize": size(store_bytes.checked_div(document_count).unwrap_or(0), parameters),
        "isIndexing": state.queue.is_indexing(uid),
        "numberOfEmbeddings": vectors.vectors,
        "numberOfEmbeddedDocuments": vectors.documents,
        "fieldDistribution": *snapshot.field_distribution,
    });
    if parameters.internal_sizes {
        let sizes = sections.into_iter().map(|(name, bytes)| (name, size(bytes.as_u64().unwrap_or(0), parameters)));
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
    Ok(stats)
}

/// The section of a segment that holds the documents.
const STORE_SECTION: &str = "store";

fn size(bytes: u64, parameters: StatsParameters) -> Value {
    if parameters.human { human_size(bytes).into() } else { bytes.into() }
}
