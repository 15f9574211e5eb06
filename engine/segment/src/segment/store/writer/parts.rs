//! The store of a segment that is still in memory.

use super::super::block::document_range;
use super::super::prepared::{Prepared, decode, unpack};
use super::*;

/// Compressed blocks in memory, in pieces so that growing never copies them.
#[derive(Debug, Default)]
struct Blocks {
    blocks: Vec<Box<[u8]>>,
    bytes: usize,
}

impl BlockSink for Blocks {
    fn write_block(&mut self, bytes: &[u8]) -> Result<(), SegmentError> {
        self.blocks.push(bytes.into());
        self.bytes += bytes.len() + 32;
        Ok(())
    }
}

/// The store of a segment that is still in memory: documents are compressed as they come.
#[derive(Debug)]
pub(crate) struct StoreParts {
    builder: StoreBuilder,
    blocks: Blocks,
    /// Documents that wait for the dictionary; empty once it is there.
    samples: Vec<u8>,
    sample_lengths: Vec<usize>,
    is_trained: bool,
    dictionary: StoreDictionary,
}

impl StoreParts {
    pub(crate) fn new(dictionary: StoreDictionary) -> StoreParts {
        StoreParts {
            builder: StoreBuilder::new(None),
            blocks: Blocks::default(),
            samples: Vec::new(),
            sample_lengths: Vec::new(),
            is_trained: false,
            dictionary,
        }
    }

    /// The next document.
    pub(crate) fn push(&mut self, json: &[u8]) -> Result<(), SegmentError> {
        if self.is_trained {
            return self.builder.push(json, &mut self.blocks);
        }
        self.samples.extend_from_slice(json);
        self.sample_lengths.push(json.len());
        let waits = self.samples.len() < TRAINING_BYTES
            || (self.samples.len() < WAITING_BYTES_MAX && self.dictionary.is_nearly_there());
        if waits { Ok(()) } else { self.pack_samples() }
    }

    fn pack_samples(&mut self) -> Result<(), SegmentError> {
        self.is_trained = true;
        let (samples, lengths) = (std::mem::take(&mut self.samples), std::mem::take(&mut self.sample_lengths));
        if samples.len() >= WORTH_BYTES {
            self.builder.use_dictionary(self.dictionary.get_or_train(&samples, &lengths));
        }
        let mut at = 0;
        for length in lengths {
            self.builder.push(&samples[at..at + length], &mut self.blocks)?;
            at += length;
        }
        Ok(())
    }

    /// Closes the open block: the next document comes from elsewhere in the payload, and will not follow the one before it.
    pub(crate) fn end_run(&mut self) -> Result<(), SegmentError> {
        if self.is_trained { self.builder.flush(&mut self.blocks) } else { Ok(()) }
    }

    /// Adds the documents of another store that shares the dictionary.
    pub(crate) fn absorb(&mut self, mut other: StoreParts) -> Result<(), SegmentError> {
        if !other.is_trained {
            let mut at = 0;
            for length in other.sample_lengths {
                self.push(&other.samples[at..at + length])?;
                at += length;
            }
            return Ok(());
        }
        if !self.is_trained {
            self.pack_samples()?;
        }
        self.builder.flush(&mut self.blocks)?;
        other.builder.flush(&mut other.blocks)?;
        self.builder.append(other.builder);
        self.blocks.blocks.append(&mut other.blocks.blocks);
        self.blocks.bytes += other.blocks.bytes;
        Ok(())
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.blocks.bytes + self.samples.len() + self.builder.pending_bytes() + self.sample_lengths.len() * 8
    }

    /// Writes all sections. `order` gives the documents in their final order, by number of arrival; `None` when that is
    /// the order of arrival of all. Answers the bytes of JSON.
    pub(crate) fn finish(mut self, file: &mut SectionWriter, order: Option<&[u32]>) -> Result<u64, SegmentError> {
        if !self.is_trained {
            self.pack_samples()?;
        }
        self.builder.flush(&mut self.blocks)?;
        file.begin(SectionKind::Store, 0)?;
        let builder = match order {
            None => {
                for block in &self.blocks.blocks {
                    file.write(block)?;
                }
                self.builder
            }
            Some(order) => self.reorder(file, order)?,
        };
        file.end();
        builder.finish(file)
    }

    /// Brings the documents into another order: blocks whose documents stay together are copied, the others are packed once
    /// more.
    fn reorder(self, file: &mut SectionWriter, order: &[u32]) -> Result<StoreBuilder, SegmentError> {
        let StoreBuilder { first_docs, dictionaries, .. } = self.builder;
        let decoder = dictionaries.first().map(|dictionary| {
            Prepared::new(&dictionary.bytes, &dictionary.pieces).expect("the dictionary was trained by this program")
        });
        let no_pieces = Pieces::default();
        let mut builder = StoreBuilder::new(dictionaries.first().cloned());
        let (mut raw, mut json, mut open) = (Vec::new(), Vec::new(), usize::MAX);
        let mut at = 0;
        while let Some(&doc) = order.get(at) {
            let index = first_docs.partition_point(|&first| first <= u64::from(doc)) - 1;
            let wanted = u64::from(doc) - first_docs[index];
            let next = first_docs.get(index + 1).map_or(self.builder.doc_count, |&next| next);
            let docs = (next - first_docs[index]) as usize;
            let (head, frame) = BlockHead::read(&self.blocks.blocks[index]).expect("the block was written above");
            let stays_together =
                || order.get(at..at + docs).is_some_and(|others| others.iter().copied().eq(doc..doc + docs as u32));
            if wanted == 0 && builder.takes_block(head) && stays_together() {
                builder.flush(file)?;
                builder.push_block(head, frame, docs as u32, file)?;
                at += docs;
                continue;
            }
            let prepared = if head.dictionary == 0 { None } else { decoder.as_ref() };
            if open != index {
                let raw_bytes_max = head.lengths_bytes + head.json_bytes;
                unpack(prepared, frame, raw_bytes_max, &mut raw).map_err(failed)?;
                open = index;
            }
            let range = document_range(&raw, docs, wanted as usize).expect("the block was written above");
            let dictionary = dictionaries.first().filter(|_| head.dictionary != 0);
            let pieces = dictionary.map_or(&no_pieces, |dictionary| &dictionary.pieces);
            json.clear();
            decode(prepared, pieces, &raw[range], head.json_bytes, &mut json).expect("the block was written above");
            builder.push(&json, file)?;
            at += 1;
        }
        builder.flush(file)?;
        Ok(builder)
    }
}
