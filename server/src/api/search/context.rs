//! What surrounds a search, read from its request.

use std::sync::Arc;

use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_base::timestamp::Timestamp;
use lamina_data::features::Feature;
use lamina_data::rules::Fuel;
use lamina_protocol::wire::search::SearchQuery;
use lamina_replication::Role;

use crate::answer::search::{Context, Recorder, RulesInForce};
use crate::api::generations::check_may_look_back;
use crate::app::AppState;
use crate::http::requests::Request;

/// Header that asks for `metadata` in answers.
pub(in crate::api) const METADATA_HEADER: &str = "meili-include-metadata";

/// Header that names the user, in searches and with events.
pub(in crate::api) const USER_HEADER: &str = "x-ms-user-id";
/// Header by which tools keep their searches out of the figures: `false`.
const RECORD_HEADER: &str = "lamina-record";

/// Reports whether the client requests `metadata`.
pub(in crate::api) fn asks_metadata(request: &Request) -> bool {
    request.header(METADATA_HEADER).is_some_and(|value| value.eq_ignore_ascii_case("true"))
}

/// Creates the context of a search that arrives now.
pub(in crate::api) fn context(request: &Request) -> Context {
    let contains_filter = request.state().features.is_on(Feature::ContainsFilter);
    let foreign_keys = request.state().features.is_on(Feature::ForeignKeys);
    let foreign = foreign_keys.then(|| Arc::clone(&request.state().instance));
    let kept = Arc::clone(&request.state().response_cache);
    let budget = request.state().budgets.answer();
    let rules = rules_in_force(request.state());
    let recorder = recorder(request);
    Context {
        contains_filter,
        foreign,
        rights: request.rights().clone(),
        rules,
        kept,
        recorder,
        budget,
        ..Context::now()
    }
}

/// Returns the recorder of searches, if this server records any and the request does not say `Lamina-Record: false`. Events go to the server
/// that writes, so a replica records nothing beside them.
fn recorder(request: &Request) -> Option<Recorder> {
    let state = request.state();
    let is_follower = matches!(state.replication.role(), Role::Replica | Role::Superseded);
    let experiments = state.experiments.if_running();
    let is_unwanted = request.header(RECORD_HEADER).is_some_and(|value| value.eq_ignore_ascii_case("false"));
    (!is_follower && !is_unwanted)
        .then(|| Recorder::new(Arc::clone(&state.instance), request.header(USER_HEADER), experiments))
}

/// The rules that may act in a search that comes in now.
fn rules_in_force(state: &AppState) -> Option<RulesInForce> {
    let rules = state.instance.rules();
    let is_on = state.features.is_on(Feature::DynamicSearchRules) && !rules.is_empty();
    is_on.then(|| RulesInForce {
        set: rules.set(),
        fuel: Fuel::from(&state.options.rules_fuel),
        now: Timestamp::now().nanos(),
    })
}

/// Checks whether the search may read the state that it names.
///
/// # Errors
/// `invalid_search_at`, `invalid_api_key`
pub(in crate::api) fn check_state(query: &SearchQuery, context: &Context) -> ApiResult<()> {
    if query.at.is_some() && (query.point_in_time.is_some() || query.use_network) {
        return Err(ApiError::new(
            Code::InvalidSearchAt,
            "`at` names a state of this index: leave `pointInTime` and `useNetwork` out.",
        ));
    }
    check_may_look_back(query.at, &context.rights)
}
