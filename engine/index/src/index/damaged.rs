//! Segments that the manifest names and that cannot be used. The index stays what it is on the disk: they are kept as
//! the manifest says, and everything else goes on without them where that makes no answer wrong in silence.

use std::sync::Arc;

use lamina_segment::segment::{SegmentError, SegmentMeta};
use lamina_text::id::SegmentId;

use super::error::IndexError;
use super::files::FileGuard;
use super::manifest::SegmentEntry;
use super::tombstones::Tombstones;

/// Segment that is quarantined because it is damaged.
#[derive(Clone, Debug)]
pub struct DamagedSegment {
    /// Entry of the segment in the manifest.
    pub(super) entry: SegmentEntry,
    /// Tombstones of the segment, where the manifest itself holds them.
    pub(super) inline_tombstones: Option<Vec<u8>>,
    /// Guards of all files of the segment, including a file of tombstones.
    pub(super) files: Arc<[Arc<FileGuard>]>,
    damage: Damage,
}

/// Location and description of the damage of a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Name of the file in the folder of the index.
    pub file: String,
    /// Name of the section; `None` where the file is not there or has no sections that could be found.
    pub section: Option<&'static str>,
    /// A sentence that names both.
    pub reason: String,
}

impl Damage {
    /// Returns the damage that an error reports. Returns `None` for an error of another kind: a transient one, such as
    /// too many open files, or a format that only later versions read.
    pub(super) fn of(error: &IndexError) -> Option<Damage> {
        let damage = |file: &str, section| Damage { file: file.to_owned(), section, reason: error.to_string() };
        match error {
            IndexError::Segment(SegmentError::Io { file, source }) if is_lasting(source) => Some(damage(file, None)),
            IndexError::Segment(SegmentError::NotASegment { file, .. }) => Some(damage(file, None)),
            IndexError::Segment(
                SegmentError::Checksum { file, section, .. } | SegmentError::Corrupt { file, section, .. },
            ) => Some(damage(file, Some(section))),
            IndexError::CorruptTombstones { file } => Some(damage(file, Some("tombstones"))),
            _ => None,
        }
    }
}

impl Damage {
    pub(super) fn error(&self) -> IndexError {
        IndexError::DamagedSegment { file: self.file.clone(), reason: self.reason.clone() }
    }
}

fn is_lasting(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::UnexpectedEof)
}

impl DamagedSegment {
    pub(super) fn new(
        entry: SegmentEntry,
        inline_tombstones: Option<Vec<u8>>,
        files: Arc<[Arc<FileGuard>]>,
        damage: Damage,
    ) -> DamagedSegment {
        DamagedSegment { entry, inline_tombstones, files, damage }
    }

    pub fn id(&self) -> SegmentId {
        SegmentId(self.entry.meta.id)
    }

    /// Returns the segment's metadata in the manifest.
    pub(super) fn meta(&self) -> &SegmentMeta {
        &self.entry.meta
    }

    /// Returns the location and description of the damage.
    pub fn damage(&self) -> &Damage {
        &self.damage
    }

    /// Documents that it holds and that are not deleted; of a segment whose tombstones cannot be read, all of them.
    pub(crate) fn live_count(&self) -> u32 {
        let doc_count = self.entry.meta.doc_count;
        let inline = self.inline_tombstones.as_deref();
        let deleted = inline.and_then(|bytes| Tombstones::from_bytes(bytes, doc_count)).map_or(0, |dead| dead.len());
        doc_count - deleted
    }

    /// Bytes of its files, as the manifest says.
    pub fn disk_bytes(&self) -> u64 {
        self.entry.meta.total_bytes()
    }

    pub(super) fn error(&self) -> IndexError {
        self.damage.error()
    }
}
