//! `/export`.

use std::sync::Arc;

use lamina_base::error::ApiResult;
use lamina_data::access::Action;
use lamina_data::features::Feature;
use lamina_data::tasks::{Content, Export, NewTask};
use lamina_protocol::wire::export::export;
use lamina_protocol::wire::schema::{exactly, flag, index_pattern, map_of, named, or_null, text, url};
use serde_json::{Value, json};
use warp::http::StatusCode;
use warp::reply::Response;

use super::enqueue_as;
use crate::http::requests::Request;
use crate::http::routing::{Answer, Route};

/// Smallest piece that is chosen without being asked for.
const PIECE_BYTES_MIN: u64 = 20 << 20;

pub(super) const ROUTES: &[Route] = &[Route::post("/export", Action::Export)
    .event("Export")
    .about("Export indexes to another server", Answer::Task(200))
    .json(body, r#"{ "url": "https://search.example.org", "indexes": { "films*": {} } }"#)
    .run(|request| Box::pin(create(request)))];

fn body() -> Value {
    let unit = r"^$|^\s*([0-9][0-9_]*(\.[0-9_]*)?|\.[0-9][0-9_]*)\s*([bB]|[kKmMgGtT][iI]?[bB]?)?\s*$";
    let size = json!({ "type": ["integer", "string", "null"], "minimum": 1, "pattern": unit });
    // Without an address the task fails.
    let url = json!({ "anyOf": [url(), { "const": "" }] });
    let how = exactly([("filter", named("Filter")), ("overrideSettings", or_null(flag()))], &[]);
    let mut indexes = map_of(or_null(how));
    indexes["propertyNames"] = index_pattern();
    let fields = [("url", url), ("apiKey", or_null(text())), ("payloadSize", size), ("indexes", or_null(indexes))];
    exactly(fields, &[])
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
