//! A bucket of an S3-compatible store.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};

use super::{Content, ObjectError};
use crate::object_storage::{Bucket, Upload};

/// Larger files are sent in parts of so many bytes, and all of them are read in such pieces.
const PART_BYTES: u64 = 16 << 20;
/// Parts that are under way at the same time.
const PARALLEL: usize = 2;
/// Of an object that is read as a whole.
const SMALL_BYTES_MAX: usize = 64 << 20;

pub(super) fn create(bucket: &Bucket, key: &str, content: Content<'_>) -> Result<(), ObjectError> {
    let exists = || ObjectError::Exists(key.to_owned());
    let body = match content {
        Content::Bytes(bytes) => bytes.to_vec(),
        Content::File(path) => {
            let mut file = File::open(path).map_err(ObjectError::io(path))?;
            let bytes = file.metadata().map_err(ObjectError::io(path))?.len();
            if bytes > PART_BYTES {
                // The key of a file names its checksum: two that meet here send the same bytes.
                if bucket.answer(bucket.has(key))? {
                    return Err(exists());
                }
                return send_in_parts(bucket, key, &mut file, bytes, path);
            }
            let mut body = Vec::new();
            file.read_to_end(&mut body).map_err(ObjectError::io(path))?;
            body
        }
    };
    if bucket.answer(bucket.create(key, body.into()))? { Ok(()) } else { Err(exists()) }
}

pub(super) fn put(bucket: &Bucket, key: &str, bytes: &[u8]) -> Result<(), ObjectError> {
    Ok(bucket.answer(bucket.put(key, bytes.to_vec().into()))?)
}

fn send_in_parts(bucket: &Bucket, key: &str, file: &mut File, bytes: u64, path: &Path) -> Result<(), ObjectError> {
    let is_over = AtomicBool::new(false);
    let mut send = || {
        let mut upload = Upload::begin(bucket.clone(), key.to_owned(), bytes, PART_BYTES, PARALLEL, &is_over)?;
        std::io::copy(file, &mut upload).map_err(ObjectError::io(path))?;
        Ok(upload.finish()?)
    };
    let Some(limit) = bucket.limit() else { return send() };
    std::thread::scope(|scope| {
        let (ended, end) = channel::<()>();
        let is_over = &is_over;
        scope.spawn(move || {
            if end.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
                is_over.store(true, Ordering::Release);
            }
        });
        let sent = send();
        drop(ended);
        sent
    })
}

pub(super) fn read(bucket: &Bucket, key: &str) -> Result<Vec<u8>, ObjectError> {
    let object = bucket.answer(bucket.read(key, None, SMALL_BYTES_MAX))?;
    object.map(Vec::from).ok_or_else(|| ObjectError::Missing(key.to_owned()))
}

pub(super) fn fetch(bucket: &Bucket, key: &str, bytes: u64, file: &mut File, path: &Path) -> Result<u32, ObjectError> {
    let (mut hasher, mut at) = (crc32fast::Hasher::new(), 0);
    while at < bytes {
        let range = at..bytes.min(at + PART_BYTES);
        let length = range.end - range.start;
        // One byte more is another object than the one that was published.
        let part = bucket.answer(bucket.read(key, Some(range), PART_BYTES as usize + 1))?;
        let part = part.ok_or_else(|| ObjectError::Missing(key.to_owned()))?;
        if part.len() as u64 != length {
            return Err(ObjectError::Damaged { key: key.to_owned(), reason: "it has another length" });
        }
        hasher.update(&part);
        file.write_all(&part).map_err(ObjectError::io(path))?;
        at += length;
    }
    Ok(hasher.finalize())
}

pub(super) fn list(bucket: &Bucket, prefix: &str, after: &str) -> Result<Vec<String>, ObjectError> {
    Ok(bucket.answer(bucket.list(prefix, after))?)
}

pub(super) fn remove(bucket: &Bucket, key: &str) -> Result<(), ObjectError> {
    Ok(bucket.answer(bucket.remove(key))?)
}
