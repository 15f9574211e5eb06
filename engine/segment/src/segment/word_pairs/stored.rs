//! The pairs of frequent words in a mapped segment.

use std::ops::Range;

use lamina_text::id::TermOrdinal;

use super::Known;
use super::flagged_lists::FlaggedLists;
use super::followers::Followers;
use super::near::near;
use super::pairs::StoredPairs;
use crate::bits::DocSet;
use crate::segment::error::Damage;
use crate::segment::format::SectionKind;
use crate::storage::OwnedBytes;

/// All lists of word pairs of a mapped segment: 16 bytes of heap for each pair, triple and near pair, the lists in the file.
pub struct StoredWordPairs {
    pairs: StoredPairs,
    /// By number of a triple and of a pair.
    triples: FlaggedLists,
    near: FlaggedLists,
    followers: Option<Followers>,
}

impl StoredWordPairs {
    /// `section`: the bytes of a section, if the segment has it. Older segments, and small ones, lack some or all.
    ///
    /// # Errors
    /// The first section of which the entries are damaged. Lists are looked at when they are asked for.
    pub(crate) fn open(
        section: impl Fn(SectionKind) -> Option<OwnedBytes>,
        doc_count: u32,
    ) -> Result<StoredWordPairs, (Damage, SectionKind)> {
        let in_section = |kind| move |damage| (damage, kind);
        let pairs = match section(SectionKind::Pairs) {
            Some(bytes) => StoredPairs::open(bytes, doc_count).map_err(in_section(SectionKind::Pairs))?,
            None => StoredPairs::none(),
        };
        let words = pairs.words().len();
        let flagged = |kind, words_together| match section(kind) {
            Some(bytes) => {
                FlaggedLists::open(bytes, (words as u64).pow(words_together), doc_count).map_err(in_section(kind))
            }
            None => Ok(FlaggedLists::none()),
        };
        let followers = section(SectionKind::Followers).map(|bytes| Followers::open(bytes, words, doc_count));
        Ok(StoredWordPairs {
            triples: flagged(SectionKind::Triples, 3)?,
            near: flagged(SectionKind::NearPairs, 2)?,
            followers: followers.transpose().map_err(in_section(SectionKind::Followers))?,
            pairs,
        })
    }

    /// The frequent words, ascending: of the others nothing is known.
    pub fn words(&self) -> &[TermOrdinal] {
        self.pairs.words()
    }

    fn places<const WORDS: usize>(&self, words: [TermOrdinal; WORDS]) -> Option<[usize; WORDS]> {
        let places = words.map(|word| self.words().binary_search(&word).ok());
        places.iter().all(Option::is_some).then(|| places.map(Option::unwrap_or_default))
    }

    /// The documents that have two words one right after the other in any field.
    pub fn next(&self, words: [TermOrdinal; 2]) -> Option<Known> {
        let docs = self.pairs.find(self.places(words)?)?;
        Some(Known::adjacent(docs.map_or_else(DocSet::empty, |list| list.to_set())))
    }

    /// Returns the number of documents that [`next`](Self::next) returns. Reads no list.
    pub fn next_doc_freq(&self, words: [TermOrdinal; 2]) -> Option<u32> {
        Some(self.pairs.find(self.places(words)?)?.map_or(0, |list| list.len()))
    }

    /// Returns the documents that contain three words in a row in any field, among those that contain both of their
    /// pairs.
    pub fn in_a_row(&self, words: [TermOrdinal; 3]) -> Option<Known> {
        let [first, middle, last] = self.places(words)?;
        let count = self.words().len();
        let (complement, documents) = self.triples.get(((first * count + middle) * count + last) as u32)?;
        Some(Known { documents, complement, cost: 0 })
    }

    /// The words of which [`in_a_row`](Self::in_a_row) is known.
    pub(crate) fn known_in_a_row(&self) -> impl Iterator<Item = [TermOrdinal; 3]> {
        let (words, count) = (self.words(), self.words().len());
        let places = self.triples.numbers().map(move |triple| triple as usize);
        places.map(move |triple| [triple / count / count, triple / count % count, triple % count].map(|at| words[at]))
    }

    /// The documents in which two words cost [`Known::cost`] at most, but are not next to each other; of those in which they
    /// are, some may be among them.
    pub fn near(&self, words: [TermOrdinal; 2]) -> Option<Known> {
        let [left, right] = self.places(words)?;
        self.near.get((left * self.words().len() + right) as u32).map(near)
    }

    /// The words of which [`near`](Self::near) is known.
    pub(crate) fn known_near(&self) -> impl Iterator<Item = [TermOrdinal; 2]> {
        let (words, count) = (self.words(), self.words().len());
        let places = self.near.numbers().map(move |pair| pair as usize);
        places.map(move |pair| [pair / count, pair % count].map(|at| words[at]))
    }

    /// The documents in which a term of a range comes right after a word in any field; maybe some more, in which a term does that
    /// begins like these.
    pub fn next_in(&self, word: TermOrdinal, range: Range<TermOrdinal>) -> Option<Known> {
        let [place] = self.places([word])?;
        self.followers.as_ref()?.docs(place as u8, range).map(Known::adjacent)
    }

    /// Returns the lists of terms that directly follow frequent words.
    pub(crate) fn followers(&self) -> Option<&Followers> {
        self.followers.as_ref()
    }

    /// Checks every list. `ordinal_count`: above all terms.
    ///
    /// # Errors
    /// The first section with a damaged list.
    pub(crate) fn validate(&self, ordinal_count: u32) -> Result<(), (Damage, SectionKind)> {
        let in_section = |kind| move |damage| (damage, kind);
        self.pairs.validate(ordinal_count).map_err(in_section(SectionKind::Pairs))?;
        self.triples.validate().map_err(in_section(SectionKind::Triples))?;
        self.near.validate().map_err(in_section(SectionKind::NearPairs))?;
        let followers = self.followers.as_ref().map_or(Ok(()), |followers| followers.validate(ordinal_count));
        followers.map_err(in_section(SectionKind::Followers))
    }
}

impl std::fmt::Debug for StoredWordPairs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "StoredWordPairs({} words)", self.words().len())
    }
}
