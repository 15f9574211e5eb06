//! The life of a file: it goes when neither the manifest nor a reader needs it any more.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::segment::SegmentMeta;
use crate::storage::Directory;

/// A file of an index, shared by all snapshots that hold it. While no durable manifest names it the last holder's drop
/// removes it: a failed commit leaves nothing behind, and a forgotten file stays as long as a snapshot reads it.
#[derive(Debug)]
pub(super) struct FileGuard {
    directory: Arc<dyn Directory>,
    name: String,
    remove_on_drop: AtomicBool,
}

impl FileGuard {
    /// A file that no manifest names yet.
    pub(super) fn provisional(directory: Arc<dyn Directory>, name: String) -> Arc<FileGuard> {
        Arc::new(FileGuard { directory, name, remove_on_drop: AtomicBool::new(true) })
    }

    /// A file of the current manifest.
    pub(super) fn kept(directory: Arc<dyn Directory>, name: String) -> Arc<FileGuard> {
        Arc::new(FileGuard { directory, name, remove_on_drop: AtomicBool::new(false) })
    }

    /// One provisional guard for each file of a segment just written.
    pub(super) fn of_new_segment(directory: &Arc<dyn Directory>, meta: &SegmentMeta) -> Arc<[Arc<FileGuard>]> {
        meta.files().map(|file| FileGuard::provisional(directory.clone(), file.name.clone())).collect()
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// To be called once a manifest that names the file is durable.
    pub(super) fn keep(&self) {
        self.remove_on_drop.store(false, Ordering::Release);
    }

    /// To be called once a manifest that does not name the file is durable.
    pub(super) fn condemn(&self) {
        self.remove_on_drop.store(true, Ordering::Release);
    }
}

impl Drop for FileGuard {
    fn drop(&mut self) {
        if *self.remove_on_drop.get_mut() {
            match self.directory.delete(&self.name) {
                Ok(()) => {}
                // A file that could not be written either.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                // The next start removes what no manifest names.
                Err(error) => tracing::warn!(file = self.name, %error, "could not remove a file without use"),
            }
        }
    }
}
