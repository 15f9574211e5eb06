//! Comparing what is open with its checksums again and again: memory and disks forget.

use std::time::Instant;

use super::snapshot::{SegmentView, Snapshot};
use crate::id::SegmentId;
use crate::segment::SegmentError;

/// A segment that was compared.
#[derive(Debug)]
pub struct Scrubbed {
    pub segment: SegmentId,
    /// What differs from its checksum. The segment is marked for what can give wrong answers.
    pub found: Vec<SegmentError>,
}

impl Snapshot {
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
        let segment = self.due(since).next()?;
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
}
