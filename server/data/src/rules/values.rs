//! The values that rules ask the filters of searches for, by field.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;

use lamina_engine::bits::{BitsetBuilder, DocSet};
use lamina_engine::filter::{Comparison, Condition};
use lamina_engine::text::{facet_number, normalize_facet};
use serde_json::{Map, Value};

use super::alternatives::{Alternative, Test};
use super::numbers::Numbers;
use super::sets::set_of;

/// The values of all rules.
#[derive(Debug, Default)]
pub(super) struct Values {
    rule_count: u32,
    fields: HashMap<String, FieldValues>,
    /// The rules that name so many values.
    by_count: BTreeMap<usize, DocSet>,
}

/// The rules that name values of a field.
#[derive(Debug, Default)]
struct FieldValues {
    all: DocSet,
    texts: BTreeMap<String, DocSet>,
    numbers: Numbers,
}

/// Values while they are gathered.
#[derive(Default)]
struct Gathered {
    all: Vec<u32>,
    texts: BTreeMap<String, Vec<u32>>,
    numbers: Vec<(f64, u32)>,
}

impl Values {
    /// The values of rules in the order of their numbers.
    pub(super) fn new<'a>(rules: impl Iterator<Item = Option<&'a Map<String, Value>>>) -> Values {
        let mut fields: HashMap<String, Gathered> = HashMap::new();
        let mut by_count: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
        let mut rule_count = 0;
        for (rule, values) in (0..).zip(rules) {
            let mut count = 0;
            for (name, value) in values.into_iter().flatten() {
                each_leaf(name, value, &mut |field, leaf| {
                    count += 1;
                    gather(fields.entry(field.to_owned()).or_default(), rule, leaf);
                });
            }
            by_count.entry(count).or_default().push(rule);
            rule_count = rule + 1;
        }
        let set = |rules: Vec<u32>| set_of(rules, rule_count);
        let fields = fields.into_iter().map(|(name, mut gathered)| {
            gathered.all.dedup();
            let texts = gathered.texts.into_iter().map(|(text, mut rules)| {
                rules.dedup();
                (text, set(rules))
            });
            let numbers = Numbers::new(gathered.numbers, rule_count);
            let values = FieldValues { all: set(gathered.all), texts: texts.collect(), numbers };
            (name, values)
        });
        let fields = fields.collect();
        let by_count = by_count.into_iter().map(|(count, rules)| (count, set(rules))).collect();
        Values { rule_count, fields, by_count }
    }

    /// The rules whose values are met by one of the alternatives, which are those of the filter of a search. `fuel`: the sets
    /// that are joined at most.
    pub(super) fn met(&self, alternatives: &[Alternative<'_>], mut fuel: usize) -> DocSet {
        let mut met = self.by_count.get(&0).cloned().unwrap_or_default();
        let Some((&most, _)) = self.by_count.last_key_value().filter(|(most, _)| **most > 0) else { return met };
        for alternative in alternatives {
            // By number of fields of which a value is met: the rules with at least so many.
            let mut with: Vec<DocSet> = Vec::new();
            for (field, tests) in alternative {
                let Some(values) = self.fields.get(*field) else { continue };
                let held = values.held(tests, self.rule_count);
                if held.is_empty() {
                    continue;
                }
                let levels = with.len();
                if fuel <= levels {
                    return met;
                }
                fuel -= levels + 1;
                if levels < most {
                    let deepest = with.last().map_or_else(|| held.clone(), |last| last.and(&held));
                    with.push(deepest);
                }
                for level in (1..levels).rev() {
                    let joined = with[level - 1].and(&held);
                    with[level].or_assign(&joined);
                }
                if levels > 0 {
                    with[0].or_assign(&held);
                }
            }
            for (count, rules) in (1..).zip(&with) {
                if let Some(asking) = self.by_count.get(&count) {
                    met.or_assign(&rules.and(asking));
                }
            }
        }
        met
    }
}

/// Calls `take` with each text, number and switch below a field, and the dotted path that leads there.
fn each_leaf(path: &str, value: &Value, take: &mut impl FnMut(&str, &Value)) {
    match value {
        Value::Null => {}
        Value::Array(elements) => elements.iter().for_each(|element| each_leaf(path, element, take)),
        Value::Object(fields) => {
            fields.iter().for_each(|(name, value)| each_leaf(&format!("{path}.{name}"), value, take));
        }
        leaf => take(path, leaf),
    }
}

fn gather(field: &mut Gathered, rule: u32, leaf: &Value) {
    field.all.push(rule);
    let number = match leaf {
        Value::Number(number) => number.as_f64().map(|number| number + 0.0),
        other => {
            let text = other.as_str().map_or_else(|| other.to_string(), |text| normalize_facet(text).into_owned());
            let number = facet_number(&text);
            field.texts.entry(text).or_default().push(rule);
            number
        }
    };
    field.numbers.extend(number.map(|number| (number, rule)));
}

impl FieldValues {
    /// The rules with a value that passes all tests.
    fn held(&self, tests: &[Test<'_>], rule_count: u32) -> DocSet {
        let mut held: Option<DocSet> = None;
        for test in tests {
            let passing = self.passing(*test, rule_count);
            match &mut held {
                None => held = Some(passing),
                Some(held) => held.and_assign(&passing),
            }
        }
        held.unwrap_or_default()
    }

    fn passing(&self, test: Test<'_>, rule_count: u32) -> DocSet {
        let passing = match test.condition {
            Condition::Equal(value) | Condition::NotEqual(value) => {
                self.one_of(std::slice::from_ref(value), rule_count)
            }
            Condition::In(values) => self.one_of(values, rule_count),
            Condition::Compare(comparison, value) => {
                let (from, to) = match comparison {
                    Comparison::Greater => (Bound::Excluded(value), Bound::Unbounded),
                    Comparison::GreaterOrEqual => (Bound::Included(value), Bound::Unbounded),
                    Comparison::Less => (Bound::Unbounded, Bound::Excluded(value)),
                    Comparison::LessOrEqual => (Bound::Unbounded, Bound::Included(value)),
                };
                self.between(from, to, rule_count)
            }
            Condition::Between { from, to } => self.between(Bound::Included(from), Bound::Included(to), rule_count),
            Condition::Exists | Condition::Null => return self.all.clone(),
            // Whose value is the empty text.
            Condition::Empty => self.texts.get("").cloned().unwrap_or_default(),
            Condition::Contains(_) | Condition::StartsWith(_) => return DocSet::empty(),
        };
        let is_opposite = matches!(test.condition, Condition::NotEqual(_)) != test.is_negated;
        if is_opposite { self.all.and_not(&passing) } else { passing }
    }

    fn one_of(&self, values: &[String], rule_count: u32) -> DocSet {
        let mut found = DocSet::empty();
        for value in values {
            let text = normalize_facet(value);
            if let Some(rules) = self.texts.get(&*text) {
                found.or_assign(rules);
            }
            if let Some(number) = facet_number(&text) {
                let mut equal = BitsetBuilder::new(rule_count);
                let places = self.numbers.place(|known| known < number)..self.numbers.place(|known| known <= number);
                self.numbers.add(places, &mut equal);
                found.or_assign(&equal.finish());
            }
        }
        found
    }

    /// Numbers between numbers, texts between texts.
    fn between(&self, from: Bound<&String>, to: Bound<&String>, rule_count: u32) -> DocSet {
        let (from, to) = (from.map(|value| normalize_facet(value)), to.map(|value| normalize_facet(value)));
        let number = |bound: &Bound<std::borrow::Cow<'_, str>>| match bound {
            Bound::Included(text) => facet_number(text).map(Bound::Included),
            Bound::Excluded(text) => facet_number(text).map(Bound::Excluded),
            Bound::Unbounded => Some(Bound::Unbounded),
        };
        let mut found = BitsetBuilder::new(rule_count);
        if let (Some(from), Some(to)) = (number(&from), number(&to)) {
            let start = match from {
                Bound::Included(from) => self.numbers.place(|known| known < from),
                Bound::Excluded(from) => self.numbers.place(|known| known <= from),
                Bound::Unbounded => 0,
            };
            let end = match to {
                Bound::Included(to) => self.numbers.place(|known| known <= to),
                Bound::Excluded(to) => self.numbers.place(|known| known < to),
                Bound::Unbounded => self.numbers.place(|_| true),
            };
            self.numbers.add(start..end, &mut found);
            return found.finish();
        }
        let is_in_order = match (&from, &to) {
            (Bound::Included(from), Bound::Included(to)) => from <= to,
            _ => true,
        };
        if is_in_order {
            let bounds = (from.as_ref().map(|text| &**text), to.as_ref().map(|text| &**text));
            self.texts.range::<str, _>(bounds).for_each(|(_, rules)| found.insert_set(rules));
        }
        found.finish()
    }
}
