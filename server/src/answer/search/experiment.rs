//! Searches that take part in experiments.
//!
//! The ranking that a user sees follows from the user alone, and the order of an interleaved list from the user and the query: pages
//! of a list go on with it, and a repeated search shows it again.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_data::experiments::Experiment;
use lamina_engine::document::document_id;
use lamina_engine::index::{DocumentAddress, Snapshot};
use lamina_engine::search::{Admitted, Hit, SearchRequest};
use lamina_protocol::wire::experiments::{Method, Variant};
use lamina_protocol::wire::search::SearchQuery;
use serde_json::{Value, json};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::by_kind::{Searched, check_embedder, search_by_kind};
use super::{Context, Target, engine_request, hits_bytes, refusal, rerank};

/// Ranking that a user of an experiment sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    /// The index. They are not in the share that takes part.
    Outside,
    /// The index.
    Control,
    /// The ranking that the index is compared with.
    Variant,
    /// Hits of both.
    Interleaved,
}

impl Group {
    const ALL: [(&str, Group); 4] = [
        ("outside", Group::Outside),
        ("control", Group::Control),
        ("variant", Group::Variant),
        ("interleaved", Group::Interleaved),
    ];

    /// The names of all groups.
    pub(crate) const NAMES: [&str; 4] = [Group::ALL[0].0, Group::ALL[1].0, Group::ALL[2].0, Group::ALL[3].0];

    /// The group of this name.
    pub(crate) fn named(name: &str) -> Option<Group> {
        Group::ALL.iter().find(|(known, _)| *known == name).map(|(_, group)| *group)
    }

    pub(crate) fn name(self) -> &'static str {
        Group::NAMES[self as usize]
    }

    fn of(experiment: &Experiment, key: &str, user: &str) -> Group {
        let hash = xxh3_64(format!("{key}\n{user}").as_bytes());
        // The upper half says who takes part, the lowest bit what they see.
        let place = (hash >> 32) as f64 / f64::from(u32::MAX);
        match experiment.definition.method {
            _ if place > experiment.definition.share => Group::Outside,
            Method::Interleave => Group::Interleaved,
            Method::Split if hash & 1 == 0 => Group::Control,
            Method::Split => Group::Variant,
        }
    }
}

/// A search in an experiment.
#[derive(Clone, Debug)]
pub(crate) struct Assigned {
    pub id: String,
    /// [`Experiment::key`]
    pub key: String,
    pub group: Group,
    experiment: Arc<Experiment>,
    /// Seed of the coins of an interleaved list.
    seed: u64,
}

/// Ranking that a hit of an interleaved list counts for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Team {
    /// Both had it next, or only one had any left.
    Neither,
    Control,
    Variant,
}

impl Team {
    /// A letter for records.
    pub(super) fn letter(self) -> char {
        match self {
            Team::Neither => '-',
            Team::Control => 'c',
            Team::Variant => 'v',
        }
    }

    pub(crate) fn of_letter(letter: char) -> Team {
        [Team::Control, Team::Variant].into_iter().find(|team| team.letter() == letter).unwrap_or(Team::Neither)
    }
}

/// Team of each hit that has one.
pub(super) type Teams = HashMap<DocumentAddress, Team>;

/// Effect of an experiment on a search.
#[derive(Debug, Default)]
pub(super) struct Mixed {
    pub(super) teams: Teams,
    /// True if the variant had no answer.
    pub(super) fell_back: bool,
}

impl Assigned {
    /// The field of the answer.
    pub(super) fn shown(&self) -> Value {
        json!({ "id": self.id, "variant": self.group.name() })
    }

    /// All that the answer depends on beside the index and the query.
    pub(super) fn cache_key(&self, target: Target<'_>, context: &Context) -> String {
        let seed = (self.group == Group::Interleaved).then_some(self.seed);
        let instance = context.recorder.as_ref().map(|recorder| &recorder.instance);
        let variant = instance.and_then(|instance| self.experiment.variant_of(target.snapshot, instance));
        let state = variant.map(|variant| variant.generation);
        format!("{} {} {seed:?} {state:?}", self.key, self.group.name())
    }

    /// The query as the variant gets it, and the other index that it searches, if it does: texts are embedded for it.
    pub(crate) fn of_variant(
        &self,
        target: Target<'_>,
        query: &SearchQuery,
        context: &Context,
    ) -> ApiResult<(SearchQuery, Option<Arc<Snapshot>>)> {
        match &self.experiment.definition.variant {
            Variant::Parameters { parameters } => Ok((query.changed(parameters)?, None)),
            Variant::Index { index_uid } => {
                let instance = context.recorder.as_ref().map(|recorder| &recorder.instance);
                let variant = instance.and_then(|instance| self.experiment.variant_of(target.snapshot, instance));
                let lags = || ApiError::new(Code::ExperimentConflict, format!("`{index_uid}` lags behind."));
                Ok((query.clone(), Some(variant.ok_or_else(lags)?)))
            }
        }
    }
}

impl Context {
    /// Returns false if no search of this request has a part in an experiment. Costs nothing.
    pub(crate) fn may_be_assigned(&self) -> bool {
        self.recorder.as_ref().is_some_and(|recorder| recorder.experiments.is_some() && recorder.user.is_some())
    }

    /// The part that a search has in an experiment. Only searches that are recorded and whose order is a matter of relevance have one.
    pub(crate) fn assigned(&self, target: Target<'_>, query: &SearchQuery) -> Option<Assigned> {
        let recorder = self.recorder.as_ref()?;
        let (experiments, user) = (recorder.experiments.as_ref()?, recorder.user.as_ref()?);
        let is_of_index = |(_, experiment): &(_, &Arc<Experiment>)| experiment.runs_in(target.uid, target.snapshot);
        let (id, experiment) = experiments.iter().find(is_of_index)?;
        let is_special = query.sort.as_ref().is_some_and(|sort| !sort.is_empty())
            || query.rerank.is_some()
            || query.explain.is_some()
            || query.at.is_some()
            || query.point_in_time.is_some()
            || query.use_network;
        let is_distinct = query.distinct.is_some() || target.snapshot.settings.distinct_attribute.is_some();
        let shows_none = query.window().bounds(usize::MAX).1 == 0;
        // Two lists of distinct hits are no such list.
        let is_not_to_mix = is_distinct && experiment.definition.method == Method::Interleave;
        if is_special || shows_none || is_not_to_mix || !self.records(target) {
            return None;
        }
        let key = experiment.key(id);
        let group = Group::of(experiment, &key, user);
        let seed = xxh3_64(json!([key, user, query.q, query.filter]).to_string().as_bytes());
        Some(Assigned { id: id.clone(), key, group, experiment: Arc::clone(experiment), seed })
    }
}

/// Searches as the experiment has it. Where the variant has no answer, the index gives its own.
///
/// # Errors
/// The errors of [`rerank::search`].
pub(super) fn search(
    target: Target<'_>,
    query: &SearchQuery,
    context: &Context,
    request: &SearchRequest,
    assigned: Option<&Assigned>,
) -> ApiResult<(Searched, Mixed)> {
    let sees_variant = |assigned: &&Assigned| matches!(assigned.group, Group::Variant | Group::Interleaved);
    let Some(assigned) = assigned.filter(sees_variant) else {
        return Ok((rerank::search(target, query, context, request)?, Mixed::default()));
    };
    let whole = SearchRequest { offset: 0, limit: request.offset.saturating_add(request.limit), ..request.clone() };
    let _held = context.budget.hold(hits_bytes(target.snapshot, &whole))?;
    let Ok(of_variant) = search_variant(target, query, context, &whole, assigned) else {
        let own = rerank::search(target, query, context, request)?;
        return Ok((own, Mixed { fell_back: true, ..Mixed::default() }));
    };
    let is_other_index = matches!(assigned.experiment.definition.variant, Variant::Index { .. });
    let (mut searched, teams) = if assigned.group == Group::Interleaved {
        let own = rerank::search(target, query, context, &whole)?;
        interleaved(own, of_variant, is_other_index, whole.limit, assigned.seed)
    } else if is_other_index {
        // The other index only ranks.
        let mut own = rerank::search(target, query, context, &SearchRequest { limit: 0, ..whole })?;
        (own.result.hits, own.semantic_hit_count) = (of_variant.result.hits, of_variant.semantic_hit_count);
        (own, Teams::new())
    } else {
        (of_variant, Teams::new())
    };
    searched.result.hits.drain(..request.offset.min(searched.result.hits.len()));
    searched.semantic_hit_count = searched.semantic_hit_count.map(|count| count.min(searched.result.hits.len()));
    Ok((searched, Mixed { teams, fell_back: false }))
}

/// The hits of the variant, as documents of the index. Those that it may not show are left out.
fn search_variant(
    target: Target<'_>,
    query: &SearchQuery,
    context: &Context,
    whole: &SearchRequest,
    assigned: &Assigned,
) -> ApiResult<Searched> {
    let (query, other) = assigned.of_variant(target, query, context)?;
    let searched_in = Target { snapshot: other.as_deref().unwrap_or(target.snapshot), ..target };
    check_embedder(searched_in, &query)?;
    let request = engine_request(searched_in, &query, context)?;
    let request = SearchRequest { offset: 0, limit: whole.limit, scores: whole.scores, ..request };
    let Some(other) = &other else {
        return search_by_kind(target, &query, context, &SearchRequest { except: whole.except.clone(), ..request });
    };
    let limit = request.limit.saturating_add(whole.except.len());
    let mut searched = search_by_kind(searched_in, &query, context, &SearchRequest { limit, ..request })?;
    let mut admitted = Admitted::new(target.snapshot, whole).map_err(|error| refusal::search(target.name, &error))?;
    let except: HashSet<DocumentAddress> = whole.except.iter().copied().collect();
    let key = other.primary_key.as_deref().unwrap_or_default();
    let of_index = |hit: Hit| {
        let document = other.document(hit.address).ok()?;
        let address = admitted.find(document_id(&document, key).ok()?.as_str())?;
        (!except.contains(&address)).then_some(Hit { address, ..hit })
    };
    searched.result.hits = std::mem::take(&mut searched.result.hits).into_iter().filter_map(of_index).collect();
    searched.result.hits.truncate(whole.limit);
    Ok(searched)
}

/// Both lists as one, whose totals and facets are those of all documents that one of them has, as far as that is known.
fn interleaved(
    mut own: Searched,
    of_variant: Searched,
    is_other_index: bool,
    limit: usize,
    seed: u64,
) -> (Searched, Teams) {
    let hits = std::mem::take(&mut own.result.hits);
    let drafted = draft(hits, of_variant.result.hits, |hit| hit.address, limit, seed);
    let teams = drafted.iter().map(|(hit, team)| (hit.address, *team)).collect();
    let result = &mut own.result;
    result.hits = drafted.into_iter().map(|(hit, _)| hit).collect();
    result.total = result.total.max(of_variant.result.total);
    if !is_other_index {
        for (docs, others) in result.candidates.iter_mut().zip(&of_variant.result.candidates) {
            docs.or_assign(others);
        }
        result.total = result.total.max(result.candidates.iter().map(|docs| u64::from(docs.len())).sum());
    }
    result.degraded |= of_variant.result.degraded;
    own.limits.extend(of_variant.limits);
    (own, teams)
}

/// Interleaves two lists by team draft (Radlinski, Kurup and Joachims, 2008, "How does clickthrough data reflect retrieval
/// quality?"): in each round, a coin says which team picks its best hit first that is not in the list yet; the other one follows.
///
/// At the beginning of a round, a hit that both teams would pick belongs to neither: a click on it says nothing of them, and
/// would only be noise. Neither do the hits of the longer list after the end of the other one: they have no rivals. The list has
/// the same beginning whatever its length.
pub(crate) fn draft<T, K: std::hash::Hash + Eq>(
    control: Vec<T>,
    variant: Vec<T>,
    key: impl Fn(&T) -> K,
    limit: usize,
    seed: u64,
) -> Vec<(T, Team)> {
    let mut taken = HashSet::new();
    let mut drafted = Vec::with_capacity(limit.min(control.len() + variant.len()));
    let (mut control, mut variant) = (control.into_iter().peekable(), variant.into_iter().peekable());
    let mut round = 0_u64;
    let mut follows = None;
    while drafted.len() < limit {
        while control.next_if(|hit| taken.contains(&key(hit))).is_some() {}
        while variant.next_if(|hit| taken.contains(&key(hit))).is_some() {}
        let are_rivals = matches!((control.peek(), variant.peek()), (Some(one), Some(other)) if key(one) != key(other));
        let team = match follows.take() {
            Some(team) => team,
            None if !are_rivals => Team::Neither,
            None => {
                round += 1;
                let coin = xxh3_64_with_seed(&round.to_le_bytes(), seed) & 1 == 0;
                let [first, second] =
                    if coin { [Team::Control, Team::Variant] } else { [Team::Variant, Team::Control] };
                follows = Some(second);
                first
            }
        };
        let picked = match team {
            Team::Variant => variant.next(),
            Team::Control => control.next(),
            Team::Neither => control.next().or_else(|| variant.next()),
        };
        let Some(hit) = picked else { break };
        taken.insert(key(&hit));
        drafted.push((hit, team));
    }
    drafted
}
