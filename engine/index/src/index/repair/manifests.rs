//! The state that a repair starts from.

use std::collections::BTreeMap;
use std::sync::Arc;

use lamina_segment::document::{FieldMap, document_id, infer_primary_key};
use lamina_segment::segment::{COMPARED_AT_OPENING_MAX, FileMeta, Salvage, SegmentMeta, meta_of_files};
use lamina_segment::storage::Directory;

use super::super::damaged::{Damage, DamagedSegment};
use super::super::error::IndexError;
use super::super::files::FileGuard;
use super::super::manifest::{Manifest, SegmentEntry, manifest_generation};
use super::super::recovery::{open, read_manifest, segment_of};
use super::super::settings::Settings;
use super::super::snapshot::{Snapshot, now_nanos};
use super::report::ManifestFound;
use crate::runtime::Runtime;

/// Result of the search for a manifest.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) snapshot: Snapshot,
    pub(super) manifest: ManifestFound,
}

/// The newest manifest whose files are all there, else the newest that can be read, else what the files say.
pub(super) fn find(directory: &Arc<dyn Directory>) -> Result<Found, IndexError> {
    let mut names = directory.list()?;
    names.sort_unstable_by(|one, other| other.cmp(one));
    let manifests: Vec<&String> = names.iter().filter(|name| manifest_generation(name).is_some()).collect();
    let mut reason = None;
    for name in &manifests {
        match read_manifest(&**directory, name) {
            Ok(manifest) => return found(directory, manifest, reason),
            Err(error @ IndexError::ManifestTooNew { .. }) => return Err(error),
            Err(error) => drop(reason.get_or_insert(error.to_string())),
        }
    }
    for name in &manifests {
        if let Ok(manifest) = Manifest::from_bytes(name, &directory.open_read(name)?) {
            return found(directory, manifest, (manifests.first() != Some(name)).then(|| reason.unwrap_or_default()));
        }
    }
    let reason = reason.unwrap_or_else(|| "there is no manifest".to_owned());
    let generation = manifests.first().and_then(|name| manifest_generation(name)).unwrap_or(0);
    of_files(directory, &names, generation, reason)
}

fn found(directory: &Arc<dyn Directory>, manifest: Manifest, reason: Option<String>) -> Result<Found, IndexError> {
    let snapshot = open(directory, manifest, &Runtime::new(), COMPARED_AT_OPENING_MAX)?;
    let manifest = reason.map_or(ManifestFound::Sound, |reason| ManifestFound::Older { reason });
    Ok(Found { snapshot, manifest })
}

/// All segments count as damaged: without a manifest no one knows what their field numbers mean.
fn of_files(
    directory: &Arc<dyn Directory>,
    names: &[String],
    generation: u64,
    reason: String,
) -> Result<Found, IndexError> {
    let mut by_segment: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    for name in names {
        if let Some(id) = segment_of(name).filter(|_| name.starts_with("seg-")) {
            by_segment.entry(id).or_default().push(name.clone());
        }
    }
    if by_segment.is_empty() {
        return Err(IndexError::NotFound);
    }
    let (mut damaged, mut primary_key) = (Vec::new(), None);
    // Newest first: of two documents with the same key the newer one stays.
    for (id, mut files) in by_segment.into_iter().rev() {
        // The file without a number first, then by number.
        files.sort_unstable_by_key(|name| (name.len(), name.clone()));
        let guards = files.iter().map(|name| FileGuard::kept(directory.clone(), nothing_known(name))).collect();
        let (meta, damage) = match meta_of_files(&**directory, id, &files) {
            Ok(Some(meta)) => (meta, format!("{}: the manifest that says what it holds is damaged", files[0])),
            Ok(None) => (unreadable(id, &files[0]), format!("{}: section info is damaged", files[0])),
            Err(error) => {
                let error = IndexError::Segment(error);
                let Some(damage) = Damage::of(&error) else { return Err(error) };
                (unreadable(id, &files[0]), damage.reason)
            }
        };
        primary_key = primary_key.or_else(|| primary_key_of(&**directory, &meta));
        let damage = Damage { file: files[0].clone(), section: None, reason: damage };
        damaged.push(DamagedSegment::new(SegmentEntry { meta, deleted: None }, None, guards, damage));
    }
    let snapshot = Snapshot {
        segments: Vec::new(),
        damaged: damaged.into(),
        settings: Arc::new(Settings::default()),
        resolved: Arc::default(),
        fields: FieldMap::from_names::<&str>([])?.snapshot(),
        primary_key: primary_key.clone().map(Arc::from),
        mark: None,
        generation,
        contents: generation,
        committed_at_nanos: now_nanos(),
        name: None,
        field_distribution: Arc::default(),
        created_at_nanos: now_nanos(),
        updated_at_nanos: now_nanos(),
        next_internal_id: 0,
        next_segment_id: 0,
        ancestors: Arc::default(),
        last_batch: None,
        last_outcome: Arc::new([]),
    };
    Ok(Found { snapshot, manifest: ManifestFound::Lost { reason, primary_key } })
}

fn nothing_known(file: &str) -> FileMeta {
    FileMeta { name: file.to_owned(), bytes: 0, checksum: 0 }
}

fn unreadable(id: u64, file: &str) -> SegmentMeta {
    SegmentMeta {
        id,
        file: nothing_known(file),
        doc_count: 0,
        first_internal_id: 0,
        last_internal_id: 0,
        raw_bytes: 0,
        term_count: 0,
        token_count: 0,
        text_fields: Default::default(),
        text_rules: 0,
        column_fields: Vec::new(),
        geo: false,
        shapes: false,
        column_files: Vec::new(),
    }
}

/// The top-level field that holds the keys of all documents that are looked at; where keys cannot be read, the one that is
/// inferred for a new index.
fn primary_key_of(directory: &dyn Directory, meta: &SegmentMeta) -> Option<String> {
    const LOOKED_AT: u32 = 100;
    let salvage = Salvage::open(directory, meta).ok()?;
    let mut candidates: Option<Vec<String>> = None;
    let mut json = Vec::new();
    for doc in (0..salvage.doc_count()).take(LOOKED_AT as usize) {
        if !salvage.document(doc, &mut json) {
            continue;
        }
        let Some(key) = salvage.key(doc) else { return infer_primary_key(&json).ok() };
        let document: serde_json::Map<String, serde_json::Value> = match serde_json::from_slice(&json) {
            Ok(document) => document,
            Err(_) => continue,
        };
        let holds = |name: &String| document_id(&json, name).is_ok_and(|id| id.as_str() == key);
        match &mut candidates {
            None => candidates = Some(document.keys().filter(|name| holds(name)).cloned().collect()),
            Some(left) => left.retain(holds),
        }
    }
    candidates?.into_iter().next()
}
