//! Lines that stay in memory while they are few and become a file when they are many.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use lamina_base::stored_names::PayloadName;
use lamina_engine::storage::SteadyFile;
use xxhash_rust::xxh3::Xxh3;

use super::content::PayloadPlace;

const FILE_BUFFER_BYTES: usize = 256 * 1024;
/// Payloads leave this much of the disk free. On a full disk the queue has to write down that tasks failed before it
/// may delete their payloads, so payloads must never be what took the last of the room.
const LEFT_FREE_BYTES: u64 = 4 << 20;

/// A writer that spills. Dropped without [`Spill::finish`], it leaves no file behind.
pub struct Spill {
    folder: PathBuf,
    memory: Vec<u8>,
    memory_max: usize,
    file: Option<SpillFile>,
    bytes: u64,
    sum: Xxh3,
}

impl fmt::Debug for Spill {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Spill").field("file", &self.file).field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

/// Description of the written bytes.
#[derive(Debug)]
pub struct Spilled {
    /// Number of bytes.
    pub bytes: u64,
    /// XXH3-64 of them.
    pub checksum: u64,
    /// Place of the bytes.
    pub place: PayloadPlace,
    /// The payload itself, if it is small.
    pub inline: Option<Vec<u8>>,
}

#[derive(Debug)]
struct SpillFile {
    name: PayloadName,
    path: PathBuf,
    writer: BufWriter<SteadyFile>,
    is_kept: bool,
}

impl Drop for SpillFile {
    fn drop(&mut self) {
        if !self.is_kept
            && let Err(error) = fs::remove_file(&self.path)
        {
            tracing::warn!(%error, path = %self.path.display(), "cannot remove a refused payload");
        }
    }
}

impl Spill {
    /// Spills into a new file of `folder` once there are more than `memory_max` bytes.
    pub fn new(folder: &Path, memory_max: usize) -> Spill {
        Spill { folder: folder.to_owned(), memory: Vec::new(), memory_max, file: None, bytes: 0, sum: Xxh3::new() }
    }

    /// Makes a file durable, with its name in the folder.
    ///
    /// # Errors
    /// `ENOSPC` when little more than nothing would be left of the disk; the file is gone then.
    pub fn finish(mut self) -> io::Result<Spilled> {
        if free_bytes(&self.folder)? < LEFT_FREE_BYTES {
            return Err(rustix::io::Errno::NOSPC.into());
        }
        let (bytes, checksum) = (self.bytes, self.sum.digest());
        let Some(mut file) = self.file.take() else {
            return Ok(Spilled { bytes, checksum, place: PayloadPlace::Inline, inline: Some(self.memory) });
        };
        file.writer.flush()?;
        file.writer.get_mut().sync()?;
        File::open(&self.folder)?.sync_all()?;
        file.is_kept = true;
        Ok(Spilled { bytes, checksum, place: PayloadPlace::File(file.name.clone()), inline: None })
    }

    fn open(&mut self) -> io::Result<&mut SpillFile> {
        let name = PayloadName::random();
        let path = self.folder.join(&name);
        let writer = BufWriter::with_capacity(FILE_BUFFER_BYTES, SteadyFile::new(File::create_new(&path)?));
        let file = self.file.insert(SpillFile { name, path, writer, is_kept: false });
        file.writer.write_all(&std::mem::take(&mut self.memory))?;
        Ok(file)
    }
}

/// Returns the free disk space of a folder that is available to this process.
pub fn free_bytes(folder: &Path) -> io::Result<u64> {
    let disk = rustix::fs::statvfs(folder)?;
    Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
}

impl Write for Spill {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.file.is_none() && self.memory.len() + bytes.len() > self.memory_max {
            self.open()?;
        }
        match &mut self.file {
            Some(file) => file.writer.write_all(bytes)?,
            None => self.memory.extend_from_slice(bytes),
        }
        self.bytes += bytes.len() as u64;
        self.sum.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        // Durability comes at the end, all at once.
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_has_room_and_a_folder_that_is_gone_has_none() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(free_bytes(folder.path()).expect("a disk") > 0);
        free_bytes(&folder.path().join("gone")).unwrap_err();
    }
}
