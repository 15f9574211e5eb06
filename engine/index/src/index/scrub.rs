//! Comparing indexes with their checksums again and again: memory and disks forget.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use lamina_segment::segment::{Damaged, SegmentError};
use lamina_segment::storage::{Directory, MappedDirectory};
use lamina_text::id::SegmentId;

use super::error::IndexError;
use super::recovery::{newest_manifest, read_snapshot};
use super::snapshot::{SegmentView, Snapshot};

/// A segment that was compared.
#[derive(Debug)]
pub struct Scrubbed {
    pub segment: SegmentId,
    /// Sections and files that differ from their checksums. The segment is marked as damaged if they can cause wrong
    /// answers.
    pub found: Vec<SegmentError>,
}

impl Snapshot {
    /// The state of the index in `folder`, which is not open, to compare it. Changes nothing; files may vanish under it when
    /// the index is opened and written meanwhile. Cost: that of opening.
    ///
    /// # Errors
    /// [`IndexError::NotFound`], or what is wrong with the newest manifest.
    pub fn read(folder: &Path) -> Result<Snapshot, IndexError> {
        if !folder.is_dir() {
            // Opening the directory would create it.
            return Err(IndexError::NotFound);
        }
        let directory: Arc<dyn Directory> = Arc::new(MappedDirectory::open(folder)?);
        let manifest = newest_manifest(&*directory)?;
        read_snapshot(&directory, manifest)
    }

    /// Bytes of the files of segments that were not compared since `since`; `None`: that were never compared.
    pub fn unscrubbed_bytes(&self, since: Option<Instant>) -> u64 {
        self.due(since).map(|segment| segment.reader.meta().total_bytes()).sum()
    }

    fn due(&self, since: Option<Instant>) -> impl Iterator<Item = &SegmentView> {
        self.segments.iter().filter(move |segment| !segment.reader.health().was_scrubbed(since))
    }

    /// Compares one segment that was not compared since `since` (`None`: ever). `pace` is called with the number of bytes
    /// behind each megabyte, and says whether to go on. `None`: no segment is due, or `pace` ended it.
    ///
    /// Cost: one look at each byte.
    pub fn scrub_next(&self, since: Option<Instant>, pace: &mut dyn FnMut(u64) -> bool) -> Option<Scrubbed> {
        scrub(self.due(since).next()?, pace)
    }

    /// Marks the segments that have damage which was found in their files by another reader of them.
    pub fn mark_damage(&self, found: &[SegmentError]) {
        for (error, damaged) in found.iter().filter_map(|error| Some((error, Damaged::of(error)?))) {
            let has_file = |segment: &&SegmentView| segment.reader.meta().files().any(|meta| meta.name == damaged.file);
            self.segments.iter().filter(has_file).for_each(|segment| segment.reader.mark(error));
        }
    }

    /// Finds out what is wrong with a file in which a reader of all of it has met damage: `what`. Its segment is compared and
    /// marked as by [`Snapshot::scrub_next`], or only marked if bytes are missing (`is_cut`): there is nothing behind their
    /// addresses. The index refuses writes from now on, except [`Operation::Clear`](super::Operation::Clear). Nothing where a
    /// second look finds the segment sound.
    ///
    /// Cost: one look at each byte of the segment.
    pub fn scrub_file(&self, file: &str, what: &'static str, is_cut: bool) -> Vec<SegmentError> {
        let damaged = Damaged::as_a_whole(file, what);
        let has_file = |segment: &&SegmentView| segment.reader.meta().files().any(|meta| meta.name == file);
        let Some(segment) = self.segments.iter().find(has_file) else {
            // Its tombstones: they were read when the index was opened, and are in memory as they were then.
            return vec![SegmentError::from(&damaged)];
        };
        if is_cut {
            segment.reader.health().mark(damaged.clone());
            return vec![SegmentError::from(&damaged)];
        }
        let found = scrub(segment, &mut |_| true).map(|scrubbed| scrubbed.found).unwrap_or_default();
        found.iter().filter_map(Damaged::of).for_each(|damaged| segment.reader.health().seal(damaged));
        found
    }
}

/// Compares a segment, and marks it for what is found; `None` where `pace` ended it.
fn scrub(segment: &SegmentView, pace: &mut dyn FnMut(u64) -> bool) -> Option<Scrubbed> {
    let mut found = Vec::new();
    for file in segment.reader.comparisons() {
        let pieces = file.pieces();
        let mut sums = Vec::with_capacity(pieces.len());
        for piece in &pieces {
            sums.push(file.sum(piece));
            if !pace(piece.len() as u64) {
                return None;
            }
        }
        found.extend(file.judge(&pieces, &sums));
    }
    found.iter().for_each(|error| segment.reader.mark(error));
    segment.reader.health().set_scrubbed(Instant::now());
    Some(Scrubbed { segment: segment.id(), found })
}
