//! Writing a gzipped tar archive, entry by entry.

use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use lamina_data::tasks::LiveBatch;
use serde::Serialize;

use crate::work::backup::BackupError;

const BUFFER_BYTES: usize = 1 << 20;

/// Ends an archive that is not wanted any more.
pub(super) fn give_up_if_canceled(live: &LiveBatch) -> Result<(), BackupError> {
    if live.is_cancelled() { Err(BackupError::Cancelled) } else { Ok(()) }
}

/// An archive under a temporary name. Dropped without [`Archive::finish`], it is removed.
pub(super) struct Archive {
    tar: Option<tar::Builder<GzEncoder<BufWriter<File>>>>,
    temporary: PathBuf,
    modified_seconds: u64,
}

impl Archive {
    /// Starts the archive in the file `temporary`, replacing what an interrupted one left there.
    pub(super) fn create(temporary: PathBuf, modified_seconds: u64) -> Result<Archive, BackupError> {
        let file = File::create(&temporary).map_err(BackupError::io(&temporary))?;
        let encoder = GzEncoder::new(BufWriter::with_capacity(BUFFER_BYTES, file), Compression::fast());
        Ok(Archive { tar: Some(tar::Builder::new(encoder)), temporary, modified_seconds })
    }

    /// Adds a file of exactly `bytes` bytes.
    pub(super) fn add(&mut self, name: &str, bytes: u64, content: impl Read) -> Result<(), BackupError> {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes);
        header.set_mode(0o644);
        header.set_mtime(self.modified_seconds);
        let tar = self.tar.as_mut().expect("the archive is not finished");
        tar.append_data(&mut header, name, content).map_err(BackupError::io(&self.temporary))
    }

    /// Adds a folder that may stay empty.
    pub(super) fn add_folder(&mut self, name: &str) -> Result<(), BackupError> {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(tar::EntryType::Directory);
        header.set_size(0);
        header.set_mode(0o755);
        header.set_mtime(self.modified_seconds);
        let tar = self.tar.as_mut().expect("the archive is not finished");
        tar.append_data(&mut header, name, io::empty()).map_err(BackupError::io(&self.temporary))
    }

    /// Adds a small file.
    pub(super) fn add_text(&mut self, name: &str, text: &str) -> Result<(), BackupError> {
        self.add(name, text.len() as u64, text.as_bytes())
    }

    /// Adds a file of lines that were collected.
    pub(super) fn add_lines(&mut self, name: &str, lines: Lines) -> Result<(), BackupError> {
        let (bytes, file) = lines.finish()?;
        self.add(name, bytes, file)
    }

    /// A place in the same folder for lines whose number is not known yet.
    pub(super) fn lines(&self) -> Result<Lines, BackupError> {
        Lines::create(self.temporary.with_extension("lines"))
    }

    /// Makes the archive durable under its final name.
    pub(super) fn finish(mut self, path: &Path) -> Result<(), BackupError> {
        let tar = self.tar.take().expect("the archive is not finished");
        let write = || -> io::Result<()> {
            let mut writer = tar.into_inner()?.finish()?;
            writer.flush()?;
            writer.get_ref().sync_all()?;
            fs::rename(&self.temporary, path)?;
            File::open(path.parent().unwrap_or(Path::new(".")))?.sync_all()
        };
        write().map_err(BackupError::io(path))
    }
}

impl Drop for Archive {
    fn drop(&mut self) {
        // After `finish` there is nothing of that name.
        if let Err(error) = fs::remove_file(&self.temporary)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(%error, path = %self.temporary.display(), "cannot remove an unfinished dump");
        }
    }
}

/// Lines in a file without a name: an archive wants to know the length of a file before its content.
pub(super) struct Lines {
    writer: BufWriter<File>,
    path: PathBuf,
    bytes: u64,
}

impl Lines {
    fn create(path: PathBuf) -> Result<Lines, BackupError> {
        let open = || -> io::Result<File> {
            let file = File::options().create(true).truncate(true).read(true).write(true).open(&path)?;
            // The content stays for as long as the file is open, and goes also when the process dies.
            fs::remove_file(&path)?;
            Ok(file)
        };
        let file = open().map_err(BackupError::io(&path))?;
        Ok(Lines { writer: BufWriter::with_capacity(BUFFER_BYTES, file), path, bytes: 0 })
    }

    /// Returns whether no line was added.
    pub(super) fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Adds a line.
    pub(super) fn push(&mut self, line: &impl Serialize) -> Result<(), BackupError> {
        let mut text = serde_json::to_vec(line).expect("lines are plain JSON");
        text.push(b'\n');
        self.bytes += text.len() as u64;
        self.writer.write_all(&text).map_err(BackupError::io(&self.path))
    }

    fn finish(self) -> Result<(u64, File), BackupError> {
        let Lines { writer, path, bytes } = self;
        let mut file = writer.into_inner().map_err(|error| BackupError::io(&path)(error.into_error()))?;
        file.seek(SeekFrom::Start(0)).map_err(BackupError::io(&path))?;
        Ok((bytes, file))
    }
}
