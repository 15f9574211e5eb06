//! A shared, immutable range of bytes of a file.

use std::fmt;
use std::ops::{Deref, Range};
use std::sync::Arc;

/// A range of an immutable file, mapped or in memory. Cloning and slicing share the file; the last clone frees it.
#[derive(Clone)]
pub struct OwnedBytes {
    source: Source,
    start: usize,
    end: usize,
}

#[derive(Clone)]
enum Source {
    Mapped(Arc<memmap2::Mmap>),
    Heap(Arc<[u8]>),
}

impl OwnedBytes {
    /// No bytes.
    pub fn empty() -> OwnedBytes {
        OwnedBytes::from(Vec::new())
    }

    pub(super) fn from_map(map: memmap2::Mmap) -> OwnedBytes {
        let end = map.len();
        OwnedBytes { source: Source::Mapped(Arc::new(map)), start: 0, end }
    }

    pub(super) fn from_shared(bytes: Arc<[u8]>) -> OwnedBytes {
        let end = bytes.len();
        OwnedBytes { source: Source::Heap(bytes), start: 0, end }
    }

    /// The bytes.
    #[inline]
    pub fn as_slice(&self) -> &[u8] {
        let whole: &[u8] = match &self.source {
            Source::Mapped(map) => map,
            Source::Heap(bytes) => bytes,
        };
        // `start <= end <= whole.len()` holds by construction.
        &whole[self.start..self.end]
    }

    /// A part of these bytes, or `None` when `range` reaches past the end.
    pub fn slice(&self, range: Range<usize>) -> Option<OwnedBytes> {
        let start = self.start.checked_add(range.start)?;
        let end = self.start.checked_add(range.end)?;
        (start <= end && end <= self.end).then(|| OwnedBytes { source: self.source.clone(), start, end })
    }

    /// Enters these bytes into the tables of the process, and reads those that are not in memory. A thread that reads them next
    /// is not interrupted by that. Cost: some 25 microseconds for a megabyte that is in memory.
    pub fn populate(&self) {
        #[cfg(target_os = "linux")]
        if let Source::Mapped(map) = &self.source {
            /// A thread that maps or unmaps memory meanwhile waits until the step is done.
            const STEP_BYTES: usize = 1 << 20;
            for start in (self.start..self.end).step_by(STEP_BYTES) {
                // Only a hint: systems before Linux 5.14 refuse it.
                let _ = map.advise_range(memmap2::Advice::PopulateRead, start, STEP_BYTES.min(self.end - start));
            }
        }
    }

    /// Advises the system that these bytes will be read from front to back soon, so that it reads ahead.
    pub fn advise_sequential(&self) {
        #[cfg(unix)]
        if let Source::Mapped(map) = &self.source {
            // Only a hint: a system that refuses it reads as before.
            let _ = map.advise_range(memmap2::Advice::Sequential, self.start, self.end - self.start);
        }
    }
}

impl From<Vec<u8>> for OwnedBytes {
    fn from(bytes: Vec<u8>) -> OwnedBytes {
        OwnedBytes::from_shared(bytes.into())
    }
}

impl Deref for OwnedBytes {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        self.as_slice()
    }
}

impl AsRef<[u8]> for OwnedBytes {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        self.as_slice()
    }
}

impl fmt::Debug for OwnedBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OwnedBytes({} bytes)", self.end - self.start)
    }
}
