//! The life of a file: it goes when neither the manifest nor a reader needs it any more. The file, and not what has its name by then.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use lamina_segment::segment::{FileMeta, SegmentMeta};
use lamina_segment::storage::{Directory, FileIdentity};

/// A file of an index, shared by all snapshots that hold it. While no durable manifest names it the last holder's drop
/// removes it: a failed commit leaves nothing behind, and a forgotten file stays as long as a snapshot reads it.
#[derive(Debug)]
pub(super) struct FileGuard {
    directory: Arc<dyn Directory>,
    meta: FileMeta,
    /// Identity of the file when it was listed; `None` if it was absent.
    identity: Option<FileIdentity>,
    remove_on_drop: AtomicBool,
}

impl FileGuard {
    /// A file that was just written, and that no manifest names yet.
    pub(super) fn provisional(directory: Arc<dyn Directory>, meta: FileMeta) -> Arc<FileGuard> {
        FileGuard::of(directory, meta, true)
    }

    /// A file of the current manifest, or of a kept one.
    pub(super) fn kept(directory: Arc<dyn Directory>, meta: FileMeta) -> Arc<FileGuard> {
        FileGuard::of(directory, meta, false)
    }

    fn of(directory: Arc<dyn Directory>, meta: FileMeta, remove_on_drop: bool) -> Arc<FileGuard> {
        let identity = directory.identity(&meta.name).ok();
        Arc::new(FileGuard { directory, meta, identity, remove_on_drop: AtomicBool::new(remove_on_drop) })
    }

    /// One provisional guard for each file of a segment just written.
    pub(super) fn of_new_segment(directory: &Arc<dyn Directory>, meta: &SegmentMeta) -> Arc<[Arc<FileGuard>]> {
        meta.files().map(|file| FileGuard::provisional(directory.clone(), file.clone())).collect()
    }

    pub(super) fn name(&self) -> &str {
        &self.meta.name
    }

    /// The file as a manifest names it.
    pub(super) fn meta(&self) -> &FileMeta {
        &self.meta
    }

    /// Removes it, unless another file has its name by now.
    fn remove(&self) -> std::io::Result<()> {
        match self.directory.identity(&self.meta.name)? {
            found if Some(found) == self.identity => self.directory.delete(&self.meta.name),
            _ => Ok(()),
        }
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
            match self.remove() {
                Ok(()) => {}
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                // The next start removes what no manifest names.
                Err(error) => tracing::warn!(file = self.meta.name, %error, "could not remove an unused file"),
            }
        }
    }
}
