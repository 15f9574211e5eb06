//! Answers that were given lately, for requests that ask the same of an index that has not changed since.
//!
//! While people type, they all begin with the same letters, and the most frequent queries are most of the traffic.

use std::fmt::Write;
use std::sync::Arc;
use std::time::Instant;

use lamina_base::budget::AnswerBudget;
use lamina_base::error::ApiResult;
use lamina_base::timestamp::Timestamp;
use lamina_data::observe::SearchOutcomes;
use lamina_engine::index::Snapshot;
use lamina_engine::index::settings::BoostRule;
use lamina_protocol::wire::search::SearchQuery;
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use uuid::Uuid;

use super::{Answer, Context, Metadata, RulesInForce, Shown, Target, WrittenAnswer, run};

/// Bytes of an entry beside its key and its answer, roughly.
const ENTRY_BYTES: usize = 256;
/// Keys and answers are about so large; used to size the table.
const TYPICAL_BYTES: usize = 8 << 10;
/// An answer takes at most one part in this many of what all of them may: one that is larger would push out many others.
const ONE_DIVISOR: u64 = 8;
/// Longer ones are asked by programs that rarely repeat themselves.
const KEY_BYTES_MAX: usize = 16 << 10;

/// Answers by all that they depend on, bounded by bytes. Shared by reference.
pub(crate) struct ResponseCache(Option<Cache<Key, Answered, Bytes>>);

/// All that an answer depends on, as text. It is compared whole: what one caller may see is never shown to another one
/// because of a hash.
type Key = Box<str>;

#[derive(Clone)]
struct Bytes;

impl Weighter<Key, Answered> for Bytes {
    fn weight(&self, key: &Key, answered: &Answered) -> u64 {
        let cuts = answered.cuts.iter().map(|cut| size_of::<String>() + cut.len()).sum::<usize>();
        (ENTRY_BYTES + key.len() + answered.written.heap_bytes() + cuts) as u64
    }
}

/// Form of a response.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Form {
    /// True if the response names its index, which those of a multi-search do.
    pub names_index: bool,
    /// True if the request asked for `metadata`.
    pub with_metadata: bool,
}

/// An answer and what is to be reported about it. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Answered {
    /// Response to send.
    pub written: Arc<WrittenAnswer>,
    /// For metrics.
    pub outcome: SearchOutcomes,
    /// Number of hits.
    pub total: u64,
    /// The first hits, where searches are recorded.
    pub shown: Arc<Shown>,
    /// Identifier in the `metadata`, if the response has one.
    pub query_uid: Option<Uuid>,
    /// Limits that changed the response, as in [`super::Found::cuts`].
    pub cuts: Arc<[String]>,
}

impl Answered {
    /// The body of the answer to a request that came in at `received`, counted in `budget` where it is a copy.
    ///
    /// # Errors
    /// The errors of [`AnswerBudget::take`].
    pub(crate) fn into_body(self, received: Instant, budget: &AnswerBudget) -> ApiResult<Vec<u8>> {
        match Arc::try_unwrap(self.written) {
            Ok(written) => Ok(written.into_body(received)),
            Err(kept) => {
                budget.take(kept.heap_bytes())?;
                Ok(kept.body(received))
            }
        }
    }
}

impl ResponseCache {
    /// Keeps up to `bytes_max` bytes of them; 0: none.
    pub(crate) fn new(bytes_max: u64) -> ResponseCache {
        let count = usize::try_from(bytes_max).unwrap_or(usize::MAX) / TYPICAL_BYTES;
        ResponseCache((bytes_max > 0).then(|| Cache::with_weighter(count.max(1), bytes_max, Bytes)))
    }

    /// The answer, if it was given before. Cost: microseconds.
    pub(crate) fn get(
        &self,
        target: Target<'_>,
        query: &SearchQuery,
        context: &Context,
        form: Form,
    ) -> Option<Answered> {
        self.0.as_ref()?.get(&*key(target, query, context, form)?)
    }

    /// Runs a search and writes its answer, unless it was given before.
    ///
    /// # Errors
    /// The errors of [`run`] and [`Answer::write`].
    pub(crate) fn answer(
        &self,
        target: Target<'_>,
        query: &SearchQuery,
        context: &Context,
        form: Form,
    ) -> ApiResult<Answered> {
        let key = self.0.as_ref().and_then(|_| key(target, query, context, form));
        if let (Some(kept), Some(key)) = (&self.0, &key)
            && let Some(answered) = kept.get(key)
        {
            return Ok(answered);
        }
        let found = run(target, query, context)?;
        let (is_degraded, cuts) = (found.result.degraded, found.cuts().into());
        let outcome = SearchOutcomes::of_one(is_degraded, found.result.total);
        let (total, query_uid) = (found.result.total, form.with_metadata.then(Uuid::now_v7));
        let shown = context.shown(target, query, &found);
        let metadata = query_uid.map(|uid| Metadata::new(target, query, uid));
        let answer = Answer { target, query, context, found, names_index: form.names_index, metadata };
        let answered = Answered { written: Arc::new(answer.write()?), outcome, total, shown, query_uid, cuts };
        // A time limit may cut elsewhere next time, and what is repaired answers in full.
        let is_kept = |kept: &Cache<Key, Answered, Bytes>, key: &Key| {
            !is_degraded && Bytes.weight(key, &answered) <= kept.capacity() / ONE_DIVISOR
        };
        if let (Some(kept), Some(key)) = (&self.0, key)
            && is_kept(kept, &key)
        {
            kept.insert(key, answered.clone());
        }
        Ok(answered)
    }
}

impl std::fmt::Debug for ResponseCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("ResponseCache").field(&self.0.as_ref().map(Cache::len)).finish()
    }
}

/// All that the answer depends on; `None` when it depends on more than the request and the state of one index.
///
/// Commits count up within one index; another index of the same name was made at another time.
fn key(target: Target<'_>, query: &SearchQuery, context: &Context, form: Form) -> Option<Key> {
    // Each `metadata` has an identifier.
    if context.foreign.is_some() || context.proxied || form.with_metadata {
        return None;
    }
    let mut key = String::new();
    if !query.put_key(&mut key) {
        return None;
    }
    let created_at = Timestamp::from(target.snapshot.created_at()).nanos();
    let imposed = context.rights.imposed_filter(target.name, target.uid);
    // What is near to now is another second a little further away.
    let second = depends_on_time(query, target.snapshot).then(|| Timestamp::now().nanos() / 1_000_000_000);
    let rules = context.rules.as_ref().map(RulesInForce::state);
    let is_degraded = target.snapshot.is_degraded();
    let switches = (context.contains_filter, form.names_index, is_degraded, unexpired(target.snapshot), rules);
    let names = [target.name, target.uid];
    let part = context.assigned(target, query).map(|assigned| assigned.cache_key(target, context));
    write!(key, "\n{names:?} {created_at} {} {switches:?} {second:?} {imposed:?} {part:?}", target.snapshot.generation)
        .expect("texts take everything");
    (key.len() <= KEY_BYTES_MAX).then(|| key.into_boxed_str())
}

/// Returns whether the same search orders the same documents otherwise when it comes later.
pub(crate) fn depends_on_time(query: &SearchQuery, snapshot: &Snapshot) -> bool {
    match &query.boosts {
        Some(boosts) => boosts.iter().any(BoostRule::depends_on_time),
        None => snapshot.settings.boosts().any(BoostRule::depends_on_time),
    }
}

/// Returns the number of remaining documents of an index whose documents expire. Between two commits it only
/// decreases.
pub(crate) fn unexpired(snapshot: &Snapshot) -> Option<u64> {
    snapshot.settings.expiry_attribute.as_ref().map(|_| snapshot.readable_count())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::search::tests::{animals, snapshot};
    use lamina_engine::index::Snapshot;
    use serde_json::{Value, json};

    const FORM: Form = Form { names_index: false, with_metadata: false };

    /// Runs a search. Returns whether the cache had the response, and the ids of its hits.
    fn ask(context: &Context, snapshot: &Snapshot, body: Value, form: Form) -> (bool, Vec<Value>) {
        let query = SearchQuery::from_body(&body).unwrap();
        let target = Target { name: "animals", uid: "animals", snapshot };
        let was_kept = context.kept.get(target, &query, context, form).is_some();
        let answered = context.kept.answer(target, &query, context, form).unwrap();
        let answer: Value = serde_json::from_slice(&answered.written.body(context.received)).unwrap();
        (was_kept, answer["hits"].as_array().unwrap().iter().map(|hit| hit["id"].clone()).collect())
    }

    fn keeping(bytes: u64) -> Context {
        Context { kept: Arc::new(ResponseCache::new(bytes)), ..Context::now() }
    }

    #[test]
    fn an_answer_is_kept_for_the_same_request_and_state_only() {
        let (context, animals) = (keeping(1 << 20), animals());
        let fox = || json!({"q": "fox"});
        assert_eq!(ask(&context, &animals, fox(), FORM), (false, vec![json!(1), json!(2)]));
        assert_eq!(ask(&context, &animals, fox(), FORM), (true, vec![json!(1), json!(2)]));
        for other in
            [json!({"q": "fox", "limit": 1}), json!({"q": "fox "}), json!({"q": "fox", "filter": "weight > 5"})]
        {
            assert!(!ask(&context, &animals, other, FORM).0);
        }
        assert!(!ask(&context, &animals, fox(), Form { names_index: true, ..FORM }).0);
        let others = snapshot(json!({}), &[json!({"id": 9, "name": "fox"})]);
        assert_eq!(ask(&context, &others, fox(), FORM), (false, vec![json!(9)]));
        assert!(!ask(&keeping(0), &animals, fox(), FORM).0);
        assert!(!ask(&keeping(100), &animals, fox(), FORM).0);
        assert!(!ask(&keeping(100), &animals, fox(), FORM).0);
    }

    #[test]
    fn times_and_identifiers_are_those_of_the_request() {
        let (context, animals) = (keeping(1 << 20), animals());
        let query = SearchQuery::from_body(&json!({"q": "fox"})).unwrap();
        let target = Target { name: "animals", uid: "animals", snapshot: &animals };
        let uids: std::collections::HashSet<String> = (0..3)
            .map(|_| {
                let answered = context.kept.answer(target, &query, &context, FORM).unwrap();
                let answer: Value = serde_json::from_slice(&answered.written.body(context.received)).unwrap();
                assert!(answer["processingTimeMs"].is_u64());
                answer["requestUid"].as_str().unwrap().to_owned()
            })
            .collect();
        assert_eq!(uids.len(), 3);
    }

    #[test]
    fn what_depends_on_more_than_request_and_state_is_not_kept() {
        let (context, animals) = (keeping(1 << 20), animals());
        for body in [json!({"q": "fox", "explain": true}), json!({"q": "fox", "showPerformanceDetails": true})] {
            for _ in 0..2 {
                assert!(!ask(&context, &animals, body.clone(), FORM).0);
            }
        }
        for _ in 0..2 {
            assert!(!ask(&context, &animals, json!({"q": "fox"}), Form { with_metadata: true, ..FORM }).0);
        }
    }

    #[test]
    fn a_limit_that_cut_an_answer_is_reported_each_time() {
        let context = keeping(1 << 20);
        let many: Vec<Value> = (0..30).map(|id| json!({"id": id, "name": "fox"})).collect();
        let cut = snapshot(json!({"pagination": {"maxTotalHits": 5}}), &many);
        let query = SearchQuery::from_body(&json!({"q": "fox"})).unwrap();
        let target = Target { name: "animals", uid: "animals", snapshot: &cut };
        for was_kept in [false, true] {
            assert_eq!(context.kept.get(target, &query, &context, FORM).is_some(), was_kept);
            let answered = context.kept.answer(target, &query, &context, FORM).unwrap();
            assert_eq!(*answered.cuts, ["maxTotalHits"]);
        }
    }

    #[test]
    fn no_caller_gets_the_answer_of_one_who_may_see_more() {
        let (context, animals) = (keeping(1 << 20), animals());
        assert_eq!(ask(&context, &animals, json!({"q": "fox"}), FORM).1.len(), 2);
        let rights = crate::answer::tests::tenant_rights(json!({"animals": {"filter": "weight > 5"}}));
        let tenant = Context { rights, kept: Arc::clone(&context.kept), ..Context::now() };
        assert_eq!(ask(&tenant, &animals, json!({"q": "fox"}), FORM), (false, vec![json!(1)]));
        assert_eq!(ask(&tenant, &animals, json!({"q": "fox"}), FORM), (true, vec![json!(1)]));
        assert_eq!(ask(&context, &animals, json!({"q": "fox"}), FORM).1.len(), 2);
    }
}
