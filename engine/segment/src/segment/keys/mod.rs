//! "I have a primary key: which document is it?"
//!
//! Where all keys of a segment are whole numbers, as those of most tables are, they are kept as numbers: sorted, at a few bits each.
//! Others are in an fst behind a filter.
//!
//! The layout is in `segment-format.md`.

mod numbers;
mod texts;

#[cfg(test)]
pub(super) use numbers::example as numbers_example;

use super::SegmentError;
use super::error::Damage;
use super::format::{SectionKind, SectionTable, SectionWriter};
use fst::Streamer;
use lamina_text::id::DocId;
use numbers::{NumberKeys, NumberStream, number_of};
use texts::{TextKeys, TextKeysBuilder};

/// The primary keys of a segment.
pub struct Keys {
    form: Form,
}

enum Form {
    Texts(TextKeys),
    Numbers(NumberKeys),
}

impl Keys {
    /// Opens the sections of a file.
    pub fn open(file: &SectionTable, doc_count: u32) -> Result<Keys, SegmentError> {
        let damaged = |kind: SectionKind| move |damage: Damage| damage.at(file.name(), kind.name());
        let form = if let Some(bytes) = file.optional(SectionKind::NumberKeys) {
            Form::Numbers(NumberKeys::open(bytes, doc_count).map_err(damaged(SectionKind::NumberKeys))?)
        } else {
            let (fst, filter) = (file.required(SectionKind::Keys)?, file.required(SectionKind::KeyFilter)?);
            Form::Texts(TextKeys::open(fst, filter, doc_count).map_err(damaged(SectionKind::Keys))?)
        };
        Ok(Keys { form })
    }

    /// The section that the keys are in.
    pub fn section(&self) -> SectionKind {
        match self.form {
            Form::Texts(_) => SectionKind::Keys,
            Form::Numbers(_) => SectionKind::NumberKeys,
        }
    }

    /// The document with this key. An absent key costs a load or two, nearly always.
    pub fn get(&self, key: &[u8]) -> Option<DocId> {
        match &self.form {
            Form::Texts(keys) => keys.get(key),
            Form::Numbers(keys) => keys.get(number_of(key)?),
        }
    }

    /// Calls `f` with each key and its document, in no order that means anything.
    pub fn for_each(&self, mut f: impl FnMut(&[u8], DocId)) {
        match &self.form {
            Form::Texts(keys) => keys.for_each(f),
            Form::Numbers(keys) => keys.for_each(|number, doc| f(number.to_string().as_bytes(), doc)),
        }
    }

    /// Calls `f` with each key, as a number, and its document. Answers whether all of them are numbers: it ends at the first
    /// that is not.
    pub fn numbers(&self, mut f: impl FnMut(u64, DocId)) -> bool {
        match &self.form {
            Form::Texts(keys) => {
                let mut stream = keys.stream();
                while let Some((key, doc)) = stream.next() {
                    let Some(number) = number_of(key) else { return false };
                    f(number, doc.value() as DocId);
                }
            }
            Form::Numbers(keys) => keys.for_each(f),
        }
        true
    }

    /// All keys with their documents, in byte order of the keys.
    pub(crate) fn stream(&self) -> KeyStream<'_> {
        match &self.form {
            Form::Texts(keys) => KeyStream::Texts(keys.stream()),
            Form::Numbers(keys) => KeyStream::Numbers(keys.stream()),
        }
    }

    /// Checks that each document has exactly one key and is found by it.
    pub(crate) fn validate(&self, doc_count: u32) -> Result<(), Damage> {
        match &self.form {
            Form::Texts(keys) => keys.validate(doc_count),
            Form::Numbers(keys) => keys.validate(),
        }
    }
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Keys({})", self.section().name())
    }
}

/// The keys of a segment in byte order, as those of several segments are joined.
pub(crate) enum KeyStream<'a> {
    Texts(fst::raw::Stream<'a>),
    Numbers(NumberStream),
}

impl<'s> Streamer<'s> for KeyStream<'_> {
    type Item = (&'s [u8], fst::raw::Output);

    fn next(&'s mut self) -> Option<(&'s [u8], fst::raw::Output)> {
        match self {
            KeyStream::Texts(stream) => stream.next(),
            KeyStream::Numbers(stream) => stream.next(),
        }
    }
}

/// Gathers the keys of a segment, in any order, as numbers while they are numbers.
#[derive(Debug, Default)]
pub(crate) struct NumberedKeys {
    docs: Vec<(u64, DocId)>,
}

impl NumberedKeys {
    pub(crate) fn with_capacity(count: usize) -> NumberedKeys {
        NumberedKeys { docs: Vec::with_capacity(count) }
    }

    pub(crate) fn len(&self) -> usize {
        self.docs.len()
    }

    pub(crate) fn push(&mut self, number: u64, doc: DocId) {
        self.docs.push((number, doc));
    }

    /// Adds the key if it is a number, and answers whether it is.
    pub(crate) fn push_text(&mut self, key: &[u8], doc: DocId) -> bool {
        number_of(key).map(|number| self.push(number, doc)).is_some()
    }

    /// Writes the section.
    ///
    /// # Errors
    /// Two documents have the same key.
    pub(crate) fn write(mut self, file: &mut SectionWriter) -> Result<(), SegmentError> {
        if !self.docs.is_sorted() {
            self.docs.sort_unstable();
        }
        if let Some(same) = self.docs.windows(2).find(|two| two[0].0 == two[1].0) {
            return Err(SegmentError::DuplicateKey { key: same[0].0.to_string() });
        }
        file.section(SectionKind::NumberKeys, 0, &numbers::section(&self.docs))
    }
}

/// Writes keys that are texts, in strictly ascending byte order.
pub(crate) struct SortedKeys {
    builder: TextKeysBuilder,
}

impl SortedKeys {
    pub(crate) fn new(key_count: usize) -> SortedKeys {
        SortedKeys { builder: TextKeysBuilder::new(key_count) }
    }

    /// The next key.
    ///
    /// # Errors
    /// The key is the one before.
    pub(crate) fn push(&mut self, key: &[u8], doc: DocId) -> Result<(), SegmentError> {
        self.builder.push(key, doc)
    }

    /// Writes the sections.
    pub(crate) fn write(self, file: &mut SectionWriter) -> Result<(), SegmentError> {
        self.builder.write(file)
    }
}
