//! `/indexes/{uid}/documents` and below.

mod candidates;
mod list;
mod network;
mod stream;
mod write;

use std::sync::Arc;

use lamina_data::tasks::Method;
use warp::Filter;
use warp::reply::Response;

use crate::api::{Routes, any_of};
use crate::app::AppState;
use crate::http::requests::{Request, request, respond};

pub(super) fn routes(state: &Arc<AppState>) -> Routes {
    let documents = || warp::path!("indexes" / String / "documents");
    let document = || warp::path!("indexes" / String / "documents" / String);
    let replace = documents().and(warp::post()).and(request(state));
    let merge = documents().and(warp::put()).and(request(state));
    let update = documents().and(warp::patch()).and(request(state));
    let list = documents().and(warp::get()).and(request(state));
    let clear = documents().and(warp::delete()).and(request(state));
    let get = document().and(warp::get()).and(request(state));
    let delete = document().and(warp::delete()).and(request(state));
    let fetch = warp::path!("indexes" / String / "documents" / "fetch").and(warp::post()).and(request(state));
    let delete_batch =
        warp::path!("indexes" / String / "documents" / "delete-batch").and(warp::post()).and(request(state));
    let delete_matching =
        warp::path!("indexes" / String / "documents" / "delete").and(warp::post()).and(request(state));
    let edit = warp::path!("indexes" / String / "documents" / "edit").and(warp::post()).and(request(state));

    let replace = replace.then(|uid: String, request| {
        respond(request, async move |request| write::add(&uid, Method::Replace, request).await)
    });
    let merge = merge.then(|uid: String, request| {
        respond(request, async move |request| write::add(&uid, Method::Update, request).await)
    });
    let update = update
        .then(|uid: String, request| respond(request, async move |request| write::update_values(&uid, request).await));
    let list = list
        .then(|uid: String, request| respond(request, async move |request| list::by_parameters(&uid, &request).await));
    let clear =
        clear.then(|uid: String, request| respond(request, async move |request| write::clear(&uid, &request).await));
    let get = get.then(|uid: String, id: String, request| {
        respond(request, async move |request| list::get_one(&uid, &id, &request).await)
    });
    let delete = delete.then(|uid: String, id: String, request| {
        respond(request, async move |request| write::delete_one(&uid, &id, &request).await)
    });
    let fetch = fetch.then(self::fetch);
    let delete_batch = delete_batch
        .then(|uid: String, request| respond(request, async move |request| write::delete_batch(&uid, request).await));
    let delete_matching = delete_matching.then(|uid: String, request| {
        respond(request, async move |request| write::delete_matching(&uid, request).await)
    });
    let edit =
        edit.then(|uid: String, request| respond(request, async move |request| write::edit(&uid, request).await));
    let writes = [replace.boxed(), merge.boxed(), delete_batch.boxed(), delete_matching.boxed(), edit.boxed()];
    let reads = [list.boxed(), get.boxed(), fetch.boxed()];
    any_of([any_of(writes), any_of(reads), update.boxed(), delete.boxed(), clear.boxed()])
}

/// Documents that the body of a request asks for.
pub(super) async fn fetch(uid: String, request: Request) -> Response {
    respond(request, async move |request| list::by_body(&uid, request).await).await
}
