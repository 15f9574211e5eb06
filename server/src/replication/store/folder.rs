//! A folder as a store: on one machine, or shared by a network file system whose hard links are atomic.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use uuid::Uuid;

use super::{Content, ObjectError, WrittenFile};

/// What keys of objects begin with.
const KINDS: [&str; 7] = ["root", "i", "beat", "replica", "journal", "journal-payload", "probe"];
/// What is compared with its checksum at a time: little enough to stay in the caches of a processor.
const READ_BYTES: usize = 128 << 10;

/// Makes the folders of all kinds of objects.
pub(super) fn prepare(root: &Path) -> Result<(), ObjectError> {
    for kind in KINDS {
        let folder = root.join(kind);
        fs::create_dir_all(&folder).map_err(ObjectError::io(&folder))?;
    }
    Ok(())
}

/// The path of an object that is about to be created, and its folder, which is made. That of its kind is not: where it is missing, this
/// is not the store any more, but what is left of it when a network file system has gone.
fn place(root: &Path, key: &str) -> Result<(PathBuf, PathBuf), ObjectError> {
    let path = root.join(key);
    let folder = path.parent().unwrap_or(root).to_owned();
    let kind = root.join(key.split('/').next().unwrap_or_default());
    kind.metadata().map_err(ObjectError::io(&kind))?;
    fs::create_dir_all(&folder).map_err(ObjectError::io(&folder))?;
    Ok((path, folder))
}

pub(super) fn create(root: &Path, key: &str, content: Content<'_>) -> Result<(), ObjectError> {
    let (path, folder) = place(root, key)?;
    // Complete under another name first: a link to it appears as a whole, and not where there is such a name.
    let unfinished = root.join(format!("unfinished-{}", Uuid::new_v4()));
    let created = write(&unfinished, content).and_then(|()| match fs::hard_link(&unfinished, &path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(ObjectError::Exists(key.to_owned())),
        linked => linked.map_err(ObjectError::io(&path)),
    });
    let removed = fs::remove_file(&unfinished);
    created?;
    removed.map_err(ObjectError::io(&unfinished))?;
    File::open(&folder).and_then(|folder| folder.sync_all()).map_err(ObjectError::io(&folder))
}

pub(super) fn put(root: &Path, key: &str, bytes: &[u8]) -> Result<(), ObjectError> {
    let (path, _) = place(root, key)?;
    let unfinished = root.join(format!("unfinished-{}", Uuid::new_v4()));
    write(&unfinished, Content::Bytes(bytes))?;
    fs::rename(&unfinished, &path).map_err(ObjectError::io(&path))
}

fn write(path: &Path, content: Content<'_>) -> Result<(), ObjectError> {
    let options = File::options().read(true).write(true).create_new(true).open(path);
    let mut file = options.map_err(ObjectError::io(path))?;
    match content {
        Content::Bytes(bytes) => file.write_all(bytes).map_err(ObjectError::io(path))?,
        Content::File(source) => copy(&source, (&mut file, path))?,
    }
    file.sync_all().map_err(ObjectError::io(path))
}

/// Copies a file, within the kernel where that can do it, and compares what is there then: it is the object.
fn copy(source: &WrittenFile<'_>, (to, to_path): (&mut File, &Path)) -> Result<(), ObjectError> {
    io::copy(&mut source.open()?, to).map_err(ObjectError::io(to_path))?;
    to.rewind().map_err(ObjectError::io(to_path))?;
    if source.is_copied(to).map_err(ObjectError::io(to_path))? {
        return Ok(());
    }
    if source.is_copied(&mut source.open()?).map_err(ObjectError::io(source.path))? {
        let differs = io::Error::new(io::ErrorKind::InvalidData, "the copy of a sound file differs from it");
        return Err(ObjectError::io(to_path)(differs));
    }
    Err(source.damaged("its checksum does not match", false))
}

pub(super) fn read(root: &Path, key: &str) -> Result<Vec<u8>, ObjectError> {
    let path = root.join(key);
    fs::read(&path).map_err(missing(key, path))
}

pub(super) fn read_piece(root: &Path, key: &str, range: Range<u64>, bytes: u64) -> Result<Bytes, ObjectError> {
    let (file, path) = open(root, key, bytes)?;
    let length = usize::try_from(range.end - range.start).map_err(|_| other_length(key))?;
    let mut piece = vec![0; length];
    file.read_exact_at(&mut piece, range.start).map_err(ObjectError::io(&path))?;
    Ok(piece.into())
}

/// Copies a piece to the same place of `to`, within the kernel where that can do it. Answers the checksum of what is there then.
pub(super) fn copy_piece(
    root: &Path,
    key: &str,
    (range, bytes): (Range<u64>, u64),
    (to, to_path): (&File, &Path),
) -> Result<crc32fast::Hasher, ObjectError> {
    let (file, path) = open(root, key, bytes)?;
    let copy = |mut from: &File, mut to: &File| {
        from.seek(SeekFrom::Start(range.start))?;
        to.seek(SeekFrom::Start(range.start))?;
        io::copy(&mut from.take(range.end - range.start), &mut to)
    };
    let blame = |error: io::Error| match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            ObjectError::io(to_path)(error)
        }
        _ => ObjectError::io(&path)(error),
    };
    if copy(&file, to).map_err(blame)? != range.end - range.start {
        return Err(other_length(key));
    }
    let (mut hasher, mut buffer, mut at) = (crc32fast::Hasher::new(), vec![0; READ_BYTES], range.start);
    while at < range.end {
        let length = READ_BYTES.min(usize::try_from(range.end - at).unwrap_or(READ_BYTES));
        to.read_exact_at(&mut buffer[..length], at).map_err(ObjectError::io(to_path))?;
        hasher.update(&buffer[..length]);
        at += length as u64;
    }
    Ok(hasher)
}

fn open(root: &Path, key: &str, bytes: u64) -> Result<(File, PathBuf), ObjectError> {
    let path = root.join(key);
    let file = File::open(&path).map_err(missing(key, path.clone()))?;
    match file.metadata().map_err(ObjectError::io(&path))?.len() == bytes {
        true => Ok((file, path)),
        false => Err(other_length(key)),
    }
}

fn other_length(key: &str) -> ObjectError {
    ObjectError::Damaged { key: key.to_owned(), reason: "it has another length" }
}

fn missing(key: &str, path: PathBuf) -> impl FnOnce(io::Error) -> ObjectError {
    move |source| match source.kind() {
        io::ErrorKind::NotFound => ObjectError::Missing(key.to_owned()),
        _ => ObjectError::Io { path, source },
    }
}

pub(super) fn list(root: &Path, folder: &str, after: &str) -> Result<Vec<String>, ObjectError> {
    let (mut keys, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        let path = root.join(&folder);
        let entries = match fs::read_dir(&path) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(source) => return Err(ObjectError::Io { path, source }),
        };
        for entry in entries {
            let entry = entry.map_err(ObjectError::io(&path))?;
            let Some(key) = entry.file_name().to_str().map(|name| format!("{folder}{name}")) else { continue };
            match entry.file_type().map_err(ObjectError::io(&path))?.is_dir() {
                true => folders.push(format!("{key}/")),
                false if key.as_str() > after => keys.push(key),
                false => {}
            }
        }
    }
    keys.sort_unstable();
    Ok(keys)
}

pub(super) fn remove(root: &Path, key: &str) -> Result<(), ObjectError> {
    let path = root.join(key);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(ObjectError::Io { path, source: error }),
        _ => Ok(()),
    }
}
