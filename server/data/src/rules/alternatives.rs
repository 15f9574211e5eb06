//! The filter of a search as alternatives: in each of them, what is asked of the values of a field.

use std::collections::BTreeMap;

use lamina_engine::filter::{Condition, Filter};

use super::fuel::Fuel;

/// A condition on values, or its opposite.
#[derive(Clone, Copy, Debug)]
pub(super) struct Test<'f> {
    pub(super) condition: &'f Condition,
    pub(super) is_negated: bool,
}

/// Tests that must hold together, by field.
pub(super) type Alternative<'f> = BTreeMap<&'f str, Vec<Test<'f>>>;

/// Conditions that must hold together, with their fields.
type Chain<'f> = Vec<(&'f str, Test<'f>)>;

/// The alternatives of a filter, as many as the fuel lasts for.
pub(super) fn alternatives<'f>(filter: &'f Filter, fuel: &Fuel) -> Vec<Alternative<'f>> {
    let chains = Expansion { fuel }.chains(filter, false, 0);
    let by_field = |chain: Chain<'f>| {
        let mut fields = Alternative::new();
        for (field, test) in chain {
            fields.entry(field).or_default().push(test);
        }
        fields
    };
    chains.into_iter().map(by_field).collect()
}

struct Expansion<'a> {
    fuel: &'a Fuel,
}

impl Expansion<'_> {
    fn chains<'f>(&self, filter: &'f Filter, is_negated: bool, depth: usize) -> Vec<Chain<'f>> {
        // One about which nothing is known.
        let unknown = || vec![Chain::new()];
        if depth > self.fuel.filter_depth {
            return unknown();
        }
        match (filter, is_negated) {
            (Filter::Not(inner), _) => self.chains(inner, !is_negated, depth + 1),
            (Filter::And(parts), false) | (Filter::Or(parts), true) => self.all(parts, is_negated, depth + 1),
            (Filter::Or(parts), false) | (Filter::And(parts), true) => {
                let chains = parts.iter().flat_map(|part| self.chains(part, is_negated, depth + 1));
                chains.take(self.fuel.filter_or).collect()
            }
            (Filter::Condition { field, condition }, _) if can_hold(condition, is_negated) => {
                vec![vec![(field.value.as_str(), Test { condition, is_negated })]]
            }
            _ => unknown(),
        }
    }

    /// One of each, in all combinations.
    fn all<'f>(&self, parts: &'f [Filter], is_negated: bool, depth: usize) -> Vec<Chain<'f>> {
        let mut joined = vec![Chain::new()];
        for part in parts {
            let chains = self.chains(part, is_negated, depth);
            let pairs = joined.iter().flat_map(|before| chains.iter().map(move |more| (before, more)));
            let both = |(before, more): (&Chain<'f>, &Chain<'f>)| -> Chain<'f> {
                before.iter().chain(more).take(self.fuel.filter_and).copied().collect()
            };
            joined = pairs.take(self.fuel.filter_or).map(both).collect();
        }
        joined
    }
}

/// Reports whether a condition can hold for a value that a rule names.
fn can_hold(condition: &Condition, is_negated: bool) -> bool {
    match condition {
        Condition::Contains(_) | Condition::StartsWith(_) => false,
        Condition::Null | Condition::Empty => is_negated,
        Condition::Exists => !is_negated,
        _ => true,
    }
}
