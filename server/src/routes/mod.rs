//! All routes, one file per resource.

mod health;
mod multi_search;
mod search;
mod settings;

use std::sync::Arc;

use warp::Filter;

use crate::app::AppState;
use crate::http::Routes;

/// Every route of the server.
pub fn routes(state: &Arc<AppState>) -> Routes {
    let searches = search::routes(state).or(multi_search::routes(state)).unify();
    searches.or(settings::routes(state)).unify().or(health::routes(state)).unify().boxed()
}
