//! `/export`.

use std::sync::Arc;

use lamina_base::error::ApiResult;
use lamina_data::access::Action;
use lamina_data::features::Feature;
use lamina_data::tasks::{Content, Export, NewTask};
use lamina_protocol::wire::export::export;
use warp::http::StatusCode;
use warp::reply::Response;

use super::enqueue_as;
use crate::http::requests::Request;
use crate::http::routing::Route;

/// Smallest piece that is chosen without being asked for.
const PIECE_BYTES_MIN: u64 = 20 << 20;

pub(super) const ROUTES: &[Route] = &[Route::post("/export", Action::Export).run(|request| Box::pin(create(request)))];

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
