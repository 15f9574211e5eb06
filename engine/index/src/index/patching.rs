//! Segments that documents get new values in, without being written anew: each commit puts a small file beside the segment, which
//! takes in those before it that are not much larger.

use std::collections::BTreeMap;
use std::sync::Arc;

use lamina_segment::segment::{NewPatches, Patches, write_patch_file};
use lamina_segment::storage::Directory;
use lamina_text::id::DocId;

use super::error::IndexError;
use super::files::FileGuard;
use super::settings::{DEFAULT_TEMPLATE, Settings, has_text, is_reserved};
use super::snapshot::SegmentView;

impl SegmentView {
    /// The segment with `new` over what its documents got before. The file is synced, and goes again unless a commit names it.
    /// `first_number`: see [`IndexOptions::first_number`](super::IndexOptions::first_number).
    pub(super) fn with_patches(
        &self,
        directory: &Arc<dyn Directory>,
        first_number: u64,
        new: &NewPatches,
    ) -> Result<SegmentView, IndexError> {
        let none = Patches::default();
        let layer = self.reader.patches().unwrap_or(&none).over_these(new);
        let file = write_patch_file(&layer, &**directory, self.reader.meta(), first_number)?;
        let guard = FileGuard::provisional(Arc::clone(directory), file.file.clone());
        let reader = self.reader.with_patches(&**directory, file, layer.replaced)?;
        let is_kept = |file: &&Arc<FileGuard>| reader.meta().files().any(|named| named.name == file.name());
        let files = self.files.iter().filter(is_kept).cloned().chain([guard]).collect();
        Ok(SegmentView { reader: Arc::new(reader), files, ..self.clone() })
    }

    /// Bytes of what documents got since the segment was written.
    pub(super) fn patch_bytes(&self) -> u64 {
        self.reader.meta().patch_files().map(|file| file.bytes).sum()
    }

    /// Reports whether the document has other patched values here than in `other`, which is the same segment.
    pub(super) fn is_patched_otherwise(&self, other: &SegmentView, doc: DocId) -> bool {
        if self.reader.meta().last_patch_file() == other.reader.meta().last_patch_file() {
            return false;
        }
        let none = Patches::default();
        let (one, two) = (self.reader.patches().unwrap_or(&none), other.reader.patches().unwrap_or(&none));
        one.differs(two, doc)
    }
}

/// Returns the patched values that documents have in `now` and not in `before`, which is the same segment.
pub(super) fn patched_since(
    before: &SegmentView,
    now: &SegmentView,
    renumber: impl Fn(DocId) -> Option<DocId>,
) -> NewPatches {
    match now.reader.patches() {
        Some(patches) if before.reader.meta().last_patch_file() != now.reader.meta().last_patch_file() => {
            patches.since(before.reader.patches(), renumber)
        }
        _ => NewPatches::new(),
    }
}

/// Adds `more`, of other documents.
pub(super) fn join(patches: &mut NewPatches, more: NewPatches) {
    for (field, (name, values)) in more {
        patches.entry(field).or_insert_with(|| (name, BTreeMap::new())).1.extend(values);
    }
}

/// Reports whether numbers and booleans of a top-level field, which is not the primary key, can be patched without
/// rewriting anything else. The field must have no searchable words, must not be the expiry attribute, and no vector
/// may be made from it.
pub(super) fn is_patchable(settings: &Settings, field: &str) -> bool {
    let is_read = settings.all_embedders().any(|embedder| {
        let reads_searchable = embedder.fragments.is_empty() && embedder.template == DEFAULT_TEMPLATE;
        !embedder.user_provided && !reads_searchable
    });
    let has_words = has_text(field) && settings.searchable_attributes.selects(field);
    let hides = settings.expiry_attribute.as_deref() == Some(field);
    !(is_read || has_words || hides || is_reserved(field))
}
