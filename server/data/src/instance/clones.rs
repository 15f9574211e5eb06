//! New indexes from the files of others: clones, and what `lamina build` has made.

use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_base::stored_names::FolderName;
use lamina_engine::index::{Index, IndexOptions};
use lamina_engine::storage::MemoryDirectory;

use super::Instance;
use super::folder::check_plain;
use crate::tasks::Store;

impl Instance {
    /// An empty index in memory, with the embedders of the others: for trying things out.
    ///
    /// # Errors
    /// What the engine says.
    pub fn scratch_index(&self) -> ApiResult<Arc<Index>> {
        let options = IndexOptions { background_merges: false, locks_folder: false, ..self.options.clone() };
        Ok(Arc::new(Index::create_in(Arc::new(MemoryDirectory::default()), options)?))
    }

    /// Creates an index like [`Instance::create_unnamed`], from the files of `source`.
    ///
    /// # Errors
    /// Fails with the error of the file system, or if `source` is damaged.
    pub fn clone_unnamed(
        &self,
        store: &Store,
        source: &Index,
        uid: &str,
        batch: u32,
    ) -> ApiResult<(FolderName, Arc<Index>)> {
        let folder = FolderName::random();
        store.intend_folder(&folder)?;
        let path = self.index_folder(&folder);
        let clone = || {
            fs::create_dir(&path)?;
            source.clone_to(&path, uid, u64::from(batch))?;
            File::open(self.folder.join("indexes")).and_then(|indexes| indexes.sync_all())?;
            Index::open(&path, self.options.clone())
        };
        match clone() {
            Ok(index) => Ok((folder, Arc::new(index))),
            Err(error) => {
                self.remove_index_folder(&folder);
                Err(error.into())
            }
        }
    }

    /// Creates an index like [`Instance::clone_unnamed`], from the one in `folder` that `lamina build` has made. `name`
    /// is the name in the request.
    ///
    /// # Errors
    /// `invalid_index_folder` for a folder that cannot be attached, or the error of the file system.
    pub fn attach_unnamed(
        &self,
        store: &Store,
        folder: &Path,
        name: &str,
        uid: &str,
        batch: u32,
    ) -> ApiResult<(FolderName, Arc<Index>)> {
        let refused = |reason: &dyn std::fmt::Display| {
            let text = format!("The folder `{name}` in `--attach-dir` cannot be attached: {reason}.");
            ApiError::new(Code::InvalidIndexFolder, text)
        };
        match folder.symlink_metadata() {
            Ok(metadata) if metadata.is_dir() => {}
            Ok(metadata) if metadata.is_symlink() => {
                return Err(refused(&"it is a link, which may lead anywhere: put the folder itself there"));
            }
            _ => return Err(refused(&"there is no such folder")),
        }
        // Before anything in it is opened: links lead elsewhere, and a pipe never answers.
        check_plain(folder, &[]).map_err(|error| refused(&error))?;
        let options = IndexOptions { background_merges: false, locks_folder: true, ..self.options.clone() };
        let source = Index::open(folder, options).map_err(|error| refused(&error))?;
        source.snapshot().check_whole().map_err(|error| refused(&error))?;
        self.clone_unnamed(store, &source, uid, batch)
    }
}
