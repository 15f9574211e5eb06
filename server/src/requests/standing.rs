//! Answers that go on: they end when the key that asked for them would no longer be given them.

use std::sync::Arc;
use std::time::Duration;

use warp::http::{HeaderMap, Method, header};

use super::request::Request;
use crate::access::Rights;
use crate::app::AppState;

/// How often it is looked whether the key still is what it was.
const PAUSE: Duration = Duration::from_secs(1);

/// What a request was allowed, and by what.
pub(crate) struct Standing {
    state: Arc<AppState>,
    method: Method,
    path: String,
    /// Only those that name the key.
    headers: HeaderMap,
    rights: Rights,
}

impl Standing {
    pub(super) fn of(request: &Request) -> Standing {
        let key = request.headers().get(header::AUTHORIZATION).cloned().map(|key| (header::AUTHORIZATION, key));
        Standing {
            state: Arc::clone(request.state()),
            method: request.method().clone(),
            path: request.path().to_owned(),
            headers: key.into_iter().collect(),
            rights: request.rights().clone(),
        }
    }

    /// Ready soon after the key or the tenant token ceased to permit the request: it was deleted, it expired, or it permits
    /// something else than it did. Never for the master key.
    pub(crate) async fn lost(self) {
        if self.rights.are_all() {
            return std::future::pending().await;
        }
        while self.holds() {
            tokio::time::sleep(PAUSE).await;
        }
    }

    fn holds(&self) -> bool {
        let Standing { state, method, path, headers, rights } = self;
        let now = state.access.check(method, path, headers, state.instance.aliases());
        now.is_ok_and(|now| now.permit_the_same_as(rights))
    }
}
