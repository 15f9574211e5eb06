//! `/indexes/{uid}/documents` and below.

mod candidates;
mod list;
mod network;
mod stream;
mod write;

use lamina_base::error::ApiResult;
use lamina_data::access::Action;
use lamina_data::tasks::Method;
use warp::reply::Response;

use crate::http::requests::Request;
use crate::http::routing::Route;

pub(super) const ROUTES: &[Route] = &[
    Route::get("/indexes/{indexUid}/documents", Action::DocumentsGet)
        .run(|request| Box::pin(list::by_parameters(request))),
    Route::post("/indexes/{indexUid}/documents", Action::DocumentsAdd).run(|request| Box::pin(replace(request))),
    Route::put("/indexes/{indexUid}/documents", Action::DocumentsAdd).run(|request| Box::pin(merge(request))),
    Route::patch("/indexes/{indexUid}/documents", Action::DocumentsAdd)
        .run(|request| Box::pin(write::update_values(request))),
    Route::delete("/indexes/{indexUid}/documents", Action::DocumentsDelete)
        .run(|request| Box::pin(write::clear(request))),
    FETCH,
    Route::post("/indexes/{indexUid}/documents/delete", Action::DocumentsDelete)
        .run(|request| Box::pin(write::delete_matching(request))),
    Route::post("/indexes/{indexUid}/documents/delete-batch", Action::DocumentsDelete)
        .run(|request| Box::pin(write::delete_batch(request))),
    Route::post("/indexes/{indexUid}/documents/edit", Action::DocumentsAll)
        .run(|request| Box::pin(write::edit(request))),
    Route::get("/indexes/{indexUid}/documents/{documentId}", Action::DocumentsGet)
        .run(|request| Box::pin(list::get_one(request))),
    Route::delete("/indexes/{indexUid}/documents/{documentId}", Action::DocumentsDelete)
        .run(|request| Box::pin(write::delete_one(request))),
];

pub(super) const FETCH: Route = Route::post("/indexes/{indexUid}/documents/fetch", Action::DocumentsGet)
    .run(|request| Box::pin(list::by_body(request)));

async fn replace(request: Request) -> ApiResult<Response> {
    write::add(Method::Replace, request).await
}

async fn merge(request: Request) -> ApiResult<Response> {
    write::add(Method::Update, request).await
}
