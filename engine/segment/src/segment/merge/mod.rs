//! Several segments become one.
//!
//! Everything streams. The term dictionaries are walked side by side; the postings of a term are joined and written
//! before the next term is looked at; documents are decoded, renumbered and packed one by one; compressed blocks of the
//! store are copied whole. What stays in memory is a few bytes per document and term: where each document goes, and the
//! new ordinal of each old one.

mod columns;
pub(super) mod order;
pub(super) mod plan;
mod text;
pub(super) mod watch;

use fst::Streamer;
use fst::raw::OpBuilder;
use lamina_text::id::{DocId, SegmentId};

use super::format::{DOCS_MAX, SectionKind, SectionWriter, segment_file_name};
use super::info::Info;
use super::keys::{NumberedKeys, SortedKeys};
use super::store::merge_stores;
use super::vectors::merge_vectors;
use super::{SegmentError, SegmentMeta, SegmentReader};
use crate::bits::monotone::{MONOTONE_SPAN_MAX, put_monotone};
use crate::storage::Directory;
use order::DocOrder;
pub use order::{DocMap, MergeInput};
pub use plan::MergeOptions;
use plan::{Merger, STEPS_PER_CHECK};
pub use watch::{MergeStep, MergeWatch};

/// A finished merge.
#[derive(Debug)]
pub struct Merged {
    /// The new segment; `None` when no document was left.
    pub meta: Option<SegmentMeta>,
    /// One per input, in the same order.
    pub doc_maps: Vec<DocMap>,
}

/// Writes the documents of `inputs` that are not deleted as the segment `id`, in order of their internal ids. When two
/// inputs have the same internal id, the document of the later input stays.
///
/// Streams: the memory it needs grows with the number of documents and terms (a few bytes each), not with the text.
/// A column is carried over when any input has it, unless it is to be dropped: an input without it has no document
/// with a value. (The index sees to that: it adds columns to old segments when a field becomes filterable or sortable,
/// and a segment written later got its column with the first value.) The same holds for the geo column and the
/// shapes. The content of the new file is synced; the caller syncs the directory.
///
/// # Errors
/// An input is damaged, which its checksums show before anything is written; the file cannot be written; there would be
/// too many documents; or it was cancelled. The inputs stay as they are, and no file is left.
pub fn merge(
    inputs: &[MergeInput<'_>],
    directory: &dyn Directory,
    id: SegmentId,
    options: &MergeOptions<'_>,
) -> Result<Merged, SegmentError> {
    let DocOrder { runs, doc_maps, doc_count } = DocOrder::new(inputs);
    if doc_count == 0 {
        return Ok(Merged { meta: None, doc_maps });
    }
    if doc_count > u64::from(DOCS_MAX) {
        return Err(SegmentError::Limit { what: "documents", limit: u64::from(DOCS_MAX) });
    }
    let merger = Merger { inputs, runs, doc_maps, doc_count: doc_count as u32, options };
    for segment in merger.inputs() {
        segment.verify_checksums(|| merger.check_cancelled())?;
    }
    let name = segment_file_name(id.0);
    let mut file = SectionWriter::create(directory, name.clone())?;
    let written = merger.write(&mut file, id).and_then(|meta| Ok(SegmentMeta { file: file.finish()?, ..meta }));
    match written {
        Ok(meta) => Ok(Merged { meta: Some(meta), doc_maps: merger.doc_maps }),
        Err(failure) => {
            // What is left of the file is of no use; when even removing it fails, recovery does it later.
            let _ = directory.delete(&name);
            Err(failure)
        }
    }
}

impl Merger<'_> {
    /// Writes all sections. The file of the answer is filled in by the caller.
    fn write(&self, file: &mut SectionWriter, id: SegmentId) -> Result<SegmentMeta, SegmentError> {
        let segments: Vec<&SegmentReader> = self.inputs().collect();
        let ids: Vec<u64> = self.docs().map(|(input, doc)| segments[input].internal_id(doc)).collect();
        let (first_internal_id, last_internal_id) = (ids[0], ids[ids.len() - 1]);
        if !ids.is_sorted_by(|a, b| a < b) || last_internal_id - first_internal_id > MONOTONE_SPAN_MAX {
            return Err(self.damaged(0, SectionKind::InternalIds, "the internal ids of an input do not ascend"));
        }
        let mut section = Vec::new();
        put_monotone(&mut section, &ids);
        file.section(SectionKind::InternalIds, 0, &section)?;
        drop((ids, section));

        self.merge_keys(file)?;
        let column_fields = self.merge_columns(file)?;
        let geo = self.merge_geo(file)?;
        let shapes = self.merge_shapes(file)?;
        merge_vectors(self, file)?;
        let raw_bytes = merge_stores(self, file)?;
        let (term_count, token_count) = self.merge_text(file)?;
        let info = Info { doc_count: self.doc_count, term_count, token_count, raw_bytes };
        file.section(SectionKind::Info, 0, &info.encode())?;
        let mut text_fields = segments[0].text_fields().clone();
        segments.iter().for_each(|segment| text_fields = text_fields.common(segment.text_fields()));
        if segments.iter().any(|segment| segment.patches().is_some()) {
            text_fields = text_fields.common(&self.options.text_fields);
        }
        Ok(SegmentMeta {
            id: id.0,
            file: segments[0].meta().file.clone(),
            doc_count: self.doc_count,
            first_internal_id,
            last_internal_id,
            raw_bytes,
            term_count,
            token_count,
            text_fields,
            text_rules: segments.iter().map(|segment| segment.meta().text_rules).min().unwrap_or_default(),
            column_fields,
            geo,
            shapes,
            column_files: Vec::new(),
        })
    }

    fn merge_keys(&self, file: &mut SectionWriter) -> Result<(), SegmentError> {
        self.enter(MergeStep::Keys, self.doc_count.into());
        if let Some(numbers) = self.numbered_keys()? {
            self.advance(self.doc_count.into());
            return numbers.write(file);
        }
        let mut streams = OpBuilder::new();
        for segment in self.inputs() {
            streams.push(segment.keys().stream());
        }
        let mut streams = streams.union();
        let mut keys = SortedKeys::new(self.doc_count as usize);
        let (mut steps, mut key_count) = (0, 0);
        while let Some((key, docs)) = streams.next() {
            steps += 1;
            if steps % STEPS_PER_CHECK == 0 {
                self.check_cancelled()?;
            }
            let before = key_count;
            for doc in docs {
                if let Some(new) = self.doc_maps[doc.index].get(doc.value as DocId) {
                    keys.push(key, new)?;
                    key_count += 1;
                }
            }
            self.advance(u64::from(key_count - before));
        }
        if key_count != self.doc_count {
            return Err(self.keys_and_documents_differ());
        }
        keys.write(file)
    }

    /// The keys of all documents, if they are numbers.
    fn numbered_keys(&self) -> Result<Option<NumberedKeys>, SegmentError> {
        let mut keys = NumberedKeys::with_capacity(self.doc_count as usize);
        let mut are_in_range = true;
        for (segment, docs) in self.inputs().zip(&self.doc_maps) {
            self.check_cancelled()?;
            let are_numbers = segment.keys().numbers(|number, doc| {
                are_in_range &= number <= MONOTONE_SPAN_MAX;
                docs.get(doc).into_iter().for_each(|new| keys.push(number, new));
            });
            if !are_numbers {
                return Ok(None);
            }
        }
        let is_sound = are_in_range && keys.len() == self.doc_count as usize;
        if is_sound { Ok(Some(keys)) } else { Err(self.keys_and_documents_differ()) }
    }

    fn keys_and_documents_differ(&self) -> SegmentError {
        self.damaged(0, SectionKind::Keys, "keys and documents of an input are not one to one")
    }
}

#[cfg(test)]
mod tests;
