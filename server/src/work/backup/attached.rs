//! Where indexes are that `lamina build` has made.

use std::path::PathBuf;

use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_base::options::{BuiltPlace, Options};
use lamina_base::outbound::Outbound;
use lamina_base::stored_names::FolderName;
use lamina_data::instance::Instance;
use lamina_data::object_storage::StorageError;
use lamina_data::tasks::{LiveBatch, Store};
use lamina_replication::{BuiltStore, ObjectError};

use super::BackupError;

/// In a folder, or in a store.
#[derive(Clone, Debug)]
pub(crate) enum Attached {
    /// On this machine.
    Folder(PathBuf),
    /// Elsewhere.
    Store(BuiltStore),
}

/// Fetched files of an index, until this is dropped. The index made of them has links to the files.
pub(crate) struct Fetched<'a> {
    instance: &'a Instance,
    folder: FolderName,
}

impl Fetched<'_> {
    /// Returns the path of the files.
    pub(crate) fn path(&self) -> PathBuf {
        self.instance.index_folder(&self.folder)
    }
}

impl Drop for Fetched<'_> {
    fn drop(&mut self) {
        self.instance.remove_index_folder(&self.folder);
    }
}

impl Attached {
    pub(super) fn of(options: &Options, outbound: &Outbound) -> Result<Attached, BackupError> {
        match &options.backups.attach_dir {
            BuiltPlace::Folder(folder) => Ok(Attached::Folder(folder.clone())),
            BuiltPlace::Store(address, _) => {
                let store = BuiltStore::open(address, &options.object_storage, outbound);
                let refused = |error: ObjectError| {
                    BackupError::Api(ApiError::new(Code::Internal, format!("`--attach-dir`: {error}")))
                };
                Ok(Attached::Store(store.map_err(refused)?))
            }
        }
    }
}

/// Fetches the index `name` of a store.
///
/// # Errors
/// `invalid_index_folder` where it cannot be attached, or what the disk says. `Ok(None)`: the batch was canceled.
pub(crate) fn fetch<'a>(
    store: &BuiltStore,
    name: &str,
    (instance, tasks): (&'a Instance, &Store),
    live: &LiveBatch,
) -> ApiResult<Option<Fetched<'a>>> {
    let folder = FolderName::random();
    // A start after a crash removes it.
    tasks.intend_folder(&folder)?;
    let fetched = Fetched { instance, folder };
    let path = fetched.path();
    std::fs::create_dir(&path)?;
    match store.below(name).fetch(&path, &|| !live.is_cancelled()) {
        Ok(()) => Ok(Some(fetched)),
        Err(ObjectError::Storage(StorageError::Cancelled)) => Ok(None),
        Err(ObjectError::Io { path, source }) => Err(ApiError::from(source).prefixed(format!("{}: ", path.display()))),
        Err(error) => {
            let text = format!("The folder `{name}` in `--attach-dir` cannot be attached: {error}.");
            Err(ApiError::new(Code::InvalidIndexFolder, text))
        }
    }
}
