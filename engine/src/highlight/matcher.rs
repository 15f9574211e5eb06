//! Finds the matches of a query in the tokens of a text.

use lamina_text::text::{Token, TokenKind};

use super::matches::Match;
use super::terms::{MatchingTerms, Sequence};

/// The matches of `terms` in reading order; they never overlap. Cost: linear in the number of tokens, times the number
/// of sequences that start alike.
pub(super) fn find_matches(tokens: &[Token<'_>], terms: &MatchingTerms) -> Vec<Match> {
    if terms.is_empty() {
        return Vec::new();
    }
    let words: Vec<usize> = (0..tokens.len()).filter(|&place| tokens[place].kind == TokenKind::Word).collect();
    let mut matches = Vec::new();
    let mut next = 0;
    while next < words.len() {
        let found = match_at(tokens, &words, next, terms);
        next = found.as_ref().map_or(next, |found| found.words.1) + 1;
        matches.extend(found);
    }
    matches
}

/// The match that starts at the `at`-th word.
fn match_at(tokens: &[Token<'_>], words: &[usize], at: usize, terms: &MatchingTerms) -> Option<Match> {
    let place = words[at];
    let token = &tokens[place];
    if let Some(sequence) = terms.sequences_at(&token.text).find(|sequence| follows(tokens, &words[at..], sequence)) {
        let last = at + sequence.words.len() - 1;
        return Some(Match {
            tokens: (place, words[last]),
            words: (at, last),
            range: token.range.start..tokens[words[last]].range.end,
            covers: sequence.covers.clone(),
            is_exact: true,
        });
    }
    let (length, covers, is_exact) = match terms.word(&token.text) {
        Some((covers, is_own)) => (token.range.len(), covers, is_own),
        None => {
            let (head, covers) = terms.prefix(&token.text)?;
            (token.original_bytes(head), covers, terms.is_own_prefix(&token.text))
        }
    };
    Some(Match {
        tokens: (place, place),
        words: (at, at),
        range: token.range.start..token.range.start + length,
        covers: covers.clone(),
        is_exact,
    })
}

/// Reports whether `words` begins with the words of `sequence`.
fn follows(tokens: &[Token<'_>], words: &[usize], sequence: &Sequence) -> bool {
    words.len() >= sequence.words.len()
        && sequence
            .words
            .iter()
            .zip(words)
            .all(|(wanted, &place)| wanted.as_ref().is_none_or(|wanted| *tokens[place].text == **wanted))
}
