//! Brings segments in line with changed settings: added columns, or rewritten text.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use lamina_segment::document::{IdError, document_id};
use lamina_segment::segment::TextFields;
use lamina_text::id::DocId;

use super::super::embedding::EmbeddingLog;
use super::super::error::IndexError;
use super::super::progress::Phase;
use super::super::settings::{Settings, SettingsChange, covers};
use super::super::snapshot::SegmentView;
use super::added_columns::{Wanted, add_columns_to};
use super::document_runs::{for_each_document, runs_of};
use super::document_writer::DocumentContext;
use super::indexing::{Part, SegmentMemory, join, text_fields};
use super::resources::Resources;
use super::threads::{check, on_threads};
use super::vectors::{DocumentVectors, Missing, Origin};

/// The segments as `new` needs them, or `None` when they serve as they are.
pub(super) fn adapt_segments(
    resources: &Resources<'_>,
    reading: DocumentContext<'_>,
    old: &Settings,
    segments: &[SegmentView],
) -> Result<Option<Vec<SegmentView>>, IndexError> {
    let new = reading.settings;
    let change = SettingsChange::between(old, new);
    let wanted_text = text_fields(new);
    let has_other_words = |segment: &SegmentView| {
        let patches = segment.reader.patches();
        patches.is_some_and(|patches| patches.names().any(|name| new.searchable_attributes.selects(name)))
    };
    let lacks_text =
        |segment: &SegmentView| !serves(segment.reader.text_fields(), &wanted_text) || has_other_words(segment);
    if change.text || (change.searchable && segments.iter().any(lacks_text)) {
        return rewrite(resources, reading, segments).map(Some);
    }
    if change.columns {
        return add_columns(resources, reading, old, segments);
    }
    Ok(None)
}

/// Reports whether a segment that indexes `present` covers `wanted`.
fn serves(present: &TextFields, wanted: &TextFields) -> bool {
    match (present, wanted) {
        (TextFields::All, _) => true,
        (TextFields::Listed(_), TextFields::All) => false,
        (TextFields::Listed(present), TextFields::Listed(wanted)) => {
            wanted.iter().all(|name| present.iter().any(|parent| covers(parent, name)))
        }
    }
}

/// Writes all live documents anew, on all threads.
pub(in super::super) fn rewrite(
    resources: &Resources<'_>,
    reading: DocumentContext<'_>,
    segments: &[SegmentView],
) -> Result<Vec<SegmentView>, IndexError> {
    let total = segments.iter().map(|segment| u64::from(segment.live_count())).sum();
    resources.progress.enter(Phase::RewritingSegments, total);
    let bytes = segments.iter().map(|segment| segment.reader.meta().raw_bytes).sum();
    let thread_count = resources.threads_for(bytes);
    let memory = &SegmentMemory::new(resources.memory_bytes, 0, thread_count);
    let runs: Vec<(usize, Range<DocId>)> = segments
        .iter()
        .enumerate()
        .flat_map(|(index, segment)| runs_of(segment.reader.doc_count()).map(move |run| (index, run)))
        .collect();
    let next_run = AtomicUsize::new(0);
    // Vectors move along as they are; what the new settings mean for them comes after.
    let (missing, log) = (Missing::default(), EmbeddingLog::default());
    let parts = on_threads(thread_count, |_| {
        let vectors = DocumentVectors::new(resources, reading, &[], &missing, &log);
        let mut part = Part::new(resources, reading, vectors, memory);
        loop {
            check(resources.cancelled)?;
            let Some((index, docs)) = runs.get(next_run.fetch_add(1, Ordering::Relaxed)) else {
                return part.finish();
            };
            let segment = &segments[*index];
            let mut done = 0;
            for_each_document(&segment.reader, docs.clone(), |doc, json| {
                if !segment.is_live(doc) {
                    return Ok(());
                }
                let key = document_id(json, reading.primary_key).map_err(unusable_stored_id)?;
                done += 1;
                part.write(segment.reader.internal_id(doc), key.as_str(), json, Origin::Rewrites(&segment.reader, doc))
            })?;
            part.end_run();
            resources.progress.advance(done);
        }
    })?;
    Ok(join(resources, parts)?.segments)
}

/// Builds the columns that became needed, a file per segment that may have values for them.
fn add_columns(
    resources: &Resources<'_>,
    reading: DocumentContext<'_>,
    old: &Settings,
    segments: &[SegmentView],
) -> Result<Option<Vec<SegmentView>>, IndexError> {
    let new = reading.settings;
    let geo = new.uses_geo() && !old.uses_geo();
    let shapes = new.uses_shapes() && !old.uses_shapes();
    let fields = reading.fields.snapshot();
    // A column that was needed before is there already, or no document of the segment has a value for it.
    let wanted: Vec<bool> = fields.names().map(|name| new.needs_column(name) && !old.needs_column(name)).collect();
    if segments.is_empty() || !(geo || shapes || wanted.contains(&true)) {
        return Ok(None);
    }
    let total = segments.iter().map(|segment| u64::from(segment.reader.doc_count())).sum();
    resources.progress.enter(Phase::BuildingColumns, total);
    // One segment after the other: a column is gathered in memory before it is written.
    segments
        .iter()
        .map(|segment| add_columns_to(resources, reading, &Wanted { fields: &wanted, geo, shapes }, segment))
        .collect::<Result<_, _>>()
        .map(Some)
}

fn unusable_stored_id(error: IdError) -> IndexError {
    match error {
        IdError::Document(error) => error.into(),
        // Every stored document had an id under this key when it was written.
        other => IndexError::StoredDocumentId(other),
    }
}
