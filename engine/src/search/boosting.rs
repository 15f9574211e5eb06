//! Which boosts a search has, and lists of hits that boosts put into another order.

use std::borrow::Cow;

use lamina_index::index::Snapshot;
use lamina_index::index::settings::{BoostRule, RankingRule};

use super::filtering::time_limit;
use super::{Hit, SearchRequest};
use crate::boost::{Boosts, SegmentBoosts};
use crate::rank::{ScoreDetail, boosted};

/// The ranking rules of a search: boosts of the request stand in place of those of the settings.
pub(super) fn rules<'a>(snapshot: &'a Snapshot, request: &SearchRequest) -> Cow<'a, [RankingRule]> {
    let rules = &snapshot.settings.ranking_rules;
    let Some(boosts) = &request.boosts else { return Cow::Borrowed(rules) };
    let first = rules.iter().position(|rule| rule.boost().is_some()).unwrap_or(rules.len());
    let mut replaced: Vec<RankingRule> = rules[..first].to_vec();
    replaced.extend(boosts.iter().cloned().map(RankingRule::Boost));
    replaced.extend(rules[first..].iter().filter(|rule| rule.boost().is_none()).cloned());
    Cow::Owned(replaced)
}

/// The rules without boosts.
pub(super) fn without_boosts(rules: &[RankingRule]) -> Vec<RankingRule> {
    rules.iter().filter(|rule| rule.boost().is_none()).cloned().collect()
}

/// Boosts of the hits of a list.
pub(super) struct HitBoosts<'a> {
    rules: Vec<&'a BoostRule>,
    /// Boosts of each segment; empty if a filter took too long.
    segments: Vec<SegmentBoosts<'a>>,
    /// True if filters took too long. Nothing is boosted then.
    pub(super) is_late: bool,
}

impl<'a> HitBoosts<'a> {
    /// `rules` and `boosts` are of the same search.
    pub(super) fn new(
        rules: &'a [RankingRule],
        boosts: &'a Boosts,
        snapshot: &'a Snapshot,
        request: &SearchRequest,
    ) -> HitBoosts<'a> {
        let limit = time_limit(request);
        let segments: Result<Vec<_>, _> = snapshot.segments.iter().map(|view| boosts.of_segment(view, limit)).collect();
        let is_late = segments.is_err();
        HitBoosts {
            rules: rules.iter().filter_map(RankingRule::boost).collect(),
            segments: segments.unwrap_or_default(),
            is_late,
        }
    }

    /// Multiplies the score of a hit, and adds to its details what did.
    pub(super) fn apply(&self, hit: &mut Hit) {
        let Some(segment) = self.segments.get(hit.address.segment as usize) else { return };
        let product = segment.product(hit.address.doc);
        hit.score = boosted(hit.score, Some(product));
        for detail in &mut hit.details {
            if let ScoreDetail::Fusion { score, .. } = detail {
                *score = hit.score;
            }
        }
        hit.details.extend(self.rules.iter().zip(segment.factors(hit.address.doc)).map(|(rule, factor)| {
            ScoreDetail::Boost {
                name: rule.name(),
                field: rule.field().map(str::to_owned),
                factor,
                is_multiplied: true,
            }
        }));
    }
}
