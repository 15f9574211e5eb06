//! Packs documents into compressed blocks.

mod parts;

pub(crate) use parts::StoreParts;

use super::compress::Compressor;
use super::pieces::{PieceEncoder, Pieces};
use super::train::train;
use super::words::{self, WordEncoder};
use super::{BLOCK_BYTES, DICTIONARIES_MAX, WORD_BLOCK_BYTES};
use crate::bits::little_endian::put_u32;
use crate::bits::monotone::put_monotone;
use crate::bits::varint::{put_varint, read_varint};
use crate::segment::format::{SectionKind, SectionWriter};
use crate::segment::{SegmentError, SegmentReader};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// A segment with fewer bytes of documents has no dictionary: a hundred kilobytes in each small segment, written for every
/// update, would cost more than they save.
pub(super) const WORTH_BYTES: usize = 1024 * 1024;
/// A dictionary is trained on this many bytes of documents, where there are so many. (It is trained while the first
/// documents of a load wait, some 40 ms; on half as many the documents are packed to one part in a hundred more.)
pub(super) const TRAINING_BYTES: usize = 4 * WORTH_BYTES;

/// While another thread trains the dictionary, documents of at most so many bytes wait for it.
const WAITING_BYTES_MAX: usize = 16 * WORTH_BYTES;

/// Smaller blocks are packed anew, or a segment that grew from single updates would keep one block per document.
const COPIED_BYTES_MIN: usize = BLOCK_BYTES / 2;

/// Codes of a document that take more than this many eighths of its JSON are no good: the model knows other words.
const GOOD_EIGHTHS: usize = 6;

/// Dictionary with which blocks are packed: `bytes` that zstd knows in advance or a model of words, and the numbered
/// pieces.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Dictionary {
    pub(super) bytes: Box<[u8]>,
    pub(super) pieces: Pieces,
}

impl Dictionary {
    /// Learns from documents that lie one after the other in `samples`, with these lengths. `None`: nothing to learn.
    pub(super) fn train(samples: &[u8], lengths: &[usize]) -> Option<Dictionary> {
        let pieces = Pieces::learn(samples, lengths);
        let mut encoder = PieceEncoder::new(pieces.clone());
        let (mut texts, mut text_lengths, mut at) = (Vec::with_capacity(samples.len()), Vec::new(), 0);
        for length in lengths {
            let start = texts.len();
            encoder.encode(&samples[at..at + length], &mut texts);
            text_lengths.push(texts.len() - start);
            at += length;
        }
        Dictionary::choose(&texts, &text_lengths, pieces, &Samples { json: samples, lengths })
    }

    /// Chooses the dictionary that packs the last documents smaller: a model of words, or one for zstd.
    fn choose(texts: &[u8], text_lengths: &[usize], pieces: Pieces, samples: &Samples<'_>) -> Option<Dictionary> {
        let with = |bytes: Vec<u8>| Arc::new(Dictionary { bytes: bytes.into(), pieces: pieces.clone() });
        let learned = text_lengths.len() - words::kept_back(text_lengths.len());
        // Where there is nothing to learn, plain compression serves as well.
        let zstd_of = |documents: usize| {
            let bytes = text_lengths[..documents].iter().sum();
            train(&texts[..bytes], &text_lengths[..documents]).ok().map(with)
        };
        let Some(model) = words::train(texts, text_lengths).map(with) else {
            return zstd_of(learned).and_then(Arc::into_inner);
        };
        let model_bytes = samples.packed(&model, learned);
        // Most documents consist of words. A dictionary of some of them is enough to see that.
        if zstd_of(learned / 4).is_some_and(|zstd| samples.packed(&zstd, learned) / 10 * 9 > model_bytes) {
            return Arc::into_inner(model);
        }
        let zstd = zstd_of(learned).filter(|zstd| samples.packed(zstd, learned) <= model_bytes);
        Arc::into_inner(zstd.unwrap_or(model))
    }
}

/// Documents to learn from, one after the other, with their lengths.
struct Samples<'a> {
    json: &'a [u8],
    lengths: &'a [usize],
}

impl Samples<'_> {
    /// Bytes that the documents from number `first` on are packed to.
    fn packed(&self, dictionary: &Arc<Dictionary>, first: usize) -> usize {
        let mut builder = StoreBuilder::new(Some(Arc::clone(dictionary)));
        let (mut sink, mut at) = (PackedBytes(0), self.lengths[..first].iter().sum());
        for length in &self.lengths[first..] {
            if builder.push(&self.json[at..at + length], &mut sink).is_err() {
                return usize::MAX;
            }
            at += length;
        }
        if builder.flush(&mut sink).is_ok() { sink.0 } else { usize::MAX }
    }
}

/// Counts the bytes of blocks.
struct PackedBytes(usize);

impl BlockSink for PackedBytes {
    fn write_block(&mut self, bytes: &[u8]) -> Result<(), SegmentError> {
        self.0 += bytes.len();
        Ok(())
    }
}

/// A compression dictionary that the segments of an index share: the first one that grows large enough trains it.
///
/// Training takes some 0.2 s, and blocks of segments with the same dictionary are merged by copying.
#[derive(Clone, Debug, Default)]
pub struct StoreDictionary {
    /// `None` inside: training found nothing to learn.
    trained: Arc<OnceLock<Option<Arc<Dictionary>>>>,
    is_in_training: Arc<AtomicBool>,
}

impl StoreDictionary {
    /// The dictionary of the largest of these segments, or one that is yet to be trained.
    pub fn of_largest<'a>(segments: impl Iterator<Item = &'a SegmentReader>) -> StoreDictionary {
        let with_dictionary = segments.filter(|segment| segment.store().has_dictionary());
        let largest = with_dictionary.max_by_key(|segment| segment.doc_count());
        let dictionary = StoreDictionary::default();
        if let Some(largest) = largest.and_then(|segment| segment.store().dictionary(1)) {
            dictionary.trained.get_or_init(|| Some(Arc::new(largest)));
        }
        dictionary
    }

    /// Reports whether another thread is training the dictionary now, so that it will be available soon.
    fn is_nearly_there(&self) -> bool {
        self.trained.get().is_none() && self.is_in_training.swap(true, Ordering::Relaxed)
    }

    /// The dictionary; trained now, on documents that lie one after the other in `samples`, if no thread did before.
    fn get_or_train(&self, samples: &[u8], lengths: &[usize]) -> Option<Arc<Dictionary>> {
        self.trained.get_or_init(|| Dictionary::train(samples, lengths).map(Arc::new)).clone()
    }
}

/// Destination of finished blocks.
pub(crate) trait BlockSink {
    fn write_block(&mut self, bytes: &[u8]) -> Result<(), SegmentError>;
}

impl BlockSink for SectionWriter {
    fn write_block(&mut self, bytes: &[u8]) -> Result<(), SegmentError> {
        self.write(bytes)
    }
}

/// Header of a block, before its frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockHead {
    /// 0: none.
    pub(super) dictionary: u8,
    pub(super) lengths_bytes: usize,
    pub(super) json_bytes: usize,
}

impl BlockHead {
    pub(super) const NONE: BlockHead = BlockHead { dictionary: 0, lengths_bytes: 0, json_bytes: 0 };

    fn put(self, out: &mut Vec<u8>) {
        out.push(self.dictionary);
        put_varint(out, self.lengths_bytes as u64);
        put_varint(out, self.json_bytes as u64);
    }

    /// The head and the frame behind it.
    pub(super) fn read(block: &[u8]) -> Option<(BlockHead, &[u8])> {
        let mut at = 1;
        let lengths_bytes = usize::try_from(read_varint(block, &mut at)?).ok()?;
        let json_bytes = usize::try_from(read_varint(block, &mut at)?).ok()?;
        Some((BlockHead { dictionary: *block.first()?, lengths_bytes, json_bytes }, block.get(at..)?))
    }

    /// The raw content has at most so many bytes.
    pub(super) fn raw_bytes_max(&self) -> Option<usize> {
        self.lengths_bytes.checked_add(self.json_bytes)
    }
}

/// The checksum of a block as it is stored, its head included.
pub(super) fn block_sum(block: &[u8]) -> u32 {
    crc32fast::hash(block)
}

/// Packs documents, in the order they come, into compressed blocks.
#[derive(Debug)]
pub(crate) struct StoreBuilder {
    dictionaries: Vec<Arc<Dictionary>>,
    /// Number of the dictionary that new blocks use; 0: none.
    current: u8,
    /// For the current dictionary; made when it is first used.
    packer: Option<Packer>,
    /// Texts of the documents of the open block.
    raw: Vec<u8>,
    /// Lengths of these texts.
    lengths: Vec<usize>,
    /// JSON of the open block.
    open_json_bytes: usize,
    first_docs: Vec<u64>,
    ends: Vec<u64>,
    /// Checksum of each block.
    sums: Vec<u32>,
    doc_count: u64,
    /// JSON in the blocks.
    json_bytes: u64,
    block: Vec<u8>,
    plain: Vec<u8>,
    frame: Vec<u8>,
}

/// Encoder and method that turn documents into blocks with one dictionary.
#[derive(Debug)]
struct Packer {
    encoder: PieceEncoder,
    method: Method,
}

#[derive(Debug)]
enum Method {
    /// Blocks are compressed.
    Zstd(Compressor),
    /// Documents are codes; the text of one is written before.
    Words(WordEncoder, Vec<u8>),
}

impl Packer {
    fn new(dictionary: Option<&Dictionary>) -> Result<Packer, SegmentError> {
        let encoder = PieceEncoder::new(dictionary.map(|dictionary| dictionary.pieces.clone()).unwrap_or_default());
        let bytes = dictionary.map(|dictionary| &*dictionary.bytes);
        let method = match bytes.and_then(WordEncoder::new) {
            Some(words) => Method::Words(words, Vec::new()),
            None => Method::Zstd(Compressor::new(bytes).map_err(failed)?),
        };
        Ok(Packer { encoder, method })
    }

    /// A block is closed before it grows past so many bytes of JSON.
    fn block_bytes(&self) -> usize {
        match self.method {
            Method::Zstd(_) => BLOCK_BYTES,
            Method::Words(..) => WORD_BLOCK_BYTES,
        }
    }

    /// Appends what stands for a document in its block. Answers whether it could: nothing is appended for what holds bytes
    /// that stand for pieces, or has other words than the model.
    fn put(&mut self, json: &[u8], raw: &mut Vec<u8>) -> bool {
        let Method::Words(words, text) = &mut self.method else { return self.encoder.encode(json, raw) };
        text.clear();
        if !self.encoder.encode(json, text) {
            return false;
        }
        let start = raw.len();
        words.encode(text, raw);
        let is_good = (raw.len() - start) * 8 <= json.len() * GOOD_EIGHTHS;
        if !is_good {
            raw.truncate(start);
        }
        is_good
    }

    /// Appends the frame of a block's raw content.
    fn pack(&mut self, plain: &[u8], block: &mut Vec<u8>, frame: &mut Vec<u8>) -> Result<(), SegmentError> {
        match &mut self.method {
            Method::Zstd(compressor) => compressor.compress(plain, block, frame).map_err(failed),
            Method::Words(..) => {
                block.extend_from_slice(plain);
                Ok(())
            }
        }
    }
}

fn failed(source: io::Error) -> SegmentError {
    SegmentError::Io { file: "compressor".to_owned(), source }
}

impl StoreBuilder {
    pub(super) fn new(dictionary: Option<Arc<Dictionary>>) -> StoreBuilder {
        StoreBuilder {
            current: u8::from(dictionary.is_some()),
            dictionaries: dictionary.into_iter().collect(),
            packer: None,
            raw: Vec::new(),
            lengths: Vec::new(),
            open_json_bytes: 0,
            first_docs: Vec::new(),
            ends: vec![0],
            sums: Vec::new(),
            doc_count: 0,
            json_bytes: 0,
            block: Vec::new(),
            plain: Vec::new(),
            frame: Vec::new(),
        }
    }

    /// Trains the dictionary that the blocks from now on use.
    pub(super) fn train(&mut self, samples: &[u8], lengths: &[usize]) {
        self.use_dictionary(StoreDictionary::default().get_or_train(samples, lengths));
    }

    /// Sets the dictionary that the blocks from now on use.
    fn use_dictionary(&mut self, dictionary: Option<Arc<Dictionary>>) {
        if let Some(dictionary) = dictionary {
            self.dictionaries.push(dictionary);
            self.current = self.dictionaries.len() as u8;
            self.packer = None;
        }
    }

    /// Reports whether blocks are packed with a dictionary from now on.
    fn has_dictionary(&self) -> bool {
        self.current != 0
    }

    /// Raw bytes of the documents that are not in a block yet.
    pub(crate) fn pending_bytes(&self) -> usize {
        self.raw.len()
    }

    /// Makes the packer of the current dictionary, where there is none yet.
    fn make_packer(&mut self) -> Result<(), SegmentError> {
        if self.packer.is_none() {
            let dictionary = self.current.checked_sub(1).map(|index| &*self.dictionaries[usize::from(index)]);
            self.packer = Some(Packer::new(dictionary)?);
        }
        Ok(())
    }

    /// The next document.
    pub(crate) fn push(&mut self, json: &[u8], sink: &mut dyn BlockSink) -> Result<(), SegmentError> {
        self.make_packer()?;
        let block_bytes = self.packer.as_ref().expect("it was made above").block_bytes();
        if !self.lengths.is_empty() && self.open_json_bytes + json.len() > block_bytes {
            self.flush(sink)?;
        }
        let packer = self.packer.as_mut().expect("it was made above");
        let start = self.raw.len();
        if !packer.put(json, &mut self.raw) {
            return self.push_alone(json, sink);
        }
        self.count(self.raw.len() - start, json.len());
        Ok(())
    }

    /// Counts a document whose text was put behind the others.
    fn count(&mut self, text_bytes: usize, json_bytes: usize) {
        if self.lengths.is_empty() {
            self.first_docs.push(self.doc_count);
        }
        self.lengths.push(text_bytes);
        self.open_json_bytes += json_bytes;
        self.doc_count += 1;
    }

    /// A document that has bytes which stand for pieces, or words that the model does not know, has a block of its own, without
    /// a dictionary.
    fn push_alone(&mut self, json: &[u8], sink: &mut dyn BlockSink) -> Result<(), SegmentError> {
        self.flush(sink)?;
        self.raw.extend_from_slice(json);
        self.count(json.len(), json.len());
        self.flush_with(0, &mut Packer::new(None)?, sink)
    }

    /// Closes the open block.
    pub(crate) fn flush(&mut self, sink: &mut dyn BlockSink) -> Result<(), SegmentError> {
        if self.lengths.is_empty() {
            return Ok(());
        }
        self.make_packer()?;
        let mut packer = self.packer.take().expect("it was made above");
        let flushed = self.flush_with(self.current, &mut packer, sink);
        self.packer = Some(packer);
        flushed
    }

    fn flush_with(
        &mut self,
        dictionary: u8,
        packer: &mut Packer,
        sink: &mut dyn BlockSink,
    ) -> Result<(), SegmentError> {
        self.plain.clear();
        self.lengths.iter().for_each(|&length| put_varint(&mut self.plain, length as u64));
        let head = BlockHead { dictionary, lengths_bytes: self.plain.len(), json_bytes: self.open_json_bytes };
        self.plain.extend_from_slice(&self.raw);
        self.block.clear();
        head.put(&mut self.block);
        self.json_bytes += head.json_bytes as u64;
        packer.pack(&self.plain, &mut self.block, &mut self.frame)?;
        self.raw.clear();
        self.lengths.clear();
        self.open_json_bytes = 0;
        self.write_block(sink)
    }

    /// Hands out the block that was made.
    fn write_block(&mut self, sink: &mut dyn BlockSink) -> Result<(), SegmentError> {
        sink.write_block(&self.block)?;
        self.ends.push(self.ends[self.ends.len() - 1] + self.block.len() as u64);
        self.sums.push(block_sum(&self.block));
        Ok(())
    }

    /// Number under which blocks of another store that were packed with `dictionary` can be copied, or `None` when this
    /// store holds its share of dictionaries already.
    pub(super) fn adopt_dictionary(&mut self, dictionary: Dictionary) -> Option<u8> {
        if let Some(index) = self.dictionaries.iter().position(|known| **known == dictionary) {
            return Some(index as u8 + 1);
        }
        if self.dictionaries.len() == DICTIONARIES_MAX {
            return None;
        }
        self.dictionaries.push(Arc::new(dictionary));
        let number = self.dictionaries.len() as u8;
        if self.current == 0 {
            self.current = number;
            self.packer = None;
        }
        Some(number)
    }

    /// Reports whether it pays to copy a block instead of repacking its documents: it is not small, a dictionary would
    /// not pack it better, and no small open block has to be closed for it.
    pub(super) fn takes_block(&self, head: BlockHead) -> bool {
        let cuts_small = self.open_json_bytes > 0 && self.open_json_bytes < COPIED_BYTES_MIN;
        let packs_better = head.dictionary == 0 && self.has_dictionary();
        head.json_bytes >= COPIED_BYTES_MIN && !cuts_small && !packs_better
    }

    /// A whole block of another store; `head` names the dictionary by its number here. The open block must be closed.
    pub(super) fn push_block(
        &mut self,
        head: BlockHead,
        frame: &[u8],
        doc_count: u32,
        sink: &mut dyn BlockSink,
    ) -> Result<(), SegmentError> {
        debug_assert!(self.lengths.is_empty());
        debug_assert!(doc_count > 0);
        self.first_docs.push(self.doc_count);
        self.doc_count += u64::from(doc_count);
        self.json_bytes += head.json_bytes as u64;
        self.block.clear();
        head.put(&mut self.block);
        self.block.extend_from_slice(frame);
        self.write_block(sink)
    }

    /// The blocks of `other`, which were packed with the same dictionary or none, have been put behind those of this one. The
    /// open blocks of both must be closed.
    fn append(&mut self, other: StoreBuilder) {
        debug_assert!(self.lengths.is_empty());
        debug_assert!(other.lengths.is_empty());
        if self.dictionaries.is_empty() {
            self.use_dictionary(other.dictionaries.into_iter().next());
        }
        let end = self.ends[self.ends.len() - 1];
        self.first_docs.extend(other.first_docs.iter().map(|doc| doc + self.doc_count));
        self.ends.extend(other.ends[1..].iter().map(|other_end| other_end + end));
        self.sums.extend(other.sums);
        self.doc_count += other.doc_count;
        self.json_bytes += other.json_bytes;
    }

    /// Writes the sections that belong to the blocks, which were flushed. Answers the bytes of JSON.
    pub(crate) fn finish(mut self, file: &mut SectionWriter) -> Result<u64, SegmentError> {
        debug_assert!(self.lengths.is_empty());
        let mut section = Vec::new();
        self.first_docs.push(self.doc_count);
        put_monotone(&mut section, &self.first_docs);
        put_monotone(&mut section, &self.ends);
        self.sums.iter().for_each(|sum| put_u32(&mut section, *sum));
        file.section(SectionKind::StoreIndex, 0, &section)?;
        section.clear();
        section.push(self.dictionaries.len() as u8);
        self.dictionaries.iter().for_each(|dictionary| put_u32(&mut section, dictionary.bytes.len() as u32));
        self.dictionaries.iter().for_each(|dictionary| section.extend_from_slice(&dictionary.bytes));
        file.section(SectionKind::StoreDictionaries, 0, &section)?;
        if self.dictionaries.iter().any(|dictionary| !dictionary.pieces.is_empty()) {
            section.clear();
            self.dictionaries.iter().for_each(|dictionary| dictionary.pieces.put(&mut section));
            file.section(SectionKind::StorePieces, 0, &section)?;
        }
        Ok(self.json_bytes)
    }
}
