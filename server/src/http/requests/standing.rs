//! Answers that go on: they end when the key that asked for them would no longer be given them.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{Stream, StreamExt, future};
use lamina_data::access::Rights;
use warp::http::{HeaderMap, HeaderValue, header};

use super::endpoint::Endpoint;
use crate::app::AppState;

/// Interval at which the key is checked again.
const PAUSE: Duration = Duration::from_secs(1);

/// Permission of a request, and its basis.
#[derive(Clone)]
pub(crate) struct Standing {
    state: Arc<AppState>,
    endpoint: Endpoint,
    path: String,
    /// Only those that name the key.
    headers: HeaderMap,
    rights: Rights,
}

impl Standing {
    /// `key` is the header that names it.
    pub(super) fn new(
        state: &Arc<AppState>,
        endpoint: Endpoint,
        path: &str,
        key: Option<&HeaderValue>,
        rights: &Rights,
    ) -> Standing {
        Standing {
            state: Arc::clone(state),
            endpoint,
            path: path.to_owned(),
            headers: key.map(|key| (header::AUTHORIZATION, key.clone())).into_iter().collect(),
            rights: rights.clone(),
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

    /// Passes the items of a stream on while the key permits the request. Nothing is passed on that comes later, and the stream
    /// ends soon after, also where nothing comes. Cost: a look at the key for each item.
    pub(crate) fn limit<S: Stream>(self, stream: S) -> impl Stream<Item = S::Item> {
        let ended = Box::pin(self.clone().lost());
        stream.take_while(move |_| future::ready(self.rights.are_all() || self.holds())).take_until(ended)
    }

    fn holds(&self) -> bool {
        let now = self.endpoint.check(&self.state, &self.path, &self.headers);
        now.is_ok_and(|now| now.permit_the_same_as(&self.rights))
    }
}
