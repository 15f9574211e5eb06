//! Vectors that a model has made, on disk: what was answered before a crash, or for the same text in another document,
//! is not asked for again.
//!
//! Two files that are only appended to, a newer and an older one. Until an index commits, everything is kept; after a
//! commit a newer file that fills half of the space allowed takes the place of the older one, which goes.
//! A record that was cut short or damaged ends its file: a cache may forget, but never says anything wrong.
//!
//! A record: key (32 bytes), number of dimensions (4), as many `f32`, checksum of all before it (8); little-endian. The key is
//! a cryptographic hash: texts come from users, and no user may find one that gets the vector of another's.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;

use aws_lc_rs::digest;
use parking_lot::Mutex;
use xxhash_rust::xxh3::xxh3_64;

const NEWER: &str = "newer";
const OLDER: &str = "older";
const KEY_BYTES: usize = digest::SHA256_OUTPUT_LEN;
const HEAD_BYTES: usize = KEY_BYTES + 4;
const CHECKSUM_BYTES: usize = 8;
/// A record that claims more is damaged.
const DIMENSIONS_MAX: usize = 1 << 20;

/// Says which text, and what made its vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key([u8; KEY_BYTES]);

impl Key {
    /// The vector that `maker` (what of a configuration decides it) makes of `text`.
    pub(super) fn new(maker: &str, text: &str) -> Key {
        let mut context = digest::Context::new(&digest::SHA256);
        // The length says where the one ends and the other begins.
        context.update(&(maker.len() as u64).to_le_bytes());
        context.update(maker.as_bytes());
        context.update(text.as_bytes());
        let mut key = [0; KEY_BYTES];
        key.copy_from_slice(context.finish().as_ref());
        Key(key)
    }
}

/// The files, opened when first needed.
pub(super) struct KeptVectors {
    folder: PathBuf,
    bytes_max: u64,
    files: Mutex<Option<Files>>,
}

impl KeptVectors {
    /// In `folder`, which need not be there; `bytes_max` of it may stay after a commit.
    pub(super) fn new(folder: PathBuf, bytes_max: u64) -> KeptVectors {
        KeptVectors { folder, bytes_max, files: Mutex::new(None) }
    }

    /// The vector, if it is known.
    pub(super) fn get(&self, key: Key) -> Option<Vec<f32>> {
        self.with("read", |files| files.get(key)).flatten()
    }

    /// Remembers a vector. Returns at once when the disk cannot take it: it will be made again if it is needed.
    pub(super) fn put(&self, key: Key, vector: &[f32]) {
        self.with("written", |files| files.put(key, vector));
    }

    /// Makes room: all that is kept has been committed.
    pub(super) fn committed(&self) {
        // Nothing was read or written since the start: nothing has grown.
        if self.files.lock().is_some() {
            self.with("removed", |files| files.shrink(self.bytes_max));
        }
    }

    /// A disk that fails costs time, not answers.
    fn with<T>(&self, done: &str, f: impl FnOnce(&mut Files) -> io::Result<T>) -> Option<T> {
        let mut files = self.files.lock();
        let opened = match &mut *files {
            Some(files) => Ok(files),
            none => Files::open(&self.folder).map(|opened| none.insert(opened)),
        };
        match opened.and_then(f) {
            Ok(result) => Some(result),
            Err(error) => {
                tracing::warn!(%error, folder = %self.folder.display(), "cached embeddings cannot be {done}");
                None
            }
        }
    }
}

#[derive(Clone, Copy)]
struct Place {
    /// Epoch of the newer file that the vector was written to.
    epoch: u64,
    start: u64,
    dimensions: usize,
}

struct Files {
    folder: PathBuf,
    newer: Log,
    older: Log,
    /// Counts up each time the newer file becomes the older one.
    epoch: u64,
    places: HashMap<Key, Place>,
}

impl Files {
    /// Reads all that is there.
    fn open(folder: &std::path::Path) -> io::Result<Files> {
        fs::create_dir_all(folder)?;
        let (mut places, epoch) = (HashMap::new(), 1);
        let mut log = |name, epoch| {
            Log::open(&folder.join(name), |key, start, dimensions| {
                places.insert(key, Place { epoch, start, dimensions });
            })
        };
        let older = log(OLDER, epoch - 1)?;
        let newer = log(NEWER, epoch)?;
        Ok(Files { folder: folder.to_owned(), newer, older, epoch, places })
    }

    fn get(&mut self, key: Key) -> io::Result<Option<Vec<f32>>> {
        let Some(place) = self.places.get(&key).copied() else { return Ok(None) };
        let log = if place.epoch == self.epoch { &mut self.newer } else { &mut self.older };
        let mut bytes = vec![0; place.dimensions * 4];
        log.file.seek(SeekFrom::Start(place.start + HEAD_BYTES as u64))?;
        log.file.read_exact(&mut bytes)?;
        let (numbers, _) = bytes.as_chunks::<4>();
        Ok(Some(numbers.iter().map(|number| f32::from_le_bytes(*number)).collect()))
    }

    fn put(&mut self, key: Key, vector: &[f32]) -> io::Result<()> {
        if vector.len() > DIMENSIONS_MAX || self.places.contains_key(&key) {
            return Ok(());
        }
        let start = self.newer.append(key, vector)?;
        self.places.insert(key, Place { epoch: self.epoch, start, dimensions: vector.len() });
        Ok(())
    }

    fn shrink(&mut self, bytes_max: u64) -> io::Result<()> {
        if self.newer.length > bytes_max / 2 {
            self.rotate()?;
        }
        if self.newer.length + self.older.length > bytes_max {
            self.older.clear()?;
            let epoch = self.epoch;
            self.places.retain(|_, place| place.epoch == epoch);
        }
        Ok(())
    }

    /// The newer file takes the place of the older one.
    fn rotate(&mut self) -> io::Result<()> {
        fs::rename(self.folder.join(NEWER), self.folder.join(OLDER))?;
        let empty = Log::open(&self.folder.join(NEWER), |_, _, _| ())?;
        self.older = std::mem::replace(&mut self.newer, empty);
        let epoch = self.epoch;
        self.places.retain(|_, place| place.epoch == epoch);
        self.epoch += 1;
        Ok(())
    }
}

/// One file.
struct Log {
    file: File,
    /// Bytes of whole records.
    length: u64,
}

impl Log {
    /// Opens or creates a file and shows its records to `visit`: key, start and dimensions.
    fn open(path: &std::path::Path, mut visit: impl FnMut(Key, u64, usize)) -> io::Result<Log> {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        let (mut reader, mut length) = (BufReader::new(&file), 0);
        let mut record = Vec::new();
        while let Some((key, dimensions)) = read_record(&mut reader, &mut record)? {
            visit(key, length, dimensions);
            length += record.len() as u64;
        }
        drop(reader);
        // What follows the last whole record is of no use.
        file.set_len(length)?;
        Ok(Log { file, length })
    }

    fn clear(&mut self) -> io::Result<()> {
        self.file.set_len(0)?;
        self.length = 0;
        Ok(())
    }

    /// Returns where the record starts.
    fn append(&mut self, key: Key, vector: &[f32]) -> io::Result<u64> {
        let mut record = Vec::with_capacity(HEAD_BYTES + vector.len() * 4 + CHECKSUM_BYTES);
        record.extend_from_slice(&key.0);
        record.extend_from_slice(&u32::try_from(vector.len()).unwrap_or(0).to_le_bytes());
        record.extend(vector.iter().flat_map(|number| number.to_le_bytes()));
        record.extend_from_slice(&xxh3_64(&record).to_le_bytes());
        let start = self.length;
        self.file.seek(SeekFrom::Start(start))?;
        self.file.write_all(&record)?;
        self.length += record.len() as u64;
        Ok(start)
    }
}

/// The next record, its bytes in `record`; `None` at the end, and where a record is not whole.
fn read_record(reader: &mut impl Read, record: &mut Vec<u8>) -> io::Result<Option<(Key, usize)>> {
    record.clear();
    reader.take(HEAD_BYTES as u64).read_to_end(record)?;
    let Some((key, dimensions)) = record.split_first_chunk::<KEY_BYTES>() else { return Ok(None) };
    let Ok(dimensions) = <[u8; 4]>::try_from(dimensions) else { return Ok(None) };
    let (key, dimensions) = (Key(*key), u32::from_le_bytes(dimensions) as usize);
    if dimensions > DIMENSIONS_MAX {
        return Ok(None);
    }
    reader.take((dimensions * 4 + CHECKSUM_BYTES) as u64).read_to_end(record)?;
    if record.len() < HEAD_BYTES + dimensions * 4 + CHECKSUM_BYTES {
        return Ok(None);
    }
    let whole = record.split_last_chunk::<CHECKSUM_BYTES>();
    let is_whole = whole.is_some_and(|(body, checksum)| xxh3_64(body) == u64::from_le_bytes(*checksum));
    Ok(is_whole.then_some((key, dimensions)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: usize) -> Key {
        Key::new("maker", &number.to_string())
    }

    fn vector(number: usize) -> Vec<f32> {
        vec![number as f32, 0.5, -1.0]
    }

    #[test]
    fn vectors_outlive_the_process() {
        let folder = tempfile::tempdir().unwrap();
        let open = || KeptVectors::new(folder.path().join("embeddings"), 0);
        let kept = open();
        assert_eq!(kept.get(key(1)), None);
        (0..100).for_each(|number| kept.put(key(number), &vector(number)));
        assert_eq!(kept.get(key(7)), Some(vector(7)));
        drop(kept);
        let again = open();
        assert!((0..100).all(|number| again.get(key(number)) == Some(vector(number))));
        assert_eq!(again.get(Key::new("other", "7")), None, "another model");
        again.put(key(100), &vector(100));
        assert_eq!(open().get(key(100)), Some(vector(100)));
    }

    #[test]
    fn torn_and_damaged_records_are_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let open = || KeptVectors::new(folder.path().to_owned(), 0);
        let kept = open();
        (0..3).for_each(|number| kept.put(key(number), &vector(number)));
        drop(kept);
        let path = folder.path().join(NEWER);
        let bytes = fs::read(&path).unwrap();
        for length in 0..bytes.len() {
            fs::write(&path, &bytes[..length]).unwrap();
            let whole = length / (bytes.len() / 3);
            let kept = open();
            assert!((0..3).all(|number| kept.get(key(number)).is_some() == (number < whole)), "{length}");
            kept.put(key(9), &vector(9));
            assert_eq!(open().get(key(9)), Some(vector(9)), "what is written next can be read");
        }
        for at in 0..bytes.len() / 3 {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            fs::write(&path, damaged).unwrap();
            assert_eq!(open().get(key(0)), None, "{at}");
        }
    }

    #[test]
    fn commits_make_room_for_the_latest() {
        let folder = tempfile::tempdir().unwrap();
        let record_bytes = (HEAD_BYTES + 12 + CHECKSUM_BYTES) as u64;
        let kept = KeptVectors::new(folder.path().to_owned(), 10 * record_bytes);
        (0..100).for_each(|number| kept.put(key(number), &vector(number)));
        assert!((0..100).all(|number| kept.get(key(number)).is_some()), "nothing goes before a commit");
        kept.committed();
        assert!((0..100).all(|number| kept.get(key(number)).is_none()));
        for round in 1..5 {
            (0..6).for_each(|number| kept.put(key(round * 10 + number), &vector(number)));
            kept.committed();
            assert_eq!(kept.get(key(round * 10)), Some(vector(0)), "{round}");
            assert_eq!(kept.get(key((round - 1) * 10)), None, "{round}");
        }
        let space: u64 = [NEWER, OLDER].iter().map(|name| fs::metadata(folder.path().join(name)).unwrap().len()).sum();
        assert!(space <= 10 * record_bytes);
    }

    #[test]
    fn a_disk_that_fails_forgets() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a file");
        fs::write(&path, "").unwrap();
        let kept = KeptVectors::new(path, 0);
        kept.put(key(1), &vector(1));
        assert_eq!(kept.get(key(1)), None);
        kept.committed();
    }
}
