//! `/aliases`: other names of indexes.

use std::sync::Arc;

use lamina_base::aliases::{Alias, AliasMoves, not_found};
use lamina_base::error::ApiResult;
use lamina_data::tasks::{Content, NewTask};
use lamina_protocol::wire::aliases;
use serde_json::{Value, json};
use warp::Filter;
use warp::http::StatusCode;
use warp::reply::Response;

use super::enqueue;
use crate::api::{Routes, any_of};
use crate::app::AppState;
use crate::http::json_answer;
use crate::http::requests::{Request, request, respond};

pub(super) fn routes(state: &Arc<AppState>) -> Routes {
    let list = warp::path!("aliases").and(warp::get()).and(request(state));
    let change = warp::path!("aliases").and(warp::patch()).and(request(state));
    let get = warp::path!("aliases" / String).and(warp::get()).and(request(state));
    let put = warp::path!("aliases" / String).and(warp::put()).and(request(state));
    let delete = warp::path!("aliases" / String).and(warp::delete()).and(request(state));

    let list = list.then(|request| respond(request, async |request| self::list(&request)));
    let change = change.then(|request| respond(request, self::change));
    let get = get.then(|name: String, request| respond(request, async move |request| get_one(&name, &request)));
    let put = put.then(|name: String, request| respond(request, async move |request| self::put(&name, request).await));
    let delete =
        delete.then(|name: String, request| respond(request, async move |request| remove(&name, &request).await));
    any_of([list.boxed(), change.boxed(), get.boxed(), put.boxed(), delete.boxed()])
}

fn view(name: &str, alias: &Alias) -> Value {
    json!({ "alias": name, "indexUid": alias.index_uid, "updatedAt": alias.updated_at })
}

/// Those that the key may use.
fn list(request: &Request) -> ApiResult<Response> {
    let (offset, limit) = aliases::list_parameters(&request.query())?;
    let rights = request.rights();
    let seen: Vec<_> = rights.aliases().iter().filter(|(name, _)| rights.admits(name)).collect();
    let results: Vec<Value> = seen.iter().skip(offset).take(limit).map(|(name, alias)| view(name, alias)).collect();
    let body = json!({ "results": results, "offset": offset, "limit": limit, "total": seen.len() });
    Ok(json_answer(StatusCode::OK, &body))
}

fn get_one(name: &str, request: &Request) -> ApiResult<Response> {
    let name = aliases::alias_in_path(name)?;
    let alias = request.rights().aliases().get(&name).ok_or_else(|| not_found(&name))?;
    Ok(json_answer(StatusCode::OK, &view(&name, alias)))
}

async fn put(name: &str, request: Request) -> ApiResult<Response> {
    let name = aliases::alias_in_path(name)?;
    let (state, rights) = (Arc::clone(request.state()), request.rights().clone());
    let index_uid = aliases::target(&*request.json().await?)?;
    rights.check_index(&index_uid)?;
    let moves = AliasMoves::from([(name, Some(index_uid))]);
    enqueue(&state, NewTask::global(Content::UpdateAliases { moves })).await
}

async fn change(request: Request) -> ApiResult<Response> {
    let (state, rights) = (Arc::clone(request.state()), request.rights().clone());
    let moves = aliases::moves(&*request.json().await?)?;
    for uid in moves.iter().flat_map(|(name, target)| std::iter::once(name).chain(target)) {
        rights.check_index(uid)?;
    }
    enqueue(&state, NewTask::global(Content::UpdateAliases { moves })).await
}

async fn remove(name: &str, request: &Request) -> ApiResult<Response> {
    let moves = AliasMoves::from([(aliases::alias_in_path(name)?, None)]);
    enqueue(request.state(), NewTask::global(Content::UpdateAliases { moves })).await
}
