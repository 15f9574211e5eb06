//! All rules as searches see them: many that have not changed for a while, and a few that have.

use std::collections::BTreeSet;
use std::sync::Arc;

use lamina_engine::bits::DocSet;
use lamina_engine::filter::Filter;

use super::All;
use super::alternatives::alternatives;
use super::fuel::Fuel;
use super::matcher::{Acting, Matcher};

/// So many changed rules are kept apart, and one part in [`APART_DIVISOR`] of all where that is more: then all are joined anew.
const APART_MIN: usize = 128;
const APART_DIVISOR: usize = 256;

/// Facts about a search that rules depend on.
#[derive(Clone, Copy, Debug)]
pub struct SearchContext<'a> {
    /// Different words of the query, as many as count.
    pub words: &'a [String],
    /// True if the query is empty.
    pub is_empty: bool,
    /// The filter that is really used.
    pub filter: Option<&'a Filter>,
    /// Time of arrival, in nanoseconds since 1970.
    pub now: i64,
}

/// The rules at one moment. Cheap to share.
#[derive(Debug)]
pub struct RuleSet {
    /// Counts the changes.
    version: u64,
    base: Arc<Matcher>,
    /// Rules of the base that are other than they were, or gone.
    gone: DocSet,
    changed: Matcher,
}

impl RuleSet {
    /// Creates a set without rules.
    pub(super) fn empty() -> RuleSet {
        RuleSet {
            version: 0,
            base: Arc::new(Matcher::new(std::iter::empty())),
            gone: DocSet::empty(),
            changed: Matcher::new(std::iter::empty()),
        }
    }

    /// The rules `all`, of which `changed` are other than they were when the base of `self` was made. Empties `changed` where it
    /// makes a base anew.
    pub(super) fn next(&self, all: &All, changed: &mut BTreeSet<String>) -> RuleSet {
        let version = self.version + 1;
        if changed.len() > APART_MIN.max(all.by_place.len() / APART_DIVISOR) {
            changed.clear();
            let rules = all.by_place.iter().map(|(place, rule)| (*place, Arc::clone(rule)));
            return RuleSet { version, base: Arc::new(Matcher::new(rules)), ..RuleSet::empty() };
        }
        let mut gone: Vec<u32> = changed.iter().filter_map(|uid| self.base.number(uid)).collect();
        gone.sort_unstable();
        let apart = changed.iter().filter_map(|uid| {
            let place = all.places.get(uid)?;
            Some((*place, Arc::clone(all.by_place.get(place)?)))
        });
        RuleSet { version, base: Arc::clone(&self.base), gone: DocSet::from_sorted(gone), changed: Matcher::new(apart) }
    }

    pub(super) fn version(&self) -> u64 {
        self.version
    }

    /// Two searches that say the same of themselves are met by the same rules while this is the same.
    pub fn state(&self, now: i64) -> (u64, usize) {
        (self.version, self.base.happened(now) + self.changed.happened(now))
    }

    /// The rules that act in a search, the first ones first.
    pub fn acting(&self, asked: &SearchContext<'_>, fuel: &Fuel) -> Acting<'_> {
        let filter = asked.filter.map(|filter| alternatives(filter, fuel)).unwrap_or_default();
        let of_base = self.base.acting(asked, &filter, fuel, &self.gone);
        let of_changed = self.changed.acting(asked, &filter, fuel, &DocSet::empty());
        Acting { lists: [(&self.base, of_base), (&self.changed, of_changed)], most: fuel.active_rules }
    }
}
