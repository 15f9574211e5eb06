//! The contract of a directory.

use super::OwnedBytes;
use std::fmt::Debug;
use std::io::{self, Write};
use std::path::Path;

/// A flat folder of write-once files. Names hold no separators.
///
/// One test suite (`storage/tests.rs`) runs against every implementation.
pub trait Directory: Send + Sync + Debug {
    /// The whole file. Stays readable after [`Directory::delete`] for as long as the bytes are held.
    /// Missing: [`io::ErrorKind::NotFound`].
    fn open_read(&self, name: &str) -> io::Result<OwnedBytes>;

    /// Starts a new file. An existing one: [`io::ErrorKind::AlreadyExists`]. The content is durable after
    /// [`FileWriter::sync`]; the *name* is durable only after [`Directory::sync_directory`].
    fn create(&self, name: &str) -> io::Result<Box<dyn FileWriter>>;

    /// Replaces a file as a whole: a reader, also one after a crash, sees either the old or the new content.
    /// Content and name are durable when it returns.
    fn atomic_write(&self, name: &str, bytes: &[u8]) -> io::Result<()>;

    /// Gives a file another name, in the place of a file that has it. Durable only after [`Directory::sync_directory`].
    /// Missing: [`io::ErrorKind::NotFound`].
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Removes a file. Missing: [`io::ErrorKind::NotFound`].
    fn delete(&self, name: &str) -> io::Result<()>;

    /// Names of all files, sorted.
    fn list(&self) -> io::Result<Vec<String>>;

    /// Length of a file in bytes.
    fn len(&self, name: &str) -> io::Result<u64>;

    /// Returns the identity of the file that has this name now. Error for a missing file: [`io::ErrorKind::NotFound`].
    fn identity(&self, name: &str) -> io::Result<FileIdentity>;

    /// Makes `target` (a path outside the directory, same file system) another name of the file, or a copy where the
    /// implementation or the file system has no links.
    fn hard_link_to(&self, name: &str, target: &Path) -> io::Result<()>;

    /// Makes created and deleted names durable.
    fn sync_directory(&self) -> io::Result<()>;
}

/// Distinguishes a file from others that had its name before, or get it later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileIdentity(pub(super) [u64; 3]);

/// A file being written, front to back.
pub trait FileWriter: Write + Send {
    /// Flushes and makes the content written so far durable.
    fn sync(&mut self) -> io::Result<()>;
}

/// Creates a file with the given content and makes the content durable (the name: see [`Directory::sync_directory`]).
pub fn write_file(directory: &dyn Directory, name: &str, bytes: &[u8]) -> io::Result<()> {
    let mut file = directory.create(name)?;
    file.write_all(bytes)?;
    file.sync()
}
