//! The forms under which the words of a query may stand in a text, for highlighting.

use lamina_text::id::TermOrdinal;

use crate::highlight::MatchingTerms;
use crate::query::{QueryGraph, SegmentQuery};

/// Collects them over all segments. Cost: one dictionary look-up per misspelt form.
pub(super) fn matching_terms<'a>(
    graph: &QueryGraph,
    segments: impl Iterator<Item = &'a SegmentQuery<'a>> + Clone,
) -> MatchingTerms {
    let mut out = MatchingTerms::default();
    for (index, node) in graph.nodes.iter().enumerate() {
        let covers = node.first_position..=node.last_position;
        if let Some(words) = &node.phrase {
            out.add_sequence(words.iter().cloned().map(Some).collect(), covers.clone());
            for segment in segments.clone() {
                let spelt = |word: TermOrdinal| String::from_utf8(segment.reader().terms().term(word)).ok();
                for words in &segment.expansions()[index].synonyms {
                    out.add_sequence(words.iter().map(|&word| spelt(word?)).collect(), covers.clone());
                }
            }
            continue;
        }
        if node.prefix {
            out.add_prefix(&node.text, covers.clone());
        } else {
            out.add_word(&node.text, covers.clone());
        }
        let query_chars = node.text.chars().count();
        for segment in segments.clone() {
            let e = &segment.expansions()[index];
            for &ordinal in &e.forms {
                if let Ok(form) = String::from_utf8(segment.reader().terms().term(ordinal)) {
                    out.add_other_word(&form, covers.clone());
                }
            }
            for &ordinal in e.one_typo.iter().chain(&e.two_typos) {
                if let Ok(form) = String::from_utf8(segment.reader().terms().term(ordinal)) {
                    if node.prefix {
                        out.add_misspelt_prefix(&form, query_chars, covers.clone());
                    } else {
                        out.add_other_word(&form, covers.clone());
                    }
                }
            }
        }
        for words in &node.synonyms {
            out.add_sequence(words.iter().cloned().map(Some).collect(), covers.clone());
        }
        let split = segments.clone().find_map(|s| s.expansions()[index].split.map(|pair| (s, pair)));
        if let Some((segment, pair)) = split {
            let words = pair.map(|o| String::from_utf8(segment.reader().terms().term(o)).ok());
            out.add_sequence(words.to_vec(), covers);
        }
    }
    out
}
