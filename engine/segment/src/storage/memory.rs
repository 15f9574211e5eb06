//! A directory in memory, for tests and for indexes that need not survive.

use super::{Directory, FileIdentity, FileWriter, OwnedBytes};
use parking_lot::RwLock;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

/// Files on the heap. Clones share the content. A file becomes readable at its first sync.
#[derive(Clone, Debug, Default)]
pub struct MemoryDirectory {
    files: Arc<RwLock<BTreeMap<String, Arc<[u8]>>>>,
}

impl MemoryDirectory {
    /// An empty directory.
    pub fn new() -> MemoryDirectory {
        MemoryDirectory::default()
    }

    /// A directory that holds the given files.
    #[cfg(any(test, feature = "faults"))]
    pub(crate) fn with_files(files: impl IntoIterator<Item = (String, Vec<u8>)>) -> MemoryDirectory {
        let files = files.into_iter().map(|(name, bytes)| (name, bytes.into())).collect();
        MemoryDirectory { files: Arc::new(RwLock::new(files)) }
    }

    /// Replaces the content of a file without any of the guarantees: tests damage files with it.
    pub fn overwrite(&self, name: &str, bytes: Vec<u8>) {
        self.files.write().insert(name.to_owned(), bytes.into());
    }
}

fn not_found(name: &str) -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, format!("no file {name}"))
}

impl Directory for MemoryDirectory {
    fn open_read(&self, name: &str) -> io::Result<OwnedBytes> {
        let files = self.files.read();
        files.get(name).map(|bytes| OwnedBytes::from_shared(bytes.clone())).ok_or_else(|| not_found(name))
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn FileWriter>> {
        let mut files = self.files.write();
        if files.contains_key(name) {
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, format!("file {name} exists")));
        }
        files.insert(name.to_owned(), Arc::from([]));
        Ok(Box::new(MemoryWriter { name: name.to_owned(), bytes: Vec::new(), directory: self.clone() }))
    }

    fn atomic_write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.files.write().insert(name.to_owned(), bytes.into());
        Ok(())
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut files = self.files.write();
        let bytes = files.remove(from).ok_or_else(|| not_found(from))?;
        files.insert(to.to_owned(), bytes);
        Ok(())
    }

    fn delete(&self, name: &str) -> io::Result<()> {
        self.files.write().remove(name).map(drop).ok_or_else(|| not_found(name))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        Ok(self.files.read().keys().cloned().collect())
    }

    fn len(&self, name: &str) -> io::Result<u64> {
        self.files.read().get(name).map(|bytes| bytes.len() as u64).ok_or_else(|| not_found(name))
    }

    fn identity(&self, name: &str) -> io::Result<FileIdentity> {
        let files = self.files.read();
        let bytes = files.get(name).ok_or_else(|| not_found(name))?;
        Ok(FileIdentity([bytes.as_ptr().addr() as u64, bytes.len() as u64, 0]))
    }

    fn hard_link_to(&self, name: &str, target: &Path) -> io::Result<()> {
        let bytes = self.open_read(name)?;
        let mut file = std::fs::OpenOptions::new().write(true).create_new(true).open(target)?;
        file.write_all(&bytes)?;
        file.sync_all()
    }

    fn sync_directory(&self) -> io::Result<()> {
        Ok(())
    }
}

struct MemoryWriter {
    name: String,
    bytes: Vec<u8>,
    directory: MemoryDirectory,
}

impl Write for MemoryWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl FileWriter for MemoryWriter {
    fn sync(&mut self) -> io::Result<()> {
        let mut files = self.directory.files.write();
        match files.get_mut(&self.name) {
            Some(content) => {
                *content = self.bytes.as_slice().into();
                Ok(())
            }
            None => Err(not_found(&self.name)),
        }
    }
}
