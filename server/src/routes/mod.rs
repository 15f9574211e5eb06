//! All routes, one file per resource.

mod health;

use std::sync::Arc;

use warp::Filter;

use crate::app::AppState;
use crate::http::Routes;

/// Every route of the server.
pub fn routes(state: &Arc<AppState>) -> Routes {
    health::routes(state).boxed()
}
