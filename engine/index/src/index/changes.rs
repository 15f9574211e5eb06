//! What became of documents between two states of an index.
//!
//! Segments that both states have differ in their deleted documents, which takes a look at two bitmaps, and in what documents got. Documents of
//! other segments are new, or were moved by a merge: they are read, and compared with those of the same key.

use lamina_segment::document::document_id;

use super::error::IndexError;
use super::snapshot::{DocumentAddress, SegmentView, Snapshot};

/// Kind of change to a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    Added,
    Replaced,
    Deleted,
}

impl Snapshot {
    /// Calls `see` with each document that differs between `before` and this state, and with its key, until it answers
    /// false. Cost: reads the documents of segments that only one of both has.
    ///
    /// # Errors
    /// A segment is damaged, or a document has no key.
    pub fn changes_since(
        &self,
        before: &Snapshot,
        see: &mut dyn FnMut(Change, &str) -> bool,
    ) -> Result<(), IndexError> {
        self.check_whole()?;
        before.check_whole()?;
        for address in self.not_in(before) {
            let document = self.document(address)?;
            let key = self.key_of(&document)?;
            let change = match before.find(&key) {
                None => Change::Added,
                Some(old) if before.document(old)? == document => continue,
                Some(_) => Change::Replaced,
            };
            if !see(change, &key) {
                return Ok(());
            }
        }
        for address in before.not_in(self) {
            let key = before.key_of(&before.document(address)?)?;
            if self.find(&key).is_none() && !see(Change::Deleted, &key) {
                return Ok(());
            }
        }
        Ok(())
    }

    fn key_of(&self, document: &[u8]) -> Result<String, IndexError> {
        let primary_key = self.primary_key.as_deref().unwrap_or_default();
        let id = document_id(document, primary_key).map_err(IndexError::StoredDocumentId)?;
        Ok(id.as_str().to_owned())
    }

    /// The live documents that are not alive in the same place of `other`.
    fn not_in<'a>(&'a self, other: &'a Snapshot) -> impl Iterator<Item = DocumentAddress> + 'a {
        self.segments.iter().zip(0..).flat_map(move |(view, segment)| {
            let same = other.segments.iter().find(|candidate| is_of_same_file(view, candidate));
            let docs = 0..if is_equal(view, same) { 0 } else { view.reader.doc_count() };
            let is_same =
                move |doc: u32| same.is_some_and(|same| same.is_live(doc) && !view.is_patched_otherwise(same, doc));
            let differs = move |doc: &u32| view.is_live(*doc) && !is_same(*doc);
            docs.filter(differs).map(move |doc| DocumentAddress { segment, doc })
        })
    }
}

/// Ids are those of one index, and names come to stand for others.
fn is_of_same_file(one: &SegmentView, other: &SegmentView) -> bool {
    one.reader.meta().file == other.reader.meta().file
}

/// Nothing has to be looked at then.
fn is_equal(view: &SegmentView, same: Option<&SegmentView>) -> bool {
    let Some(same) = same else { return false };
    if view.reader.meta().last_patch_file() != same.reader.meta().last_patch_file() {
        return false;
    }
    match (&view.deleted, &same.deleted) {
        (None, None) => true,
        (Some(one), Some(other)) => one.bitmap() == other.bitmap(),
        _ => false,
    }
}
