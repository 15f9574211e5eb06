//! What is known of the damage of an open segment: one place that readers, writers and the scrubber share.

use std::sync::OnceLock;
use std::time::Instant;

use parking_lot::Mutex;

use super::error::{SegmentError, WHOLE_FILE};

/// A section whose bytes are not those that were written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damaged {
    /// Name of the file in its directory.
    pub file: String,
    /// Name of the section.
    pub section: &'static str,
    finding: Finding,
}

/// Evidence of the damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Finding {
    Checksum { expected: u32, found: u32 },
    Contradiction(&'static str),
}

impl From<&Damaged> for SegmentError {
    fn from(damaged: &Damaged) -> SegmentError {
        let Damaged { file, section, finding } = damaged.clone();
        match finding {
            Finding::Checksum { expected, found } => SegmentError::Checksum { file, section, expected, found },
            Finding::Contradiction(what) => SegmentError::Corrupt { file, section, what },
        }
    }
}

impl Damaged {
    pub(super) fn by_checksum(file: &str, section: &'static str, expected: u32, found: u32) -> Damaged {
        Damaged { file: file.to_owned(), section, finding: Finding::Checksum { expected, found } }
    }

    /// A file that is not as it was written: `what` is wrong with it.
    pub fn as_a_whole(file: &str, what: &'static str) -> Damaged {
        Damaged { file: file.to_owned(), section: WHOLE_FILE, finding: Finding::Contradiction(what) }
    }

    /// The damage that an error is about; `None` for errors of other kinds.
    pub fn of(error: &SegmentError) -> Option<Damaged> {
        let (file, section, finding) = match error {
            SegmentError::Checksum { file, section, expected, found } => {
                (file, section, Finding::Checksum { expected: *expected, found: *found })
            }
            SegmentError::Corrupt { file, section, what } => (file, section, Finding::Contradiction(what)),
            _ => return None,
        };
        Some(Damaged { file: file.clone(), section, finding })
    }
}

/// The mark of a segment that is known to be damaged. It lasts for as long as the segment is open.
#[derive(Debug, Default)]
pub struct Health {
    damage: OnceLock<Damaged>,
    /// Damage that only what reads it meets, where the segment is not to be written on.
    sealed: OnceLock<Damaged>,
    /// Time of the last comparison of all files with their checksums.
    scrubbed: Mutex<Option<Instant>>,
}

impl Health {
    /// The damage that was found first, if any. Cost: a load.
    #[inline]
    pub fn damage(&self) -> Option<&Damaged> {
        self.damage.get()
    }

    /// Marks the segment: from now on [`Health::check`] refuses it. `true` when it was not marked before.
    pub fn mark(&self, damaged: Damaged) -> bool {
        self.damage.set(damaged).is_ok()
    }

    /// Refuses writes to the index from now on. What is read of the damaged place is compared whenever it is read, so reads go on.
    pub fn seal(&self, damaged: Damaged) {
        // The first one is enough.
        let _ = self.sealed.set(damaged);
    }

    /// Returns the damage that forbids writing the index.
    pub fn sealed(&self) -> Option<&Damaged> {
        self.sealed.get()
    }

    /// Reports whether all files were compared with their checksums since then; `None`: since they were opened.
    pub fn was_scrubbed(&self, since: Option<Instant>) -> bool {
        self.scrubbed.lock().is_some_and(|scrubbed| since.is_none_or(|since| scrubbed >= since))
    }

    /// All files were compared with their checksums.
    pub fn set_scrubbed(&self, at: Instant) {
        *self.scrubbed.lock() = Some(at);
    }

    /// Refuses a segment that is known to be damaged. Callers check before they read, and once more behind what they have
    /// read of sections whose accessors return no errors: the damage may have been met on the way.
    ///
    /// # Errors
    /// [`SegmentError::Checksum`] and [`SegmentError::Corrupt`]
    #[inline]
    pub fn check(&self) -> Result<(), SegmentError> {
        self.damage().map_or(Ok(()), |damaged| Err(damaged.into()))
    }
}
