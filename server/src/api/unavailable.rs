//! Routes of the protocol for what this server does not do: an answer that says so rather than one of a route that does not exist.

use std::sync::Arc;

use lamina_base::error::{ApiError, Code};
use lamina_data::features::Feature;
use warp::Filter;
use warp::path::FullPath;

use crate::api::Routes;
use crate::app::AppState;
use crate::http::requests::{Request, request, respond};

pub(super) fn routes(state: &Arc<AppState>) -> Routes {
    let known = warp::method().and(warp::path::full()).and_then(async |method: warp::http::Method, path: FullPath| {
        if is_of_leaders(method.as_str(), path.as_str()) { Ok(()) } else { Err(warp::reject::not_found()) }
    });
    let known = known.untuple_one().and(request(state));
    known.then(|request| respond(request, async move |request| Err(refusal(&request)))).boxed()
}

/// Whether the route belongs to a network with a leader.
fn is_of_leaders(method: &str, path: &str) -> bool {
    let segments = path.split('/').filter(|segment| !segment.is_empty());
    method == "POST" && segments.eq(["network", "control"])
}

fn refusal(request: &Request) -> ApiError {
    if request.state().features.is_on(Feature::Network) {
        return ApiError::new(
            Code::RequiresEnterpriseEdition,
            "This server takes no part in networks with a leader: its `/network` has remotes and no shards.",
        );
    }
    ApiError::feature_not_enabled("Using the /network route", Feature::Network.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_of_the_protocol_are_distinguished_from_unknown_ones() {
        assert!(is_of_leaders("POST", "/network/control"));
        assert!(!is_of_leaders("GET", "/network/control"));
        assert!(!is_of_leaders("POST", "/network/control/a"));
    }
}
