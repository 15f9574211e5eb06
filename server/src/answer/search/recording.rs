//! Searches that indexes record: one for each query of a request, whether it was answered from memory or not.

use std::sync::Arc;

use lamina_data::events::{Place, Search};
use lamina_data::instance::Instance;
use lamina_engine::document::document_id;
use lamina_engine::search::{Hit, SearchResult};
use lamina_protocol::wire::events::user_text;
use lamina_protocol::wire::search::SearchQuery;
use serde_json::Value;
use uuid::Uuid;

use super::{Context, Target};

/// Hits of a search whose ids are recorded: people rarely look at more.
const SHOWN_MAX: usize = 20;

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
    /// The ids of the first hits of a search, if they are to be recorded.
    pub(super) fn shown(&self, target: Target<'_>, result: &SearchResult) -> Arc<[String]> {
        let key = target.snapshot.primary_key.as_ref().filter(|_| self.records(target));
        let Some(key) = key else { return Arc::default() };
        let id = |hit: &Hit| {
            let document = target.snapshot.document(hit.address).ok()?;
            Some(document_id(&document, key).ok()?.as_str().to_owned())
        };
        result.hits.iter().take(SHOWN_MAX).map_while(id).collect()
    }

    fn records(&self, target: Target<'_>) -> bool {
        target.snapshot.settings.analytics.searches && self.recorder.is_some() && !self.proxied
    }

    /// Records a search, if its index wants it. A part of a search that another server merges is none. `shown`: see
    /// [`Context::shown`].
    pub(crate) fn record(
        &self,
        target: Target<'_>,
        query: &SearchQuery,
        query_uid: Option<Uuid>,
        (total, shown): (u64, &[String]),
    ) {
        let settings = &target.snapshot.settings;
        let Some(recorder) = self.recorder.as_ref().filter(|_| self.records(target)) else { return };
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
            hits: shown,
            offset: query.window().bounds(usize::MAX).0,
            millis: u64::try_from(self.received.elapsed().as_millis()).unwrap_or(u64::MAX),
        };
        recorder.instance.events().record(&Place::new(target.name, target.uid, target.snapshot), &search);
    }
}
