//! `VERSION`: which program wrote the database folder, and the format of its files.
//!
//! ```text
//! 0.1.0              version of the program
//! format 1           the newest format that its segments may have
//! check 1f2e3d4c     CRC-32 of the lines before
//! ```
//!
//! The file is advice: each manifest and each segment has its own format number, so a `VERSION` that is damaged or lost is
//! rewritten.

use std::cmp::Ordering;
use std::fs;
use std::io;
use std::path::Path;

use lamina_engine::index::FORMAT;

use super::error::{InstanceError, io_error};
use crate::durably::write_durably;

/// Version of this program.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

pub(super) const VERSION_FILE: &str = "VERSION";

/// Content of `VERSION` for a folder that this program can read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Written {
    /// By this version, in this format.
    AsNow,
    /// By this older version, or in an older format: the folder is to be upgraded.
    ByOlder(String),
    /// The file is lost or damaged, for this reason.
    Unknown(String),
}

/// Checks whether this program can read the folder, see [`Program::check`].
///
/// # Errors
/// Fails if another version wrote the folder, or if its format is newer.
pub fn check_version(folder: &Path, may_upgrade: bool) -> Result<Written, InstanceError> {
    THIS.check(folder, may_upgrade)
}

/// A program by what it writes into `VERSION`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Program {
    pub(super) version: &'static str,
    pub(super) format: u32,
}

/// The program that runs.
pub(super) const THIS: Program = Program { version: VERSION, format: FORMAT };

impl Program {
    /// Checks whether the program can read the folder, according to `VERSION`. A folder of an older version passes
    /// only if it `may_upgrade`.
    pub(super) fn check(self, folder: &Path, may_upgrade: bool) -> Result<Written, InstanceError> {
        let path = folder.join(VERSION_FILE);
        let text = match fs::read(&path) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Written::Unknown("it is not there".into()));
            }
            // As damaged as a file can be: the disk cannot read it.
            Err(source) => return Ok(Written::Unknown(source.to_string())),
        };
        let Some(Said { version, minor, format }) = parse(&text) else {
            return Ok(Written::Unknown("its content is damaged".into()));
        };
        let ours = parse_minor(self.version).expect("the version of this program has numbers");
        let (folder, found) = (folder.to_owned(), version.to_owned());
        match minor.cmp(&ours) {
            Ordering::Greater => Err(InstanceError::Newer { folder, found, ours: self.version }),
            _ if format > self.format => Err(InstanceError::NewerFormat { folder, found, format, ours: self.format }),
            Ordering::Equal if format == self.format => Ok(Written::AsNow),
            _ if may_upgrade => Ok(Written::ByOlder(found)),
            _ => Err(InstanceError::Older { folder, found, ours: self.version }),
        }
    }

    /// From now on only this version, and newer ones, open the folder.
    pub(super) fn set_version(self, folder: &Path) -> Result<(), InstanceError> {
        let path = folder.join(VERSION_FILE);
        write_durably(&path, &text_of(self.version, self.format)).map_err(io_error(&path))
    }
}

/// Returns the content of `VERSION` of a program.
pub(super) fn text_of(version: &str, format: u32) -> String {
    let said = format!("{version}\nformat {format}\n");
    format!("{said}check {:08x}\n", crc32fast::hash(said.as_bytes()))
}

struct Said<'a> {
    version: &'a str,
    minor: (u32, u32),
    format: u32,
}

/// `None` when the text is damaged. Lines between the format and the check are a later program's.
fn parse(text: &str) -> Option<Said<'_>> {
    let (before, check) = text.trim_end().rsplit_once('\n')?;
    let expected = u32::from_str_radix(check.strip_prefix("check ")?, 16).ok()?;
    if crc32fast::hash(format!("{before}\n").as_bytes()) != expected {
        return None;
    }
    let mut lines = before.lines();
    let version = lines.next()?;
    let format = lines.next()?.strip_prefix("format ")?.parse().ok()?;
    Some(Said { version, minor: parse_minor(version)?, format })
}

/// Major and minor number: patch versions read each other's files.
fn parse_minor(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.split('.').map(str::parse);
    Some((parts.next()?.ok()?, parts.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(text: &[u8], may_upgrade: bool) -> Result<Written, String> {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(VERSION_FILE), text).unwrap();
        check_version(folder.path(), may_upgrade).map_err(|error| error.to_string())
    }

    #[test]
    fn other_versions_are_refused() {
        let checked = |version, may_upgrade| checked(text_of(version, FORMAT).as_bytes(), may_upgrade);
        assert!(checked("99.0.0", true).unwrap_err().contains("start version 99.0.0"), "never back");
        assert!(checked("0.0.9", false).unwrap_err().contains("without `--no-upgrade`"));
        assert_eq!(checked("0.0.9", true), Ok(Written::ByOlder("0.0.9".to_owned())));
        assert_eq!(checked(VERSION, false), Ok(Written::AsNow));
    }

    #[test]
    fn a_newer_format_is_refused_whatever_program_wrote_it() {
        for version in [VERSION, "0.0.9"] {
            let refused = checked(text_of(version, FORMAT + 1).as_bytes(), true).unwrap_err();
            let expected =
                format!("format {} (version {version}); this program reads formats up to {FORMAT}", FORMAT + 1);
            assert!(refused.contains(&expected), "{refused}");
            assert!(refused.contains(&format!("start version {version}, or a newer one")), "{refused}");
        }
        assert_eq!(checked(text_of(VERSION, FORMAT - 1).as_bytes(), true), Ok(Written::ByOlder(VERSION.to_owned())));
        // A later program may say more.
        let said = format!("{VERSION}\nformat {FORMAT}\nmore\n");
        let text = format!("{said}check {:08x}\n", crc32fast::hash(said.as_bytes()));
        assert_eq!(checked(text.as_bytes(), false), Ok(Written::AsNow));
    }

    #[test]
    fn damage_is_no_version() {
        let whole = text_of(VERSION, FORMAT).into_bytes();
        for byte in 0..whole.len() - 1 {
            for bit in 0..8 {
                let mut text = whole.clone();
                text[byte] ^= 1 << bit;
                let found = checked(&text, false);
                // A digit of the check in the other case means the same.
                let is_harmless = found == Ok(Written::AsNow) && text.eq_ignore_ascii_case(&whole);
                assert!(is_harmless || matches!(found, Ok(Written::Unknown(_))), "bit {bit} of {byte}: {found:?}");
            }
        }
        for length in 0..whole.len() - 1 {
            let found = checked(&whole[..length], false);
            assert!(matches!(found, Ok(Written::Unknown(_))), "{length}: {found:?}");
        }
        assert!(matches!(checked(b"", false), Ok(Written::Unknown(_))));
        assert!(matches!(checked(b"\xff\xfe", false), Ok(Written::Unknown(_))));
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(check_version(folder.path(), false), Ok(Written::Unknown(_))));
    }
}
