//! The life of a file: it goes when neither the manifest nor a reader needs it any more.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::segment::SegmentMeta;
use crate::storage::Directory;

/// A file of a segment, shared by all snapshots that hold it. Once the current manifest names it no longer it is
/// condemned, and the last holder's drop removes it.
#[derive(Debug)]
pub(super) struct FileGuard {
    directory: Arc<dyn Directory>,
    name: String,
    condemned: AtomicBool,
}

impl FileGuard {
    pub(super) fn new(directory: Arc<dyn Directory>, name: String) -> Arc<FileGuard> {
        Arc::new(FileGuard { directory, name, condemned: AtomicBool::new(false) })
    }

    /// One guard for each file of a segment, in the order of [`SegmentMeta::files`].
    pub(super) fn of_segment(directory: &Arc<dyn Directory>, meta: &SegmentMeta) -> Vec<Arc<FileGuard>> {
        meta.files().map(|file| FileGuard::new(directory.clone(), file.name.clone())).collect()
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// To be called once a manifest that does not name the file is durable.
    pub(super) fn condemn(&self) {
        self.condemned.store(true, Ordering::Release);
    }
}

impl Drop for FileGuard {
    fn drop(&mut self) {
        if *self.condemned.get_mut() {
            if let Err(error) = self.directory.delete(&self.name) {
                // The next start removes what no manifest names.
                tracing::warn!(file = self.name, %error, "could not remove a file that is no longer needed");
            }
        }
    }
}
