//! Joins stores: compressed blocks are copied where all their documents stay together, the rest is packed anew.

use super::Store;
use super::writer::{StoreBuilder, TRAINING_BYTES, WORTH_BYTES};
use crate::segment::SegmentError;
use crate::segment::format::{SectionKind, SectionWriter};
use crate::segment::merge::order::DocRun;
use crate::segment::merge::plan::Merger;
use crate::segment::merge::watch::MergeStep;
use hashbrown::HashMap;

/// Writes the store sections. Answers the bytes of JSON.
pub(crate) fn merge_stores(merger: &Merger<'_>, file: &mut SectionWriter) -> Result<u64, SegmentError> {
    let stores: Vec<&Store> = merger.inputs().map(|segment| segment.store()).collect();
    let mut builder = StoreBuilder::new(None);
    // Blocks that are packed anew use the dictionary of the largest segment.
    let largest = merger.inputs().filter(|segment| segment.store().has_dictionary());
    match largest.max_by_key(|segment| segment.doc_count()).and_then(|segment| segment.store().dictionary(1)) {
        Some(dictionary) => {
            builder.adopt_dictionary(dictionary);
        }
        None => train(merger, &stores, &mut builder)?,
    }
    let mut sources: Vec<Source<'_>> =
        stores.iter().map(|store| Source { store, adopted: HashMap::default() }).collect();
    file.begin(SectionKind::Store, 0)?;
    let mut json = Vec::new();
    merger.enter(MergeStep::Documents, merger.runs().iter().map(|run| u64::from(run.count)).sum());
    for run in merger.runs() {
        merger.check_cancelled()?;
        sources[run.input].copy_run(merger, run, &mut builder, file, &mut json)?;
    }
    builder.flush(file)?;
    file.end();
    builder.finish(file)
}

/// Small segments have no dictionary; together they may be worth one.
fn train(merger: &Merger<'_>, stores: &[&Store], builder: &mut StoreBuilder) -> Result<(), SegmentError> {
    let (mut samples, mut lengths, mut json) = (Vec::new(), Vec::new(), Vec::new());
    for (input, doc) in merger.docs() {
        stores[input].get(doc, &mut json)?;
        samples.extend_from_slice(&json);
        lengths.push(json.len());
        if samples.len() >= TRAINING_BYTES {
            break;
        }
    }
    if samples.len() >= WORTH_BYTES {
        builder.train(&samples, &lengths);
    }
    Ok(())
}

/// An input of the merge.
struct Source<'a> {
    store: &'a Store,
    /// By number of a dictionary here: its number in the new store, when there was room for it.
    adopted: HashMap<u8, Option<u8>>,
}

impl Source<'_> {
    fn copy_run(
        &mut self,
        merger: &Merger<'_>,
        run: &DocRun,
        builder: &mut StoreBuilder,
        file: &mut SectionWriter,
        json: &mut Vec<u8>,
    ) -> Result<(), SegmentError> {
        let end = run.start + run.count;
        let mut doc = run.start;
        while doc < end {
            let copied = if let Some(docs) = self.copy_block(doc, end, builder, file)? {
                docs
            } else {
                self.store.get(doc, json)?;
                builder.push(json, file)?;
                1
            };
            doc += copied;
            merger.advance(copied.into());
        }
        Ok(())
    }

    /// Copies the block that starts at `doc`, when it is worth it and ends before `end`. Answers its number of documents.
    fn copy_block(
        &mut self,
        doc: u32,
        end: u32,
        builder: &mut StoreBuilder,
        file: &mut SectionWriter,
    ) -> Result<Option<u32>, SegmentError> {
        let Some(block) = self.store.block_of(doc) else { return Ok(None) };
        let docs = self.store.block_docs(block);
        if docs.start != doc || docs.is_empty() || docs.end > end || self.store.is_patched(&docs) {
            return Ok(None);
        }
        let (mut head, frame) = self.store.block(block)?;
        if !builder.takes_block(head) {
            return Ok(None);
        }
        if head.dictionary != 0 {
            // Dictionaries are compared byte by byte: not for every block.
            let adopt = || builder.adopt_dictionary(self.store.dictionary(head.dictionary)?);
            let Some(number) = *self.adopted.entry(head.dictionary).or_insert_with(adopt) else { return Ok(None) };
            head.dictionary = number;
        }
        builder.flush(file)?;
        builder.push_block(head, frame, docs.len() as u32, file)?;
        Ok(Some(docs.len() as u32))
    }
}
