//! `/export`.

use std::sync::Arc;

use lamina_base::error::ApiResult;
use lamina_data::access::Action;
use lamina_data::features::Feature;
use lamina_data::tasks::{Content, Export, NewTask};
use lamina_protocol::wire::export::export;
use warp::Filter;
use warp::http::StatusCode;
use warp::reply::Response;

use super::enqueue_as;
use crate::api::Routes;
use crate::app::AppState;
use crate::http::requests::{Request, request, respond};

/// Smallest piece that is chosen without being asked for.
const PIECE_BYTES_MIN: u64 = 20 << 20;

pub(super) fn routes(state: &Arc<AppState>) -> Routes {
    let post = warp::path!("export").and(warp::post()).and(request(state));
    post.then(|request| respond(request, create)).boxed()
}

/// Answers 200 where other writes answer 202.
async fn create(request: Request) -> ApiResult<Response> {
    let state = Arc::clone(request.state());
    // The other server is likely to have the limit that this one has.
    let piece_bytes = state.options.service.payload_bytes_max().saturating_sub(1 << 20).max(PIECE_BYTES_MIN);
    let contains_allowed = state.features.is_on(Feature::ContainsFilter);
    // The keys of embedders go to an address that the client chooses: only with a key that could have set them.
    let with_secrets = request.rights().may(Action::SettingsUpdate);
    let asked = export(&*request.json().await?, contains_allowed)?;
    let asked = Export { with_secrets, ..Export::of_request(asked, piece_bytes) };
    enqueue_as(StatusCode::OK, &state, NewTask::global(Content::Export(asked))).await
}
