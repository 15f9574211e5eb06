//! Whether the sections of a segment that say the same agree: postings, pairs, near pairs, triples and followers are those of
//! the token column, unions those of the postings. Each is sound by itself when this is asked.

use std::collections::BTreeMap;

use lamina_text::id::{DocId, FIRST_TERM, GAP, TermOrdinal};

use super::SegmentReader;
use super::error::Damage;
use super::format::SectionKind;
use super::word_pairs::{Followers, Known, NEAR_DISTANCE_MAX, StoredWordPairs};
use crate::bits::{BitsetBuilder, DocSet};

/// No document was met yet.
const NO_DOC: DocId = DocId::MAX;

/// Compares postings, pairs, near pairs, triples and followers with the tokens of all documents. Cost: one scan of the token
/// column, eight bytes per term, and the lists of the frequent words.
pub(super) fn agree_with_tokens(segment: &SegmentReader) -> Result<(), Wrong> {
    let mut terms = vec![(NO_DOC, 0u32); segment.terms().len() as usize];
    let mut word_pairs = WordPairLists::new(segment.word_pairs())?;
    let (mut fields, mut tokens) = (Vec::new(), Vec::new());
    for doc in 0..segment.doc_count() {
        segment.tokens().doc(doc).decode(&mut fields, &mut tokens);
        for &token in tokens.iter().filter(|&&token| token >= FIRST_TERM) {
            let Some((last, count)) = terms.get_mut((token - FIRST_TERM) as usize) else { continue };
            *count += u32::from(*last != doc);
            *last = doc;
        }
        if segment.word_pairs().words().is_empty() {
            continue;
        }
        let mut start = 0;
        for &(_, end) in &fields {
            word_pairs.meet(doc, tokens.get(start..end as usize).unwrap_or_default())?;
            start = end as usize;
        }
    }
    word_pairs.check_complete()?;
    let postings = segment.postings();
    let counts = (FIRST_TERM..).zip(&terms).all(|(ordinal, &(_, count))| postings.doc_freq(ordinal) == count);
    if counts {
        Ok(())
    } else {
        Err((Damage("a term is in other documents than its list says"), SectionKind::Postings))
    }
}

/// Damage, and the section in which it is.
type Wrong = (Damage, SectionKind);

/// The lists of frequent words near each other, and what was met of them.
struct WordPairLists<'a> {
    pairs: Listed<2>,
    triples: Listed<3>,
    near_pairs: ListedNear<'a>,
    followers: ListedFollowers<'a>,
}

impl<'a> WordPairLists<'a> {
    fn new(stored: &'a StoredWordPairs) -> Result<WordPairLists<'a>, Wrong> {
        let words = stored.words();
        let all = words.iter().flat_map(|&left| words.iter().map(move |&right| [left, right]));
        let pairs = Listed::new(all.filter_map(|words| Some((words, stored.next(words)?.documents))));
        let in_a_row = |words: [TermOrdinal; 3]| {
            let [first, middle, last] = words;
            let both = stored.next([first, middle])?.documents.and(&stored.next([middle, last])?.documents);
            let Known { documents, complement, .. } = stored.in_a_row(words)?;
            let docs = if complement { both.and_not(&documents) } else { documents.clone() };
            (!complement || documents.and_len(&both) == documents.len()).then_some((words, docs))
        };
        let Some(triples) = stored.known_in_a_row().map(in_a_row).collect::<Option<Vec<_>>>() else {
            let reason = "a triple lists documents without both its pairs, or one of these is not listed";
            return Err((Damage(reason), SectionKind::Triples));
        };
        Ok(WordPairLists {
            pairs,
            triples: Listed::new(triples.into_iter()),
            near_pairs: ListedNear::new(stored),
            followers: ListedFollowers::new(stored),
        })
    }

    /// Checks that the lists contain the document wherever words of `run` have a list.
    fn meet(&mut self, doc: DocId, run: &[TermOrdinal]) -> Result<(), Wrong> {
        let wrong = |what, section| Err((Damage(what), section));
        if !self.pairs.meet(doc, run) {
            return wrong("a document holds a pair that does not list it", SectionKind::Pairs);
        }
        if !self.triples.meet(doc, run) {
            return wrong("a document holds a triple that does not list it", SectionKind::Triples);
        }
        if !self.near_pairs.meet(doc, run) {
            return wrong("a document holds a near pair that does not list it", SectionKind::NearPairs);
        }
        if !self.followers.meet(doc, run) {
            return wrong("a document holds a follower that does not list it", SectionKind::Followers);
        }
        Ok(())
    }

    /// Checks that all documents of all lists were seen.
    fn check_complete(&self) -> Result<(), Wrong> {
        let wrong = |what, section| Err((Damage(what), section));
        if !self.pairs.are_complete() {
            return wrong("a pair lists a document that does not hold it", SectionKind::Pairs);
        }
        if !self.triples.are_complete() {
            return wrong("a triple lists a document that does not hold it", SectionKind::Triples);
        }
        if !self.near_pairs.are_complete() {
            return wrong("a near pair lists a document that does not hold it", SectionKind::NearPairs);
        }
        if !self.followers.are_complete() {
            return wrong("a follower lists a document that does not hold it", SectionKind::Followers);
        }
        Ok(())
    }
}

/// By words in a row what their lists say, and what was met.
struct Listed<const WORDS: usize>(BTreeMap<[TermOrdinal; WORDS], SeenList>);

impl<const WORDS: usize> Listed<WORDS> {
    fn new(lists: impl Iterator<Item = ([TermOrdinal; WORDS], DocSet)>) -> Listed<WORDS> {
        Listed(lists.map(|(words, docs)| (words, SeenList::new(docs))).collect())
    }

    /// Reports whether the lists contain the document wherever its words have a list.
    fn meet(&mut self, doc: DocId, run: &[TermOrdinal]) -> bool {
        run.windows(WORDS).all(|words| self.0.get_mut(words).is_none_or(|counted| counted.meet(doc)))
    }

    /// Reports whether all documents of all lists were seen.
    fn are_complete(&self) -> bool {
        self.0.values().all(SeenList::is_complete)
    }
}

/// By two words the largest cost that is listed, and what was met.
struct ListedNear<'a> {
    /// Frequent words.
    words: &'a [TermOrdinal],
    lists: BTreeMap<[TermOrdinal; 2], (u32, SeenList)>,
}

impl<'a> ListedNear<'a> {
    fn new(word_pairs: &'a StoredWordPairs) -> ListedNear<'a> {
        let lists = word_pairs.known_near().filter_map(|words| Some((words, word_pairs.near(words)?)));
        let lists = lists.map(|(words, near)| (words, (near.cost, SeenList::new(near.documents)))).collect();
        ListedNear { words: word_pairs.words(), lists }
    }

    /// Reports whether the lists contain the document wherever its words have a list.
    fn meet(&mut self, doc: DocId, run: &[TermOrdinal]) -> bool {
        run.split(|&token| token == GAP).all(|run| {
            let frequent = |word: &TermOrdinal| self.words.binary_search(word).is_ok();
            let places = (0..run.len()).filter(|&at| frequent(&run[at]));
            let near = places.flat_map(|at| {
                run[at + 1..]
                    .iter()
                    .take(NEAR_DISTANCE_MAX)
                    .zip(1..)
                    .map(move |(&right, distance)| (distance, run[at], right))
            });
            near.filter(|(_, _, right)| frequent(right)).all(|(distance, left, right)| {
                // One for each word between them, and one for the other order.
                let (in_order, reversed) = (distance - 1, distance);
                [([left, right], in_order), ([right, left], reversed)].into_iter().all(|(words, cost)| {
                    self.lists
                        .get_mut(&words)
                        .is_none_or(|(most, counted)| !(1..=*most).contains(&cost) || counted.meet(doc))
                })
            })
        })
    }

    /// Reports whether all documents of all lists were seen.
    fn are_complete(&self) -> bool {
        self.lists.values().all(|(_, counted)| counted.is_complete())
    }
}

/// By number the lists of followers, and what was met.
struct ListedFollowers<'a> {
    word_pairs: &'a StoredWordPairs,
    lists: BTreeMap<usize, SeenList>,
}

impl<'a> ListedFollowers<'a> {
    fn new(word_pairs: &'a StoredWordPairs) -> ListedFollowers<'a> {
        let known = word_pairs.followers().into_iter().flat_map(Followers::known);
        ListedFollowers { word_pairs, lists: known.map(|(list, docs)| (list, SeenList::new(docs))).collect() }
    }

    /// Reports whether the lists contain the document wherever a word and the term after it have a list.
    fn meet(&mut self, doc: DocId, run: &[TermOrdinal]) -> bool {
        let Some(followers) = self.word_pairs.followers() else { return true };
        run.windows(2).filter(|pair| pair[1] >= FIRST_TERM).all(|pair| {
            let place = self.word_pairs.words().binary_search(&pair[0]).ok();
            let list = place.and_then(|place| followers.list_of(place as u8, pair[1]));
            list.and_then(|list| self.lists.get_mut(&list)).is_none_or(|counted| counted.meet(doc))
        })
    }

    /// Reports whether all documents of all lists were seen.
    fn are_complete(&self) -> bool {
        self.lists.values().all(SeenList::is_complete)
    }
}

/// A list, and the documents that were met with its words.
struct SeenList {
    docs: DocSet,
    count: u32,
    last: DocId,
}

impl SeenList {
    fn new(docs: DocSet) -> SeenList {
        SeenList { docs, count: 0, last: NO_DOC }
    }

    fn is_complete(&self) -> bool {
        self.count == self.docs.len()
    }

    /// Reports whether the list contains the document.
    fn meet(&mut self, doc: DocId) -> bool {
        if self.last == doc {
            return true;
        }
        self.last = doc;
        self.count += 1;
        self.docs.contains(doc)
    }
}

/// Compares the unions of prefixes with the lists of their terms. Cost: reads each list up to three times, five bytes per
/// document.
pub(super) fn unions_agree_with_postings(segment: &SegmentReader) -> Result<(), Damage> {
    let postings = segment.postings();
    let mut marks = vec![(0u32, 0u8); segment.doc_count() as usize];
    for prefix in postings.union_prefixes() {
        let Some(union) = postings.prefix_union(prefix) else { return Err(Damage("a union cannot be read")) };
        let terms = segment.terms().prefix_range(prefix);
        let mut docs = BitsetBuilder::new(segment.doc_count());
        terms.clone().for_each(|ordinal| postings.add_to(ordinal, &mut docs));
        let (docs, stored) = (docs.finish(), union.groups.docs());
        if stored.len() != docs.len() || stored.and_len(&docs) != docs.len() {
            return Err(Damage("a union has other documents than the terms of its prefix"));
        }
        union.groups.for_each_group(|code, zone, docs| {
            docs.for_each(|doc| marks[doc as usize] = (code, zone));
        });
        // What is said of a document must hold for all its terms; fields may be unknown.
        let mut is_bound = true;
        for ordinal in terms {
            postings.for_each_with_zone(ordinal, |doc, code, zone| {
                let Some(&(union_code, union_zone)) = marks.get(doc as usize) else { return };
                let all = union.field_sets.fields(union_code);
                let fields = postings.field_sets().fields(code);
                is_bound &= union_zone <= zone;
                is_bound &= all.is_empty() || fields.iter().all(|field| all.contains(field));
            });
        }
        if !is_bound {
            return Err(Damage("a union says of a document what is not so of one of its terms"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::tests::{many_docs, write_segment};
    use super::*;
    use crate::storage::MemoryDirectory;

    fn segment(directory: &MemoryDirectory) -> SegmentReader {
        let meta = write_segment(directory, 1, &many_docs(15_000));
        SegmentReader::open(directory, &meta).unwrap()
    }

    #[test]
    fn what_is_written_agrees() {
        let directory = MemoryDirectory::new();
        let segment = segment(&directory);
        assert!(segment.word_pairs().known_in_a_row().next().is_some());
        assert!(segment.postings().union_prefixes().next().is_some());
        agree_with_tokens(&segment).unwrap();
        unions_agree_with_postings(&segment).unwrap();
    }
}
