//! Searches that indexes record: one for each query of a request, whether it was answered from memory or not.

use std::sync::Arc;

use lamina_data::events::{Part, Place, Search};
use lamina_data::experiments::All;
use lamina_data::instance::Instance;
use lamina_engine::document::document_id;
use lamina_engine::search::Hit;
use lamina_protocol::wire::events::user_text;
use lamina_protocol::wire::search::SearchQuery;
use serde_json::Value;
use uuid::Uuid;

use super::experiment::{Assigned, Team};
use super::{Context, Found, Target};

/// Hits of a search whose ids are recorded: people rarely look at more.
const SHOWN_MAX: usize = 20;

/// Recorder of the searches of a request.
#[derive(Clone, Debug)]
pub(crate) struct Recorder {
    pub(super) instance: Arc<Instance>,
    pub(super) user: Option<Arc<str>>,
    /// Experiments, if one of them goes on.
    pub(super) experiments: Option<Arc<All>>,
}

/// Hits that a user was shown.
#[derive(Debug, Default)]
pub(crate) struct Shown {
    /// Ids of the first hits.
    hits: Vec<String>,
    /// The experiment, if they are a part of one.
    assigned: Option<Assigned>,
    /// A letter for each of them, where the experiment mixes two rankings.
    teams: String,
    /// True if its variant had no answer.
    fell_back: bool,
}

impl Recorder {
    /// Records for a user, if the request names one that can be.
    pub(crate) fn new(instance: Arc<Instance>, user: Option<&str>, experiments: Option<Arc<All>>) -> Recorder {
        let user = user.and_then(|user| user_text(user).ok()).map(Arc::from);
        Recorder { instance, user, experiments }
    }
}

impl Context {
    /// The first hits of a search, if they are to be recorded.
    pub(super) fn shown(&self, target: Target<'_>, query: &SearchQuery, found: &Found) -> Arc<Shown> {
        let key = target.snapshot.primary_key.as_ref().filter(|_| self.records(target));
        let Some(key) = key else { return Arc::default() };
        let first = || found.result.hits.iter().take(SHOWN_MAX);
        let id = |hit: &Hit| {
            let document = target.snapshot.document(hit.address).ok()?;
            Some(document_id(&document, key).ok()?.as_str().to_owned())
        };
        let hits: Vec<String> = first().map_while(id).collect();
        let team = |hit: &Hit| found.mixed.teams.get(&hit.address).copied().unwrap_or(Team::Neither).letter();
        let teams = first().take(hits.len()).map(team).filter(|_| !found.mixed.teams.is_empty()).collect();
        Arc::new(Shown { hits, assigned: self.assigned(target, query), teams, fell_back: found.mixed.fell_back })
    }

    pub(super) fn records(&self, target: Target<'_>) -> bool {
        target.snapshot.settings.analytics.searches && self.recorder.is_some() && !self.proxied
    }

    /// Records a search, if its index wants it. A part of a search that another server merges is none. `shown`: see
    /// [`Context::shown`].
    pub(crate) fn record(
        &self,
        target: Target<'_>,
        query: &SearchQuery,
        query_uid: Option<Uuid>,
        (total, shown): (u64, &Shown),
    ) {
        let settings = &target.snapshot.settings;
        let Some(recorder) = self.recorder.as_ref().filter(|_| self.records(target)) else { return };
        let filter = query.filter.as_ref().filter(|filter| !filter.is_null()).map(|filter| match filter {
            Value::String(text) => text.clone(),
            filter => filter.to_string(),
        });
        let strategy = query.matching_strategy.or(settings.matching_strategy).unwrap_or_default();
        let part = shown.assigned.as_ref().map(|assigned| Part {
            experiment: &assigned.key,
            group: assigned.group.name(),
            teams: &shown.teams,
            fell_back: shown.fell_back,
        });
        let search = Search {
            part,
            uid: query_uid.unwrap_or_else(Uuid::now_v7),
            user: recorder.user.as_deref(),
            text: query.q.as_deref().unwrap_or_default(),
            filter: filter.as_deref().filter(|filter| !filter.trim().is_empty()),
            strategy,
            ratio: query.hybrid.as_ref().map(|hybrid| hybrid.semantic_ratio),
            total,
            hits: &shown.hits,
            offset: query.window().bounds(usize::MAX).0,
            millis: u64::try_from(self.received.elapsed().as_millis()).unwrap_or(u64::MAX),
        };
        recorder.instance.events().record(&Place::new(target.name, target.uid, target.snapshot), &search);
    }
}
