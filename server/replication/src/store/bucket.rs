//! A bucket of a store.

use std::io::Read;
use std::ops::Range;

use bytes::Bytes;
use lamina_data::object_storage::AnyBucket;

use super::{Content, ObjectError, SMALL_BYTES_MAX};

/// Larger files are sent in parts of so many bytes.
const PART_BYTES: u64 = 16 << 20;

pub(super) fn create(bucket: &AnyBucket, key: &str, content: Content<'_>) -> Result<(), ObjectError> {
    let exists = || ObjectError::Exists(key.to_owned());
    let body = match content {
        Content::Bytes(bytes) => bytes.to_vec(),
        Content::File(file) => {
            let mut reading = file.read()?;
            if file.bytes > PART_BYTES {
                // The key of a file names its checksum: two that meet here send the same bytes.
                let created = bucket.create_large(key, &mut reading, file.bytes);
                let is_new = created.map_err(|error| reading.blame(error.into()))?;
                return if is_new { Ok(()) } else { Err(exists()) };
            }
            let mut body = Vec::new();
            reading.read_to_end(&mut body).map_err(|error| reading.blame(ObjectError::io(file.path)(error)))?;
            body
        }
    };
    if bucket.create(key, body.into())? { Ok(()) } else { Err(exists()) }
}

pub(super) fn put(bucket: &AnyBucket, key: &str, bytes: &[u8]) -> Result<(), ObjectError> {
    Ok(bucket.put(key, bytes.to_vec().into())?)
}

pub(super) fn read(bucket: &AnyBucket, key: &str) -> Result<Vec<u8>, ObjectError> {
    let object = bucket.read(key, None, SMALL_BYTES_MAX)?;
    object.map(Vec::from).ok_or_else(|| ObjectError::Missing(key.to_owned()))
}

/// The first bytes of an object.
pub(super) fn read_begin(bucket: &AnyBucket, key: &str, bytes: u64) -> Result<Vec<u8>, ObjectError> {
    // An answer that it is not there is longer than that.
    let begin = bucket.read(key, Some(0..bytes), SMALL_BYTES_MAX)?;
    begin.map(Vec::from).ok_or_else(|| ObjectError::Missing(key.to_owned()))
}

pub(super) fn read_piece(bucket: &AnyBucket, key: &str, range: Range<u64>) -> Result<Bytes, ObjectError> {
    let length = range.end - range.start;
    let bytes_max = usize::try_from(length).unwrap_or(usize::MAX);
    let piece = bucket.read(key, Some(range), bytes_max)?.ok_or_else(|| ObjectError::Missing(key.to_owned()))?;
    if piece.len() as u64 != length {
        return Err(ObjectError::Damaged { key: key.to_owned(), reason: "it has another length" });
    }
    Ok(piece)
}

pub(super) fn list(bucket: &AnyBucket, prefix: &str, after: &str) -> Result<Vec<String>, ObjectError> {
    Ok(bucket.list(prefix, after)?)
}

pub(super) fn remove(bucket: &AnyBucket, key: &str) -> Result<(), ObjectError> {
    Ok(bucket.remove(key)?)
}
