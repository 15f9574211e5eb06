//! The commit of a checkout, also of a work tree of its own, with git or without.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Known facts about a commit.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Commit {
    /// 40 (or 64) hexadecimal digits.
    pub(crate) sha: Option<String>,
    /// RFC 3339, in UTC.
    pub(crate) date: Option<String>,
    /// Files that change with the commit.
    pub(crate) sources: Vec<PathBuf>,
}

/// The commit that the checkout at `root` is at; nothing when it is none.
pub(crate) fn commit(root: &Path) -> Commit {
    let from_files = from_files(root);
    // Without this, git would look at what `root` happens to lie in.
    if from_files.sources.is_empty() {
        return from_files;
    }
    match from_git(root) {
        Some((sha, date)) => Commit { sha: Some(sha), date: Some(date), sources: from_files.sources },
        None => from_files,
    }
}

/// Returns the hash and the date of the commit according to git, if git is installed.
pub(crate) fn from_git(root: &Path) -> Option<(String, String)> {
    let output = Command::new("git")
        .args(["-c", "safe.directory=*", "-C"])
        .arg(root)
        .args(["log", "-1", "--no-show-signature", "--date=format-local:%Y-%m-%dT%H:%M:%SZ", "--format=%H %cd"])
        .env("TZ", "UTC")
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let (sha, date) = text.trim().split_once(' ')?;
    (output.status.success() && is_sha(sha)).then(|| (sha.to_owned(), date.to_owned()))
}

/// Reads the commit from the files of git, with its date if the commit was made here.
pub(crate) fn from_files(root: &Path) -> Commit {
    let Some(own) = git_folder(&root.join(".git")) else { return Commit::default() };
    // Of a work tree: branches are in the folder that all have in common.
    let common = fs::read_to_string(own.join("commondir"));
    let common = common.map_or_else(|_| own.clone(), |path| own.join(path.trim()));
    let Ok(head) = fs::read_to_string(own.join("HEAD")) else { return Commit::default() };
    let mut sources = vec![own.join("HEAD")];
    let sha = match head.trim().strip_prefix("ref: ") {
        None => Some(head.trim().to_owned()),
        Some(name) => {
            sources.extend([common.join(name), common.join("packed-refs")].into_iter().filter(|path| path.exists()));
            let loose = fs::read_to_string(common.join(name)).ok().map(|sha| sha.trim().to_owned());
            loose.or_else(|| packed(&fs::read_to_string(common.join("packed-refs")).ok()?, name))
        }
    };
    let sha = sha.filter(|sha| is_sha(sha));
    let log = fs::read_to_string(own.join("logs/HEAD")).unwrap_or_default();
    let date = sha.as_deref().and_then(|sha| made_here(&log, sha));
    Commit { sha, date, sources }
}

/// The folder of git: `.git`, or where the file `.git` of a work tree points to.
fn git_folder(path: &Path) -> Option<PathBuf> {
    if path.is_dir() {
        return Some(path.to_owned());
    }
    let text = fs::read_to_string(path).ok()?;
    let folder = path.parent()?.join(text.trim().strip_prefix("gitdir: ")?);
    folder.is_dir().then_some(folder)
}

fn packed(text: &str, name: &str) -> Option<String> {
    text.lines()
        .find_map(|line| line.split_once(' ').filter(|(_, other)| *other == name))
        .map(|(sha, _)| sha.to_owned())
}

/// Returns the time of the commit, if the log of `HEAD` shows that it was made here and not fetched.
fn made_here(log: &str, sha: &str) -> Option<String> {
    let line = log.lines().rev().find(|line| line.split(' ').nth(1) == Some(sha))?;
    let (before, action) = line.split_once('\t')?;
    if !action.starts_with("commit") {
        return None;
    }
    let seconds = before.rsplit(' ').nth(1)?.parse().ok()?;
    Some(utc(seconds))
}

/// Seconds since 1970 as RFC 3339.
fn utc(seconds: u64) -> String {
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Days of the Gregorian calendar, in years that begin in March.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let (month, year) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let year = year_of_era + era * 400 + year;
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", second / 3600, second / 60 % 60, second % 60)
}

fn is_sha(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}
