//! What a publisher puts into the store of an index.

use std::collections::BTreeMap;
use std::path::PathBuf;

use lamina_base::stored_names::FolderName;
use lamina_engine::index::NamedFile;

use super::store::{Checksum, Content, WrittenFile};

/// An index to be put into the store.
pub(super) struct State {
    pub(super) uid: String,
    pub(super) folder: FolderName,
    pub(super) generation: u64,
    pub(super) manifest: Vec<u8>,
    pub(super) files: Vec<(NamedFile, Body)>,
    /// Indexes whose folder another index has, by their names.
    pub(super) shared: BTreeMap<String, FolderName>,
}

/// Place of the bytes of a file.
pub(super) enum Body {
    File(PathBuf),
    #[cfg(test)]
    Bytes(Vec<u8>),
}

impl Body {
    /// The bytes of `file`.
    pub(super) fn content(&self, file: &NamedFile) -> Content<'_> {
        let (bytes, checksum) = (file.bytes, Checksum::Crc32(file.checksum));
        match self {
            Body::File(path) => Content::File(WrittenFile { path, bytes, checksum }),
            #[cfg(test)]
            Body::Bytes(bytes) => Content::Bytes(bytes),
        }
    }
}
