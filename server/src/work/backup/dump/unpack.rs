//! Unpacking an archive that may come from anywhere: nothing is written outside of the target, and not without end.

use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::{Component, Path, PathBuf};

use flate2::bufread::MultiGzDecoder;
use thiserror::Error;

/// Documents compress ten times or so; whatever unpacks to more than this many times its size is no dump.
const RATIO_MAX: u64 = 250;
/// Small archives may be as dense as they like.
const BYTES_ALWAYS_ALLOWED: u64 = 64 << 20;
/// Every index has three files and every waiting task one.
const ENTRIES_MAX: u64 = 4_000_000;
/// No path of the layout is longer: a name of an index has at most 400 bytes.
const PATH_BYTES_MAX: usize = 512;

/// Reason why an archive cannot be unpacked.
#[derive(Debug, Error)]
#[non_exhaustive]
pub(in crate::work::backup) enum UnpackError {
    /// The archive, or a file that is written.
    #[error("{path:?}: {source}")]
    Io { path: PathBuf, source: io::Error },
    /// The path leads out of the folder.
    #[error("the archive contains the path {0:?}, which leads out of it")]
    Path(PathBuf),
    /// A link, a device.
    #[error("the archive holds {0:?}, which is neither a file nor a folder")]
    Kind(PathBuf),
    /// A bomb.
    #[error("the archive unpacks to more than {0} bytes, far more than a dump of its size holds")]
    TooLarge(u64),
    /// Another bomb.
    #[error("the archive holds more than {ENTRIES_MAX} files")]
    TooMany,
}

/// Unpacks the gzipped tar file `archive` into the existing folder `target`.
pub(in crate::work::backup) fn unpack(archive: &Path, target: &Path) -> Result<(), UnpackError> {
    let io_error = |path: &Path| {
        let path = path.to_owned();
        move |source| UnpackError::Io { path, source }
    };
    let file = File::open(archive).map_err(io_error(archive))?;
    let packed_bytes = file.metadata().map_err(io_error(archive))?.len();
    let bytes_max = packed_bytes.saturating_mul(RATIO_MAX).max(BYTES_ALWAYS_ALLOWED);
    let mut left = bytes_max;
    let decoder = MultiGzDecoder::new(BufReader::with_capacity(1 << 20, file));
    // Headers count too: an archive of empty files has no other content.
    let mut tar = tar::Archive::new(decoder.take(bytes_max.saturating_mul(2)));
    for (count, entry) in (0..).zip(tar.entries().map_err(io_error(archive))?) {
        if count >= ENTRIES_MAX {
            return Err(UnpackError::TooMany);
        }
        let mut entry = entry.map_err(io_error(archive))?;
        let named = entry.path().map_err(io_error(archive))?.into_owned();
        let path = target.join(safe_path(&named)?);
        match entry.header().entry_type() {
            tar::EntryType::Directory => fs::create_dir_all(&path).map_err(io_error(&path))?,
            tar::EntryType::Regular | tar::EntryType::Continuous => {
                if let Some(parent) = path.parent() {
                    fs::create_dir_all(parent).map_err(io_error(parent))?;
                }
                let mut file = File::create(&path).map_err(io_error(&path))?;
                let copied = io::copy(&mut entry.by_ref().take(left + 1), &mut file).map_err(io_error(&path))?;
                left = left.checked_sub(copied).ok_or(UnpackError::TooLarge(bytes_max))?;
            }
            _ => return Err(UnpackError::Kind(named)),
        }
    }
    Ok(())
}

/// A path of plain names below the target. `.` is left out, as other programs begin with it.
fn safe_path(path: &Path) -> Result<PathBuf, UnpackError> {
    let refuse = || UnpackError::Path(path.to_owned());
    if path.as_os_str().len() > PATH_BYTES_MAX {
        return Err(refuse());
    }
    let mut safe = PathBuf::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => safe.push(name),
            Component::CurDir => {}
            _ => return Err(refuse()),
        }
    }
    Ok(safe)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;

    fn archive(folder: &Path, fill: impl FnOnce(&mut tar::Builder<GzEncoder<File>>)) -> PathBuf {
        let path = folder.join("archive");
        let encoder = GzEncoder::new(File::create(&path).unwrap(), Compression::best());
        let mut builder = tar::Builder::new(encoder);
        fill(&mut builder);
        builder.into_inner().unwrap().finish().unwrap();
        path
    }

    /// The builder refuses such paths too, so they are written into the header by hand.
    fn add(builder: &mut tar::Builder<GzEncoder<File>>, name: &str, kind: tar::EntryType, content: &[u8]) {
        let mut header = tar::Header::new_gnu();
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_entry_type(kind);
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        header.set_cksum();
        builder.append(&header, content).unwrap();
    }

    #[test]
    fn paths_stay_below_the_target() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("target");
        fs::create_dir(&target).unwrap();
        let good = archive(folder.path(), |tar| add(tar, "./a/b.json", tar::EntryType::Regular, b"{}"));
        unpack(&good, &target).unwrap();
        assert_eq!(fs::read(target.join("a/b.json")).unwrap(), b"{}");
        for name in ["../out", "/tmp/out", "a/../../out"] {
            let bad = archive(folder.path(), |tar| add(tar, name, tar::EntryType::Regular, b"x"));
            assert!(matches!(unpack(&bad, &target), Err(UnpackError::Path(_))), "{name}");
        }
        assert!(!folder.path().join("out").exists());
    }

    #[test]
    fn links_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let link = archive(folder.path(), |tar| add(tar, "link", tar::EntryType::Symlink, b""));
        assert!(matches!(unpack(&link, folder.path()), Err(UnpackError::Kind(_))));
    }

    #[test]
    fn bombs_do_not_go_off() {
        let folder = tempfile::tempdir().unwrap();
        let zeros = vec![0; 80 << 20];
        let bomb = archive(folder.path(), |tar| add(tar, "zeros", tar::EntryType::Regular, &zeros));
        assert!(matches!(unpack(&bomb, folder.path()), Err(UnpackError::TooLarge(_))));
        assert!(fs::metadata(folder.path().join("zeros")).unwrap().len() <= BYTES_ALWAYS_ALLOWED + 1);
    }

    #[test]
    fn damage_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("archive");
        fs::write(&path, "no archive").unwrap();
        assert!(matches!(unpack(&path, folder.path()), Err(UnpackError::Io { .. })));
    }
}
