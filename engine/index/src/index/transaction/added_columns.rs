//! Columns that a segment gets because the settings ask for them now: a file beside it.
//!
//! All threads read documents, a run each at a time; what they find is written in the order of the documents, by whichever
//! thread has the next run.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use lamina_segment::segment::{ColumnFileWriter, SegmentReader};
use lamina_text::id::{DocId, FieldId};
use parking_lot::{Condvar, Mutex, MutexGuard};

use super::super::error::IndexError;
use super::super::files::FileGuard;
use super::super::progress::Progress;
use super::super::snapshot::SegmentView;
use super::column_log::ColumnLog;
use super::document_runs::{for_each_document, runs_of};
use super::document_writer::{DocumentContext, DocumentWriter, Extraction};
use super::resources::Resources;
use super::threads::{check, on_threads};

/// Runs per thread that may wait for one that is slower: they are in memory.
const RUNS_AHEAD: usize = 4;

/// Columns, positions and shapes that the new settings need and the old ones did not.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted<'a> {
    /// By field id.
    pub(super) fields: &'a [bool],
    pub(super) geo: bool,
    pub(super) shapes: bool,
}

/// The segment with the columns of `wanted` that it lacks.
pub(super) fn add_columns_to(
    resources: &Resources<'_>,
    reading: DocumentContext<'_>,
    wanted: &Wanted<'_>,
    segment: &SegmentView,
) -> Result<SegmentView, IndexError> {
    let meta = segment.reader.meta();
    // Columns left from the last time a field was needed are as good as new: segments do not change.
    let missing: Vec<bool> =
        (0..).zip(wanted.fields).map(|(field, &wanted)| wanted && !meta.has_column(field)).collect();
    let (geo, shapes) = (wanted.geo && !meta.has_geo(), wanted.shapes && !meta.has_shapes());
    if !geo && !shapes && !missing.contains(&true) {
        resources.progress.advance(u64::from(meta.doc_count));
        return Ok(segment.clone());
    }
    let extraction = Extraction::Columns { wanted: &missing, geo, shapes };
    let missing_fields: Vec<FieldId> =
        (0..).zip(&missing).filter(|(_, missing)| **missing).map(|(field, _)| field).collect();
    let mut writer = ColumnFileWriter::new(&missing_fields, geo);
    if shapes {
        writer = writer.with_shapes();
    }
    let writer = gather(resources, reading, extraction, segment, writer)?;
    let file = writer.finish(&**resources.directory, meta, resources.first_number)?;
    let added = FileGuard::provisional(resources.directory.clone(), file.file.clone());
    let files = segment.files.iter().cloned().chain([added]).collect();
    let mut meta = meta.clone();
    meta.column_files.push(file);
    let reader = SegmentReader::open(&**resources.directory, &meta)?;
    Ok(SegmentView::new(reader, segment.deleted.clone(), files, resources.runtime))
}

/// Gives `writer` the values of all documents of the segment.
fn gather(
    resources: &Resources<'_>,
    reading: DocumentContext<'_>,
    extraction: Extraction<'_>,
    segment: &SegmentView,
    writer: ColumnFileWriter,
) -> Result<ColumnFileWriter, IndexError> {
    let meta = segment.reader.meta();
    let runs: Vec<Range<DocId>> = runs_of(meta.doc_count).collect();
    let thread_count = resources.threads_for(meta.raw_bytes);
    let next_run = AtomicUsize::new(0);
    let written = InOrder::new(writer, RUNS_AHEAD * thread_count);
    on_threads(thread_count, |_| {
        let mut documents = DocumentWriter::new(reading, extraction);
        loop {
            let index = next_run.fetch_add(1, Ordering::Relaxed);
            let Some(run) = runs.get(index) else { return Ok(()) };
            let read = check(resources.cancelled).and_then(|()| read_columns(&mut documents, segment, run.clone()));
            match read {
                Ok(log) => written.write(index, log, resources.progress),
                Err(error) => {
                    written.give_up();
                    return Err(error);
                }
            }
        }
    })?;
    Ok(written.into_writer())
}

fn read_columns(
    documents: &mut DocumentWriter<'_>,
    segment: &SegmentView,
    run: Range<DocId>,
) -> Result<ColumnLog, IndexError> {
    let mut log = ColumnLog::default();
    for_each_document(&segment.reader, run, |doc, json| {
        if segment.is_live(doc) {
            documents.write_columns(&mut log, json)
        } else {
            // Keeps the count; what is wrong with a deleted document does not matter.
            log.begin_document();
            Ok(())
        }
    })?;
    Ok(log)
}

/// A writer that several threads give their runs to, which it takes in order.
struct InOrder {
    state: Mutex<RunsInOrder>,
    written: Condvar,
    ahead_max: usize,
}

struct RunsInOrder {
    writer: ColumnFileWriter,
    /// The run that is written next.
    next: usize,
    waiting: BTreeMap<usize, ColumnLog>,
    /// A run will not come.
    is_given_up: bool,
}

impl InOrder {
    fn new(writer: ColumnFileWriter, ahead_max: usize) -> InOrder {
        let state = RunsInOrder { writer, next: 0, waiting: BTreeMap::new(), is_given_up: false };
        InOrder { state: Mutex::new(state), written: Condvar::new(), ahead_max }
    }

    /// Writes the run, or keeps it until its turn. Waits while it is far ahead of its turn.
    fn write(&self, run: usize, log: ColumnLog, progress: &Progress) {
        let mut state: MutexGuard<'_, RunsInOrder> = self.state.lock();
        self.written.wait_while(&mut state, |state| !state.is_given_up && run >= state.next + self.ahead_max);
        state.waiting.insert(run, log);
        let RunsInOrder { writer, next, waiting, .. } = &mut *state;
        while let Some(log) = waiting.remove(next) {
            log.play(writer);
            *next += 1;
            progress.advance(log.document_count());
        }
        self.written.notify_all();
    }

    fn give_up(&self) {
        self.state.lock().is_given_up = true;
        self.written.notify_all();
    }

    fn into_writer(self) -> ColumnFileWriter {
        let state = self.state.into_inner();
        debug_assert!(state.waiting.is_empty(), "every run was written");
        debug_assert!(!state.is_given_up, "every run was written");
        state.writer
    }
}
