//! Where files live: a write-once directory and the bytes of its files.
//!
//! The promise everything above builds on: **a file that was created is written once, from start to end, and is never
//! changed afterwards**; it only disappears. Names are not reused, except for the few files written by
//! [`Directory::atomic_write`], which replace a whole file at once. Memory maps rely on this promise, so nothing else
//! may write into the folder of an index while it is open (the index holds a lock on it).

mod directory;
#[cfg(any(test, feature = "faults"))]
mod faulty;
mod mapped;
mod memory;
mod owned_bytes;
mod steady;
#[cfg(test)]
mod tests;

pub use directory::{Directory, FileIdentity, FileWriter, write_file};
#[cfg(any(test, feature = "faults"))]
pub use faulty::{Fault, FaultyDirectory, Survival};
pub use mapped::MappedDirectory;
pub use memory::MemoryDirectory;
pub use owned_bytes::OwnedBytes;
pub use steady::SteadyFile;
