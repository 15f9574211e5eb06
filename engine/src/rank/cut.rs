//! Documents of a level are cut into groups before any of them is read, by what bitmaps and postings say of their keys: first by
//! typos and exact words, then by neighbours that they lack, then by the least costs of attributes and positions.
//!
//! Groups come best first, each with the smallest key its documents can have, so that the scan ends after a few.

use lamina_segment::bits::DocSet;

use crate::query::SegmentQuery;
use crate::rank::bounds::{cut_by_costs, separates_exact_words};
use crate::rank::context::SegmentLevel;
use crate::rank::groups::Groups;
use crate::rank::key::{Key, KeyLayout};
use crate::rank::rules::{EXACT_ATTRIBUTE_WORST, GraphRule, Match};
use crate::rank::word_pairs::cut_by_word_pairs;

/// Cuts documents that match without typo by whether every word is there exactly, and in which attributes. Rules behind a
/// sort have no part in it: groups in their order would be none in that of the keys.
pub(super) fn exact_groups<'a>(of: SegmentLevel<'a>, docs: &DocSet) -> Groups<'a> {
    cut(of, of.context.bound(of.level), docs, &of.context.around_sort[0])
}

/// Cuts documents that match with a typo by how many they need, and by what postings say of their keys.
pub(super) fn misspelt_groups<'a>(of: SegmentLevel<'a>, docs: &DocSet) -> Groups<'a> {
    let bound = of.context.bound(of.level);
    let with_typos = |typos| bound + of.context.layout.slice(GraphRule::Typo).map_or(0, |s| s.put(typos));
    if of.context.is_scanned_whole(docs) {
        return Groups::whole(vec![(with_typos(1), docs.clone())]);
    }
    let by_typos = (0..).zip(of.query().docs_by_typos(of.level, docs)).filter(|(_, docs)| !docs.is_empty());
    let groups = by_typos.map(|(typos, docs)| (with_typos(typos), docs)).collect();
    cut_further(of, groups, &of.context.around_sort[0], Match::Misspelt)
}

/// Cuts documents that lead the first sort by the rules behind it: many may have the same value. `bound`: the smallest
/// key of their group.
pub(super) fn leading_groups<'a>(of: SegmentLevel<'a>, bound: Key, docs: &DocSet) -> Groups<'a> {
    cut(of, bound, docs, &of.context.around_sort[1])
}

/// Cuts documents that match without typo. `bound`: the smallest key of any of the documents, without the costs of `layout`.
fn cut<'a>(of: SegmentLevel<'a>, bound: Key, docs: &DocSet, layout: &'a KeyLayout) -> Groups<'a> {
    if of.context.is_scanned_whole(docs) {
        return Groups::whole(vec![(bound, docs.clone())]);
    }
    cut_further(of, by_exact_words(of, bound, docs, layout), layout, Match::Exact)
}

/// Documents with every word exactly, and the others.
fn by_exact_words(of: SegmentLevel<'_>, bound: Key, docs: &DocSet, layout: &KeyLayout) -> Vec<(Key, DocSet)> {
    let query: &SegmentQuery<'_> = of.query();
    match layout.slice(GraphRule::ExactWords) {
        Some(words) if query.completes(of.level) && separates_exact_words(query, layout) => {
            let exact = query.exact_docs(of.level, docs);
            let rest = docs.and_not(&exact);
            // Words that no document holds have no part in how an attribute begins: without them, or with them alone, one
            // that lacks an exact word begins none.
            let mut known = of.level.kept.iter().map(|&t| of.context.exact_known[t]);
            let is_worst = known.next().is_none_or(|first| known.all(|known| known == first));
            let attribute = layout.slice(GraphRule::ExactAttribute).filter(|_| is_worst);
            let inexact = words.put(1) + attribute.map_or(0, |s| s.put(EXACT_ATTRIBUTE_WORST));
            vec![(bound, exact), (bound + inexact, rest)]
        }
        _ => vec![(bound, docs.clone())],
    }
}

/// Cuts groups by neighbours, then by costs.
fn cut_further<'a>(
    of: SegmentLevel<'a>,
    groups: Vec<(Key, DocSet)>,
    layout: &'a KeyLayout,
    matched: Match,
) -> Groups<'a> {
    let groups = cut_by_word_pairs(of.query(), of.level, groups, layout, matched);
    cut_by_costs(of, groups, layout, matched)
}
