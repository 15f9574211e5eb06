//! A folder as a store: on one machine, or shared by a network file system whose hard links are atomic.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use uuid::Uuid;

use super::{Content, ObjectError, SMALL_BYTES_MAX, WrittenFile};

/// Prefixes of the keys of objects.
const KINDS: [&str; 7] = ["root", "i", "beat", "replica", "journal", "journal-payload", "probe"];
/// Prefix of the names of objects that have no key yet.
pub(super) const STAGED_PREFIX: &str = "unfinished-";
/// Number of bytes that are checked against a checksum at a time. They fit into the caches of a processor.
const READ_BYTES: usize = 128 << 10;

/// A folder that is open: what happens in it happens there, whatever its address leads to by then.
pub(super) struct OpenFolder {
    path: PathBuf,
    _folder: Option<File>,
}

impl OpenFolder {
    /// Opens the folder at `address`, if there is one, and open folders have paths.
    pub(super) fn of(address: &Path) -> OpenFolder {
        let folder = File::open(address).ok();
        let path = folder.as_ref().map(|folder| PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd())));
        match path.filter(|path| path.exists()) {
            Some(path) => OpenFolder { path, _folder: folder },
            None => OpenFolder { path: address.to_owned(), _folder: None },
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

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
    let unfinished = staging_path(root);
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
    let unfinished = staging_path(root);
    let renamed = || fs::rename(&unfinished, &path).map_err(ObjectError::io(&path));
    write(&unfinished, Content::Bytes(bytes)).and_then(|()| renamed()).inspect_err(|_| {
        // The next attempt has a file of another name.
        let _ = fs::remove_file(&unfinished);
    })
}

fn staging_path(root: &Path) -> PathBuf {
    root.join(format!("{STAGED_PREFIX}{}", Uuid::new_v4()))
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
    let (file, path, bytes) = open(root, key)?;
    let most = SMALL_BYTES_MAX as u64;
    if bytes > most {
        return Err(ObjectError::Damaged { key: key.to_owned(), reason: super::TOO_LONG });
    }
    begin(&file, most).map_err(ObjectError::io(&path))
}

/// The first bytes of an object.
pub(super) fn read_begin(root: &Path, key: &str, bytes: u64) -> Result<Vec<u8>, ObjectError> {
    let (file, path, _) = open(root, key)?;
    begin(&file, bytes).map_err(ObjectError::io(&path))
}

/// At most so many bytes.
fn begin(file: &File, bytes: u64) -> io::Result<Vec<u8>> {
    let mut begin = Vec::new();
    file.take(bytes).read_to_end(&mut begin)?;
    Ok(begin)
}

pub(super) fn read_piece(root: &Path, key: &str, range: Range<u64>, bytes: u64) -> Result<Bytes, ObjectError> {
    let (file, path) = open_whole(root, key, bytes)?;
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
    let (file, path) = open_whole(root, key, bytes)?;
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

/// An object of this length.
fn open_whole(root: &Path, key: &str, bytes: u64) -> Result<(File, PathBuf), ObjectError> {
    let (file, path, found) = open(root, key)?;
    if found == bytes { Ok((file, path)) } else { Err(other_length(key)) }
}

/// The file of an object, its path and its length. What is no file, such as a pipe, is refused at once: it may never have anything to read.
fn open(root: &Path, key: &str) -> Result<(File, PathBuf, u64), ObjectError> {
    let path = root.join(key);
    let opened = File::options().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOFOLLOW).open(&path);
    let no_file = |kind: &str| {
        let text = format!("this is {kind}, and no file: remove it from the store");
        ObjectError::io(&path)(io::Error::new(io::ErrorKind::InvalidData, text))
    };
    let file = match opened {
        Err(error) if error.raw_os_error() == Some(libc::ELOOP) => return Err(no_file("a link")),
        Err(error) if error.raw_os_error() == Some(libc::ENXIO) => return Err(no_file("a socket or a device")),
        opened => opened.map_err(missing(key, path.clone()))?,
    };
    let metadata = file.metadata().map_err(ObjectError::io(&path))?;
    match metadata.file_type() {
        kind if kind.is_file() => Ok((file, path, metadata.len())),
        kind if kind.is_dir() => Err(no_file("a folder")),
        kind if kind.is_fifo() => Err(no_file("a pipe")),
        _ => Err(no_file("a device")),
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

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    /// No process writes into the pipe: opening it for reading would wait for ever.
    #[test]
    fn what_is_no_file_is_named_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        prepare(root).unwrap();
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, root.join("root/pipe"), rustix::fs::FileType::Fifo, mode, 0).unwrap();
        fs::create_dir(root.join("root/folder")).unwrap();
        let _socket = UnixListener::bind(root.join("root/socket")).unwrap();
        std::os::unix::fs::symlink("/dev/zero", root.join("root/link")).unwrap();
        let kinds = [("pipe", "a pipe"), ("folder", "a folder"), ("socket", "a socket"), ("link", "a link")];
        for (name, kind) in kinds {
            let key = format!("root/{name}");
            let mut target = tempfile::tempfile().unwrap();
            let said = [
                read(root, &key).map(drop),
                read_begin(root, &key, 3).map(drop),
                read_piece(root, &key, 0..3, 3).map(drop),
                copy_piece(root, &key, (0..3, 3), (&mut target, Path::new("target"))).map(drop),
            ];
            for said in said {
                let said = said.unwrap_err().to_string();
                assert!(said.contains(&key), "{said}");
                assert!(said.contains(kind), "{said}");
            }
        }
        assert!(matches!(read(root, "root/none"), Err(ObjectError::Missing(_))));
    }

    #[test]
    fn an_object_that_is_read_as_a_whole_has_a_limit() {
        let folder = tempfile::tempdir().unwrap();
        File::create(folder.path().join("large")).unwrap().set_len(SMALL_BYTES_MAX as u64 + 1).unwrap();
        let said = read(folder.path(), "large").unwrap_err().to_string();
        assert!(said.contains("`large`"), "{said}");
        assert!(said.contains("longer"), "{said}");
        assert_eq!(read_begin(folder.path(), "large", 4).unwrap(), [0; 4]);
    }
}
