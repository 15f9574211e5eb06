//! Segments whose texts were split into words by the rules of an earlier version: of the versions so far, all have the same rules.
//!
//! Queries are split by the present rules, so in such a segment a word that the rules changed is not found. Everything else is. The
//! merge thread rewrites these segments when nothing else needs merging, one after the other, smallest first, behind searches and
//! without holding up writers. A segment that cannot be read stays as it is.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use lamina_segment::document::FieldMap;
use lamina_segment::segment::StoreDictionary;
use lamina_text::id::InternalId;
use lamina_text::text::TEXT_RULES;
use roaring::RoaringBitmap;

use super::error::IndexError;
use super::meanwhile::{current_views, deleted_since};
use super::patching::patched_since;
use super::progress::Progress;
use super::shared::Shared;
use super::snapshot::{SegmentView, Snapshot};
use super::tombstones::Tombstones;
use super::transaction::{Asks, DocumentContext, rewrite};

impl Shared {
    pub(super) fn has_outdated_text(&self) -> bool {
        next(&self.snapshot()).is_some()
    }
}

/// Returns the smallest segment that is to be rewritten.
pub(super) fn next(snapshot: &Snapshot) -> Option<&SegmentView> {
    let is_outdated = |segment: &&SegmentView| segment.reader.meta().text_rules < TEXT_RULES;
    snapshot.segments.iter().filter(is_outdated).min_by_key(|segment| segment.reader.meta().total_bytes())
}

/// Writes the live documents of `source` as new segments.
pub(super) fn write(
    shared: &Shared,
    before: &Snapshot,
    source: &SegmentView,
    cancelled: &AtomicBool,
) -> Result<Vec<SegmentView>, IndexError> {
    let store_dictionary = StoreDictionary::of_largest(before.segments.iter().map(|view| &*view.reader));
    let progress = Progress::new();
    let mut resources = shared.resources(&store_dictionary, &progress, cancelled, Asks::Never);
    // One thread has time.
    resources.thread_count = 1;
    let tokenizer = shared.tokenizer_for(&before.settings);
    let fields = FieldMap::from(before.fields.clone());
    let primary_key = before.primary_key.clone().unwrap_or_default();
    let reading = DocumentContext {
        settings: &before.settings,
        fields: &fields,
        tokenizer: &tokenizer,
        primary_key: &primary_key,
    };
    rewrite(&resources, reading, std::slice::from_ref(source))
}

/// Puts `written` in place of `source`, with what was deleted meanwhile. `false` when a writer has replaced or extended the source, or
/// changed the settings: then the work was in vain.
pub(super) fn publish(
    shared: &Shared,
    before: &Snapshot,
    source: &SegmentView,
    mut written: Vec<SegmentView>,
) -> Result<bool, IndexError> {
    let writer = shared.lock_writer();
    let now = shared.snapshot();
    let current = current_views(&now, std::slice::from_ref(source));
    let Some(&[current]) = current.as_deref().filter(|_| Arc::ptr_eq(&now.settings, &before.settings)) else {
        return Ok(false);
    };
    let deleted: Vec<InternalId> =
        deleted_since(source, current).into_iter().map(|doc| source.reader.internal_id(doc)).collect();
    for segment in &mut written {
        let gone: RoaringBitmap = deleted.iter().filter_map(|&id| segment.reader.doc_of_internal_id(id)).collect();
        if !gone.is_empty() {
            segment.deleted = Some(Arc::new(Tombstones::new(gone)));
        }
        let renumber = |doc| segment.reader.doc_of_internal_id(source.reader.internal_id(doc));
        let patches = patched_since(source, current, renumber);
        if !patches.is_empty() {
            *segment = segment.with_patches(&shared.directory, shared.options.first_number.get(), &patches)?;
        }
    }
    let mut new = (*now).clone();
    new.generation = shared.next_generation(&now);
    let place = now.segments.iter().position(|segment| segment.id() == source.id()).unwrap_or(0);
    new.segments.splice(place..=place, written);
    writer.publish(new)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use lamina_segment::segment::{SegmentWriter, SegmentWriterOptions};
    use lamina_segment::storage::{Directory, MemoryDirectory};
    use lamina_text::id::{Gap, SegmentId};
    use serde_json::{Value, json};

    use super::super::manifest::{Manifest, manifest_generation};
    use super::super::{CommitNote, Index, IndexOptions, Operation, Payload, Upsert, WriteMethod};
    use super::*;

    const COUNT: u64 = 40;

    fn document(id: u64) -> Value {
        json!({ "id": id, "t": format!("Straße {id}") })
    }

    fn apply(index: &Index, operation: Operation) {
        let results =
            index.apply(&[operation], CommitNote::new(0, |_| Vec::new()), &Progress::new(), &AtomicBool::new(false));
        assert!(results.unwrap().iter().all(Result::is_ok));
    }

    /// An index as a version would write it that kept the letter.
    fn old_index(background_merges: bool) -> (MemoryDirectory, Index) {
        let directory = MemoryDirectory::new();
        let options = IndexOptions { background_merges, ..IndexOptions::default() };
        let index = Index::create_in(Arc::new(directory.clone()), options.clone()).unwrap();
        let lines: String = (0..COUNT).map(|id| format!("{}\n", document(id))).collect();
        let payload = Payload::Bytes(lines.into_bytes().into());
        let method = WriteMethod::Replace;
        apply(&index, Operation::Upsert(Upsert { payload, method, primary_key: None, skip_creation: false }));
        let field = index.snapshot().fields.get("t").unwrap();
        drop(index);
        let mut writer = SegmentWriter::new(SegmentWriterOptions::default());
        for id in 0..COUNT {
            writer.begin_document(id, &id.to_string(), document(id).to_string().as_bytes());
            writer.word(field, "straße", Gap::Soft);
            writer.word(field, &id.to_string(), Gap::Soft);
            writer.end_document();
        }
        let meta = writer.finish(&directory, SegmentId(70)).unwrap();
        let names = directory.list().unwrap();
        let name = names.iter().find(|name| manifest_generation(name).is_some()).unwrap();
        let mut manifest = Manifest::from_bytes(name, &directory.open_read(name).unwrap()).unwrap();
        manifest.body.segments[0].meta = lamina_segment::segment::SegmentMeta { text_rules: 0, ..meta };
        manifest.body.next_segment_id = 71;
        directory.atomic_write(name, &manifest.to_bytes()).unwrap();
        let index = Index::open_in(Arc::new(directory.clone()), options).unwrap();
        (directory, index)
    }

    fn count(index: &Index, word: &str) -> u32 {
        let snapshot = index.snapshot();
        let of = |view: &SegmentView| {
            let reader = &view.reader;
            reader.terms().ordinal(word.as_bytes()).map_or(0, |ordinal| reader.postings().doc_freq(ordinal))
        };
        snapshot.segments.iter().map(of).sum()
    }

    #[test]
    fn outdated_text_is_split_again_when_an_index_is_opened() {
        let (directory, index) = old_index(true);
        index.wait_for_merges();
        assert_eq!([count(&index, "strasse"), count(&index, "straße")], [COUNT as u32, 0]);
        let snapshot = index.snapshot();
        assert!(snapshot.segments.iter().all(|segment| segment.reader.meta().text_rules == TEXT_RULES));
        assert_eq!(snapshot.document_count(), COUNT);
        drop(index);
        let index = Index::open_in(Arc::new(directory), IndexOptions::default()).unwrap();
        assert!(!index.shared().has_outdated_text(), "the manifest keeps it");
    }

    #[test]
    fn what_is_deleted_meanwhile_stays_deleted() {
        let (_directory, index) = old_index(false);
        let before = index.snapshot();
        let source = next(&before).unwrap();
        let written = write(index.shared(), &before, source, &AtomicBool::new(false)).unwrap();
        apply(&index, Operation::DeleteIds(vec!["3".to_owned(), "39".to_owned()]));
        assert!(publish(index.shared(), &before, source, written).unwrap());
        let snapshot = index.snapshot();
        assert_eq!((snapshot.document_count(), count(&index, "straße")), (COUNT - 2, 0));
        assert!(snapshot.find("3").is_none());
        assert!(snapshot.find("39").is_none());
        assert!(snapshot.find("4").is_some());
        assert!(!publish(index.shared(), &before, source, Vec::new()).unwrap(), "the source is gone");
    }

    #[test]
    fn changed_settings_make_it_begin_again() {
        let (_directory, index) = old_index(false);
        let before = index.snapshot();
        let source = next(&before).unwrap();
        let written = write(index.shared(), &before, source, &AtomicBool::new(false)).unwrap();
        let patch = serde_json::from_value(json!({ "stopWords": ["x"] })).unwrap();
        apply(&index, Operation::Settings(Box::new(patch)));
        assert!(!publish(index.shared(), &before, source, written).unwrap());
        assert!(index.shared().has_outdated_text());
    }
}
