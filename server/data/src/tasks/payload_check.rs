//! Whether the documents of a waiting task are those that were acknowledged.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use lamina_base::error::{ApiError, Code};
use lamina_base::plural::counted;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use super::content::Upsert;

const BUFFER_BYTES: usize = 1 << 20;

/// Damage of the documents of a task.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PayloadDamage {
    /// No file, or no row.
    #[error("they are missing")]
    Missing,
    /// Cut short, or something was added.
    #[error("they have {} instead of {expected}", counted(*found, "byte"))]
    Length {
        /// Acknowledged number of bytes.
        expected: u64,
        /// Actual number of bytes.
        found: u64,
    },
    /// Other bytes.
    #[error("they do not match their checksum")]
    Checksum,
    /// The file system says no; they may be sound.
    #[error("they cannot be read: {0}")]
    Io(io::Error),
}

impl PayloadDamage {
    /// Returns the error with which the task fails.
    pub fn of_task(self, uid: u32) -> ApiError {
        match self {
            PayloadDamage::Io(error) => error.into(),
            damage => ApiError::new(
                Code::InvalidStoreFile,
                format!(
                    "The documents of task `{uid}` are damaged on disk: {damage}. None of them was applied; send them again."
                ),
            ),
        }
    }
}

/// Checks the documents of a task in a file. Reads all of it.
///
/// # Errors
/// What is wrong with them.
pub fn check_payload_file(upsert: &Upsert, path: &Path) -> Result<(), PayloadDamage> {
    let opened = File::open(path).and_then(|file| Ok((file.metadata()?.len(), file)));
    let (found, mut file) = match opened {
        Ok(opened) => opened,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(PayloadDamage::Missing),
        Err(error) => return Err(PayloadDamage::Io(error)),
    };
    check_length(upsert, found)?;
    let (mut sum, mut buffer) = (Xxh3::new(), vec![0; BUFFER_BYTES]);
    loop {
        match file.read(&mut buffer).map_err(PayloadDamage::Io)? {
            0 => break,
            count => sum.update(&buffer[..count]),
        }
    }
    if sum.digest() == upsert.payload_checksum { Ok(()) } else { Err(PayloadDamage::Checksum) }
}

/// Checks the documents of a task that are stored with it.
///
/// # Errors
/// What is wrong with them.
pub fn check_inline_payload(upsert: &Upsert, documents: &[u8]) -> Result<(), PayloadDamage> {
    check_length(upsert, documents.len() as u64)?;
    if xxh3_64(documents) == upsert.payload_checksum { Ok(()) } else { Err(PayloadDamage::Checksum) }
}

fn check_length(upsert: &Upsert, found: u64) -> Result<(), PayloadDamage> {
    let expected = upsert.payload_bytes;
    if found == expected { Ok(()) } else { Err(PayloadDamage::Length { expected, found }) }
}
