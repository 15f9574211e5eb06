//! Documents that rules pin to places among the hits of a search.

use std::collections::HashSet;
use std::sync::Arc;

use lamina_base::error::ApiResult;
use lamina_data::rules::{Fuel, Rule, RuleSet, SearchContext};
use lamina_engine::bits::DocSet;
use lamina_engine::index::DocumentAddress;
use lamina_engine::rank::ScoreDetail;
use lamina_engine::search::{
    Admitted, DocumentExplanation, Hit, QueryWords, SearchRequest, SearchResult, Standing, query_words,
};
use lamina_protocol::wire::search::{SearchKind, SearchQuery};
use serde_json::{Value, json};

use super::pinned_positions::PinnedPositions;
use super::{Context, Reach, Target, refusal};

/// Words and phrases of a query that are looked at.
const TERMS_MAX: usize = 10;

/// The rules of a server, for the searches of one request.
#[derive(Clone, Debug)]
pub(crate) struct RulesInForce {
    /// At the arrival of the request.
    pub set: Arc<RuleSet>,
    /// Bounds on the work.
    pub fuel: Fuel,
    /// Arrival time of the request, in nanoseconds since 1970.
    pub now: i64,
}

impl RulesInForce {
    /// While it is the same, the same rules act in the same search.
    pub(crate) fn state(&self) -> (u64, usize) {
        self.set.state(self.now)
    }
}

/// A document that is pinned.
#[derive(Clone, Debug)]
pub(super) struct Pinned {
    pub(super) address: DocumentAddress,
    pub(super) position: u32,
    id: String,
    rule: Arc<str>,
}

impl Pinned {
    pub(super) fn hit(&self) -> Hit {
        let details = vec![ScoreDetail::Pin { position: self.position, by: Arc::clone(&self.rule) }];
        Hit { address: self.address, score: 1.0, details }
    }

    /// Returns the pinned hit as an explanation shows it.
    pub(super) fn shown(&self) -> Value {
        json!({ "rule": *self.rule, "documentId": self.id, "position": self.position })
    }
}

/// The documents that rules pin in a search, by their places. Those that it may not show are left out.
///
/// # Errors
/// What the search itself would be refused for.
pub(super) fn pinned(
    target: Target<'_>,
    query: &SearchQuery,
    request: &SearchRequest,
    context: &Context,
) -> ApiResult<Vec<Pinned>> {
    let Some(rules) = &context.rules else { return Ok(Vec::new()) };
    let refuse = |error| refusal::search(target.name, &error);
    let QueryWords { mut words, is_empty } = match query.kind()? {
        // Its text is not cut into words.
        SearchKind::Semantic(_) => QueryWords { words: Vec::new(), is_empty: true },
        SearchKind::Keyword | SearchKind::Hybrid(_) => {
            query_words(target.snapshot, request, TERMS_MAX).map_err(refuse)?
        }
    };
    words.sort_unstable();
    words.dedup();
    words.truncate(rules.fuel.counted_words);
    let asked = SearchContext { words: &words, is_empty, filter: request.filter.as_ref(), now: rules.now };
    let acting = rules.set.acting(&asked, &rules.fuel);
    if acting.is_empty() {
        return Ok(Vec::new());
    }
    let mut admitted = Admitted::new(target.snapshot, request).map_err(refuse)?;
    // A pin names the index, whichever name the search uses.
    let names = [target.name, target.uid];
    let mut pinned = kept(names, acting.iter(), rules.fuel.pin_actions, |id| admitted.find(id));
    pinned.sort_by_key(|pin| pin.position);
    Ok(pinned)
}

/// The pins of an index, by its names, whose documents `find` finds, each document once, `most` at most.
fn kept<'a>(
    names: [&str; 2],
    acting: impl Iterator<Item = &'a Arc<Rule>>,
    most: usize,
    mut find: impl FnMut(&str) -> Option<DocumentAddress>,
) -> Vec<Pinned> {
    let (mut kept, mut seen) = (Vec::new(), HashSet::new());
    for rule in acting {
        for action in &rule.actions {
            if kept.len() >= most {
                return kept;
            }
            if action.selector.index_uid.as_deref().is_some_and(|index| !names.contains(&index)) {
                continue;
            }
            let Some(address) = find(&action.selector.id) else { continue };
            if seen.insert(address) {
                let (position, id) = (action.action.position(), action.selector.id.clone());
                kept.push(Pinned { address, position, id, rule: rule.uid.as_str().into() });
            }
        }
    }
    kept
}

/// The window of the list without pins that `places` leave of `window`, and what is added to a search for it.
pub(super) fn beside(
    request: SearchRequest,
    window: Reach,
    places: &PinnedPositions,
    pinned: &[Pinned],
) -> SearchRequest {
    let (from, to) = places.ranked_between(window.offset, window.offset.saturating_add(window.limit));
    let except = pinned.iter().map(|pin| pin.address).collect();
    SearchRequest { offset: from, limit: to - from, except, ..request }
}

/// Counts pinned documents to what was found.
pub(super) fn count(result: &mut SearchResult, pinned: &[Pinned]) {
    add(&mut result.candidates, pinned.iter().map(|pin| pin.address));
    result.total += pinned.len() as u64;
}

/// Adds documents to a set for each segment.
pub(super) fn add(candidates: &mut [DocSet], addresses: impl Iterator<Item = DocumentAddress>) {
    for address in addresses {
        if let Some(docs) = candidates.get_mut(address.segment as usize) {
            docs.or_assign(&DocSet::from_sorted(vec![address.doc]));
        }
    }
}

/// Puts pinned documents to their places among the hits of `request`.
pub(super) fn place(
    result: &mut SearchResult,
    request: &SearchRequest,
    window: Reach,
    places: &PinnedPositions,
    pinned: &[Pinned],
) {
    let ranked = std::mem::take(&mut result.hits);
    let is_all = ranked.len() < request.limit;
    // Without a hit beyond those that are skipped, their number is what was found.
    let count = match ranked.len() {
        0 if request.offset > 0 => usize::try_from(result.total).unwrap_or(usize::MAX).min(request.offset),
        found => request.offset + found,
    };
    let places = if is_all { places.among(count) } else { places.clone() };
    let to = window.offset.saturating_add(window.limit);
    result.hits = places.joined(window.offset..to, ranked, |pin| pinned[pin].hit());
    let document = result.explanation.as_mut().and_then(|explanation| explanation.document.as_mut());
    if let Some(document) = document {
        explain(document, pinned, |pin| places.of_pin(pin), |rank| places.of_ranked(rank));
    }
}

/// Corrects the position of the explained document: it may be pinned, or moved by pinned hits.
pub(super) fn explain(
    document: &mut DocumentExplanation,
    pinned: &[Pinned],
    of_pin: impl Fn(usize) -> usize,
    of_ranked: impl Fn(usize) -> usize,
) {
    if let Some((number, pin)) = pinned.iter().enumerate().find(|(_, pin)| pin.id == document.id) {
        let Hit { score, details, .. } = pin.hit();
        document.standing = Standing::Hit { place: of_pin(number) as u64 };
        (document.score, document.details, document.nearness) = (Some(score), details, None);
    } else if let Standing::Hit { place } = &mut document.standing {
        *place = of_ranked(usize::try_from(*place).unwrap_or(usize::MAX)) as u64;
    }
}
