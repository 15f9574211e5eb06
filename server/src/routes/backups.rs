//! `/snapshots` and `/dumps`.

use std::sync::Arc;

use warp::Filter;
use warp::reply::Response;

use super::enqueue;
use crate::app::AppState;
use crate::error::ApiResult;
use crate::http::{Request, Routes, request, respond};
use crate::tasks::{Content, NewTask};

pub(super) fn routes(state: &Arc<AppState>) -> Routes {
    let snapshot = warp::path!("snapshots").and(warp::post()).and(request(state));
    let dump = warp::path!("dumps").and(warp::post()).and(request(state));
    let snapshot =
        snapshot.then(|request| respond(request, async |request| create(&request, Content::CreateSnapshot).await));
    let dump = dump.then(|request| respond(request, async |request| create(&request, Content::CreateDump).await));
    snapshot.or(dump).unify().boxed()
}

async fn create(request: &Request, content: Content) -> ApiResult<Response> {
    enqueue(request.state(), NewTask::global(content)).await
}
