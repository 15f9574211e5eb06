//! Figures of many requests as one.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

/// Different texts of a set that are kept; the ones that come first stand for the rest.
const TEXTS_MAX: usize = 50;
/// Bounds of the response times that are distinguished, in milliseconds.
const TIMES: usize = 20_000;

/// A figure and how two of them become one.
#[derive(Debug)]
enum Figure {
    Count(u64),
    Max(u64),
    Any(bool),
    Texts(BTreeSet<String>),
    Average {
        sum: f64,
        count: u64,
    },
    Most(BTreeMap<String, u64>),
    Last(Value),
    /// Requests by milliseconds, the last one for all that took longer.
    Times(Vec<u32>),
}

/// The figures of one event by their dotted names.
#[derive(Debug, Default)]
pub(super) struct Aggregate {
    figures: BTreeMap<&'static str, Figure>,
    /// Bytes of texts of requests, which may be long.
    text_bytes: usize,
}

/// About what a name and a number take in a batch.
const FIGURE_BYTES: usize = 60;

impl Aggregate {
    /// About as long as the properties will be.
    pub(super) fn bytes(&self) -> usize {
        self.figures.len() * FIGURE_BYTES + self.text_bytes
    }

    pub(super) fn count(&mut self, name: &'static str, count: u64) {
        if let Figure::Count(total) = self.figures.entry(name).or_insert(Figure::Count(0)) {
            *total = total.saturating_add(count);
        }
    }

    pub(super) fn max(&mut self, name: &'static str, value: usize) {
        if let Figure::Max(max) = self.figures.entry(name).or_insert(Figure::Max(0)) {
            *max = (*max).max(value as u64);
        }
    }

    /// Records whether the figure was ever true.
    pub(super) fn any(&mut self, name: &'static str, is_so: bool) {
        if let Figure::Any(any) = self.figures.entry(name).or_insert(Figure::Any(false)) {
            *any |= is_so;
        }
    }

    pub(super) fn text(&mut self, name: &'static str, text: &str) {
        if let Figure::Texts(texts) = self.figures.entry(name).or_insert_with(|| Figure::Texts(BTreeSet::new()))
            && texts.len() < TEXTS_MAX
            && texts.insert(text.to_owned())
        {
            self.text_bytes += text.len() + 3;
        }
    }

    pub(super) fn average(&mut self, name: &'static str, value: f64) {
        if let Figure::Average { sum, count } =
            self.figures.entry(name).or_insert(Figure::Average { sum: 0.0, count: 0 })
        {
            *sum += value;
            *count += 1;
        }
    }

    /// The text that comes most often; from a list of ours, never from a request.
    pub(super) fn most(&mut self, name: &'static str, text: &str) {
        if let Figure::Most(counts) = self.figures.entry(name).or_insert_with(|| Figure::Most(BTreeMap::new())) {
            *counts.entry(text.to_owned()).or_default() += 1;
        }
    }

    pub(super) fn last(&mut self, name: &'static str, value: impl Into<Value>) {
        self.figures.insert(name, Figure::Last(value.into()));
    }

    /// The highest of the fastest 99 %.
    pub(super) fn percentile(&mut self, name: &'static str, millis: u128) {
        if let Figure::Times(counts) = self.figures.entry(name).or_insert_with(|| Figure::Times(Vec::new())) {
            let place = usize::try_from(millis).unwrap_or(usize::MAX).min(TIMES);
            if counts.len() <= place {
                counts.resize(place + 1, 0);
            }
            counts[place] = counts[place].saturating_add(1);
        }
    }

    pub(super) fn into_properties(self) -> Map<String, Value> {
        let value = |figure| match figure {
            Figure::Count(number) | Figure::Max(number) => number.into(),
            Figure::Any(any) => any.into(),
            Figure::Texts(texts) => json!(texts),
            Figure::Average { sum, count } => json!((sum / count.max(1) as f64 * 100.0).round() / 100.0),
            Figure::Most(counts) => {
                // The first of equals, so that the answer does not depend on chance.
                let most = counts.iter().rev().max_by_key(|(_, count)| **count);
                json!(most.map(|(text, _)| text))
            }
            Figure::Last(value) => value,
            Figure::Times(counts) => json!(percentile(&counts)),
        };
        self.figures.into_iter().map(|(name, figure)| (name.to_owned(), value(figure))).collect()
    }
}

fn percentile(counts: &[u32]) -> usize {
    let total: u64 = counts.iter().map(|&count| u64::from(count)).sum();
    let wanted = (total * 99).div_ceil(100);
    let mut seen = 0;
    let place = counts.iter().position(|&count| {
        seen += u64::from(count);
        seen >= wanted
    });
    place.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_add_up() {
        let mut aggregate = Aggregate::default();
        for (number, text) in [(1, "b"), (3, "a"), (2, "a")] {
            aggregate.count("count", number);
            aggregate.max("max", usize::try_from(number).unwrap());
            aggregate.average("average", number as f64);
            aggregate.any("any", number == 3);
            aggregate.any("never", false);
            aggregate.text("texts", text);
            aggregate.most("most", text);
            aggregate.last("last", number);
        }
        let expected = json!({"count": 6, "max": 3, "average": 2.0, "any": true, "never": false,
                              "texts": ["a", "b"], "most": "a", "last": 2});
        let properties = Value::Object(aggregate.into_properties());
        assert_eq!(properties, expected);
    }

    #[test]
    fn the_99th_percentile_leaves_the_slowest_out() {
        let mut aggregate = Aggregate::default();
        for millis in (0..99).map(|_| 7).chain([900_000]) {
            aggregate.percentile("time", millis);
        }
        assert_eq!(aggregate.into_properties()["time"], 7);
    }

    #[test]
    fn sets_do_not_grow_without_end() {
        let mut aggregate = Aggregate::default();
        (0..1000).for_each(|n| aggregate.text("texts", &n.to_string()));
        assert_eq!(aggregate.into_properties()["texts"].as_array().unwrap().len(), TEXTS_MAX);
    }
}
