//! Objects that are fetched several at a time, large ones in pieces.

use std::fs::{self, File};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use lamina_data::object_storage::StorageError;
use parking_lot::Mutex;

use super::{ObjectError, ObjectStore, Place};

/// Size of a piece of a fetched object; each piece is in memory once.
const PIECE_BYTES: u64 = 4 << 20;
/// Requests to a bucket at the same time: most of their time they wait.
const PARALLEL: usize = 8;
/// Copies from a folder at the same time: they compute, beside the searches.
const PARALLEL_COPIES: usize = 2;

/// A file that is to be fetched.
#[derive(Debug)]
pub(crate) struct Wanted {
    pub key: String,
    pub bytes: u64,
    /// CRC-32 of the whole file.
    pub checksum: u32,
    /// Target path of the file.
    pub path: PathBuf,
}

/// A file of which some pieces are there.
struct PartialFile<'a> {
    wanted: &'a Wanted,
    unfinished: PathBuf,
    /// The checksums of its pieces, each once it is there.
    pieces: Vec<(Range<u64>, OnceLock<crc32fast::Hasher>)>,
}

/// The name of a file until all of it is there.
pub(crate) fn staging_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".tmp");
    PathBuf::from(name)
}

/// The parts of an object of this length.
pub(super) fn pieces(bytes: u64) -> impl Iterator<Item = Range<u64>> {
    (0..bytes.div_ceil(PIECE_BYTES)).map(move |number| {
        let start = number * PIECE_BYTES;
        start..bytes.min(start + PIECE_BYTES)
    })
}

impl ObjectStore {
    /// Fetches files, while `goes_on`. Each gets its name once all of it is there and its checksum is right, and keeps it where
    /// others fail. They are not durable yet.
    ///
    /// # Errors
    /// The first of [`ObjectError::Missing`], [`ObjectError::Damaged`], or what the store or this machine says;
    /// [`StorageError::Cancelled`] once it does not go on.
    pub(crate) fn fetch_all(&self, wanted: &[Wanted], goes_on: &(dyn Fn() -> bool + Sync)) -> Result<(), ObjectError> {
        let fetching = wanted.iter().map(PartialFile::new).collect::<Result<Vec<_>, _>>()?;
        let count = |file: &PartialFile<'_>| 0..file.pieces.len();
        let all: Vec<(&PartialFile<'_>, usize)> =
            fetching.iter().flat_map(|file| count(file).map(move |number| (file, number))).collect();
        let fetched = self.each(&all, |(file, number)| match goes_on() {
            true => file.fetch(self, *number),
            false => Err(StorageError::Cancelled.into()),
        });
        let finished: Vec<Result<(), ObjectError>> = fetching.into_iter().map(PartialFile::finish).collect();
        fetched.and_then(|()| finished.into_iter().collect())
    }

    /// Small objects, in the order of their keys.
    ///
    /// # Errors
    /// The first of what [`ObjectStore::read`] says.
    pub(crate) fn read_all(&self, keys: &[String]) -> Result<Vec<Vec<u8>>, ObjectError> {
        let slots: Vec<(&String, OnceLock<Vec<u8>>)> = keys.iter().map(|key| (key, OnceLock::new())).collect();
        self.each(&slots, |(key, slot)| {
            let bytes = self.read(key)?;
            slot.get_or_init(|| bytes);
            Ok(())
        })?;
        Ok(slots.into_iter().filter_map(|(_, slot)| slot.into_inner()).collect())
    }

    /// Runs a function for each item, several at the same time. Starts none after a failure.
    fn each<T: Sync>(
        &self,
        items: &[T],
        work: impl Fn(&T) -> Result<(), ObjectError> + Sync,
    ) -> Result<(), ObjectError> {
        let parallel = match &self.place {
            Place::Folder(_) => PARALLEL_COPIES,
            Place::Bucket { .. } => PARALLEL,
        };
        let (next, failure) = (AtomicUsize::new(0), Mutex::new(None));
        let take = || {
            while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                if let Err(error) = work(item) {
                    next.store(items.len(), Ordering::Relaxed);
                    failure.lock().get_or_insert(error);
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..parallel.min(items.len()) {
                scope.spawn(take);
            }
            take();
        });
        failure.into_inner().map_or(Ok(()), Err)
    }
}

impl<'a> PartialFile<'a> {
    fn new(wanted: &'a Wanted) -> Result<PartialFile<'a>, ObjectError> {
        let unfinished = staging_path(&wanted.path);
        File::create(&unfinished).map_err(ObjectError::io(&unfinished))?;
        let pieces = pieces(wanted.bytes).map(|range| (range, OnceLock::new())).collect();
        Ok(PartialFile { wanted, unfinished, pieces })
    }

    fn fetch(&self, store: &ObjectStore, number: usize) -> Result<(), ObjectError> {
        let (range, slot) = &self.pieces[number];
        let Wanted { key, bytes, .. } = self.wanted;
        let file = File::options().read(true).write(true).open(&self.unfinished);
        let file = file.map_err(ObjectError::io(&self.unfinished))?;
        let hasher = store.fetch_piece(key, (range.clone(), *bytes), (&file, &self.unfinished))?;
        slot.get_or_init(|| hasher);
        Ok(())
    }

    /// Gives it its name, if all of it is there.
    fn finish(self) -> Result<(), ObjectError> {
        let mut hasher = crc32fast::Hasher::new();
        for (_, slot) in self.pieces {
            // Another failure says why it is not there.
            let Some(piece) = slot.into_inner() else { return Ok(()) };
            hasher.combine(&piece);
        }
        let Wanted { key, checksum, path, .. } = self.wanted;
        if hasher.finalize() != *checksum {
            return Err(ObjectError::Damaged { key: key.clone(), reason: "its checksum does not match" });
        }
        fs::rename(&self.unfinished, path).map_err(ObjectError::io(path))
    }
}

/// Makes all files of a folder durable, and their names. A folder that is not there has none.
pub(crate) fn settle(folder: &Path) -> Result<(), ObjectError> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        other => other.map_err(ObjectError::io(folder))?,
    };
    for entry in entries {
        let path = entry.map_err(ObjectError::io(folder))?.path();
        match File::open(&path).and_then(|file| file.sync_all()) {
            // The index has removed it since.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            other => other.map_err(ObjectError::io(&path))?,
        }
    }
    let parent = folder.parent().unwrap_or(folder);
    for folder in [folder, parent] {
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(ObjectError::io(folder))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LARGE: usize = 2 * PIECE_BYTES as usize + 7;

    /// A store with these objects, and what is wanted of it.
    fn store(folder: &Path, objects: &[(&str, Vec<u8>)]) -> (ObjectStore, Vec<Wanted>) {
        let place = folder.join("store");
        fs::create_dir(&place).unwrap();
        let wanted = objects.iter().map(|(key, bytes)| {
            fs::write(place.join(key), bytes).unwrap();
            let (key, path) = ((*key).to_owned(), folder.join(key));
            Wanted { key, bytes: bytes.len() as u64, checksum: crc32fast::hash(bytes), path }
        });
        let wanted = wanted.collect();
        (ObjectStore::of_folder(&place), wanted)
    }

    fn large() -> Vec<u8> {
        (0..LARGE).map(|n| (n / 1000) as u8).collect()
    }

    #[test]
    fn files_arrive_in_pieces_and_whole() {
        let folder = tempfile::tempdir().unwrap();
        let (store, wanted) = store(folder.path(), &[("a", large()), ("b", b"small".to_vec()), ("c", Vec::new())]);
        store.fetch_all(&wanted, &|| true).unwrap();
        assert_eq!(fs::read(folder.path().join("a")).unwrap(), large());
        assert_eq!(fs::read(folder.path().join("b")).unwrap(), b"small");
        assert_eq!(fs::read(folder.path().join("c")).unwrap(), b"");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 4, "nothing unfinished is left");
        settle(folder.path()).unwrap();
        assert_eq!(store.read_all(&["b".into(), "c".into()]).unwrap(), [b"small".to_vec(), Vec::new()]);
        assert!(
            matches!(store.read_all(&["b".into(), "none".into()]), Err(ObjectError::Missing(key)) if key == "none")
        );
    }

    #[test]
    fn what_is_damaged_is_named_and_gets_no_name() {
        let folder = tempfile::tempdir().unwrap();
        let (store, wanted) = store(folder.path(), &[("a", large()), ("b", b"small".to_vec())]);
        let place = folder.path().join("store/a");
        let refusal = |bytes: &[u8]| {
            fs::write(&place, bytes).unwrap();
            let error = store.fetch_all(&wanted, &|| true).unwrap_err();
            assert!(!folder.path().join("a").exists());
            error.to_string()
        };
        let mut flipped = large();
        flipped[LARGE - 1] ^= 1;
        assert_eq!(refusal(&flipped), "`a` is damaged: its checksum does not match");
        // What is sound is there.
        assert_eq!(fs::read(folder.path().join("b")).unwrap(), b"small");
        flipped[LARGE - 1] ^= 1;
        flipped.swap(0, 2500);
        assert_eq!(refusal(&flipped), "`a` is damaged: its checksum does not match");
        assert_eq!(refusal(&large()[1..]), "`a` is damaged: it has another length");
        assert_eq!(refusal(&[large(), vec![0]].concat()), "`a` is damaged: it has another length");
        fs::remove_file(&place).unwrap();
        assert!(matches!(store.fetch_all(&wanted, &|| true), Err(ObjectError::Missing(key)) if key == "a"));
        let given_up = store.fetch_all(&wanted, &|| false);
        assert!(matches!(given_up, Err(ObjectError::Storage(StorageError::Cancelled))));
    }
}
