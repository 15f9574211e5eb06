//! Misspellings, cuts and other forms of words, by their definitions.

use super::*;

/// Optimal string alignment distance.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut d = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            d[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let mut best =
                    (d[i - 1][j] + 1).min(d[i][j - 1] + 1).min(d[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]));
                if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                    best = best.min(d[i - 2][j - 2] + 1);
                }
                best
            };
        }
    }
    d[a.len()][b.len()]
}

/// Typos between a word of the query and one of a document; `None` when there are too many.
pub(super) fn typos(query: &str, open: bool, word: &str) -> Option<usize> {
    let (q, w): (Vec<char>, Vec<char>) = (query.chars().collect(), word.chars().collect());
    let budget = match q.len() {
        0..5 => 0,
        5..9 => 1,
        _ => 2,
    };
    let d = if open { (0..=w.len()).map(|n| distance(&q, &w[..n])).min()? } else { distance(&q, &w) };
    let cost = match d {
        0 => 0,
        _ if q[0] == w[0] => d,
        1 => 2,
        _ => return None,
    };
    (cost <= budget).then_some(cost)
}

/// The cut of a word into two that stand next to each other in most documents.
pub(super) fn split(live: &[&Doc], searched: &[bool; 2], word: &str) -> Option<(String, String)> {
    let mut best: Option<(usize, (String, String))> = None;
    for (at, _) in word.char_indices().skip(1) {
        let pair = (word[..at].to_owned(), word[at..].to_owned());
        let holds = |d: &&&Doc| (0..2).any(|f| searched[f] && adjacent(d.fields()[f], &pair) > 0);
        let count = live.iter().filter(holds).count();
        if count > best.as_ref().map_or(0, |b| b.0) {
            best = Some((count, pair));
        }
    }
    best.map(|b| b.1)
}

/// Returns the common part of the forms of a word, for the words that the questions and documents have.
fn stem(word: &str) -> &str {
    match word {
        "sunflowers" => "sunflower",
        "flowers" => "flower",
        "towers" => "tower",
        "cars" => "car",
        "gardening" | "gardeners" | "gardener" => "garden",
        other => other,
    }
}

/// The other forms of a word.
pub(super) fn other_forms(word: &str) -> Vec<&'static str> {
    WORDS.iter().copied().filter(|other| *other != word && stem(other) == stem(word)).collect()
}
