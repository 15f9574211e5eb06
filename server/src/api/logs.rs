//! `/logs`: what is logged where, while the server runs.

use std::convert::Infallible;
use std::sync::Arc;

use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_base::logs::{self, Listening};
use lamina_base::options::LogsMode;
use lamina_data::access::Action;
use lamina_data::features::Feature;
use lamina_protocol::wire::json::At;
use lamina_protocol::wire::schema::{exactly, one_of, or_null};
use serde_json::{Value, json};
use tracing_subscriber::filter::Targets;
use warp::Reply;
use warp::http::{HeaderName, HeaderValue, StatusCode, header};
use warp::reply::Response;

use crate::app::AppState;
use crate::http::requests::Request;
use crate::http::routing::{Answer, Route};

pub(super) const ROUTES: &[Route] = &[
    Route::post("/logs/stream", Action::MetricsGet)
        .about("Stream the logs; feature `logsRoute`", Answer::Text)
        .optional_json(stream_body, r#"{ "target": "info", "mode": "human" }"#)
        .run(|request| Box::pin(stream_logs(request))),
    Route::delete("/logs/stream", Action::MetricsGet)
        .about("Stop the stream of logs; feature `logsRoute`", Answer::Nothing)
        .run(|request| Box::pin(stop_stream(request))),
    Route::post("/logs/stderr", Action::MetricsGet)
        .about("Set the log level of the console; feature `logsRoute`", Answer::Nothing)
        .optional_json(|| exactly([("target", or_null(log_target()))], &[]), r#"{ "target": "debug" }"#)
        .run(|request| Box::pin(set_stderr(request))),
];

fn stream_body() -> Value {
    let fields = [
        ("target", or_null(log_target())),
        ("mode", or_null(one_of(&["human", "json"]))),
        ("profileMemory", or_null(json!({ "const": false }))),
    ];
    exactly(fields, &[])
}

/// A level, or modules with a level each.
fn log_target() -> Value {
    let level = "(off|error|warn|info|debug|trace|OFF|ERROR|WARN|INFO|DEBUG|TRACE|[0-5])";
    let directive = format!("[^,=]+(={level})?");
    json!({ "type": "string", "pattern": format!("^{directive}(,{directive})*$") })
}

fn check_feature(state: &AppState) -> ApiResult<()> {
    if state.features.is_on(Feature::LogsRoute) {
        return Ok(());
    }
    Err(ApiError::feature_not_enabled("Modifying logs through the `/logs/*` routes", "logs route"))
}

async fn stream_logs(request: Request) -> ApiResult<Response> {
    let (mut target, mut mode) = (info(), LogsMode::Human);
    let state = Arc::clone(request.state());
    let standing = request.standing();
    let body = request.json().await?;
    At::root(&body).given(&["target", "mode", "profileMemory"], &[], |name, field| {
        match name {
            "target" => target = read_target(&field)?,
            "mode" => {
                let modes = [("human", Some(LogsMode::Human)), ("json", Some(LogsMode::Json)), ("profile", None)];
                // `profile` writes traces for a tool that this server does not feed.
                let unavailable = || field.invalid("this server writes no profiles, only `human` and `json` logs.");
                mode = field.one_of(&modes)?.ok_or_else(unavailable)?;
            }
            _ if field.boolean()? => {
                return Err(ApiError::new(
                    Code::BadRequest,
                    "Invalid value: `profile_memory` can only be used while profiling code and is not compatible with \
                     the Human mode.",
                ));
            }
            _ => {}
        }
        Ok(())
    })?;
    check_feature(&state)?;
    let listening = logs::listen(target, mode).ok_or_else(|| {
        ApiError::new(Code::BadRequest, "The `/logs/stream` route is currently in use by someone else.")
    })?;
    let lines = futures_util::stream::unfold(listening, async |mut listening: Listening| {
        let line = listening.lines.recv().await?;
        Some((Ok::<_, Infallible>(line), listening))
    });
    let mut response = warp::reply::stream(standing.limit(lines)).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    // Proxies that collect an answer before passing it on would never pass on this one.
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    Ok(response)
}

async fn stop_stream(request: Request) -> ApiResult<Response> {
    check_feature(request.state())?;
    logs::stop_listening(None);
    Ok(StatusCode::NO_CONTENT.into_response())
}

async fn set_stderr(request: Request) -> ApiResult<Response> {
    let mut target = info();
    let state = Arc::clone(request.state());
    let body = request.json().await?;
    At::root(&body).given(&["target"], &[], |_, field| {
        target = read_target(&field)?;
        Ok(())
    })?;
    check_feature(&state)?;
    if logs::set_stderr(target) {
        Ok(StatusCode::NO_CONTENT.into_response())
    } else {
        Err(ApiError::internal("The filter of the logs cannot be changed."))
    }
}

fn info() -> Targets {
    "info".parse().expect("a level is a target")
}

/// `info`, `lamina_server=debug,lamina_engine=trace`
fn read_target(field: &At<'_>) -> ApiResult<Targets> {
    const USAGE: &str = "Usage: `info`, `lamina_server=info`, or you can write multiple filters in one target: \
                         `lamina_server=info,lamina_engine=trace`";
    let text = field.string()?;
    if text.trim().is_empty() {
        return Err(
            field.invalid(format!("Empty string is not a valid target. If you want to get no logs use `OFF`. {USAGE}"))
        );
    }
    text.parse().map_err(|error| field.invalid(format!("{error}. {USAGE}")))
}
