//! One search in one index, in phases.

use std::sync::Arc;

use bytes::Bytes;
use lamina_base::aliases::IndexName;
use lamina_base::error::ApiResult;
use lamina_base::timestamp::Timestamp;
use lamina_data::observe::{ObservedRequest, SearchOutcomes};
use lamina_data::telemetry::{Facts, SearchFacts};
use lamina_engine::index::Snapshot;
use lamina_protocol::wire::search::SearchQuery;
use tokio::runtime::Handle;
use warp::http::{HeaderMap, header};
use warp::reply::Response;

use super::context::{asks_metadata, check_state, context};
use crate::answer::points_in_time::{PointsInTime, View};
use crate::answer::search::{Answered, Context, Form, RulesInForce, Target, count_query, depends_on_time, unexpired};
use crate::api::embed::{Asked, embed, wanted};
use crate::api::limits::report_limits;
use crate::api::multi_search::search_network;
use crate::api::report;
use crate::api::rerank::rerank;
use crate::api::slow_searches::Watch;
use crate::app::AppState;
use crate::http::requests::Request;
use crate::http::{EntityTag, json_text};

/// A search that was asked for; its key may search the index.
pub(super) struct Search {
    state: Arc<AppState>,
    index: IndexName,
    query: SearchQuery,
    context: Context,
    form: Form,
    /// `None` where an answer that the client has may not stand for this one.
    validators: Option<Validators>,
}

/// Data that shows whether the client already has the response.
struct Validators {
    headers: HeaderMap,
    /// Everything in the request that the answer depends on.
    asked: String,
}

impl Search {
    /// Decodes POST.
    pub(super) async fn by_body(request: Request) -> ApiResult<Search> {
        let context = context(&request);
        let index = request.index()?;
        let (state, with_metadata) = (Arc::clone(request.state()), asks_metadata(&request));
        let query = SearchQuery::from_body(&*request.json().await?)?;
        let form = Form { names_index: false, with_metadata };
        Ok(Search { state, index, query, context, form, validators: None })
    }

    /// Decodes GET, whose answers have tags.
    pub(super) fn by_parameters(request: &Request) -> ApiResult<Search> {
        let context = context(request);
        let index = request.index()?;
        let query = SearchQuery::from_parameters(&request.query())?;
        // Holding on to a state, or giving it up, is an effect that no answer from memory may stand for. Documents of other
        // indexes change without this one, and rerankers answer as they like.
        let is_own = context.foreign.is_none() && query.rerank.is_none();
        let has_tag = query.point_in_time.is_none() && query.at.is_none() && is_own;
        let validators = has_tag.then(|| Validators {
            headers: request.headers().clone(),
            asked: format!(
                "{}\n{}",
                request.raw_query(),
                context.rights.imposed_filter(&index.asked, &index.uid).unwrap_or_default()
            ),
        });
        let form = Form { names_index: false, with_metadata: asks_metadata(request) };
        Ok(Search { state: Arc::clone(request.state()), index, query, context, form, validators })
    }

    /// Begins to watch how long it takes.
    pub(super) fn watch(&self) -> Option<Watch> {
        Watch::begin(&self.state, &self.index.asked, self.query.q.as_deref())
    }

    /// All phases, of which the first that has an answer ends the search.
    ///
    /// What waits is on the heap: most answers are given before, and the future of all phases is copied a few times.
    pub(super) async fn answer(self) -> ApiResult<Response> {
        check_state(&self.query, &self.context)?;
        if self.query.use_network {
            return Box::pin(self.over_network()).await;
        }
        if let Some(answer) = self.not_modified()? {
            return Ok(answer);
        }
        if let Some(answer) = self.kept_answer()? {
            return Ok(answer);
        }
        Box::pin(self.searched()).await
    }

    /// The answer of a search.
    async fn searched(mut self) -> ApiResult<Response> {
        self.embed_texts().await?;
        self.context.reranked = rerank(&self.state, &self.index, &self.query, &self.context).await?;
        self.search_in_pool().await
    }

    /// Asks all servers of the network.
    async fn over_network(self) -> ApiResult<Response> {
        if self.query.point_in_time.is_some() {
            return Err(PointsInTime::not_over_network());
        }
        let facts = self.facts(false);
        let Search { state, index, query, context, form, .. } = self;
        let budget = context.budget.clone();
        let mut answer = search_network(&state, index.asked, query, context, form.with_metadata).await?.answer(budget);
        report(&mut answer, facts);
        Ok(answer)
    }

    /// The present state of the index; the one that was the present one when hits were reranked.
    fn present(&self) -> ApiResult<Arc<Snapshot>> {
        if let Some(reranked) = &self.context.reranked {
            return Ok(Arc::clone(&reranked.snapshot));
        }
        self.state.instance.searchable_at(&self.index.uid, self.query.at)
    }

    /// 304, if the client has the answer of the present state.
    fn not_modified(&self) -> ApiResult<Option<Response>> {
        let may_know = |validators: &&Validators| validators.headers.contains_key(header::IF_NONE_MATCH);
        let Some(validators) = self.validators.as_ref().filter(may_know) else { return Ok(None) };
        let present = self.present()?;
        if present.settings.analytics.searches {
            // What is recorded has its total.
            return Ok(None);
        }
        let tag = self.tag(validators, &present);
        Ok(tag.filter(|tag| tag.is_known(&validators.headers)).map(|tag| tag.not_modified()))
    }

    /// An answer that was given before, of the present state: views that are held on to are looked up where searches run.
    fn kept_answer(&self) -> ApiResult<Option<Response>> {
        if self.query.point_in_time.is_some() || self.query.at.is_some() {
            return Ok(None);
        }
        let snapshot = self.present()?;
        let target = Target::new(&self.index, &snapshot);
        let Some(answered) = self.context.kept.get(target, &self.query, &self.context, self.form) else {
            return Ok(None);
        };
        self.count(target);
        let beside = self.beside(&answered, &snapshot);
        // Where memory is short, the search that follows waits for it.
        let (total, shown) = (answered.total, Arc::clone(&answered.shown));
        let Ok(body) = answered.into_body(self.context.received, &self.context.budget) else { return Ok(None) };
        self.context.record(target, &self.query, None, (total, &shown));
        Ok(Some(beside.answer(self.context.budget.clone().body(body), self.has_any())))
    }

    /// Texts become vectors before the search takes a thread.
    async fn embed_texts(&mut self) -> ApiResult<()> {
        let queries = std::iter::once(Asked::alone(&self.index, &self.query));
        let texts = wanted(&self.state, queries, &self.context)?;
        self.context.embedded = embed(&self.state, texts).await;
        Ok(())
    }

    /// Searches on a thread of the pool, as soon as there is one.
    async fn search_in_pool(self) -> ApiResult<Response> {
        let (state, budget, runtime) = (Arc::clone(&self.state), self.context.budget.clone(), Handle::current());
        let has_any = self.has_any();
        let found = state.answer(&budget, move || self.search(&runtime));
        let (body, beside) = found.await?;
        Ok(beside.answer(budget.body(body), has_any))
    }

    /// Searches the view that the request names, or else the present state.
    fn search(&self, runtime: &Handle) -> ApiResult<(Vec<u8>, ResponseExtras)> {
        let view = View { index: &self.index, point: self.query.point_in_time, rights: &self.context.rights };
        self.state.points_in_time.within(
            view,
            runtime,
            || self.present(),
            |uid, snapshot| {
                let target = Target { name: &self.index.asked, uid, snapshot };
                let answered = self.context.kept.answer(target, &self.query, &self.context, self.form)?;
                self.count(target);
                let beside = self.beside(&answered, snapshot);
                let (total, query_uid) = (answered.total, answered.query_uid);
                let shown = Arc::clone(&answered.shown);
                let body = answered.into_body(self.context.received, &self.context.budget)?;
                self.context.record(target, &self.query, query_uid, (total, &shown));
                Ok((body, beside))
            },
        )
    }

    /// Counts the query for completions. What a caller asks who sees some documents only is none of the others' business.
    fn count(&self, target: Target<'_>) {
        if self.context.rights.imposed_filter(target.name, target.uid).is_none() {
            count_query(target, &self.query, &self.state.asked);
        }
    }

    /// Returns the extras of a response from a state of the index.
    fn beside(&self, answered: &Answered, snapshot: &Snapshot) -> ResponseExtras {
        let is_degraded = answered.outcome.degraded > 0;
        // What a time limit has cut says nothing for certain.
        let validators = self.validators.as_ref().filter(|_| !is_degraded);
        ResponseExtras {
            outcome: answered.outcome,
            cuts: Arc::clone(&answered.cuts),
            tag: validators.and_then(|validators| self.tag(validators, snapshot)),
            facts: self.facts(is_degraded),
        }
    }

    /// The tag of the answer from a state of the index. Commits count up within one index; another index of the same
    /// name was made at another time. None where the order changes by the second, or with the user.
    fn tag(&self, validators: &Validators, snapshot: &Snapshot) -> Option<EntityTag> {
        let is_in_experiment = self.context.assigned(Target::new(&self.index, snapshot), &self.query).is_some();
        if is_in_experiment || depends_on_time(&self.query, snapshot) {
            return None;
        }
        let created_at = Timestamp::from(snapshot.created_at()).nanos();
        let left = unexpired(snapshot).unwrap_or(u64::MAX);
        let state = [created_at.to_le_bytes(), snapshot.generation.to_le_bytes(), left.to_le_bytes()].concat();
        let switches = [u8::from(self.context.contains_filter), u8::from(self.form.with_metadata)];
        let rules = format!("{:?}", self.context.rules.as_ref().map(RulesInForce::state));
        let version = env!("CARGO_PKG_VERSION").as_bytes();
        let uid = self.index.uid.as_bytes();
        Some(EntityTag::of(&[version, uid, &state, &switches, rules.as_bytes(), validators.asked.as_bytes()]))
    }

    /// Reports whether the client has any response (`*`). Only the search shows whether there is one.
    fn has_any(&self) -> bool {
        self.validators.as_ref().is_some_and(|validators| EntityTag::any_is_known(&validators.headers))
    }

    fn facts(&self, is_degraded: bool) -> Option<Facts> {
        self.state.telemetry.is_on().then(|| Facts::Search(SearchFacts::of(&self.query, is_degraded)))
    }
}

/// Extras of a response besides its body.
struct ResponseExtras {
    outcome: SearchOutcomes,
    cuts: Arc<[String]>,
    tag: Option<EntityTag>,
    facts: Option<Facts>,
}

impl ResponseExtras {
    /// The response with this body; without it for a client that has any answer (`has_any`) which a tag can name.
    fn answer(self, body: Bytes, has_any: bool) -> Response {
        if let Some(tag) = self.tag.as_ref().filter(|_| has_any) {
            return tag.not_modified();
        }
        let mut answer = json_text(body);
        report_limits(&mut answer, &self.cuts);
        if let Some(tag) = &self.tag {
            tag.put(&mut answer);
        }
        let seen = ObservedRequest { searches: self.outcome, facts: self.facts.map(Box::new) };
        answer.extensions_mut().insert(seen);
        answer
    }
}
