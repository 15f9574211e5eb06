//! `/aliases`: other names of indexes.

use std::sync::Arc;

use lamina_base::aliases::{Alias, AliasMoves, not_found};
use lamina_base::error::ApiResult;
use lamina_data::access::Action;
use lamina_data::tasks::{Content, NewTask};
use lamina_protocol::wire::aliases;
use lamina_protocol::wire::schema::{exactly, index_uid, map_of, or_null};
use serde_json::{Value, json};
use warp::http::StatusCode;
use warp::reply::Response;

use super::enqueue;
use crate::http::json_answer;
use crate::http::requests::Request;
use crate::http::routing::{Answer, PAGE, Route};

pub(super) const ROUTES: &[Route] = &[
    Route::get("/aliases", Action::IndexesGet)
        .about("List aliases", Answer::Ok("AliasPage"))
        .query(|| PAGE)
        .run(|request| Box::pin(list(request))),
    Route::patch("/aliases", Action::IndexesSwap)
        .about("Create, change or remove several aliases in one task", Answer::Task(202))
        .json(moves_schema, r#"{ "current": "films" }"#)
        .run(|request| Box::pin(change(request))),
    Route::get("/aliases/{alias}", Action::IndexesGet)
        .about("Get an alias", Answer::Ok("Alias"))
        .run(|request| Box::pin(get_one(request))),
    Route::put("/aliases/{alias}", Action::IndexesSwap)
        .about("Create an alias, or change its index", Answer::Task(202))
        .json(|| exactly([("indexUid", index_uid())], &["indexUid"]), r#"{ "indexUid": "films" }"#)
        .run(|request| Box::pin(put(request))),
    Route::delete("/aliases/{alias}", Action::IndexesSwap)
        .about("Remove an alias, not its index", Answer::Task(202))
        .run(|request| Box::pin(remove(request))),
];

fn moves_schema() -> Value {
    let mut moves = map_of(or_null(index_uid()));
    moves["propertyNames"] = index_uid();
    moves
}

fn view(name: &str, alias: &Alias) -> Value {
    json!({ "alias": name, "indexUid": alias.index_uid, "updatedAt": alias.updated_at })
}

/// Lists the aliases that the key may use.
async fn list(request: Request) -> ApiResult<Response> {
    let (offset, limit) = aliases::list_parameters(&request.query())?;
    let rights = request.rights();
    let seen: Vec<_> = rights.aliases().iter().filter(|(name, _)| rights.admits(name)).collect();
    let results: Vec<Value> = seen.iter().skip(offset).take(limit).map(|(name, alias)| view(name, alias)).collect();
    let body = json!({ "results": results, "offset": offset, "limit": limit, "total": seen.len() });
    Ok(json_answer(StatusCode::OK, &body))
}

async fn get_one(request: Request) -> ApiResult<Response> {
    let name = aliases::alias_in_path(request.part("alias"))?;
    let alias = request.rights().aliases().get(&name).ok_or_else(|| not_found(&name))?;
    Ok(json_answer(StatusCode::OK, &view(&name, alias)))
}

async fn put(request: Request) -> ApiResult<Response> {
    let name = aliases::alias_in_path(request.part("alias"))?;
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

async fn remove(request: Request) -> ApiResult<Response> {
    let moves = AliasMoves::from([(aliases::alias_in_path(request.part("alias"))?, None)]);
    enqueue(request.state(), NewTask::global(Content::UpdateAliases { moves })).await
}
