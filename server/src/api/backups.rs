//! `/snapshots` and `/dumps`.

use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_data::access::Action;
use lamina_data::tasks::{Content, NewTask};
use warp::reply::Response;

use super::enqueue;
use crate::http::requests::Request;
use crate::http::routing::{Answer, Route};

pub(super) const ROUTES: &[Route] = &[
    Route::post("/snapshots", Action::SnapshotsCreate)
        .event("Snapshot Created")
        .about("Make a snapshot of the database folder", Answer::Task(202))
        .run(|request| Box::pin(snapshot(request))),
    Route::post("/dumps", Action::DumpsCreate)
        .event("Dump Created")
        .about("Write a dump of everything", Answer::Task(202))
        .query(|| &[SKIP_DAMAGED])
        .run(|request| Box::pin(dump(request))),
];

async fn snapshot(request: Request) -> ApiResult<Response> {
    create(&request, Content::CreateSnapshot).await
}

async fn dump(request: Request) -> ApiResult<Response> {
    create(&request, dump_content(&request)?).await
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
