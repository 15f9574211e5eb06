//! The commit that a build names.

#[path = "../../server/build/checkout.rs"]
mod checkout;

use std::path::Path;
use std::process::Command;

use crate::server::{Server, repository};

/// Runs git in a folder, as an author at a known time.
fn git(folder: &Path, arguments: &[&str]) {
    let output = Command::new("git")
        .arg("-C")
        .arg(folder)
        .args(["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"])
        .args(arguments)
        .env("GIT_COMMITTER_DATE", "2024-02-29T23:59:58+02:00")
        .output()
        .expect("git runs");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_checkout_says_its_commit_with_git_and_without() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("repository");
    std::fs::create_dir(&root).unwrap();
    assert_eq!(checkout::commit(&root), checkout::Commit::default(), "no checkout");
    git(&root, &["init", "--quiet"]);
    assert_eq!(checkout::commit(&root).sha, None, "no commit yet");
    git(&root, &["commit", "--quiet", "--allow-empty", "-m", "first"]);

    let check = |root: &Path, date_without_git: bool| {
        let found = checkout::commit(root);
        let date = Some("2024-02-29T21:59:58Z".to_owned());
        assert_eq!((found.sha.as_deref().map(str::len), &found.date), (Some(40), &date), "{root:?}");
        let read = checkout::from_files(root);
        assert_eq!(read.sha, found.sha, "{root:?}");
        assert_eq!(read.date, date.filter(|_| date_without_git), "{root:?}");
        assert!(!found.sources.is_empty(), "{found:?}");
        assert!(found.sources.iter().all(|path| path.is_file()), "{found:?}");
    };
    check(&root, true);
    git(&root, &["worktree", "add", "--quiet", "-b", "other", "../other"]);
    check(&folder.path().join("other"), false);
    git(&root, &["pack-refs", "--all"]);
    check(&root, true);
    check(&folder.path().join("other"), false);
    git(&root, &["checkout", "--quiet", "--detach"]);
    check(&root, false);
}

#[test]
fn the_server_says_which_commit_it_is() {
    let version = Server::start().get("/version").ok();
    let (sha, date) = (version["commitSha"].as_str().unwrap(), version["commitDate"].as_str().unwrap());
    if checkout::from_git(repository()).is_none() {
        return;
    }
    assert_eq!(sha.len(), 40, "{version}");
    assert!(sha.bytes().all(|byte| byte.is_ascii_hexdigit()), "{version}");
    assert_eq!(date.len(), 20, "{version}");
    assert!(date.ends_with('Z'), "{version}");
    assert_eq!(date.as_bytes()[10], b'T', "{version}");
}
