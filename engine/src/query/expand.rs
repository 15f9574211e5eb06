//! The terms of one segment that each node of a query graph stands for, by typo cost.
//!
//! Expansions are complete: every term of the dictionary within the accepted distance is found, by walking down the
//! dictionary as far as its beginnings are near enough.

use lamina_index::caches::{CachedSegment, SegmentCaches, TypoKey, TypoTerms};
use lamina_segment::segment::Terms;
use lamina_text::id::TermOrdinal;
use lamina_text::text::{TypoPattern, WORD_BYTES_MAX};

use super::graph::Node;
use super::joined::{BeginningsFound, near_joined};
use super::options::{QueryOptions, is_number};
use super::walk::{first_character, other_first, visit_same_first};
use super::word_forms::{forms, phrases};
use std::ops::Range;

/// Terms of one segment that a node stands for. Lists are ascending and disjoint.
#[derive(Clone, Debug, Default)]
pub struct Expansion {
    /// The word itself.
    pub exact: Option<TermOrdinal>,
    /// Words that start with it, itself included; empty when the node is no prefix.
    pub prefix: Range<TermOrdinal>,
    /// Other forms of the word; looked for where [`QueryOptions::forms`] says so.
    pub forms: Vec<TermOrdinal>,
    pub one_typo: Vec<TermOrdinal>,
    pub two_typos: Vec<TermOrdinal>,
    /// Sequences of words that mean the same, all of them in the dictionary. Of a phrase with forms: all that it stands for.
    pub synonyms: Vec<Vec<Option<TermOrdinal>>>,
    /// The quoted phrase, if all its words are in the dictionary.
    pub phrase: Option<Vec<Option<TermOrdinal>>>,
    /// The two words it is split into; set once the best split over all segments is known.
    pub split: Option<[TermOrdinal; 2]>,
}

impl Expansion {
    /// The forms that stand for the word itself in the relevancy rules.
    pub(crate) fn forms_as_words(&self, options: &QueryOptions) -> &[TermOrdinal] {
        if options.forms.as_words { &self.forms } else { &[] }
    }
}

/// Ordinals of a sequence of words, if all of them are in the dictionary. Stop words stand for themselves in it.
pub fn sequence(terms: &Terms, words: &[String]) -> Option<Vec<Option<TermOrdinal>>> {
    words.iter().map(|word| terms.ordinal(word.as_bytes()).map(Some)).collect()
}

/// Expands one node over the dictionary of one segment. `stop`: ordinals of stop words, ascending.
pub(crate) fn expand(
    segment: CachedSegment<'_>,
    node: &Node,
    options: &QueryOptions,
    stop: &[TermOrdinal],
) -> Expansion {
    let terms = segment.reader.terms();
    if let Some(words) = &node.phrase {
        let phrase = sequence(terms, words);
        if options.forms.in_phrases {
            let phrases = phrases(segment, words, &options.forms);
            if phrases.len() > usize::from(phrase.is_some()) {
                return Expansion { synonyms: phrases, ..Expansion::default() };
            }
        }
        return Expansion { phrase, ..Expansion::default() };
    }
    if node.text.len() > WORD_BYTES_MAX {
        return Expansion::default();
    }
    let allowed = |ordinal: TermOrdinal| stop.binary_search(&ordinal).is_err();
    let mut out = Expansion {
        exact: terms.ordinal(node.text.as_bytes()).filter(|&o| allowed(o)),
        prefix: if node.prefix { terms.prefix_range(node.text.as_bytes()) } else { 0..0 },
        ..Expansion::default()
    };
    out.synonyms = node.synonyms.iter().filter_map(|words| sequence(terms, words)).collect();
    if options.forms.enabled && !node.is_ngram() {
        out.forms = forms(segment, &node.text, &options.forms);
        out.forms.retain(|&ordinal| allowed(ordinal));
    }
    if node.budget == 0 {
        return out;
    }
    let near = segment.caches.typos.get_or_find(typo_key(node), || near(segment, node));
    // Where a form does not count, it is a typo if it is near enough.
    let has_all_fields = options.forms.allowed.iter().all(|&is_allowed| is_allowed);
    let forms = if has_all_fields { out.forms.clone() } else { Vec::new() };
    let counts = |ordinal: TermOrdinal| {
        let number = || std::str::from_utf8(&terms.term(ordinal)).is_ok_and(is_number);
        allowed(ordinal) && forms.binary_search(&ordinal).is_err() && !(options.typos.exact_numbers && number())
    };
    let [one, two] = &*near;
    out.one_typo = one.iter().copied().filter(|&ordinal| counts(ordinal)).collect();
    out.two_typos = two.iter().copied().filter(|&ordinal| counts(ordinal)).collect();
    out
}

/// Reports whether the expansion of a node needs a walk of the term dictionary, because no recent query has cached its
/// typos.
pub(super) fn needs_walk(caches: &SegmentCaches, node: &Node) -> bool {
    let has_typos = node.budget > 0 && node.phrase.is_none() && node.text.len() <= WORD_BYTES_MAX;
    has_typos
        && !two_words(node).is_some_and(|[first, _]| caches.beginnings.contains(first))
        && !caches.typos.contains(&typo_key(node))
}

/// The words of a node that is two of them written as one, and accepts one typo.
fn two_words(node: &Node) -> Option<[&str; 2]> {
    match (node.joined.as_slice(), node.budget) {
        ([first, second], 1) => Some([first, second]),
        _ => None,
    }
}

pub(super) fn typo_key(node: &Node) -> TypoKey {
    TypoKey { word: node.text.as_str().into(), prefix: node.prefix, budget: node.budget }
}

/// The terms with as many typos as the node accepts. A different first character costs two.
fn near(segment: CachedSegment<'_>, node: &Node) -> TypoTerms {
    let terms = segment.reader.terms();
    let (mut one, mut two) = (Vec::new(), Vec::new());
    if let Some(words) = two_words(node) {
        one = near_joined(segment, words, node.prefix);
    } else {
        let pattern = |typos_max| TypoPattern::new(&node.text, node.prefix, typos_max);
        let mut beginnings = BeginningsFound::default();
        visit_same_first(terms, &pattern(node.budget.min(2)), &node.text, |typos, place, ordinal| {
            beginnings.add(typos, place);
            match typos {
                1 => one.extend(ordinal),
                2 => two.extend(ordinal),
                _ => {}
            }
        });
        if !node.prefix {
            // The walk has been at all of them.
            beginnings.keep(segment.caches, &node.text);
        }
        if node.budget >= 2 {
            other_first(terms, &pattern(1), first_character(&node.text), |ordinal| two.push(ordinal));
            two.sort_unstable();
        }
    }
    [one, two].map(|mut terms| {
        terms.shrink_to_fit();
        terms
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use lamina_index::runtime::Runtime;
    use lamina_segment::segment::{SegmentReader, SegmentWriter, SegmentWriterOptions};
    use lamina_segment::storage::MemoryDirectory;
    use lamina_text::id::{Gap, SegmentId};
    use proptest::prelude::*;

    use super::*;

    /// A segment whose dictionary is `words`.
    fn segment(words: &BTreeSet<String>) -> SegmentReader {
        let mut writer = SegmentWriter::new(SegmentWriterOptions::default());
        writer.begin_document(0, "k", b"{}");
        words.iter().for_each(|word| writer.word(0, word, Gap::Soft));
        writer.end_document();
        let directory = MemoryDirectory::new();
        let meta = writer.finish(&directory, SegmentId(1)).unwrap();
        SegmentReader::open(&directory, &meta).unwrap()
    }

    fn node(text: &str, prefix: bool, budget: u8) -> Node {
        Node {
            first: 0,
            len: 1,
            text: text.to_owned(),
            prefix,
            budget,
            phrase: None,
            synonyms: Vec::new(),
            can_split: false,
            joined: Vec::new(),
            first_position: 0,
            last_position: 0,
        }
    }

    /// Insertions, deletions, substitutions and swaps of neighbours that lead from one to the other.
    fn distance(a: &[char], b: &[char]) -> usize {
        let mut table = vec![vec![0; b.len() + 1]; a.len() + 1];
        for i in 0..=a.len() {
            for j in 0..=b.len() {
                table[i][j] = match (i, j) {
                    (0, _) | (_, 0) => i.max(j),
                    _ => {
                        let changed = table[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
                        let swaps = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
                        let swapped = if swaps { table[i - 2][j - 2] + 1 } else { usize::MAX };
                        changed.min(swapped).min(table[i - 1][j] + 1).min(table[i][j - 1] + 1)
                    }
                };
            }
        }
        table[a.len()][b.len()]
    }

    /// Typos under which `word` is a reading of `query`: another first character counts two.
    fn typos(query: &str, prefix: bool, word: &str) -> Option<usize> {
        let (q, w): (Vec<char>, Vec<char>) = (query.chars().collect(), word.chars().collect());
        let shortest = if prefix { 0 } else { w.len() };
        let distance = (shortest..=w.len()).map(|len| distance(&q, &w[..len])).min()?;
        match distance {
            0 => Some(0),
            _ if q[0] == w[0] => Some(distance),
            1 => Some(2),
            _ => None,
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(96))]
        #[test]
        fn expansions_are_those_of_a_look_at_every_word(
            words in prop::collection::btree_set("[abc]{1,9}|[aé日]{1,6}|[ab]{9,14}", 1..600),
            queries in prop::collection::vec(
                ("[abc]{1,9}|[aé日]{1,6}|[ab]{9,14}", any::<bool>(), 0u8..3, prop::option::of(any::<prop::sample::Index>())),
                1..12,
            ),
        ) {
            let reader = segment(&words);
            let caches = SegmentCaches::new(1, Runtime::new());
            let segment = CachedSegment { reader: &reader, caches: &caches };
            let terms = reader.terms();
            for (query, prefix, budget, cut) in queries {
                let mut node = node(&query, prefix, budget);
                // Some are two words written as one.
                let cuts: Vec<usize> = query.char_indices().skip(1).map(|(at, _)| at).collect();
                if let Some(cut) = cut.filter(|_| !cuts.is_empty()).map(|cut| *cut.get(&cuts)) {
                    node.joined = [&query[..cut], &query[cut..]].map(str::to_owned).to_vec();
                    // Where they begin may be known from looking for the typos of the first.
                    expand(segment, &self::node(&query[..cut], false, (cut % 3) as u8), &QueryOptions::default(), &[]);
                }
                let found = expand(segment, &node, &QueryOptions::default(), &[]);
                let mut expected: [Vec<TermOrdinal>; 3] = Default::default();
                for (word, ordinal) in words.iter().map(|word| (word, terms.ordinal(word.as_bytes()).expect("is there"))) {
                    if let Some(typos) = typos(&query, prefix, word).filter(|&typos| typos <= usize::from(budget)) {
                        expected[typos].push(ordinal);
                    }
                }
                let same: Vec<TermOrdinal> = if prefix { found.prefix.collect() } else { found.exact.into_iter().collect() };
                prop_assert_eq!([same, found.one_typo, found.two_typos], expected, "{} {} {}", query, prefix, budget);
            }
        }
    }
}
