//! `/experiments`: an index compared with a variant of it, on the searches of users.

use std::sync::Arc;

use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_base::timestamp::Timestamp;
use lamina_data::access::Action;
use lamina_data::experiments::{Experiment, Reason, Stopped};
use lamina_data::instance::Instance;
use lamina_data::tasks::{Content, NewTask, Status, blocking};
use lamina_engine::index::Settings;
use lamina_protocol::wire::chats::page;
use lamina_protocol::wire::experiments::{Variant, definition, id_in_path, schema};
use lamina_protocol::wire::settings;
use serde_json::{Value, json};
use warp::http::StatusCode;
use warp::reply::Response;

use super::enqueue;
use crate::answer::analytics::{Outcome, outcome};
use crate::app::AppState;
use crate::http::requests::{Replication, Request, accepted_task};
use crate::http::routing::{Answer, PAGE, Route};
use crate::http::{json_answer, no_content};

pub(super) const ROUTES: &[Route] = &[
    Route::get("/experiments", Action::ExperimentsGet)
        .about("List experiments", Answer::Ok("ExperimentPage"))
        .query(|| PAGE)
        .run(|request| Box::pin(list(request))),
    Route::get("/experiments/{experimentId}", Action::ExperimentsGet)
        .about("Get an experiment with its outcome", Answer::Ok("Experiment"))
        .run(|request| Box::pin(get_one(request))),
    Route::put("/experiments/{experimentId}", Action::ExperimentsUpdate)
        .about("Begin an experiment", Answer::Ok("Experiment"))
        .json(
            schema,
            r#"{ "indexUid": "films", "variant": { "indexUid": "films-2" }, "method": "interleave", "share": 0.5 }"#,
        )
        .run(|request| Box::pin(begin(request))),
    Route::delete("/experiments/{experimentId}", Action::ExperimentsDelete)
        .about("Delete an experiment", Answer::Nothing)
        .run(|request| Box::pin(remove(request))),
    Route::post("/experiments/{experimentId}/stop", Action::ExperimentsUpdate)
        .about("Stop an experiment", Answer::Ok("Experiment"))
        .run(|request| Box::pin(stop_one(request))),
    Route::post("/experiments/{experimentId}/apply", Action::ExperimentsUpdate)
        .also(Action::SettingsUpdate)
        .about("Give the index the settings of a variant that won", Answer::Task(202))
        .run(|request| Box::pin(apply(request))),
];

fn view(id: &str, experiment: &Experiment, outcome: Option<&Value>) -> Value {
    let mut shown = json!({ "id": id });
    let fields = json!(experiment.definition);
    shown.as_object_mut().into_iter().for_each(|all| all.extend(fields.as_object().cloned().unwrap_or_default()));
    shown["startedAt"] = json!(experiment.started_at);
    if let Some(Stopped { at, reason, outcome, undo, task }) = &experiment.stopped {
        (shown["stoppedAt"], shown["stopReason"], shown["outcome"]) = (json!(at), json!(reason), outcome.clone());
        if let Some(undo) = undo {
            shown["undo"] = undo.clone();
        }
        if let Some(task) = task {
            shown["taskUid"] = json!(task);
        }
    } else if let Some(outcome) = outcome {
        shown["outcome"] = outcome.clone();
    }
    shown
}

async fn list(request: Request) -> ApiResult<Response> {
    let (offset, limit) = page(&request.query())?;
    let all = request.state().experiments.all();
    let shown = all.iter().skip(offset).take(limit).map(|(id, experiment)| view(id, experiment, None));
    let body =
        json!({ "results": shown.collect::<Vec<Value>>(), "offset": offset, "limit": limit, "total": all.len() });
    Ok(json_answer(StatusCode::OK, &body))
}

async fn get_one(request: Request) -> ApiResult<Response> {
    let id = id_in_path(request.part("experimentId"))?;
    let state = Arc::clone(request.state());
    let experiment = state.experiments.get(&id)?;
    let outcome = match experiment.stopped {
        Some(_) => None,
        None => Some(outcome_of(&state, &id, &experiment).await?.shown()),
    };
    Ok(json_answer(StatusCode::OK, &view(&id, &experiment, outcome.as_ref())))
}

async fn begin(request: Request) -> ApiResult<Response> {
    let id = id_in_path(request.part("experimentId"))?;
    let (state, rights) = (Arc::clone(request.state()), request.rights().clone());
    let mut definition = definition(&*request.json().await?)?;
    // It stays with the indexes that aliases stand for now.
    definition.index_uid = rights.target(&definition.index_uid).to_owned();
    if let Variant::Index { index_uid } = &mut definition.variant {
        *index_uid = rights.target(index_uid).to_owned();
    }
    let shown = blocking(move || {
        let begun = state.experiments.begin(&id, definition, &state.instance).map_err(in_body)?;
        ApiResult::Ok(view(&id, &begun, None))
    });
    Ok(json_answer(StatusCode::OK, &shown.await??))
}

/// Not the path but the body names the index.
fn in_body(error: ApiError) -> ApiError {
    if error.code == Code::IndexNotFound { error.with_status(400) } else { error }
}

async fn remove(request: Request) -> ApiResult<Response> {
    let id = id_in_path(request.part("experimentId"))?;
    let state = Arc::clone(request.state());
    blocking(move || state.experiments.remove(&id)).await??;
    Ok(no_content())
}

async fn stop_one(request: Request) -> ApiResult<Response> {
    let id = id_in_path(request.part("experimentId"))?;
    let state = Arc::clone(request.state());
    let experiment = state.experiments.get(&id)?;
    let stopped = match experiment.stopped {
        Some(_) => experiment,
        None => stop(&state, &id, &experiment, Reason::Asked, None).await?,
    };
    Ok(json_answer(StatusCode::OK, &view(&id, &stopped, None)))
}

/// Looks at an experiment that goes on, and stops it if it does harm or its indexes are others.
///
/// # Errors
/// The errors of [`outcome`], and those of the file system.
pub(crate) async fn check(state: &Arc<AppState>, id: &str, experiment: &Arc<Experiment>) -> ApiResult<()> {
    let (instance, of_work) = (Arc::clone(&state.instance), Arc::clone(experiment));
    let reason = match blocking(move || of_work.must_stop(&instance)).await? {
        None => outcome_of(state, id, experiment).await?.is_harmful().then_some(Reason::Guard),
        reason => reason,
    };
    if let Some(reason) = reason {
        tracing::warn!(experiment = id, ?reason, "an experiment stops by itself");
        stop(state, id, experiment, reason, None).await?;
    }
    Ok(())
}

/// Stops an experiment, with its outcome until then.
async fn stop(
    state: &Arc<AppState>,
    id: &str,
    experiment: &Arc<Experiment>,
    reason: Reason,
    applied: Option<(Value, Option<u32>)>,
) -> ApiResult<Arc<Experiment>> {
    let outcome = match &experiment.stopped {
        Some(stopped) => stopped.outcome.clone(),
        // It stops in any case.
        None => outcome_of(state, id, experiment).await.map_or_else(
            |error| {
                tracing::error!(experiment = id, error = %error.message, "an experiment stops without its outcome");
                Value::Null
            },
            |outcome| outcome.shown(),
        ),
    };
    let (undo, task) = applied.map_or((None, None), |(undo, task)| (Some(undo), task));
    let stopped = Stopped { at: Timestamp::now(), reason, outcome, undo, task };
    let (state, id, started_at) = (Arc::clone(state), id.to_owned(), experiment.started_at);
    blocking(move || state.experiments.stop(&id, started_at, stopped)).await?
}

async fn outcome_of(state: &Arc<AppState>, id: &str, experiment: &Arc<Experiment>) -> ApiResult<Outcome> {
    let budget = state.budgets.answer();
    // One after the other: most searches are shorter.
    let _turn = state.searches.long_turn().await?;
    let (of_work, of_budget) = (Arc::clone(state), budget.clone());
    let (experiment, key) = (Arc::clone(experiment), experiment.key(id));
    let work = move || match of_work.instance.events().snapshot()? {
        Some(events) => outcome(&events, (&experiment, &key), &of_budget),
        None => Ok(Outcome::default()),
    };
    state.answer(&budget, work).await
}

async fn apply(request: Request) -> ApiResult<Response> {
    let id = id_in_path(request.part("experimentId"))?;
    let state = Arc::clone(request.state());
    let _turn = state.experiments.applying.lock().await;
    let experiment = state.experiments.get(&id)?;
    let winner = match &experiment.stopped {
        Some(Stopped { reason: Reason::Applied, task, .. }) if !has_failed(&state, *task).await? => {
            return Err(conflict("The variant was applied before."));
        }
        Some(stopped) => stopped.outcome["winner"].as_str().map(|winner| winner == "variant"),
        None => outcome_of(&state, &id, &experiment).await?.winner(),
    };
    match winner {
        Some(true) => {}
        Some(false) => return Err(conflict("The index as it is has won: there is nothing to apply.")),
        None => return Err(conflict("There is no winner: what was seen so far may be chance.")),
    }
    let (instance, of_work) = (Arc::clone(&state.instance), Arc::clone(&experiment));
    let Change { to, undo } = blocking(move || change(&of_work, &instance)).await??;
    let patch = Box::new(settings::read(&to)?);
    let content = Content::Settings { patch, may_create_index: false };
    let task = NewTask::for_index(experiment.definition.index_uid.clone(), content);
    let answer = enqueue(&state, task).await?;
    if !Replication::of_request().is_dry_run {
        stop(&state, &id, &experiment, Reason::Applied, Some((undo, accepted_task(&answer)))).await?;
    }
    Ok(answer)
}

/// Reports whether a task ended without an effect.
async fn has_failed(state: &Arc<AppState>, task: Option<u32>) -> ApiResult<bool> {
    let (Some(uid), queue) = (task, Arc::clone(&state.queue)) else { return Ok(false) };
    blocking(move || queue.task(uid).is_ok_and(|task| matches!(task.status, Status::Failed | Status::Canceled))).await
}

fn conflict(message: impl Into<String>) -> ApiError {
    ApiError::new(Code::ExperimentConflict, message)
}

/// Settings that a variant has in place of those of its index, and those.
struct Change {
    to: Value,
    /// Without secrets: a change keeps those that it does not name.
    undo: Value,
}

fn change(experiment: &Experiment, instance: &Instance) -> ApiResult<Change> {
    if let Some(reason @ (Reason::IndexChanged | Reason::VariantChanged | Reason::SettingsChanged)) =
        experiment.must_stop(instance)
    {
        let reason = json!(reason);
        return Err(conflict(format!(
            "Since the experiment began, its indexes have changed ({reason}): nothing is applied."
        )));
    }
    let definition = &experiment.definition;
    let own = Settings::clone(&instance.state(&definition.index_uid)?.settings);
    let wanted = match &definition.variant {
        Variant::Index { index_uid } => {
            let variant = instance.state(index_uid)?;
            // What is recorded is no matter of ranking.
            Settings { analytics: own.analytics, ..Settings::clone(&variant.settings) }
        }
        Variant::Parameters { parameters } => {
            let patch = settings::read(&Value::Object(parameters.clone())).map_err(|_| {
                let names = parameters.keys().map(|name| format!("`{name}`")).collect::<Vec<String>>().join(", ");
                conflict(format!("Not all of these parameters have a setting: {names}. Send them with your searches."))
            })?;
            settings::merged(&own, &patch)?
        }
    };
    let mut undo = settings::changes(&wanted, &own);
    settings::remove_secrets(&mut undo);
    Ok(Change { to: settings::changes(&own, &wanted), undo })
}
