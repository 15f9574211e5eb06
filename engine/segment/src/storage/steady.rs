//! Files that reach the disk while they are written.

use std::fs::File;
use std::io::{self, Write};
use std::thread::{self, JoinHandle};

/// After so many bytes the disk is given what there is.
const PIECE_BYTES: usize = 8 << 20;

/// A file that goes to the disk while more is written to it, on another thread: its [`sync`](Self::sync) waits for the last
/// piece instead of for all of it. Files below 8 MiB are written as any other.
#[derive(Debug)]
pub struct SteadyFile {
    file: File,
    /// Bytes since the last piece.
    piece_bytes: usize,
    /// The piece on its way.
    under_way: Option<JoinHandle<io::Result<()>>>,
}

impl SteadyFile {
    /// A file that is written from its start.
    pub fn new(file: File) -> SteadyFile {
        SteadyFile { file, piece_bytes: 0, under_way: None }
    }

    /// Waits until everything that was written is on the disk.
    ///
    /// # Errors
    /// The errors of the disk, also for earlier pieces.
    pub fn sync(&mut self) -> io::Result<()> {
        self.arrived()?;
        self.file.sync_all()
    }

    /// Waits for the piece on its way. The system reports a failure once, so it must not be lost here.
    fn arrived(&mut self) -> io::Result<()> {
        let Some(under_way) = self.under_way.take() else { return Ok(()) };
        under_way.join().unwrap_or_else(|_| Err(io::Error::other("the thread that syncs a file panicked")))
    }

    /// Sends what there is on its way, unless another piece is.
    fn send(&mut self) -> io::Result<()> {
        if self.under_way.as_ref().is_some_and(|under_way| !under_way.is_finished()) {
            return Ok(());
        }
        self.arrived()?;
        self.piece_bytes = 0;
        // Without a handle or a thread the last sync takes longer, that is all.
        if let Ok(file) = self.file.try_clone() {
            let thread = thread::Builder::new().name("to disk".to_owned());
            self.under_way = thread.spawn(move || file.sync_data()).ok();
        }
        Ok(())
    }
}

impl Write for SteadyFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.file.write(bytes)?;
        self.piece_bytes += count;
        if self.piece_bytes >= PIECE_BYTES {
            self.send()?;
        }
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_arrives_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("steady");
        let mut file = SteadyFile::new(File::create(&path).unwrap());
        let mut expected = Vec::new();
        for round in 0..50u32 {
            let piece: Vec<u8> = (0..1 << 18).flat_map(|i: u32| (i ^ round).to_le_bytes()).collect();
            file.write_all(&piece).unwrap();
            expected.extend_from_slice(&piece);
        }
        file.sync().unwrap();
        file.write_all(b"end").unwrap();
        file.sync().unwrap();
        expected.extend_from_slice(b"end");
        assert!(std::fs::read(&path).unwrap() == expected);
    }

    #[cfg(unix)]
    #[test]
    fn failures_of_earlier_pieces_are_reported() {
        // Pipes can be written to and not be synced: each piece fails, as on a broken disk.
        let (mut reader, writer) = io::pipe().unwrap();
        let reading = thread::spawn(move || io::copy(&mut reader, &mut io::sink()).unwrap());
        let mut file = SteadyFile::new(File::from(std::os::fd::OwnedFd::from(writer)));
        let mut write_all = || (0..64).try_for_each(|_| file.write_all(&vec![0; PIECE_BYTES / 4]));
        write_all().expect_err("the second piece reports the failure of the first");
        drop(file);
        reading.join().unwrap();
    }
}
