//! Which part of a long text is shown: the window around the most significant matches.

use std::cmp::Reverse;
use std::ops::Range;

use lamina_text::text::{Token, TokenKind};

use super::matches::Match;

/// Distances between matches count up to this many words.
const DISTANCE_MAX: usize = 7;

/// The bytes of the text that a crop to `length` words keeps. `length` is at least 1.
pub(super) fn window(text: &str, tokens: &[Token<'_>], matches: &[Match], length: usize) -> Range<usize> {
    let mut window = match best_run(matches, length) {
        None => TokenWindow { start: 0, end: 0, words_left: length },
        Some(run) => {
            let (first, last) = (&run[0], &run[run.len() - 1]);
            let words = last.words.1 - first.words.0 + 1;
            if words > length {
                // Only a single match can be longer than the window: it keeps its beginning.
                let mut cut = TokenWindow { start: first.tokens.0, end: first.tokens.0, words_left: length };
                while cut.words_left > 0 {
                    cut.take_right(tokens);
                }
                cut
            } else {
                TokenWindow { start: first.tokens.0, end: last.tokens.1 + 1, words_left: length - words }
            }
        }
    };
    window.grow(tokens);
    let start = if window.start == 0 { 0 } else { tokens[window.start].range.start };
    let end = if window.end >= tokens.len() { text.len() } else { tokens[window.end].range.start };
    start..end
}

/// The run of consecutive matches that says most about the query among those that fit into `length` words and can't be
/// prolonged; the first match if none fits.
fn best_run(matches: &[Match], length: usize) -> Option<&[Match]> {
    let first = matches.first()?;
    let fits = |run: &[Match]| run[run.len() - 1].words.1 - run[0].words.0 < length;
    let mut best: Option<(Score, &[Match])> = None;
    let mut start = 0;
    for end in 0..matches.len() {
        while start <= end && !fits(&matches[start..=end]) {
            start += 1;
        }
        if start > end || matches.get(end + 1).is_some_and(|_| fits(&matches[start..=end + 1])) {
            continue;
        }
        let run = &matches[start..=end];
        let score = Score::of(run);
        // Of the same words of the query, those that stand there as they are in it.
        let is_more_exact = |known: &[Match]| {
            let exact = |run: &[Match]| covered(run.iter().filter(|found| found.is_exact)).len();
            covered(run.iter()) == covered(known.iter()) && exact(run) > exact(known)
        };
        let is_better =
            |(known, other): &(Score, &[Match])| score > *known || (score == *known && is_more_exact(other));
        if best.as_ref().is_none_or(is_better) {
            best = Some((score, run));
        }
    }
    Some(best.map_or(std::slice::from_ref(first), |(_, run)| run))
}

/// The words of the query that matches cover, ascending.
fn covered<'a>(matches: impl Iterator<Item = &'a Match>) -> Vec<u16> {
    let mut covered: Vec<u16> = matches.flat_map(|found| found.covers.clone()).collect();
    covered.sort_unstable();
    covered.dedup();
    covered
}

/// Relevance of a run of matches to the query. Greater is better, field by field.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Score {
    /// Words of the query that are covered.
    distinct: usize,
    /// Sum of the distances from match to match, in words.
    spread: Reverse<usize>,
    /// Pairs of neighbours that stand in the order of the query.
    ordered: usize,
}

impl Score {
    fn of(run: &[Match]) -> Score {
        // The words of one match follow each other, in order.
        let inside: usize = run.iter().map(|found| found.word_count() - 1).sum();
        let pairs = || run.windows(2).map(|pair| (&pair[0], &pair[1]));
        let between: usize = pairs().map(|(a, b)| (b.words.0 - a.words.1).min(DISTANCE_MAX)).sum();
        let in_order = pairs().filter(|(a, b)| a.covers.start() < b.covers.start()).count();
        Score { distinct: covered(run.iter()).len(), spread: Reverse(inside + between), ordered: inside + in_order }
    }
}

/// A window of tokens, `start` included, `end` excluded, that may still take `words_left` words.
struct TokenWindow {
    start: usize,
    end: usize,
    words_left: usize,
}

impl TokenWindow {
    /// Takes tokens alternately from both sides until the words are used up or the text is exhausted.
    fn grow(&mut self, tokens: &[Token<'_>]) {
        while self.words_left > 0 {
            let left = self.start.checked_sub(1).map(|place| tokens[place].kind);
            let right = tokens.get(self.end).map(|token| token.kind);
            match (left, right) {
                (None, None) => return,
                (Some(_), None) => self.take_left(tokens),
                (None, Some(_)) => self.take_right(tokens),
                (Some(TokenKind::Word), Some(TokenKind::Word)) => {
                    self.take_left(tokens);
                    if self.words_left > 0 {
                        self.take_right(tokens);
                    }
                }
                (Some(TokenKind::Word), Some(_)) => self.take_left(tokens),
                (Some(_), Some(TokenKind::Word)) => self.take_right(tokens),
                (Some(left), Some(right)) if left == right => {
                    self.take_left(tokens);
                    // The last word should not leave a separator before the marker.
                    if self.words_left > 1 {
                        self.take_right(tokens);
                    }
                }
                (Some(TokenKind::HardSeparator), Some(_)) => self.take_right(tokens),
                (Some(_), Some(_)) => self.take_left(tokens),
            }
        }
    }

    fn take_left(&mut self, tokens: &[Token<'_>]) {
        self.start -= 1;
        self.count(tokens[self.start].kind);
    }

    fn take_right(&mut self, tokens: &[Token<'_>]) {
        self.count(tokens[self.end].kind);
        self.end += 1;
    }

    fn count(&mut self, kind: TokenKind) {
        if kind == TokenKind::Word {
            self.words_left -= 1;
        }
    }
}
