//! Opening: the newest whole manifest is the index, everything no manifest names is a leftover.

use std::io;
use std::sync::Arc;

use lamina_segment::document::FieldMap;
use lamina_segment::segment::{COMPARED_AT_OPENING_MAX, FileMeta, SegmentReader};
use lamina_segment::storage::Directory;

use super::commit::guards;
use super::damaged::{Damage, DamagedSegment};
use super::error::IndexError;
use super::files::FileGuard;
use super::manifest::{DeletedMeta, Manifest, SegmentEntry, kept_generation, manifest_generation};
use super::options::IndexOptions;
use super::snapshot::{SegmentView, Snapshot};
use super::tombstones::{TombstoneFile, Tombstones};
use crate::runtime::Runtime;

/// Reports whether the directory has a manifest, intact or not.
pub(super) fn holds_index(directory: &dyn Directory) -> Result<bool, IndexError> {
    Ok(directory.list()?.iter().any(|name| manifest_generation(name).is_some()))
}

/// The newest whole manifest. Changes nothing.
///
/// # Errors
/// The errors of [`super::kept::recover`].
pub(super) fn newest_manifest(directory: &dyn Directory) -> Result<Manifest, IndexError> {
    newest_of(directory, &directory.list()?).map(|(_, manifest)| manifest)
}

/// The state that a manifest describes. Changes nothing.
///
/// # Errors
/// What is wrong with the files it names.
pub(super) fn read_snapshot(directory: &Arc<dyn Directory>, manifest: Manifest) -> Result<Snapshot, IndexError> {
    open(directory, manifest, &Runtime::new(), COMPARED_AT_OPENING_MAX)
}

pub(super) fn newest_of<'a>(directory: &dyn Directory, names: &'a [String]) -> Result<(&'a str, Manifest), IndexError> {
    let mut manifests: Vec<&String> = names.iter().filter(|name| manifest_generation(name).is_some()).collect();
    manifests.sort_unstable_by(|left, right| right.cmp(left));
    let mut readable = None;
    for name in &manifests {
        let error = match read_manifest(directory, name) {
            Ok(manifest) => return Ok((name, manifest)),
            Err(error) => error,
        };
        match error {
            IndexError::CorruptManifest { .. } if readable.is_some() => break,
            // It may be an acknowledged commit, or one of a later version: what is behind it is older.
            IndexError::CorruptManifest { .. } | IndexError::ManifestTooNew { .. } => return Err(error),
            // It is whole for all that is known.
            error if error.is_momentary() => return Err(error),
            error => {
                tracing::warn!(file = name, %error, "ignoring a manifest that names missing files");
                readable.get_or_insert(*name);
            }
        }
    }
    let Some(name) = readable else { return Err(IndexError::NotFound) };
    Ok((name, Manifest::from_bytes(name, &directory.open_read(name)?)?))
}

/// A manifest whose files are all there in their full length. Their checksums are for `verify`.
pub(super) fn read_manifest(directory: &dyn Directory, name: &str) -> Result<Manifest, IndexError> {
    let manifest = Manifest::from_bytes(name, &directory.open_read(name)?)?;
    for file in manifest.files() {
        let found = directory.len(&file.name)?;
        if found != file.bytes {
            return Err(IndexError::WrongFileLength { file: file.name.clone(), expected: file.bytes, found });
        }
    }
    Ok(manifest)
}

/// Sections of up to `compared_max` bytes are compared with their checksums.
pub(super) fn open(
    directory: &Arc<dyn Directory>,
    manifest: Manifest,
    runtime: &Arc<Runtime>,
    compared_max: u64,
) -> Result<Snapshot, IndexError> {
    open_entries(manifest, directory, &|entry, inline| open_segment(directory, entry, inline, runtime, compared_max))
}

/// Works like [`open`], but reuses the segments that `old` has open with the same files.
pub(super) fn open_reusing(
    directory: &Arc<dyn Directory>,
    manifest: Manifest,
    options: &IndexOptions,
    old: &Snapshot,
) -> Result<Snapshot, IndexError> {
    open_entries(manifest, directory, &|entry, inline| {
        let deleted = tombstones_of(&**directory, entry, &mut inline.into_iter())?;
        match reused(directory, entry, deleted, old) {
            Some(view) => Ok(view),
            None => open_segment(directory, entry, inline, &options.runtime, options.compared_at_opening_max),
        }
    })
}

/// The view of a segment that an earlier snapshot has open with the same files, with the tombstones of `entry`.
fn reused(
    directory: &Arc<dyn Directory>,
    entry: &SegmentEntry,
    deleted: Option<Tombstones>,
    old: &Snapshot,
) -> Option<SegmentView> {
    let view = old.segments.iter().find(|view| *view.reader.meta() == entry.meta)?;
    if let (Some(tombstones), Some(DeletedMeta::File(file))) = (&deleted, &entry.deleted) {
        let guard = FileGuard::kept(Arc::clone(directory), file.clone());
        tombstones.set_file(TombstoneFile { meta: file.clone(), guard });
    }
    Some(SegmentView { deleted: deleted.map(Arc::new), ..view.clone() })
}

type OpenEntry<'a> = dyn Fn(&SegmentEntry, Option<&[u8]>) -> Result<SegmentView, IndexError> + 'a;

fn open_entries(
    manifest: Manifest,
    directory: &Arc<dyn Directory>,
    open_segment: &OpenEntry<'_>,
) -> Result<Snapshot, IndexError> {
    let Manifest { body, outcome, inline_tombstones } = manifest;
    let mut inline_tombstones = inline_tombstones.into_iter();
    let mut segments = Vec::with_capacity(body.segments.len());
    let mut damaged = Vec::new();
    for entry in &body.segments {
        let inline = matches!(entry.deleted, Some(DeletedMeta::Inline { .. }));
        let inline = inline.then(|| inline_tombstones.next().expect("a manifest holds the tombstones its body lists"));
        match open_segment(entry, inline.as_deref()) {
            Ok(segment) => segments.push(segment),
            Err(error) => damaged.push(keep_aside(directory, entry, inline, error)?),
        }
    }
    let fields = FieldMap::from_names(&body.fields)?.snapshot();
    Ok(Snapshot {
        segments,
        damaged: damaged.into(),
        settings: body.settings,
        resolved: Arc::default(),
        fields,
        primary_key: body.primary_key.map(Arc::from),
        mark: body.mark.map(Arc::from),
        generation: body.generation,
        contents: body.contents,
        committed_at_nanos: body.committed_at,
        name: body.name.map(Arc::from),
        field_distribution: body.field_distribution,
        created_at_nanos: body.created_at,
        updated_at_nanos: body.updated_at,
        next_internal_id: body.next_internal_id,
        next_segment_id: body.next_segment_id,
        ancestors: body.ancestors,
        last_batch: body.last_batch,
        last_outcome: outcome.into(),
    })
}

/// A segment that is damaged is kept for what the manifest says of it.
///
/// # Errors
/// `error`, where it is none about damage.
fn keep_aside(
    directory: &Arc<dyn Directory>,
    entry: &SegmentEntry,
    inline_tombstones: Option<Vec<u8>>,
    error: IndexError,
) -> Result<DamagedSegment, IndexError> {
    let Some(damage) = Damage::of(&error) else { return Err(error) };
    tracing::error!(segment = entry.meta.id, reason = damage.reason, "searches omit a damaged segment");
    let tombstones = match &entry.deleted {
        Some(DeletedMeta::File(file)) => Some(file),
        _ => None,
    };
    let files = entry.meta.files().chain(tombstones);
    let files = files.map(|file| FileGuard::kept(directory.clone(), file.clone())).collect();
    Ok(DamagedSegment::new(entry.clone(), inline_tombstones, files, damage))
}

fn open_segment(
    directory: &Arc<dyn Directory>,
    entry: &SegmentEntry,
    inline_tombstones: Option<&[u8]>,
    runtime: &Arc<Runtime>,
    compared_max: u64,
) -> Result<SegmentView, IndexError> {
    let reader = SegmentReader::open_comparing(&**directory, &entry.meta, compared_max)?;
    let kept = |file: &FileMeta| FileGuard::kept(directory.clone(), file.clone());
    let deleted = tombstones_of(&**directory, entry, &mut inline_tombstones.into_iter())?;
    if let (Some(tombstones), Some(DeletedMeta::File(file))) = (&deleted, &entry.deleted) {
        tombstones.set_file(TombstoneFile { meta: file.clone(), guard: kept(file) });
    }
    let files = entry.meta.files().map(kept).collect();
    Ok(SegmentView::new(reader, deleted.map(Arc::new), files, runtime))
}

/// The deleted documents of a segment; those in the manifest come from `inline`, in the order of the segments.
pub(super) fn tombstones_of(
    directory: &dyn Directory,
    entry: &SegmentEntry,
    inline: &mut impl Iterator<Item = impl AsRef<[u8]>>,
) -> Result<Option<Tombstones>, IndexError> {
    Ok(match &entry.deleted {
        None => None,
        Some(DeletedMeta::Inline { .. }) => {
            let bytes = inline.next().expect("a manifest holds the tombstones its body lists");
            Some(read_tombstones(&entry.meta.file.name, bytes.as_ref(), entry.meta.doc_count)?)
        }
        Some(DeletedMeta::File(file)) => Some(read_tombstone_file(directory, file, entry.meta.doc_count)?),
    })
}

pub(super) fn read_tombstone_file(
    directory: &dyn Directory,
    file: &FileMeta,
    doc_count: u32,
) -> Result<Tombstones, IndexError> {
    let unreadable = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => damaged_tombstones(&file.name),
        _ => error.into(),
    };
    let bytes = directory.open_read(&file.name).map_err(unreadable)?;
    if crc32fast::hash(&bytes) != file.checksum {
        return Err(damaged_tombstones(&file.name));
    }
    read_tombstones(&file.name, &bytes, doc_count)
}

fn read_tombstones(file: &str, bytes: &[u8], doc_count: u32) -> Result<Tombstones, IndexError> {
    Tombstones::from_bytes(bytes, doc_count).ok_or_else(|| damaged_tombstones(file))
}

fn damaged_tombstones(file: &str) -> IndexError {
    IndexError::CorruptTombstones { file: file.to_owned() }
}

/// The id of the segment that a file of this name belongs to; `None` for other files.
pub(super) fn segment_of(name: &str) -> Option<u64> {
    let rest = name.strip_prefix("seg-").or_else(|| name.strip_prefix("del-"))?.strip_suffix(".lam")?;
    u64::from_str_radix(rest.get(..16)?, 16).ok()
}

/// Reports whether the name is that of a manifest, or of a file that manifests name.
pub(super) fn is_ours(name: &str) -> bool {
    manifest_generation(name).is_some()
        || kept_generation(name).is_some()
        || (name.ends_with(".lam") && ["seg-", "del-", "rows-"].iter().any(|kind| name.starts_with(kind)))
}

/// Removes other manifests, and files of ours that the current one does not name. Other files are not touched.
pub(super) fn remove_leftovers(
    directory: &dyn Directory,
    names: &[String],
    manifest: &str,
    snapshot: &Snapshot,
    is_needed: &dyn Fn(&str) -> bool,
) {
    let named: hashbrown::HashSet<&str> = guards(snapshot).map(|guard| guard.name()).collect();
    for name in names {
        if is_ours(name) && name != manifest && !named.contains(name.as_str()) && !is_needed(name) {
            match directory.delete(name) {
                // Of a state that was kept for long enough: it went when that was noticed.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Ok(()) => tracing::info!(file = name, "removed the leftover of an interrupted commit"),
                Err(error) => tracing::warn!(file = name, %error, "could not remove a leftover"),
            }
        }
    }
}
