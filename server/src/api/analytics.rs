//! `/analytics`: figures and lists of what people searched and did.

use std::sync::Arc;

use lamina_base::error::ApiResult;
use lamina_data::access::Action;
use lamina_data::events::{identity, of_index, unix_seconds};
use lamina_protocol::wire::analytics::{AnalyticsQuery, FIGURES, Format, ListKind, ROWS, TIMES};
use serde_json::{Map, Value, json};
use warp::http::{HeaderValue, header};
use warp::reply::Response;

use crate::answer::analytics::{csv, figures, list, searches};
use crate::http::json_text;
use crate::http::requests::Request;
use crate::http::routing::{Answer, Route};

pub(super) const ROUTES: &[Route] = &[
    Route::get("/analytics/{indexUid}", Action::AnalyticsGet)
        .about("Get figures of searches and events", Answer::Ok("Analytics"))
        .query(|| &FIGURES)
        .run(|request| Box::pin(show(request, None))),
    Route::get("/analytics/{indexUid}/searches", Action::AnalyticsGet)
        .about("List recorded searches with their hits and clicks", Answer::Lines)
        .query(|| &TIMES)
        .run(|request| Box::pin(show_searches(request))),
    Route::get("/analytics/{indexUid}/{list}", Action::AnalyticsGet)
        .where_last(|name| ListKind::in_path(name).is_some())
        .about("List queries or filters with their figures", Answer::Ok("AnalyticsPage"))
        .query(|| &ROWS)
        .run(|request| {
            let kind = ListKind::in_path(request.part("list"));
            Box::pin(show(request, kind))
        }),
];

async fn show(request: Request, kind: Option<ListKind>) -> ApiResult<Response> {
    let index = request.index()?;
    let accepted: &[&str] = if kind.is_some() { &ROWS } else { &FIGURES };
    let query = AnalyticsQuery::read(&request.query(), accepted, unix_seconds())?;
    let state = Arc::clone(request.state());
    let budget = state.budgets.answer();
    // One after the other: most searches are shorter.
    let _turn = state.searches.long_turn().await?;
    let (of_work, of_budget) = (Arc::clone(&state), budget.clone());
    let written = state.answer(&budget, move || {
        let instance = &of_work.instance;
        let present = identity(instance.state(&index.uid)?.created_at());
        let snapshot = instance.events().snapshot()?;
        let snapshot = snapshot.as_deref();
        let of_events = |events| of_index(events, &index.asked, &present, &instance.name_keys());
        let filter = snapshot.map(of_events).unwrap_or_default();
        let text = match kind {
            None => figures_text(figures(snapshot, &filter, &query, &of_budget)?, &index.asked, query.format),
            Some(kind) => list_text(list(snapshot, &filter, &query, kind, &of_budget)?, &query),
        };
        of_budget.take(text.len())?;
        Ok(text)
    });
    let text = written.await?.into_bytes();
    let mut answer = json_text(budget.body(text));
    if query.format == Format::Csv {
        answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/csv; charset=utf-8"));
    }
    Ok(answer)
}

async fn show_searches(request: Request) -> ApiResult<Response> {
    let index = request.index()?;
    let query = AnalyticsQuery::read(&request.query(), &TIMES, unix_seconds())?;
    let state = Arc::clone(request.state());
    let budget = state.budgets.answer();
    let _turn = state.searches.long_turn().await?;
    let (of_work, of_budget) = (Arc::clone(&state), budget.clone());
    let lines = state.answer(&budget, move || {
        let instance = &of_work.instance;
        let present = identity(instance.state(&index.uid)?.created_at());
        let Some(events) = instance.events().snapshot()? else { return Ok(Vec::new()) };
        let filter = of_index(&events, &index.asked, &present, &instance.name_keys());
        searches(&events, &filter, &query, &of_budget)
    });
    let lines = lines.await?;
    let mut answer = json_text(budget.body(lines));
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/x-ndjson"));
    Ok(answer)
}

/// The series as lines, or the one line of a time without a series.
fn figures_text(mut shown: Map<String, Value>, name: &str, format: Format) -> String {
    if format == Format::Json {
        shown.insert("indexUid".to_owned(), name.into());
        return Value::Object(shown).to_string();
    }
    match shown.remove("series") {
        Some(Value::Array(steps)) => {
            csv(&steps.into_iter().filter_map(|step| step.as_object().cloned()).collect::<Vec<_>>())
        }
        _ => csv(&[shown]),
    }
}

fn list_text((rows, total): (Vec<Map<String, Value>>, usize), query: &AnalyticsQuery) -> String {
    match query.format {
        Format::Csv => csv(&rows),
        Format::Json => {
            json!({ "results": rows, "offset": query.offset, "limit": query.limit, "total": total }).to_string()
        }
    }
}
