//! The words that rules ask searches for: an automaton that reads the different words of a query in a fixed order, and says at
//! each step which rules have all of their words.

use std::collections::HashMap;

use lamina_engine::bits::{BitsetBuilder, DocSet};

use super::listing::words;
use super::sets::set_of;

/// An automaton over the words of a query, whose states say which rules have all their words.
#[derive(Debug)]
pub(super) struct RuleWords {
    /// Each word has a number.
    numbers: HashMap<Box<str>, u32>,
    /// From a state, with a word, to the next one.
    steps: HashMap<(u32, u32), u32>,
    /// By state: the rules whose words were read. The first one has those that ask for no word.
    rules: Vec<DocSet>,
}

impl RuleWords {
    /// The words of rules in the order of their numbers.
    pub(super) fn new<'a>(rules: impl Iterator<Item = Option<&'a str>>) -> RuleWords {
        let mut numbers: HashMap<Box<str>, u32> = HashMap::new();
        let mut steps: HashMap<(u32, u32), u32> = HashMap::new();
        let mut ended: Vec<Vec<u32>> = vec![Vec::new()];
        let mut rule_count = 0;
        for (rule, text) in (0u32..).zip(rules) {
            let mut wanted: Vec<u32> = Vec::new();
            for word in words(text.unwrap_or("")) {
                let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
                wanted.push(*numbers.entry(word.into()).or_insert(next));
            }
            wanted.sort_unstable();
            wanted.dedup();
            let mut state = 0;
            for word in wanted {
                let next = u32::try_from(ended.len()).unwrap_or(u32::MAX);
                state = *steps.entry((state, word)).or_insert(next);
                if state == next {
                    ended.push(Vec::new());
                }
            }
            ended[state as usize].push(rule);
            rule_count = rule + 1;
        }
        RuleWords { numbers, steps, rules: ended.into_iter().map(|rules| set_of(rules, rule_count)).collect() }
    }

    /// Adds the rules that have all of their words among `words`, which are different. `fuel`: steps that are tried for each
    /// number of words; once it is used up, rules of that number and of more are left out.
    pub(super) fn met(&self, words: &[String], fuel: usize, met: &mut BitsetBuilder) {
        let mut known: Vec<u32> = words.iter().filter_map(|word| self.numbers.get(&**word)).copied().collect();
        known.sort_unstable();
        met.insert_set(&self.rules[0]);
        // States, and the first word that comes after those that led there.
        let mut reached: Vec<(u32, usize)> = vec![(0, 0)];
        while !reached.is_empty() {
            let mut next = Vec::new();
            let mut left = fuel;
            for (state, from) in reached {
                for (place, word) in known.iter().enumerate().skip(from) {
                    if left == 0 {
                        return;
                    }
                    left -= 1;
                    next.extend(self.steps.get(&(state, *word)).map(|state| (*state, place + 1)));
                }
            }
            next.iter().for_each(|(state, _)| met.insert_set(&self.rules[*state as usize]));
            reached = next;
        }
    }
}
