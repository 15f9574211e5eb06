//! The suite every directory passes, and the crash rules of the faulty one.

use super::*;
use std::io::{ErrorKind, Write};
use std::sync::Arc;

fn each_directory(check: impl Fn(Arc<dyn Directory>)) {
    let folder = tempfile::tempdir().unwrap();
    check(Arc::new(MappedDirectory::open(folder.path().join("index")).unwrap()));
    check(Arc::new(MemoryDirectory::new()));
    check(Arc::new(FaultyDirectory::new(Fault::None)));
}

#[test]
fn a_written_file_reads_back() {
    each_directory(|directory| {
        let mut file = directory.create("a.lam").unwrap();
        file.write_all(b"one ").unwrap();
        file.write_all(b"two").unwrap();
        file.sync().unwrap();
        directory.sync_directory().unwrap();
        let bytes = directory.open_read("a.lam").unwrap();
        assert_eq!(&*bytes, b"one two");
        assert_eq!(&*bytes.slice(4..7).unwrap(), b"two");
        assert_eq!(&*bytes.slice(4..7).unwrap().slice(1..2).unwrap(), b"w");
        assert!(bytes.slice(4..8).is_none());
        assert!(bytes.slice(7..8).is_none());
        assert!(bytes.slice(4..7).unwrap().slice(0..4).is_none());
        assert_eq!(directory.len("a.lam").unwrap(), 7);
    });
}

#[test]
fn files_are_write_once() {
    each_directory(|directory| {
        write_file(&*directory, "a.lam", b"x").unwrap();
        assert_eq!(directory.create("a.lam").err().unwrap().kind(), ErrorKind::AlreadyExists);
    });
}

#[test]
fn a_file_gets_another_name() {
    each_directory(|directory| {
        write_file(&*directory, "a.lam", b"x").unwrap();
        write_file(&*directory, "b.lam", b"y").unwrap();
        directory.rename("a.lam", "b.lam").unwrap();
        assert_eq!(directory.list().unwrap(), ["b.lam"]);
        assert_eq!(&*directory.open_read("b.lam").unwrap(), b"x");
        assert_eq!(directory.rename("a.lam", "c.lam").unwrap_err().kind(), ErrorKind::NotFound);
    });
}

#[test]
fn an_empty_file_is_a_file() {
    each_directory(|directory| {
        write_file(&*directory, "a.lam", b"").unwrap();
        assert_eq!(directory.open_read("a.lam").unwrap().len(), 0);
    });
}

#[test]
fn names_do_not_lead_out_of_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let outside = folder.path().join("outside.lam");
    std::fs::write(&outside, "x").unwrap();
    let directory = MappedDirectory::open(folder.path().join("index")).unwrap();
    let absolute = outside.to_str().unwrap();
    for name in ["../outside.lam", absolute, "", ".", "..", "a/../../outside.lam", "x\0y"] {
        let kinds = [
            directory.open_read(name).unwrap_err().kind(),
            directory.len(name).unwrap_err().kind(),
            directory.delete(name).unwrap_err().kind(),
            directory.create(name).err().unwrap().kind(),
            directory.atomic_write(name, b"y").unwrap_err().kind(),
            directory.hard_link_to(name, &folder.path().join("copy")).unwrap_err().kind(),
        ];
        assert_eq!(kinds, [ErrorKind::InvalidInput; 6], "{name:?}");
    }
    for name in ["link.lam", "manifest.lam.tmp"] {
        std::os::unix::fs::symlink(&outside, directory.root().join(name)).unwrap();
    }
    assert_eq!(directory.open_read("link.lam").unwrap_err().kind(), ErrorKind::InvalidData);
    assert_eq!(directory.len("link.lam").unwrap_err().kind(), ErrorKind::InvalidData);
    directory.atomic_write("manifest.lam", b"y").unwrap();
    assert_eq!(&*directory.open_read("manifest.lam").unwrap(), b"y");
    assert_eq!(std::fs::read(&outside).unwrap(), b"x");
}

#[test]
fn missing_files_are_named() {
    each_directory(|directory| {
        assert_eq!(directory.open_read("no").unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(directory.delete("no").unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(directory.len("no").unwrap_err().kind(), ErrorKind::NotFound);
    });
}

#[test]
fn atomic_writes_replace() {
    each_directory(|directory| {
        directory.atomic_write("manifest", b"first").unwrap();
        let old = directory.open_read("manifest").unwrap();
        directory.atomic_write("manifest", b"2").unwrap();
        assert_eq!(&*directory.open_read("manifest").unwrap(), b"2");
        assert_eq!(&*old, b"first", "a reader keeps what it opened");
    });
}

#[test]
fn deleted_files_stay_readable_while_held() {
    each_directory(|directory| {
        write_file(&*directory, "b", b"bytes").unwrap();
        write_file(&*directory, "a", b"").unwrap();
        assert_eq!(directory.list().unwrap(), ["a", "b"]);
        let bytes = directory.open_read("b").unwrap();
        directory.delete("b").unwrap();
        assert_eq!(&*bytes, b"bytes");
        assert_eq!(directory.list().unwrap(), ["a"]);
    });
}

#[test]
fn links_outlive_the_original() {
    let outside = tempfile::tempdir().unwrap();
    let mut count = 0;
    let count = std::cell::RefCell::new(&mut count);
    each_directory(|directory| {
        **count.borrow_mut() += 1;
        let target = outside.path().join(format!("copy-{}", count.borrow()));
        write_file(&*directory, "b", b"bytes").unwrap();
        directory.hard_link_to("b", &target).unwrap();
        directory.delete("b").unwrap();
        assert_eq!(std::fs::read(&target).unwrap(), b"bytes");
        assert!(directory.hard_link_to("b", &target).is_err());
    });
}

#[test]
fn unsynced_content_and_names_are_lost() {
    let directory = FaultyDirectory::new(Fault::None);
    write_file(&directory, "kept", b"1").unwrap();
    directory.sync_directory().unwrap();
    write_file(&directory, "name-lost", b"2").unwrap();
    directory.delete("kept").unwrap();
    let after = directory.after_crash(Survival::SyncedOnly);
    assert_eq!(after.list().unwrap(), ["kept"]);
    let lucky = directory.after_crash(Survival::Everything);
    assert_eq!(lucky.list().unwrap(), ["name-lost"]);

    let mut file = directory.create("half").unwrap();
    file.write_all(b"durable").unwrap();
    file.sync().unwrap();
    file.write_all(b", not durable").unwrap();
    directory.sync_directory().unwrap();
    assert_eq!(&*directory.after_crash(Survival::SyncedOnly).open_read("half").unwrap(), b"durable");
}

#[test]
fn a_power_loss_inside_an_atomic_write_keeps_the_old_file() {
    for step in 0..2 {
        let directory = FaultyDirectory::new(Fault::None);
        directory.atomic_write("manifest", b"old").unwrap();
        directory.set_fault(Fault::PowerLossAtSync(step));
        directory.atomic_write("manifest", b"new").unwrap_err();
        assert!(directory.open_read("manifest").is_err(), "the process is dead");
        let after = directory.after_crash(Survival::SyncedOnly);
        assert_eq!(&*after.open_read("manifest").unwrap(), b"old");
        let lucky = directory.after_crash(Survival::Everything).open_read("manifest").unwrap();
        assert_eq!(&*lucky, if step == 0 { b"old" } else { b"new" });
    }
}

#[test]
fn a_full_disk_fails_writes_only() {
    let directory = FaultyDirectory::new(Fault::None);
    write_file(&directory, "a", b"1").unwrap();
    directory.set_fault(Fault::NoSpaceAtWrite(1));
    let mut file = directory.create("b").unwrap();
    assert_eq!(file.write_all(b"x").unwrap_err().kind(), ErrorKind::StorageFull);
    assert_eq!(&*directory.open_read("a").unwrap(), b"1");
    directory.delete("b").unwrap();
    assert_eq!(directory.sync_count(), 0);
    assert_eq!(directory.write_count(), 2);
}
