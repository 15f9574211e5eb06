//! Segments that the manifest names and that cannot be used. The index stays what it is on the disk: they are kept as
//! the manifest says, and everything else goes on without them where that makes no answer wrong in silence.

use std::sync::Arc;

use super::error::IndexError;
use super::files::FileGuard;
use super::manifest::{DeletedMeta, SegmentEntry};
use super::snapshot::{SegmentView, Snapshot};
use super::tombstones::Tombstones;
use crate::id::SegmentId;
use crate::segment::{SegmentError, SegmentMeta};

/// What is known of a segment that cannot be used.
#[derive(Clone, Debug)]
pub struct DamagedSegment {
    /// As the manifest names it.
    pub(super) entry: SegmentEntry,
    /// Its tombstones, where the manifest itself holds them.
    pub(super) inline_tombstones: Option<Vec<u8>>,
    /// Of all its files, also of one with tombstones.
    pub(super) files: Arc<[Arc<FileGuard>]>,
    damage: Damage,
}

/// Where a segment is damaged, and how.
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
    /// What an error says of damage. `None` for an error of another kind: one that passes, such as too many open files,
    /// or a format that only later versions read.
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

    /// What the manifest says of it.
    pub(super) fn meta(&self) -> &SegmentMeta {
        &self.entry.meta
    }

    /// Where it is damaged.
    pub fn damage(&self) -> &Damage {
        &self.damage
    }

    /// Documents that it holds and that are not deleted; of a segment whose tombstones cannot be read, all of them.
    pub fn live_count(&self) -> u32 {
        let doc_count = self.entry.meta.doc_count;
        let inline = self.inline_tombstones.as_deref();
        let deleted = inline.and_then(|bytes| Tombstones::from_bytes(bytes, doc_count)).map_or(0, |dead| dead.len());
        doc_count - deleted
    }

    /// Bytes of its files, as the manifest says.
    pub fn disk_bytes(&self) -> u64 {
        self.entry.meta.total_bytes()
    }

    /// The segment of a view in which damage was found while it was open.
    pub(super) fn of_view(view: &SegmentView, damage: Damage) -> DamagedSegment {
        let file = view.deleted.as_ref().and_then(|deleted| deleted.file());
        let inline = view.deleted.as_ref().filter(|deleted| deleted.file().is_none()).map(|dead| dead.to_bytes());
        let deleted = match (file, &inline) {
            (Some(file), _) => Some(DeletedMeta::File(file.meta.clone())),
            (None, Some(bytes)) => Some(DeletedMeta::Inline { bytes: bytes.len() as u64 }),
            (None, None) => None,
        };
        let entry = SegmentEntry { meta: view.reader.meta().clone(), deleted };
        let files = view.files.iter().chain(file.map(|file| &file.guard)).cloned().collect();
        DamagedSegment::new(entry, inline, files, damage)
    }

    pub(super) fn error(&self) -> IndexError {
        self.damage.error()
    }
}

impl Snapshot {
    /// The segments that cannot be used. Their documents are in no answer and no list of the snapshot.
    pub fn damaged(&self) -> &[DamagedSegment] {
        &self.damaged
    }

    /// Whether answers lack the documents of damaged segments.
    pub fn is_degraded(&self) -> bool {
        !self.damaged.is_empty()
    }

    /// Refuses an index with damaged segments: for what needs every document.
    ///
    /// # Errors
    /// [`IndexError::DamagedSegment`] names the first one.
    pub fn check_whole(&self) -> Result<(), IndexError> {
        self.damaged.first().map_or(Ok(()), |first| Err(first.error()))
    }

    /// Refuses an index whose damaged segments hold half of the documents or more: what is left would pass for an answer.
    ///
    /// # Errors
    /// [`IndexError::DamagedSegment`] names the first one.
    pub fn check_searchable(&self) -> Result<(), IndexError> {
        let lost: u64 = self.damaged.iter().map(|segment| u64::from(segment.live_count())).sum();
        if lost > 0 && lost >= self.readable_count() { self.check_whole() } else { Ok(()) }
    }
}
