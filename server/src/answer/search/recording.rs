//! Searches that indexes record: one for each query of a request, whether it was answered from memory or not.

use std::sync::Arc;

use lamina_data::events::{Place, Search};
use lamina_data::instance::Instance;
use lamina_protocol::wire::events::user_text;
use lamina_protocol::wire::search::SearchQuery;
use serde_json::Value;
use uuid::Uuid;

use super::{Context, Target};

/// Recorder of the searches of a request.
#[derive(Clone, Debug)]
pub(crate) struct Recorder {
    instance: Arc<Instance>,
    user: Option<Arc<str>>,
}

impl Recorder {
    /// Records for a user, if the request names one that can be.
    pub(crate) fn new(instance: Arc<Instance>, user: Option<&str>) -> Recorder {
        let user = user.and_then(|user| user_text(user).ok()).map(Arc::from);
        Recorder { instance, user }
    }
}

impl Context {
    /// Records a search, if its index wants it. A part of a search that another server merges is none.
    pub(crate) fn record(&self, target: Target<'_>, query: &SearchQuery, query_uid: Option<Uuid>, total: u64) {
        let settings = &target.snapshot.settings;
        let Some(recorder) = self.recorder.as_ref().filter(|_| settings.analytics.searches && !self.proxied) else {
            return;
        };
        let filter = query.filter.as_ref().filter(|filter| !filter.is_null()).map(|filter| match filter {
            Value::String(text) => text.clone(),
            filter => filter.to_string(),
        });
        let strategy = query.matching_strategy.or(settings.matching_strategy).unwrap_or_default();
        let search = Search {
            uid: query_uid.unwrap_or_else(Uuid::now_v7),
            user: recorder.user.as_deref(),
            text: query.q.as_deref().unwrap_or_default(),
            filter: filter.as_deref().filter(|filter| !filter.trim().is_empty()),
            strategy,
            ratio: query.hybrid.as_ref().map(|hybrid| hybrid.semantic_ratio),
            total,
            millis: u64::try_from(self.received.elapsed().as_millis()).unwrap_or(u64::MAX),
        };
        recorder.instance.events().record(&Place::new(target.name, target.uid, target.snapshot), &search);
    }
}
