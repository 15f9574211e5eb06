//! Terms near two words that are written as one.
//!
//! A question of six words has five such pairs, and few of them are near any term. A walk of the dictionary for each
//! would try all letters at all places of the first word, which others of the query and queries before it did already:
//! so what begins like a word, or one typo away from it, is kept, and the second word goes on from there.

use std::sync::Arc;

use lamina_index::caches::{CachedSegment, SegmentCaches};
use lamina_segment::segment::{Beginning, NearBeginnings};
use lamina_text::id::TermOrdinal;
use lamina_text::text::TypoPattern;

use super::walk::visit_same_first;

/// Terms one typo away from `first` and `second` written as one (`prefix`: that begin like that), ascending. They begin
/// with the same character.
pub(super) fn near_joined(segment: CachedSegment<'_>, [first, second]: [&str; 2], prefix: bool) -> Vec<TermOrdinal> {
    let terms = segment.reader.terms();
    let beginnings = beginnings(segment, first);
    let mut near = Vec::new();
    // One typo is in the first word, in the second one, or swaps the characters between which they meet.
    let mut add_from = |from, rest: &str| {
        if let Some(place) = terms.descend(from, rest.as_bytes()) {
            if prefix { near.extend(terms.range(place)) } else { near.extend(terms.ordinal_at(place)) }
        }
    };
    beginnings.near().for_each(|from| add_from(from, second));
    if let Some(swapped) = swapped(first, second) {
        add_from(terms.root(), &swapped);
    }
    if let Some(from) = beginnings.exact {
        let pattern = TypoPattern::new(second, prefix, 1);
        let step = |reading, byte| pattern.step(reading, byte);
        terms.visit(
            from,
            pattern.start(),
            step,
            |reading| pattern.only(reading),
            |reading, _, _, ordinal| {
                near.extend(ordinal.filter(|_| pattern.typos(reading) == Some(1)));
            },
        );
        // What begins like both of them needs no typo.
        if let Some(place) = terms.descend(from, second.as_bytes()) {
            let same = if prefix { terms.range(place) } else { terms.ordinal_at(place).map_or(0..0, |o| o..o + 1) };
            near.retain(|ordinal| !same.contains(ordinal));
        }
    }
    near.sort_unstable();
    near.dedup();
    near
}

/// Finds the places in the term dictionary that begin with the first character of a word and equal the word or are one
/// typo away from it.
pub(super) fn beginnings(segment: CachedSegment<'_>, word: &str) -> Arc<NearBeginnings> {
    segment.caches.beginnings.get_or_find(word.into(), || {
        let mut found = BeginningsFound::default();
        let pattern = TypoPattern::new(word, false, 1);
        visit_same_first(segment.reader.terms(), &pattern, word, |typos, place, _| found.add(typos, place));
        found.packed()
    })
}

/// Places that a walk for the typos of a word comes by.
#[derive(Default)]
pub(super) struct BeginningsFound {
    exact: Option<Beginning>,
    near: Vec<Beginning>,
}

impl BeginningsFound {
    pub(super) fn add(&mut self, typos: u8, place: Beginning) {
        match typos {
            0 => self.exact = Some(place),
            1 => self.near.push(place),
            _ => {}
        }
    }

    fn packed(&self) -> NearBeginnings {
        NearBeginnings::new(self.exact, &self.near)
    }

    /// Keeps them for the words that may follow `word`.
    pub(super) fn keep(&self, caches: &SegmentCaches, word: &str) {
        caches.beginnings.get_or_find(word.into(), || self.packed());
    }
}

/// Both words as one, with the last character of the first word and the first one of the second swapped; `None` when
/// that is no typo, or one in the first character.
fn swapped(first: &str, second: &str) -> Option<String> {
    let (last, next) = (first.chars().next_back()?, second.chars().next()?);
    let before = &first[..first.len() - last.len_utf8()];
    let behind = &second[next.len_utf8()..];
    (last != next && !before.is_empty())
        .then(|| [before, next.encode_utf8(&mut [0; 4]), last.encode_utf8(&mut [0; 4]), behind].concat())
}
