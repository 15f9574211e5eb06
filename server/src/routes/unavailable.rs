//! Routes of the protocol for features that this server does not have: an answer that says so, whatever the switches say,
//! rather than one of a route that does not exist.

use std::sync::Arc;

use warp::Filter;
use warp::path::FullPath;

use crate::app::AppState;
use crate::error::{ApiError, ApiResult, Code};
use crate::features::Feature;
use crate::requests::{Request, request, respond};
use crate::routes::Routes;

/// Why a route does nothing here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Missing {
    /// What it would do, and the feature.
    Feature(&'static str, &'static str),
    /// It belongs to a network with a leader.
    Sharding,
}

pub(super) fn routes(state: &Arc<AppState>) -> Routes {
    let known = warp::method().and(warp::path::full()).and_then(async |method: warp::http::Method, path: FullPath| {
        missing(method.as_str(), path.as_str()).ok_or_else(warp::reject::not_found)
    });
    let known = known.and(request(state));
    known.then(|missing, request| respond(request, async move |request| refuse(missing, &request))).boxed()
}

fn missing(method: &str, path: &str) -> Option<Missing> {
    const CHATS: &str = "chat completions";
    let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
    let (action, feature) = match (method, segments.as_slice()) {
        ("GET" | "PUT" | "PATCH" | "DELETE", ["indexes", _, "settings", "chat"]) => {
            ("Using `chat` of the index settings", CHATS)
        }
        ("POST", ["network", "control"]) => return Some(Missing::Sharding),
        _ => return None,
    };
    Some(Missing::Feature(action, feature))
}

fn refuse<T>(missing: Missing, request: &Request) -> ApiResult<T> {
    match missing {
        Missing::Feature(action, feature) => Err(ApiError::feature_not_available(action, feature)),
        Missing::Sharding if request.state().features.is_on(Feature::Network) => Err(ApiError::new(
            Code::RequiresEnterpriseEdition,
            "This server takes no part in networks with a leader: its `/network` has remotes and no shards.",
        )),
        Missing::Sharding => Err(ApiError::feature_not_enabled("Using the /network route", Feature::Network.name())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_of_the_protocol_are_distinguished_from_unknown_ones() {
        let chat = missing("GET", "/indexes/a/settings/chat");
        assert!(matches!(chat, Some(Missing::Feature(_, "chat completions"))));
        assert_eq!(missing("POST", "/network/control"), Some(Missing::Sharding));
        assert_eq!(missing("GET", "/chats/a/b/c"), None);
        assert_eq!(missing("POST", "/render-template"), None);
    }
}
