//! Adding and deleting documents.

use std::sync::Arc;

use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_data::features::Feature;
use lamina_data::tasks::{Content, Method, NewTask, Upsert, blocking};
use lamina_models::edition::Function;
use lamina_protocol::wire::body::check_json_content_type;
use lamina_protocol::wire::documents::{
    AddParameters, check_parameters, edit as edit_request, empty_filter, filter_to_delete, ids_to_delete,
};
use lamina_protocol::wire::identifier::decode_path_segment;
use lamina_protocol::wire::marking::Marking;
use lamina_protocol::wire::query_string::QueryString;
use lamina_protocol::wire::value_updates;
use serde_json::Value;
use warp::http::header;
use warp::reply::Response;

use crate::answer::search::parse_own_filter;
use crate::api::enqueue;
use crate::app::AppState;
use crate::http::payload;
use crate::http::requests::Request;

pub(super) async fn add(method: Method, request: Request) -> ApiResult<Response> {
    let index = request.index()?;
    request.state().queue.check_delay()?;
    let (mark, query) = Marking::from_query(request.query())?;
    let parameters = AddParameters::from_query(&query)?;
    let format = parameters.format(request.header(header::CONTENT_TYPE))?;
    let state = Arc::clone(request.state());
    let may_create_index = request.rights().may_create_index(&index);
    let folder = state.instance.payload_folder();
    let (headers, body) = request.into_parts();
    let upload = (!payload::is_small(&headers)).then(|| state.queue.begin_upload());
    let bytes_max = state.options.service.payload_bytes_max();
    let received = payload::receive(&headers, body, format, bytes_max, &folder, state.budgets.receiving()).await?;
    let content = Content::Upsert(Upsert {
        method,
        primary_key: parameters.primary_key,
        skip_creation: parameters.skip_creation,
        may_create_index,
        received: received.count,
        payload: received.place,
        payload_bytes: received.bytes,
        payload_checksum: received.checksum,
        mark,
    });
    let task = NewTask { inline_payload: received.inline, ..NewTask::for_index(index.uid, content) };
    let answer = enqueue(&state, task).await;
    drop(upload);
    answer
}

/// Numbers and truth values of single fields.
pub(super) async fn update_values(request: Request) -> ApiResult<Response> {
    let uid = request.index_uid()?;
    request.state().queue.check_delay()?;
    check_parameters(&request.query())?;
    let state = Arc::clone(request.state());
    let lines = value_updates::lines(&*request.json().await?)?;
    let folder = state.instance.payload_folder();
    let written = blocking(move || payload::keep_lines(&lines, &folder)).await??;
    let content = Content::Upsert(Upsert {
        method: Method::Values,
        primary_key: None,
        skip_creation: true,
        may_create_index: false,
        received: written.count,
        payload: written.place,
        payload_bytes: written.bytes,
        payload_checksum: written.checksum,
        mark: None,
    });
    enqueue(&state, NewTask { inline_payload: written.inline, ..NewTask::for_index(uid, content) }).await
}

pub(super) async fn clear(request: Request) -> ApiResult<Response> {
    let (mark, query) = Marking::from_query(request.query())?;
    enqueue_deletion(&request, &query, Content::Clear { mark }).await
}

pub(super) async fn delete_one(request: Request) -> ApiResult<Response> {
    let (mark, query) = Marking::from_query(request.query())?;
    let ids = vec![decode_path_segment(request.part("documentId"))];
    enqueue_deletion(&request, &query, Content::DeleteIds { ids, mark }).await
}

async fn enqueue_deletion(request: &Request, query: &QueryString, content: Content) -> ApiResult<Response> {
    let uid = request.index_uid()?;
    request.state().queue.check_delay()?;
    check_parameters(query)?;
    enqueue(request.state(), NewTask::for_index(uid, content)).await
}

/// Memory of an id that is a text of its own.
const ID_BYTES: usize = 64;

pub(super) async fn delete_batch(request: Request) -> ApiResult<Response> {
    let uid = request.index_uid()?;
    request.state().queue.check_delay()?;
    let (mark, query) = Marking::from_query(request.query())?;
    check_parameters(&query)?;
    let state = Arc::clone(request.state());
    check_json_content_type(request.header(header::CONTENT_TYPE))?;
    let ids = request.bytes().await?.read(ID_BYTES, ids_to_delete).await?;
    let content = Content::DeleteIds { ids: ids.take(), mark };
    enqueue(&state, NewTask::for_index(uid, content)).await
}

pub(super) async fn delete_matching(request: Request) -> ApiResult<Response> {
    let uid = request.index_uid()?;
    request.state().queue.check_delay()?;
    check_parameters(&request.query())?;
    let state = Arc::clone(request.state());
    let filter = filter_to_delete(&*request.json().await?)?;
    check_filter(&filter, &state)?;
    let content = Content::DeleteByFilter { filter };
    enqueue(&state, NewTask::for_index(uid, content)).await
}

/// Checks that a filter can be parsed. The settings are checked when the task runs, but a malformed filter would
/// never work.
fn check_filter(filter: &Value, state: &AppState) -> ApiResult<()> {
    match parse_own_filter(filter, Code::InvalidDocumentFilter, &state.features)? {
        Some(_) => Ok(()),
        None => Err(empty_filter()),
    }
}

pub(super) async fn edit(request: Request) -> ApiResult<Response> {
    let uid = request.index_uid()?;
    request.state().queue.check_delay()?;
    check_parameters(&request.query())?;
    let state = Arc::clone(request.state());
    let edit = edit_request(&*request.json().await?)?;
    if !state.features.is_on(Feature::EditDocumentsByFunction) {
        return Err(ApiError::feature_not_enabled("Using the documents edit route", "edit documents by function"));
    }
    if let Some(filter) = &edit.filter {
        check_filter(filter, &state)?;
    }
    // Compiling takes as long as the text wants: not on a thread that answers others.
    let edit = blocking(move || {
        Function::new(&edit.function, edit.context.as_ref())
            .map_err(|error| ApiError::new(Code::BadRequest, error.to_string()))?;
        Ok::<_, ApiError>(edit)
    });
    let content = Content::Edit(edit.await??);
    enqueue(&state, NewTask::for_index(uid, content)).await
}
