//! Small files of the database folder: as they were before, or whole.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

/// Replaces a file, all or nothing, also when the machine stops: a half-written file never has the final name.
pub fn write_durably(path: &Path, text: &str) -> io::Result<()> {
    replace(path, text, |folder| folder.sync_all())
}

/// Writes like [`write_durably`]. If the new name cannot be made durable, the call fails and restores the previous
/// file.
fn replace(path: &Path, text: &str, sync: impl Fn(&File) -> io::Result<()>) -> io::Result<()> {
    let temporary = path.with_extension("tmp");
    // Before anything changes, so that a lack of descriptors changes nothing.
    let folder = File::open(path.parent().unwrap_or(Path::new(".")))?;
    let before = match fs::read(path) {
        Ok(before) => Some(before),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    write_synced(&temporary, text.as_bytes())?;
    fs::rename(&temporary, path)?;
    let synced = sync(&folder);
    if synced.is_err() {
        // What the next start reads, if the machine does not stop as well.
        match before {
            Some(before) => {
                // A sync that fails again changes nothing of that.
                write_synced(&temporary, &before).or_else(|_| fs::write(&temporary, &before))?;
                fs::rename(&temporary, path)?;
            }
            None => fs::remove_file(path)?,
        }
    }
    synced
}

fn write_synced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_made_durable_is_not_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("switches.json");
        let fails = |_: &File| Err(io::Error::other("no sync"));
        replace(&path, "refused", fails).unwrap_err();
        assert!(!path.exists());
        write_durably(&path, "one").unwrap();
        replace(&path, "refused", fails).unwrap_err();
        assert_eq!(fs::read_to_string(&path).unwrap(), "one");
        write_durably(&path, "two").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "two");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left");
    }
}
