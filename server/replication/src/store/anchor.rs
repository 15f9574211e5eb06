//! What shows that a store is the one of before: a file system goes away, a bucket is emptied, a folder is put back, and what is at the
//! address then must not be taken for an empty store.

use std::path::Path;

use super::{ObjectError, ObjectStore, Place, bucket, folder};

/// Number of bytes read of the object; its mark is among them.
const READ_BYTES: u64 = 128;

/// An object that stays for as long as no other server adds to the store.
#[derive(Debug)]
pub(crate) struct Anchor {
    pub key: String,
    /// Text that is among its first bytes.
    pub mark: String,
    /// Reports whether an object with other first bytes belongs to another store. A damaged object decides nothing.
    pub(crate) is_another: fn(&[u8]) -> bool,
}

impl Anchor {
    /// Returns whether a store is another one, or less of it. `begin` are the first bytes of the object in it, `whole` reads all of them, and
    /// `behind` lists what is behind it.
    ///
    /// # Errors
    /// What the store says.
    pub(crate) fn is_gone(
        &self,
        begin: Result<Vec<u8>, ObjectError>,
        whole: impl FnOnce() -> Result<Vec<u8>, ObjectError>,
        behind: impl FnOnce(&str) -> Result<Vec<String>, ObjectError>,
    ) -> Result<bool, ObjectError> {
        match begin {
            Ok(begin) if begin.windows(self.mark.len()).any(|part| part == self.mark.as_bytes()) => Ok(false),
            Ok(_) => Ok((self.is_another)(&whole()?)),
            // A server that has added much to the store has removed it: then there is more behind it.
            Err(ObjectError::Missing(_)) => {
                let kind = self.key.split_inclusive('/').next().unwrap_or_default();
                Ok(behind(kind)?.is_empty())
            }
            Err(error) => Err(error),
        }
    }
}

impl ObjectStore {
    /// Nothing is created any more where this object is not there. Also for copies of this store.
    pub(crate) fn rests_on(&self, anchor: Anchor) {
        *self.anchor.lock() = Some(anchor.into());
    }

    /// Returns whether the store is the one of before, as far as that is known.
    ///
    /// # Errors
    /// [`ObjectError::Gone`], or what the store says.
    pub(super) fn is_of_before(&self) -> Result<(), ObjectError> {
        let Some(anchor) = self.anchor.lock().clone() else { return Ok(()) };
        let begin = match &self.place {
            Place::Folder(root) => folder::read_begin(root, &anchor.key, READ_BYTES),
            Place::Bucket { bucket, prefix } => {
                bucket::read_begin(bucket, &format!("{prefix}{}", anchor.key), READ_BYTES)
            }
        };
        let bytes = begin.as_ref().map_or(0, |begin| begin.len() as u64);
        let begin = self.counted(super::Call::Read, (0, bytes), begin);
        let is_gone = anchor.is_gone(begin, || self.read(&anchor.key), |kind| self.list(kind, &anchor.key))?;
        if is_gone { Err(ObjectError::Gone { place: self.shown(), key: anchor.key.clone() }) } else { Ok(()) }
    }

    /// Changes the folder at `root`, if it is the store of before. It is open meanwhile: what is changed is what was looked at, also if another one
    /// is at its address by then, for its file system has gone.
    ///
    /// # Errors
    /// The errors of [`ObjectStore::is_of_before`], and those of `change`.
    pub(super) fn change(
        &self,
        root: &Path,
        change: impl FnOnce(&Path) -> Result<(), ObjectError>,
    ) -> Result<(), ObjectError> {
        let held = folder::OpenFolder::of(root);
        let same = ObjectStore { place: Place::Folder(held.path().to_owned()), ..self.clone() };
        let changed = same.is_of_before().and_then(|()| change(held.path()));
        changed.map_err(|error| match error {
            ObjectError::Gone { key, .. } => ObjectError::Gone { place: self.shown(), key },
            ObjectError::Io { path, source } => ObjectError::Io {
                path: path.strip_prefix(held.path()).map_or(path.clone(), |rest| root.join(rest)),
                source,
            },
            error => error,
        })
    }

    /// Returns where it is, for messages.
    pub(crate) fn shown(&self) -> String {
        match &self.place {
            Place::Folder(root) => format!("in the folder {root:?}"),
            Place::Bucket { prefix, .. } => format!("under `{prefix}` in its bucket"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::Content;
    use super::*;

    const KEY: &str = "root/00000000000000000007";

    fn anchor() -> Anchor {
        Anchor { key: KEY.into(), mark: "mine".into(), is_another: |bytes| bytes == b"of another" }
    }

    /// A store whose newest root is this, and how it answers.
    fn with(root: &str) -> (tempfile::TempDir, ObjectStore) {
        let folder = tempfile::tempdir().unwrap();
        let store = ObjectStore::of_folder(&folder.path().join("store"));
        store.probe().unwrap();
        store.create(KEY, Content::Bytes(root.as_bytes())).unwrap();
        store.rests_on(anchor());
        (folder, store)
    }

    /// Returns what each change of the store says.
    fn said(store: &ObjectStore) -> Vec<String> {
        let content = Content::Bytes(b"x");
        let changes = [
            store.create("journal/00000000000000000003", content),
            store.create("i/a/seg-1", content),
            store.put("beat/1", b"x"),
            store.remove("beat/1"),
            store.probe(),
        ];
        changes.into_iter().map(|changed| changed.err().map(|error| error.to_string()).unwrap_or_default()).collect()
    }

    #[test]
    fn nothing_is_written_to_a_store_that_is_not_the_one_of_before() {
        let (folder, store) = with("this root is mine");
        let (place, aside) = (folder.path().join("store"), folder.path().join("aside"));
        assert_eq!(said(&store), [""; 5]);
        fs::rename(&place, &aside).unwrap();
        let older = |_: &str| {
            for kind in ["root", "journal", "beat", "i", "probe"] {
                fs::create_dir_all(place.join(kind)).unwrap();
            }
            fs::write(place.join("root/00000000000000000006"), "mine, but older").unwrap();
        };
        let another = |_: &str| {
            older("");
            fs::write(place.join(KEY), "of another").unwrap();
        };
        type Put<'a> = (&'a str, &'a dyn Fn(&str));
        let puts: [Put<'_>; 4] = [
            ("nothing", &|_| ()),
            ("a mount point", &|_| fs::create_dir(&place).unwrap()),
            ("an older state", &older),
            ("another store", &another),
        ];
        for (what, put) in puts {
            put(what);
            let before = listed(&place);
            for said in said(&store) {
                assert!(said.contains("is not the one of before"), "{what}: {said}");
                assert!(said.contains("not mounted"), "{what}: {said}");
            }
            assert_eq!(listed(&place), before, "{what}");
            if place.exists() {
                fs::remove_dir_all(&place).unwrap();
            }
        }
        fs::rename(&aside, &place).unwrap();
        fs::remove_file(place.join("journal/00000000000000000003")).unwrap();
        fs::remove_file(place.join("i/a/seg-1")).unwrap();
        assert_eq!(said(&store), [""; 5], "it is there again");
    }

    #[test]
    fn what_is_changed_is_the_folder_that_was_looked_at() {
        let (folder, store) = with("this root is mine");
        let (place, aside) = (folder.path().join("store"), folder.path().join("aside"));
        let next = "root/00000000000000000008";
        let create = |root: &Path| {
            fs::rename(&place, &aside).unwrap();
            folder::prepare(&place).unwrap();
            folder::create(root, next, Content::Bytes(b"mine"))
        };
        store.change(&place, create).unwrap();
        assert!(aside.join(next).exists());
        assert!(!place.join(next).exists());
        let missing = store.change(&aside, |root| folder::put(root, "none/1", b"x")).unwrap_err().to_string();
        assert!(missing.contains("aside/none"), "{missing}");
    }

    fn listed(folder: &Path) -> Vec<std::path::PathBuf> {
        let mut found: Vec<_> = fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path()).collect();
        let below: Vec<_> = found.iter().filter(|path| path.is_dir()).flat_map(|path| listed(path)).collect();
        found.extend(below);
        found.sort();
        found
    }

    #[test]
    fn a_damaged_root_or_one_that_others_have_removed_is_no_other_store() {
        let (folder, store) = with("damaged");
        assert_eq!(said(&store), [""; 5]);
        let (folder_of_roots, journal) = (folder.path().join("store/root"), folder.path().join("store/journal"));
        fs::remove_file(journal.join("00000000000000000003")).unwrap();
        fs::remove_file(folder.path().join("store/i/a/seg-1")).unwrap();
        fs::remove_file(folder_of_roots.join("00000000000000000007")).unwrap();
        fs::write(folder_of_roots.join("00000000000000001008"), "of the server that has taken over").unwrap();
        assert_eq!(said(&store), [""; 5]);
    }
}
