//! `/snapshots` and `/dumps`.

use std::sync::Arc;

use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_data::tasks::{Content, NewTask};
use warp::Filter;
use warp::reply::Response;

use super::enqueue;
use crate::api::{Routes, any_of};
use crate::app::AppState;
use crate::http::requests::{Request, request, respond};

pub(super) fn routes(state: &Arc<AppState>) -> Routes {
    let snapshot = warp::path!("snapshots").and(warp::post()).and(request(state));
    let dump = warp::path!("dumps").and(warp::post()).and(request(state));
    let snapshot =
        snapshot.then(|request| respond(request, async |request| create(&request, Content::CreateSnapshot).await));
    let dump = dump.then(|request| respond(request, async |request| create(&request, dump_content(&request)?).await));
    any_of([snapshot.boxed(), dump.boxed()])
}

/// With `?skipDamaged=true` a dump leaves out what cannot be read, and says so in its details.
fn dump_content(request: &Request) -> ApiResult<Content> {
    let skip_damaged = match request.query().text_of(SKIP_DAMAGED, Code::BadRequest)?.as_deref() {
        None | Some("false") => false,
        Some("true") => true,
        Some(other) => {
            return Err(ApiError::new(
                Code::BadRequest,
                format!("Invalid value in parameter `{SKIP_DAMAGED}`: expected `true` or `false`, found `{other}`."),
            ));
        }
    };
    Ok(Content::CreateDump { skip_damaged })
}

const SKIP_DAMAGED: &str = "skipDamaged";

async fn create(request: &Request, content: Content) -> ApiResult<Response> {
    enqueue(request.state(), NewTask::global(content)).await
}
