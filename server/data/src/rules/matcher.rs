//! Which of some rules act in a search. Nothing here goes through the rules: words, values and times lead to bitmaps, and these are
//! joined.

use std::collections::HashMap;
use std::sync::Arc;

use lamina_engine::bits::{BitsetBuilder, DocSet};

use super::alternatives::Alternative;
use super::fuel::Fuel;
use super::sets::set_of;
use super::timetable::Timetable;
use super::values::Values;
use super::words::RuleWords;
use super::{Rule, SearchContext};

/// The place of a rule among all: those with the lowest precedence first, then those without, each in the order in which they
/// were made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank {
    is_without: bool,
    precedence: u64,
    place: i64,
}

impl Rank {
    fn of(place: i64, rule: &Rule) -> Rank {
        Rank { is_without: rule.precedence.is_none(), precedence: rule.precedence.unwrap_or(0), place }
    }
}

/// Rules that do not change.
#[derive(Debug)]
pub(super) struct Matcher {
    /// Rules that may act, by rank; their numbers are their places here.
    rules: Vec<(Rank, Arc<Rule>)>,
    numbers: HashMap<String, u32>,
    words: RuleWords,
    values: Values,
    times: Timetable,
    needs_words: DocSet,
    needs_no_words: DocSet,
}

impl Matcher {
    /// Cost: some microseconds a rule.
    pub(super) fn new(rules: impl Iterator<Item = (i64, Arc<Rule>)>) -> Matcher {
        let active = rules.filter(|(_, rule)| rule.active);
        let mut rules: Vec<(Rank, Arc<Rule>)> = active.map(|(place, rule)| (Rank::of(place, &rule), rule)).collect();
        rules.sort_by_key(|(rank, _)| *rank);
        let conditions = || rules.iter().map(|(_, rule)| &rule.conditions);
        let of_query = || conditions().map(|conditions| conditions.query.as_ref());
        let needing = |wanted: bool| -> DocSet {
            let asked =
                (0..).zip(of_query()).filter(|(_, query)| query.and_then(|query| query.is_empty) == Some(wanted));
            set_of(asked.map(|(number, _)| number).collect(), rules.len() as u32)
        };
        Matcher {
            numbers: (0..).zip(&rules).map(|(number, (_, rule))| (rule.uid.clone(), number)).collect(),
            words: RuleWords::new(of_query().map(|query| query.and_then(|query| query.words.as_deref()))),
            values: Values::new(conditions().map(|conditions| conditions.filter.as_ref().map(|filter| &filter.values))),
            times: Timetable::new(conditions().map(|conditions| conditions.time.as_ref())),
            needs_words: needing(false),
            needs_no_words: needing(true),
            rules,
        }
    }

    /// The number of a rule, if it may act.
    pub(super) fn number(&self, uid: &str) -> Option<u32> {
        self.numbers.get(uid).copied()
    }

    /// Returns the number of time changes that have happened.
    pub(super) fn happened(&self, at: i64) -> usize {
        self.times.happened(at)
    }

    /// The rules that act, but those of `gone`.
    pub(super) fn acting(
        &self,
        asked: &SearchContext<'_>,
        filter: &[Alternative<'_>],
        fuel: &Fuel,
        gone: &DocSet,
    ) -> DocSet {
        if self.rules.is_empty() {
            return DocSet::empty();
        }
        let count = u32::try_from(self.rules.len()).expect("far fewer rules than a set holds");
        let mut met = BitsetBuilder::new(count);
        self.words.met(asked.words, fuel.words, &mut met);
        let mut met = met.finish();
        met.and_not_assign(if asked.is_empty { &self.needs_words } else { &self.needs_no_words });
        met.and_not_assign(gone);
        if !met.is_empty() {
            met.and_assign(&self.times.at(asked.now));
        }
        if !met.is_empty() {
            met.and_assign(&self.values.met(filter, fuel.filter));
        }
        met
    }

    /// A rule by its number.
    pub(super) fn rule(&self, number: u32) -> &(Rank, Arc<Rule>) {
        &self.rules[number as usize]
    }
}

/// The rules that act in a search. No rule is looked at before it is asked for.
#[derive(Debug)]
pub struct Acting<'a> {
    pub(super) lists: [(&'a Matcher, DocSet); 2],
    /// So many at most.
    pub(super) most: usize,
}

impl<'a> Acting<'a> {
    /// Reports whether no rule acts.
    pub fn is_empty(&self) -> bool {
        self.most == 0 || self.lists.iter().all(|(_, numbers)| numbers.is_empty())
    }

    /// By rank.
    pub fn iter(&self) -> impl Iterator<Item = &'a Arc<Rule>> {
        let [one, other] = self.lists.each_ref().map(|(matcher, numbers)| {
            let matcher = *matcher;
            numbers.iter().map(move |number| matcher.rule(number))
        });
        let (mut one, mut other) = (one.peekable(), other.peekable());
        let next = move || {
            let takes_other = match (one.peek(), other.peek()) {
                (Some((first, _)), Some((second, _))) => second < first,
                (first, _) => first.is_none(),
            };
            if takes_other { other.next() } else { one.next() }
        };
        std::iter::from_fn(next).take(self.most).map(|(_, rule)| rule)
    }
}
