//! What the words of a question count where they stand side by side.

use super::*;

pub(super) fn adjacent(words: &[String], pair: &(String, String)) -> usize {
    words.windows(2).filter(|w| w[0] == pair.0 && w[1] == pair.1).count()
}

pub(super) struct Beside<'q> {
    pub(super) question: &'q Question,
    /// Weight of each word, 0 for those that no document contains.
    pub(super) worths: &'q [f64],
}

impl Beside<'_> {
    /// Returns the bonus of a word and the one before it.
    fn near(&self, i: usize) -> f64 {
        0.1 * self.worths[i].min(self.worths[i - 1])
    }

    /// Returns the sum of all bonuses.
    pub(super) fn worth(&self) -> f64 {
        (1..self.worths.len()).map(|i| self.near(i)).sum()
    }

    fn stands_for(&self, i: usize, word: &String) -> bool {
        let asked = &self.question.words[i];
        let is_open = self.question.open && i + 1 == self.question.words.len();
        let is_form = self.question.forms_of(asked).contains(&word.as_str());
        let is_spelt = if is_open { word.starts_with(asked.as_str()) } else { word == asked };
        is_form || is_spelt
    }

    /// `occurrence`: what one counts in a field of so many words.
    pub(super) fn value(&self, doc: &Doc, searched: &[bool; 2], occurrence: impl Fn(usize, usize) -> f64) -> f64 {
        let of = |i: usize| {
            let in_field = |f: usize| {
                let words = doc.fields()[f];
                let is_here = |pair: &&[String]| self.stands_for(i - 1, &pair[0]) && self.stands_for(i, &pair[1]);
                words.windows(2).filter(is_here).count() as f64 * occurrence(f, words.len())
            };
            let fields = (0..2).filter(|&f| searched[f] && !doc.fields()[f].is_empty());
            let n: f64 = fields.map(in_field).sum();
            self.near(i) * (n * (K1 + 1.0) / (n + K1))
        };
        (1..self.worths.len()).map(of).sum()
    }
}
