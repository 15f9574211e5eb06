//! Files on their way into a store: none arrives that is not as it was written.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use xxhash_rust::xxh3::Xxh3;

use super::ObjectError;

/// Number of bytes that are checked against a checksum at a time. They fit into the caches of a processor.
const READ_BYTES: usize = 128 << 10;

/// A file that does not change, and what it was when it was written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WrittenFile<'a> {
    pub path: &'a Path,
    pub bytes: u64,
    pub checksum: Checksum,
}

/// Checksum of all bytes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Checksum {
    Crc32(u32),
    Xxh3(u64),
}

enum Sum {
    Crc32(crc32fast::Hasher),
    Xxh3(Box<Xxh3>),
}

impl Sum {
    fn of(checksum: Checksum) -> Sum {
        match checksum {
            Checksum::Crc32(_) => Sum::Crc32(crc32fast::Hasher::new()),
            Checksum::Xxh3(_) => Sum::Xxh3(Box::default()),
        }
    }

    fn add(&mut self, bytes: &[u8]) {
        match self {
            Sum::Crc32(sum) => sum.update(bytes),
            Sum::Xxh3(sum) => sum.update(bytes),
        }
    }

    fn so_far(&self) -> Checksum {
        match self {
            Sum::Crc32(sum) => Checksum::Crc32(sum.clone().finalize()),
            Sum::Xxh3(sum) => Checksum::Xxh3(sum.digest()),
        }
    }
}

impl<'a> WrittenFile<'a> {
    /// # Errors
    /// [`ObjectError::DamagedFile`] for another length, or what the file system says.
    pub(super) fn open(&self) -> Result<File, ObjectError> {
        let file = File::open(self.path).map_err(ObjectError::io(self.path))?;
        match file.metadata().map_err(ObjectError::io(self.path))?.len() == self.bytes {
            true => Ok(file),
            false => Err(self.damaged("it has another length", true)),
        }
    }

    /// Reads the file, for one who sends what is read.
    ///
    /// # Errors
    /// The errors of [`WrittenFile::open`].
    pub(super) fn read(&self) -> Result<VerifyingReader<'a>, ObjectError> {
        let file = self.open()?;
        Ok(VerifyingReader { of: *self, file, left: self.bytes, sum: Sum::of(self.checksum), differs: false })
    }

    /// Reports whether a copy matches the file as it was written.
    ///
    /// # Errors
    /// Fails if the copy cannot be read.
    pub(super) fn is_copied(&self, copy: &mut impl Read) -> io::Result<bool> {
        let (mut sum, mut buffer) = (Sum::of(self.checksum), vec![0; READ_BYTES]);
        loop {
            match copy.read(&mut buffer)? {
                0 => return Ok(sum.so_far() == self.checksum),
                count => sum.add(&buffer[..count]),
            }
        }
    }

    pub(super) fn damaged(&self, reason: &'static str, is_cut: bool) -> ObjectError {
        ObjectError::DamagedFile { path: self.path.to_owned(), reason, is_cut }
    }
}

/// A file that is read. With its last bytes comes an error where they are not those that were written, so that a store never has
/// all of a damaged file.
pub(super) struct VerifyingReader<'a> {
    of: WrittenFile<'a>,
    file: File,
    left: u64,
    sum: Sum,
    differs: bool,
}

impl VerifyingReader<'_> {
    /// Returns the cause of a failed attempt to send the file: `error`, unless the file is damaged.
    pub(super) fn blame(&self, error: ObjectError) -> ObjectError {
        match (self.differs, self.left) {
            (false, _) => error,
            (true, 0) => self.of.damaged("its checksum does not match", false),
            (true, _) => self.of.damaged("it has another length", true),
        }
    }
}

impl Read for VerifyingReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = buffer.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let count = self.file.read(&mut buffer[..most])?;
        self.sum.add(&buffer[..count]);
        self.left -= count as u64;
        let is_short = count == 0 && most > 0;
        if is_short || self.left == 0 && self.sum.so_far() != self.of.checksum {
            self.differs = true;
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the file is damaged"));
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(bytes: &[u8]) -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("seg-1");
        std::fs::write(&path, bytes).unwrap();
        (folder, path)
    }

    fn checksums(bytes: &[u8]) -> [Checksum; 2] {
        [Checksum::Crc32(crc32fast::hash(bytes)), Checksum::Xxh3(xxhash_rust::xxh3::xxh3_64(bytes))]
    }

    /// Reads a file in pieces. Returns its bytes and the final error, if any.
    fn read(written: WrittenFile<'_>) -> (Vec<u8>, Option<String>) {
        let mut reading = match written.read() {
            Ok(reading) => reading,
            Err(error) => return (Vec::new(), Some(error.to_string())),
        };
        let (mut all, mut piece) = (Vec::new(), [0; 7]);
        loop {
            match reading.read(&mut piece) {
                Ok(0) => return (all, None),
                Ok(count) => all.extend_from_slice(&piece[..count]),
                Err(error) => {
                    let error = reading.blame(ObjectError::Refused(error.to_string()));
                    return (all, Some(error.to_string()));
                }
            }
        }
    }

    #[test]
    fn a_sound_file_is_read_to_its_end() {
        for bytes in [&b"forty bytes that a segment may consist of"[..], b""] {
            let (_folder, path) = file(bytes);
            for checksum in checksums(bytes) {
                let written = WrittenFile { path: &path, bytes: bytes.len() as u64, checksum };
                assert_eq!(read(written), (bytes.to_vec(), None));
                assert!(written.is_copied(&mut &bytes[..]).unwrap());
            }
        }
    }

    #[test]
    fn the_end_of_a_damaged_file_is_not_read() {
        let bytes = b"forty bytes that a segment may consist of";
        for place in 0..bytes.len() {
            let mut damaged = bytes.to_vec();
            damaged[place] ^= 4;
            let (_folder, path) = file(&damaged);
            for checksum in checksums(bytes) {
                let written = WrittenFile { path: &path, bytes: bytes.len() as u64, checksum };
                let (sent, said) = read(written);
                assert!(sent.len() < bytes.len());
                assert!(said.unwrap().contains("its checksum does not match"));
                assert!(!written.is_copied(&mut &damaged[..]).unwrap());
            }
        }
        let (_folder, path) = file(&bytes[1..]);
        for checksum in checksums(bytes) {
            let written = WrittenFile { path: &path, bytes: bytes.len() as u64, checksum };
            assert!(read(written).1.unwrap().contains("it has another length"));
        }
    }
}
