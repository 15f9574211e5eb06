//! `/indexes/{uid}/documents` and below.

mod candidates;
mod list;
mod network;
mod shapes;
mod stream;
mod write;

use lamina_base::error::ApiResult;
use lamina_data::access::Action;
use lamina_data::tasks::Method;
use lamina_protocol::wire::schema::{self, anything, exactly};
use lamina_protocol::wire::{marking, value_updates};
use warp::reply::Response;

use crate::http::requests::Request;
use crate::http::routing::{Answer, Route};

const ADDITION: &[&str] = &["primaryKey", "csvDelimiter", "skipCreation", "mark", "ifMark"];

pub(super) const ROUTES: &[Route] = &[
    Route::get("/indexes/{indexUid}/documents", Action::DocumentsGet)
        .event("Documents Fetched")
        .about("List documents", Answer::Ok("DocumentPage"))
        .query(|| &["offset", "limit", "fields", "retrieveVectors", "ids", "filter", "sort", "at"])
        .run(|request| Box::pin(list::by_parameters(request))),
    Route::post("/indexes/{indexUid}/documents", Action::DocumentsAdd)
        .event("Documents Added")
        .about("Add or replace documents", Answer::Task(202))
        .query(|| ADDITION)
        .documents()
        .run(|request| Box::pin(replace(request))),
    Route::put("/indexes/{indexUid}/documents", Action::DocumentsAdd)
        .event("Documents Updated")
        .about("Add or update documents", Answer::Task(202))
        .query(|| ADDITION)
        .documents()
        .run(|request| Box::pin(merge(request))),
    Route::patch("/indexes/{indexUid}/documents", Action::DocumentsAdd)
        .event("Documents Updated")
        .about("Update numbers and booleans in single fields", Answer::Task(202))
        .json(value_updates::schema, r#"[{ "id": 1, "increment": { "views": 1 }, "set": { "isNew": false } }]"#)
        .run(|request| Box::pin(write::update_values(request))),
    Route::delete("/indexes/{indexUid}/documents", Action::DocumentsDelete)
        .event("Documents Deleted")
        .about("Delete all documents", Answer::Task(202))
        .query(|| &marking::PARAMETERS)
        .run(|request| Box::pin(write::clear(request))),
    FETCH,
    Route::post("/indexes/{indexUid}/documents/delete", Action::DocumentsDelete)
        .event("Documents Deleted")
        .about("Delete documents that match a filter", Answer::Task(202))
        .json(|| exactly([("filter", shapes::filter())], &["filter"]), r#"{ "filter": "year < 1950" }"#)
        .run(|request| Box::pin(write::delete_matching(request))),
    Route::post("/indexes/{indexUid}/documents/delete-batch", Action::DocumentsDelete)
        .event("Documents Deleted")
        .about("Delete documents by their ids", Answer::Task(202))
        .query(|| &marking::PARAMETERS)
        // What is no id is the id of no document.
        .json(|| schema::list(anything()), r#"[1, 2]"#)
        .run(|request| Box::pin(write::delete_batch(request))),
    Route::post("/indexes/{indexUid}/documents/edit", Action::DocumentsAll)
        .event("Documents Edited by Function")
        .about("Edit documents with a function; feature `editDocumentsByFunction`", Answer::Task(202))
        .json(shapes::edition, r#"{ "function": "doc.title = doc.title.to_upper()", "filter": "year > 1980" }"#)
        .run(|request| Box::pin(write::edit(request))),
    Route::get("/indexes/{indexUid}/documents/{documentId}", Action::DocumentsGet)
        .event("Documents Fetched")
        .about("Get a document", Answer::Ok("Document"))
        .query(|| &["fields", "retrieveVectors", "useNetwork", "at"])
        .run(|request| Box::pin(list::get_one(request))),
    Route::delete("/indexes/{indexUid}/documents/{documentId}", Action::DocumentsDelete)
        .event("Documents Deleted")
        .about("Delete a document", Answer::Task(202))
        .query(|| &marking::PARAMETERS)
        .run(|request| Box::pin(write::delete_one(request))),
];

pub(super) const FETCH: Route = Route::post("/indexes/{indexUid}/documents/fetch", Action::DocumentsGet)
    .event("Documents Fetched")
    .about("List documents", Answer::Ok("DocumentPage"))
    .json(shapes::list, r#"{ "filter": "year > 1980", "fields": ["id", "title"], "limit": 10 }"#)
    .run(|request| Box::pin(list::by_body(request)));

async fn replace(request: Request) -> ApiResult<Response> {
    write::add(Method::Replace, request).await
}

async fn merge(request: Request) -> ApiResult<Response> {
    write::add(Method::Update, request).await
}
