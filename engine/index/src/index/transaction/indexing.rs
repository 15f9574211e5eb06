//! Carries out a plan: its documents become segments, on all threads the batch may use.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use lamina_segment::document::{append_vectors, members, merge_with_vectors, split_vectors};
use lamina_segment::segment::{SegmentReader, SegmentWriter, SegmentWriterOptions, TextFields};
use lamina_text::id::DocId;
use lamina_text::text::dictionary_heap_bytes;
use parking_lot::Mutex;

use super::super::embedding::EmbeddingLog;
use super::super::error::IndexError;
use super::super::progress::Phase;
use super::super::settings::{AttributeList, Settings};
use super::super::snapshot::{DocumentAddress, SegmentView};
use super::document_writer::{DocumentContext, DocumentWriter, Extraction};
use super::resources::Resources;
use super::threads::{check, on_threads};
use super::vectors::{ActiveEmbedder, DocumentVectors, Missing, Origin, check_log};
use super::write_plan::{Content, Entry, WritePlan};
use crate::runtime::let_others_go;

/// Documents are handed to threads in runs of at most this many.
const RUN_LENGTH_MAX: usize = 256;
/// After so many documents searches may go first: some 80 us of a thread.
const DOCUMENTS_AT_ONCE: u64 = 4;

/// New segments and what they hold.
#[derive(Debug, Default)]
pub(super) struct Written {
    pub(super) segments: Vec<SegmentView>,
    /// Documents with each top-level field.
    pub(super) distribution: BTreeMap<String, u64>,
}

/// Segments that one thread wrote.
#[derive(Debug)]
pub(super) struct WrittenPart {
    segments: Vec<SegmentView>,
    /// The segment that it filled last.
    unfinished: Option<SegmentWriter>,
    distribution: BTreeMap<String, u64>,
}

/// Writes the documents of `plan`; `segments` hold the documents that updates start from. Each thread fills one
/// segment and starts another when its share of the memory is used. What two threads have in the end becomes one segment:
/// each segment costs each query.
pub(super) fn write_documents(
    resources: &Resources<'_>,
    reading: DocumentContext<'_>,
    plan: &WritePlan,
    segments: &[SegmentView],
) -> Result<Written, IndexError> {
    let written = || plan.entries().iter().filter(|entry| entry.is_written());
    let (mut document_count, mut bytes) = (0, 0);
    for entry in written() {
        document_count += 1;
        bytes += content_bytes(plan, entry);
    }
    if document_count == 0 {
        return Ok(Written::default());
    }
    resources.progress.enter(Phase::Indexing, document_count);

    let thread_count = resources.threads_for(bytes);
    let run_length = (plan.entries().len() / (thread_count * 8)).clamp(1, RUN_LENGTH_MAX);
    let memory = &SegmentMemory::new(resources.memory_bytes, plan.memory_bytes(), thread_count);
    let next_run = AtomicUsize::new(0);
    let embedders = ActiveEmbedder::all(reading.settings, resources, segments)?;
    embedders.iter().try_for_each(|embedder| embedder.check_stored(segments))?;
    let (missing, log) = (Missing::default(), EmbeddingLog::default());
    let parts = on_threads(thread_count, |_| {
        let vectors = DocumentVectors::new(resources, reading, &embedders, &missing, &log);
        let mut part = Part::new(resources, reading, vectors, memory);
        let mut source = Source { resources, plan, segments, stored: Vec::new() };
        loop {
            check(resources.cancelled)?;
            let start = next_run.fetch_add(run_length, Ordering::Relaxed);
            let end = (start + run_length).min(plan.entries().len());
            if start >= end {
                return part.finish();
            }
            let mut done = 0u64;
            for entry in plan.entries()[start..end].iter().filter(|entry| entry.is_written()) {
                source.with_document(entry, |id, origin, json| part.write(id, plan.key(entry), json, origin))?;
                done += 1;
                if done.is_multiple_of(DOCUMENTS_AT_ONCE) {
                    let_others_go();
                }
            }
            part.end_run();
            resources.progress.advance(done);
        }
    })?;
    missing.check()?;
    check_log(&log, &embedders)?;
    join(resources, parts)
}

/// Finishes what threads have left in memory.
pub(super) fn join(resources: &Resources<'_>, parts: Vec<WrittenPart>) -> Result<Written, IndexError> {
    let mut result = Written::default();
    let mut unfinished = Vec::with_capacity(parts.len());
    for part in parts {
        result.segments.extend(part.segments);
        unfinished.extend(part.unfinished);
        for (field, count) in part.distribution {
            *result.distribution.entry(field).or_default() += count;
        }
    }
    if !unfinished.is_empty() {
        result.segments.extend(finish_in_pairs(resources, unfinished)?);
    }
    Ok(result)
}

/// Joins writers two by two, and finishes what comes of it, two threads at each. (More than two would finish one segment
/// hardly faster.) There is one writer at least.
fn finish_in_pairs(resources: &Resources<'_>, writers: Vec<SegmentWriter>) -> Result<Vec<SegmentView>, IndexError> {
    let mut pairs: Vec<Mutex<Vec<SegmentWriter>>> = Vec::new();
    for writer in writers {
        match pairs.last_mut().map(Mutex::get_mut) {
            Some(pair) if pair.len() == 1 && pair[0].can_join(&writer) => pair.push(writer),
            _ => pairs.push(Mutex::new(vec![writer])),
        }
    }
    on_threads(pairs.len(), |number| {
        let mut pair = std::mem::take(&mut *pairs[number].lock()).into_iter();
        match (pair.next(), pair.next()) {
            (Some(first), Some(second)) => resources.finish_joined(first, second).map(Some),
            (Some(only), _) => resources.finish_segment(only).map(Some),
            (None, _) => Ok(None),
        }
    })
    .map(|segments| segments.into_iter().flatten().collect())
}

fn content_bytes(plan: &WritePlan, entry: &Entry) -> u64 {
    match entry.content {
        Content::Untouched | Content::Deleted => 0,
        Content::Line(line) => plan.line(line).len() as u64,
        Content::Merged(chain) => plan.chain(chain).lines.iter().map(|&line| plan.line(line).len() as u64).sum(),
    }
}

/// Memory budget of a batch for the segments being built.
#[derive(Debug)]
pub(super) struct SegmentMemory {
    bytes: usize,
    /// Each thread has a segment in the making.
    thread_count: usize,
    /// However little is left: tiny segments would cost more than they save.
    share_min: usize,
    /// One document at a time is indexed that may take more than a share.
    large: Mutex<()>,
}

impl SegmentMemory {
    /// One part in this many is left to segments in any case.
    const SHARE_MIN_DIVISOR: usize = 8;
    /// One document may take one part in this many, or a share where that is more.
    const DOCUMENT_DIVISOR: usize = 4;
    /// Upper bound of the memory that a document takes for each byte of its JSON. Short words or numbers that are all
    /// different take the most.
    const DOCUMENT_FACTOR: usize = 40;

    /// `used_bytes` of `memory_bytes` are taken.
    pub(super) fn new(memory_bytes: usize, used_bytes: usize, thread_count: usize) -> SegmentMemory {
        SegmentMemory {
            bytes: memory_bytes.saturating_sub(used_bytes),
            thread_count,
            share_min: memory_bytes / thread_count / Self::SHARE_MIN_DIVISOR,
            large: Mutex::new(()),
        }
    }

    /// Heap of one segment, in bytes. The dictionaries of some languages are read when their first text comes.
    fn share(&self) -> usize {
        (self.bytes.saturating_sub(dictionary_heap_bytes()) / self.thread_count).max(self.share_min)
    }

    /// Returns the upper bound of the memory of a segment with one document, in bytes.
    fn document_bytes_max(&self) -> usize {
        self.share().max(self.bytes / Self::DOCUMENT_DIVISOR)
    }

    /// Returns the upper bound of the memory for a document of `json_bytes` bytes of JSON, in bytes.
    fn expected(json_bytes: usize) -> usize {
        json_bytes.saturating_mul(Self::DOCUMENT_FACTOR)
    }
}

/// One thread's share of new segments.
#[derive(Debug)]
pub(super) struct Part<'a> {
    resources: &'a Resources<'a>,
    settings: &'a Settings,
    documents: DocumentWriter<'a>,
    vectors: DocumentVectors<'a>,
    writer: Option<SegmentWriter>,
    memory: &'a SegmentMemory,
    segments: Vec<SegmentView>,
}

impl<'a> Part<'a> {
    pub(super) fn new(
        resources: &'a Resources<'a>,
        reading: DocumentContext<'a>,
        vectors: DocumentVectors<'a>,
        memory: &'a SegmentMemory,
    ) -> Part<'a> {
        Part {
            resources,
            settings: reading.settings,
            documents: DocumentWriter::new(reading, Extraction::Everything),
            vectors,
            writer: None,
            memory,
            segments: Vec::new(),
        }
    }

    /// Adds a document that takes the place of `origin`.
    pub(super) fn write(&mut self, id: u64, key: &str, json: &[u8], origin: Origin<'_>) -> Result<(), IndexError> {
        self.resources.check_length(json.len())?;
        let expected = SegmentMemory::expected(json.len());
        let (share, memory) = (self.memory.share(), self.memory);
        if self.writer.as_ref().is_some_and(|writer| writer.memory_bytes() + expected > share) {
            self.spill()?;
        }
        // A large document has a segment of its own, and one at a time is indexed.
        let large = (expected > share).then(|| memory.large.lock());
        let memory_max = large.as_ref().map_or(usize::MAX, |_| memory.document_bytes_max());
        self.add(id, key, json, origin, memory_max)?;
        if large.is_some() || self.writer.as_ref().is_some_and(|writer| writer.memory_bytes() >= share) {
            self.spill()?;
        }
        Ok(())
    }

    fn add(
        &mut self,
        id: u64,
        key: &str,
        json: &[u8],
        origin: Origin<'_>,
        memory_max: usize,
    ) -> Result<(), IndexError> {
        let taken = self.vectors.take(json)?;
        let writer =
            self.writer.get_or_insert_with(|| SegmentWriter::new(writer_options(self.settings, self.resources)));
        self.documents.write(writer, id, key, &taken.json, memory_max)?;
        let doc = writer.doc_count() - 1;
        self.vectors.settle(writer, doc, id, &taken, origin)
    }

    /// The next document is not the one that follows the last one in the payload.
    pub(super) fn end_run(&mut self) {
        if let Some(writer) = &mut self.writer {
            writer.end_run();
        }
    }

    /// Returns what was written, with the last segment still in memory.
    pub(super) fn finish(mut self) -> Result<WrittenPart, IndexError> {
        let unfinished = self.take_writer()?;
        let mut distribution = BTreeMap::new();
        self.documents.add_distribution(&mut distribution);
        Ok(WrittenPart { segments: self.segments, unfinished, distribution })
    }

    fn spill(&mut self) -> Result<(), IndexError> {
        if let Some(writer) = self.take_writer()? {
            self.segments.push(self.resources.finish_segment(writer)?);
        }
        Ok(())
    }

    fn take_writer(&mut self) -> Result<Option<SegmentWriter>, IndexError> {
        if let Some(writer) = &mut self.writer {
            self.vectors.flush(writer)?;
        }
        Ok(self.writer.take())
    }
}

/// Columns come into being with their first value: in a segment, a field without a column has no values.
fn writer_options(settings: &Settings, resources: &Resources<'_>) -> SegmentWriterOptions {
    SegmentWriterOptions {
        text_fields: text_fields(settings),
        store_dictionary: resources.store_dictionary.clone(),
        list_thresholds: resources.list_thresholds,
        ..SegmentWriterOptions::default()
    }
}

/// The text fields of a segment written under these settings.
pub(in super::super) fn text_fields(settings: &Settings) -> TextFields {
    match &settings.searchable_attributes {
        AttributeList::All => TextFields::All,
        AttributeList::These(names) => TextFields::Listed(names.clone()),
    }
}

/// Gives the final form of documents.
struct Source<'a> {
    resources: &'a Resources<'a>,
    plan: &'a WritePlan,
    segments: &'a [SegmentView],
    stored: Vec<u8>,
}

impl Source<'_> {
    /// Calls `f` with the internal id, the origin and the JSON of the document that `entry` comes down to.
    fn with_document(
        &mut self,
        entry: &Entry,
        f: impl FnOnce(u64, Origin<'_>, &[u8]) -> Result<(), IndexError>,
    ) -> Result<(), IndexError> {
        let id = match (entry.new_internal_id(), entry.existing) {
            (Some(id), _) => id,
            (None, Some(DocumentAddress { segment, doc })) => self.segments[segment as usize].reader.internal_id(doc),
            (None, None) => unreachable!("a new document gets an id when it is planned"),
        };
        let existing = entry.existing.map(|address| (&*self.segments[address.segment as usize].reader, address.doc));
        match entry.content {
            Content::Line(line) => {
                let origin = existing.map_or(Origin::New, |(reader, doc)| Origin::Replaces(reader, doc));
                f(id, origin, self.plan.line(line))
            }
            Content::Merged(chain) => {
                let chain = self.plan.chain(chain);
                let mut lines = chain.lines.iter().map(|&line| self.plan.line(line));
                let mut document = match entry.existing.filter(|_| chain.from_existing) {
                    Some(address) => {
                        let reader = &self.segments[address.segment as usize].reader;
                        reader.store().get(address.doc, &mut self.stored)?;
                        without_vectors_beside(reader, address.doc, std::mem::take(&mut self.stored))?
                    }
                    None => lines.next().expect("a chain has lines").to_vec(),
                };
                for line in lines {
                    document = merge_with_vectors(&document, line)?;
                    self.resources.check_length(document.len())?;
                }
                let origin = match existing {
                    Some((reader, doc)) if chain.from_existing => Origin::Updates(reader, doc),
                    Some((reader, doc)) => Origin::Replaces(reader, doc),
                    None => Origin::New,
                };
                f(id, origin, &document)?;
                self.stored = document;
                Ok(())
            }
            Content::Untouched | Content::Deleted => unreachable!("nothing to write"),
        }
    }
}

/// Removes the vectors of a stored document that its segment has beside it: they came before there was the embedder, and what it has
/// made of them since counts.
fn without_vectors_beside(reader: &SegmentReader, doc: DocId, document: Vec<u8>) -> Result<Vec<u8>, IndexError> {
    if reader.vectors().is_empty() {
        return Ok(document);
    }
    let (rest, vectors) = split_vectors(&document)?;
    let Some(Ok(mut named)) = vectors.map(members) else { return Ok(document) };
    named.retain(|(name, _)| !reader.vectors_of(name).is_some_and(|beside| beside.state(doc).is_present()));
    let mut rest = rest.into_owned();
    append_vectors(&mut rest, &named);
    Ok(rest)
}
