//! A folder of the file system, read through memory maps.

use super::{Directory, FileIdentity, FileWriter, OwnedBytes, SteadyFile};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Suffix of files that [`Directory::atomic_write`] has not renamed yet. A crash may leave some; they are not listed.
const TEMPORARY_SUFFIX: &str = ".tmp";

/// Writes are gathered into pieces of this many bytes.
const WRITE_BUFFER_BYTES: usize = 256 * 1024;

/// A folder whose files are memory-mapped for reading.
#[derive(Clone, Debug)]
pub struct MappedDirectory {
    root: PathBuf,
}

impl MappedDirectory {
    /// Opens `root`, creating the folder (and its parents) when it does not exist.
    pub fn open(root: impl Into<PathBuf>) -> io::Result<MappedDirectory> {
        let root = root.into();
        fs::create_dir_all(&root)?;
        Ok(MappedDirectory { root })
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the path of a file. Names may come from manifests, and those may come from anywhere.
    fn path(&self, name: &str) -> io::Result<PathBuf> {
        let is_flat = !matches!(name, "" | "." | "..") && !name.contains(['/', '\\', '\0']);
        if !is_flat {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{name:?} is no name of a file")));
        }
        Ok(self.root.join(name))
    }

    /// A file that is there: a link would lead out of the folder.
    fn existing(&self, name: &str) -> io::Result<(PathBuf, fs::Metadata)> {
        let path = self.path(name)?;
        let metadata = fs::symlink_metadata(&path)?;
        if !metadata.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidData, format!("{name:?} is not a plain file")));
        }
        Ok((path, metadata))
    }
}

impl Directory for MappedDirectory {
    fn open_read(&self, name: &str) -> io::Result<OwnedBytes> {
        let file = File::open(self.existing(name)?.0)?;
        if file.metadata()?.len() == 0 {
            // An empty range cannot be mapped.
            return Ok(OwnedBytes::empty());
        }
        Ok(OwnedBytes::from_map(map(&file)?))
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn FileWriter>> {
        let file = OpenOptions::new().write(true).create_new(true).open(self.path(name)?)?;
        Ok(Box::new(MappedWriter { inner: BufWriter::with_capacity(WRITE_BUFFER_BYTES, SteadyFile::new(file)) }))
    }

    fn atomic_write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let temporary = self.path(&format!("{name}{TEMPORARY_SUFFIX}"))?;
        if let Err(error) = fs::remove_file(&temporary)
            && error.kind() != io::ErrorKind::NotFound
        {
            return Err(error);
        }
        let mut file = File::create_new(&temporary)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        drop(file);
        fs::rename(&temporary, self.path(name)?)?;
        self.sync_directory()
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.existing(from)?.0, self.path(to)?)
    }

    fn delete(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path(name)?)
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.root)? {
            let entry = entry?;
            if !entry.file_type()?.is_file() {
                continue;
            }
            // A name that is not UTF-8 is not one of ours.
            if let Ok(name) = entry.file_name().into_string()
                && !name.ends_with(TEMPORARY_SUFFIX)
            {
                names.push(name);
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    fn len(&self, name: &str) -> io::Result<u64> {
        Ok(self.existing(name)?.1.len())
    }

    fn identity(&self, name: &str) -> io::Result<FileIdentity> {
        identity(&self.existing(name)?.1)
    }

    fn hard_link_to(&self, name: &str, target: &Path) -> io::Result<()> {
        let source = self.existing(name)?.0;
        match fs::hard_link(&source, target) {
            Err(error) if has_no_links(&error) => {
                fs::copy(&source, target)?;
                File::open(target)?.sync_all()
            }
            other => other,
        }
    }

    fn sync_directory(&self) -> io::Result<()> {
        // Only Unix lets a folder be opened and synced; elsewhere renames are ordered by the file system.
        #[cfg(unix)]
        File::open(&self.root)?.sync_all()?;
        Ok(())
    }
}

/// The number of a file may be given to another one once it is gone, which was written at another time.
fn identity(metadata: &fs::Metadata) -> io::Result<FileIdentity> {
    let written = metadata.modified()?.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let written = u64::try_from(written.as_nanos()).unwrap_or(u64::MAX);
    #[cfg(unix)]
    let number = {
        use std::os::unix::fs::MetadataExt;
        [metadata.dev(), metadata.ino()]
    };
    #[cfg(not(unix))]
    let number = [metadata.len(), 0];
    Ok(FileIdentity([number[0], number[1], written]))
}

/// Reports whether a link failed because the file system has no links, allows none to that place, or allows no more.
fn has_no_links(error: &io::Error) -> bool {
    use io::ErrorKind as Kind;
    matches!(error.kind(), Kind::CrossesDevices | Kind::Unsupported | Kind::PermissionDenied | Kind::TooManyLinks)
}

#[expect(unsafe_code, reason = "memory maps are unsafe; the promise of `storage` makes this one sound")]
fn map(file: &File) -> io::Result<memmap2::Mmap> {
    // SAFETY: files of a directory are write-once (the promise in `storage/mod.rs`): when they are opened for reading
    // nothing writes to or truncates them any more, and deleting a name leaves the mapped content in place.
    unsafe { memmap2::Mmap::map(file) }
}

struct MappedWriter {
    inner: BufWriter<SteadyFile>,
}

impl Write for MappedWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.inner.write(bytes)
    }
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.inner.write_all(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl FileWriter for MappedWriter {
    fn sync(&mut self) -> io::Result<()> {
        self.inner.flush()?;
        self.inner.get_mut().sync()
    }
}
