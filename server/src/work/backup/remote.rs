//! Snapshots in an object store: the folder that a local one would be, as one archive.

use std::io;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use lamina_base::options::{BucketKind, Options, StoreAddress};
use lamina_base::outbound::Outbound;
use lamina_data::object_storage::{AnyBucket, Cut, StorageError};
use lamina_data::tasks::LiveBatch;

use super::BackupError;

/// Below this, many stores take only the last part of an object.
const PART_BYTES_MIN: u64 = 5 << 20;
/// Share of the indexing memory that parts under way may take.
const MEMORY_SHARE: u64 = 8;

/// Destination of the snapshots, and the parameters of their upload.
#[derive(Clone, Debug)]
pub(crate) struct RemoteSnapshots {
    bucket: AnyBucket,
    key: String,
    part_bytes: u64,
    parallel: usize,
    compression: Compression,
}

impl RemoteSnapshots {
    pub(super) fn of(
        options: &Options,
        outbound: &Outbound,
        database_name: &str,
    ) -> Result<Option<RemoteSnapshots>, BackupError> {
        let store = &options.object_storage;
        let (kind, name, prefix) = match &options.backups.snapshot_store {
            Some(StoreAddress::Bucket { kind, name, prefix }) => (*kind, name.clone(), prefix.clone()),
            // No such value is accepted.
            Some(StoreAddress::Folder(_)) => return Ok(None),
            None if store.s3_bucket_url.is_none() => return Ok(None),
            None => {
                let prefix = store.s3_snapshot_prefix.as_deref().unwrap_or_default().trim_matches('/');
                let prefix = if prefix.is_empty() { String::new() } else { format!("{prefix}/") };
                (BucketKind::S3, store.s3_bucket_name.clone().unwrap_or_default(), prefix)
            }
        };
        let bucket = AnyBucket::open(kind, &name, store, outbound).map_err(refused)?;
        let parallel = store.experimental_s3_max_in_flight_parts.get();
        // One more is being filled while the others are under way.
        let share = options.indexing.memory_bytes() / MEMORY_SHARE / (parallel as u64 + 1);
        let part_bytes = store.experimental_s3_multipart_part_size.bytes().min(share.max(PART_BYTES_MIN)).max(1);
        Ok(Some(RemoteSnapshots {
            bucket,
            key: format!("{prefix}{database_name}.snapshot"),
            part_bytes,
            parallel,
            compression: Compression::new(store.experimental_s3_compression_level),
        }))
    }

    /// Sends everything in `folder` as a gzipped tar archive; the key of the object, which replaces an older one.
    pub(super) fn send(&self, folder: &Path, live: &LiveBatch) -> Result<String, BackupError> {
        let mut files = Vec::new();
        let bytes = collect(folder, Path::new(""), &mut files).map_err(BackupError::io(folder))?;
        live.steps.enter_inner(1, "file", files.len() as u64);
        let cut = Cut { bytes, part_bytes: self.part_bytes, parallel: self.parallel };
        let upload = self.bucket.upload(&self.key, cut, &live.cancelled).map_err(refused)?;
        let mut archive = tar::Builder::new(GzEncoder::new(upload, self.compression));
        for name in files {
            if live.is_cancelled() {
                return Err(BackupError::Cancelled);
            }
            let path = folder.join(&name);
            archive.append_path_with_name(&path, &name).map_err(|error| failure(error, &path))?;
            live.steps.advance();
        }
        let encoder = archive.into_inner().map_err(|error| failure(error, folder))?;
        let upload = encoder.finish().map_err(|error| failure(error, folder))?;
        upload.finish().map_err(refused)?;
        Ok(self.key.clone())
    }
}

/// The files and folders below `folder`, folders before what is in them, and the bytes of all files.
fn collect(folder: &Path, below: &Path, files: &mut Vec<PathBuf>) -> io::Result<u64> {
    let mut bytes = 0;
    for entry in folder.join(below).read_dir()? {
        let entry = entry?;
        let name = below.join(entry.file_name());
        files.push(name.clone());
        let metadata = entry.metadata()?;
        bytes += if metadata.is_dir() { collect(folder, &name, files)? } else { metadata.len() };
    }
    Ok(bytes)
}

fn refused(error: StorageError) -> BackupError {
    match error {
        StorageError::Cancelled => BackupError::Cancelled,
        error => BackupError::Api(error.into()),
    }
}

/// Returns the cause of a failed write to an archive: the error of the store, passed through the archive, or that
/// of the file system.
fn failure(error: io::Error, path: &Path) -> BackupError {
    match error.downcast::<StorageError>() {
        Ok(error) => refused(error),
        Err(source) => BackupError::Io { path: path.to_owned(), source },
    }
}
