//! Roots: the objects that make commits visible to replicas, all indexes at once.
//!
//! ```text
//! root/<number, 20 digits>                    created once; the highest number is the state
//! i/<folder>/<file name>.<CRC-32, 8 digits>[.<addition>]
//!                                             manifests and what they name: segments, added columns, tombstones
//! journal/, journal-payload/                  tasks that no root covers yet, see [`journal`](super::journal)
//! i/carried/<XXH3-128, 32 digits>            aliases, rules, switches, webhooks, the network
//! ```
//!
//! A key of a file names its checksum, so histories that part never write the same object. Something is added to the key of a
//! file whose own key cannot be relied on, see [`chain`](super::chain).

use std::collections::BTreeMap;
use std::time::Duration;

use lamina_base::stored_names::FolderName;
use lamina_data::access::ApiKey;
use lamina_engine::index::NamedFile;
use lamina_protocol::wire::identifier::check_index_uid;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::position::Position;
use super::store::{Anchor, ObjectError};

/// The form of roots that this program writes, and the newest that it reads.
const FORMAT: u32 = 1;
/// Prefix of the end of a root, before eight digits.
const CHECKSUM: &str = ",\"checksum\":\"";
/// The largest number of anything that counts up: what comes next is a number still.
const MOST: u64 = i64::MAX as u64;
/// Prefix of the keys of indexes.
pub(super) const INDEXES: &str = "i/";
/// Prefix of the keys of roots.
pub(super) const ROOTS: &str = "root/";

/// The state of all indexes at one moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Root {
    pub(super) format: u32,
    /// Counts publications of all servers, without gaps.
    pub(super) number: u64,
    /// Counts the servers that have published: a higher one has taken over.
    pub(super) epoch: u64,
    /// Nonce of the process that published the root.
    pub(super) nonce: Uuid,
    /// The database of that process.
    pub(super) holder: Uuid,
    /// The identity of the store, made with its first root.
    pub(super) store: Uuid,
    /// Another server takes over when that process has shown no sign of life for so long; never, if it does not say.
    pub(super) takeover_after_ms: Option<u64>,
    /// Address at which that process takes writes, if it announces one.
    pub(super) writer: Option<String>,
    /// The last batch that was applied before; what it wrote is in here.
    pub(super) generation: Option<u32>,
    /// Above every uid of a task that was given before.
    pub(super) next_task: u32,
    /// Above every uid of a batch that an index here has applied.
    pub(super) next_batch: u32,
    pub(super) indexes: Vec<PublishedIndex>,
    pub(super) keys: Vec<ApiKey>,
    /// Mark by which servers see whether they have the same master key as that process:
    /// [`KeyStore::master_key_mark`](lamina_data::access::KeyStore::master_key_mark).
    /// `None` in the root of `lamina build`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) master_key_mark: Option<String>,
    /// The name of what else it carries. `None` in the root of `lamina build`.
    pub(super) carried: Option<String>,
    /// Position at which the journal of acknowledged tasks continues after this root; `None` where writes are
    /// acknowledged before they are in the store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) journal: Option<Position>,
}

/// An index in a root.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PublishedIndex {
    pub(super) uid: String,
    /// On the server that has published it.
    pub(super) folder: FolderName,
    pub(super) manifest: PublishedManifest,
    /// Additions to the keys of its objects, by the names of the files: seldom any.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) moved: BTreeMap<String, String>,
    /// Files that another index had before, by their names: the folder in their keys. Clones have such files.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) shared: BTreeMap<String, FolderName>,
}

/// The manifest of an index, an object of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PublishedManifest {
    /// The generation of the index.
    pub(super) generation: u64,
    pub(super) checksum: u32,
}

impl PublishedIndex {
    /// Returns the key of the published commit in the store.
    pub(super) fn manifest_key(&self) -> String {
        self.object_key(&self.manifest.name(), self.manifest.checksum)
    }

    /// The key of a file that its manifest names.
    pub(super) fn file_key(&self, file: &NamedFile) -> String {
        self.object_key(&file.name, file.checksum)
    }

    fn object_key(&self, name: &str, checksum: u32) -> String {
        let key = self.key(name, checksum);
        match self.moved.get(name) {
            Some(addition) => format!("{key}.{addition}"),
            None => key,
        }
    }

    /// The key of a file of this name, with nothing added.
    pub(super) fn key(&self, name: &str, checksum: u32) -> String {
        let folder = self.shared.get(name).unwrap_or(&self.folder);
        format!("{INDEXES}{}/{name}.{checksum:08x}", folder.as_str())
    }
}

impl PublishedManifest {
    /// Returns the name of its file.
    pub(super) fn name(&self) -> String {
        format!("manifest-{:016x}.lam", self.generation)
    }
}

/// Reports whether `text` is a suffix of a key, as joined to names of files and of shared states.
fn is_addition(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

/// All have as many digits, so that a store lists roots in their order.
pub(super) fn root_key(number: u64) -> String {
    format!("{ROOTS}{number:020}")
}

/// The number of a root's key; `None` for other keys.
pub(super) fn root_number(key: &str) -> Option<u64> {
    number_of(key.strip_prefix(ROOTS)?)
}

/// The number that these digits are at the end of a key: twenty, of one that has a next one.
pub(super) fn number_of(digits: &str) -> Option<u64> {
    let is_number = digits.len() == 20 && digits.bytes().all(|byte| byte.is_ascii_digit());
    let number = is_number.then(|| digits.parse().ok())?;
    number.filter(|number| *number <= MOST)
}

impl Root {
    /// A first root of a store, before anything is published.
    pub(super) fn none() -> Root {
        Root {
            format: FORMAT,
            number: 0,
            epoch: 0,
            nonce: Uuid::nil(),
            holder: Uuid::nil(),
            store: Uuid::nil(),
            takeover_after_ms: None,
            writer: None,
            generation: None,
            next_task: 0,
            next_batch: 0,
            indexes: Vec::new(),
            keys: Vec::new(),
            master_key_mark: None,
            carried: None,
            journal: None,
        }
    }

    /// The time without a sign of life after which another server takes over.
    pub(super) fn takeover_after(&self) -> Option<Duration> {
        self.takeover_after_ms.map(Duration::from_millis)
    }

    /// Reports whether replicas would find the same in both roots.
    pub(super) fn says_the_same(&self, other: &Root) -> bool {
        let said = |root: &Root| (root.carried.clone(), root.generation, root.master_key_mark.clone());
        (&self.indexes, &self.keys, said(self)) == (&other.indexes, &other.keys, said(other))
    }

    /// Serializes the root as JSON, whose last entry is the checksum of all others.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        signed(serde_json::to_vec(self).expect("a root has string keys only"))
    }

    /// Returns whether the checksum is right; `None` if there is no checksum.
    fn is_sound(bytes: &[u8]) -> Option<bool> {
        let (others, end) = bytes.split_at(bytes.len().checked_sub(CHECKSUM.len() + 10)?);
        let checksum = end.strip_prefix(CHECKSUM.as_bytes())?;
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(others);
        hasher.update(b"}");
        Some(checksum == format!("{:08x}\"}}", hasher.finalize()).as_bytes())
    }

    /// Returns what shows that the store in which it was created is still there.
    pub(super) fn anchor(&self) -> Anchor {
        let is_another =
            |bytes: &[u8]| Root::is_sound(bytes) == Some(true) && serde_json::from_slice::<Root>(bytes).is_ok();
        Anchor { key: root_key(self.number), mark: format!("\"nonce\":\"{}\"", self.nonce), is_another }
    }

    /// Reads what is stored under the key of root `number`.
    ///
    /// # Errors
    /// [`ObjectError::Damaged`]
    pub(super) fn read(number: u64, bytes: &[u8]) -> Result<Root, ObjectError> {
        #[derive(Deserialize)]
        struct Form {
            format: u32,
        }
        let damaged = |reason| ObjectError::Damaged { key: root_key(number), reason };
        let is_sound = Root::is_sound(bytes);
        if is_sound == Some(false) {
            return Err(damaged("its checksum does not match"));
        }
        let form: Form = serde_json::from_slice(bytes).map_err(|_| damaged("it is no root"))?;
        if form.format > FORMAT {
            return Err(damaged("a later version of this program has written it"));
        }
        if is_sound.is_none() {
            return Err(damaged("it has no checksum"));
        }
        let root: Root = serde_json::from_slice(bytes).map_err(|_| damaged("it is no root"))?;
        let has_bad_name = root.indexes.iter().any(|index| check_index_uid(&index.uid).is_err());
        let has_bad_key = root.carried.as_ref().is_some_and(|name| !is_addition(name))
            || root.indexes.iter().flat_map(|index| index.moved.values()).any(|addition| !is_addition(addition));
        let generations = root.indexes.iter().map(|index| index.manifest.generation);
        let journal = root.journal.iter().flat_map(|position| position.fences.iter().chain([&position.from]).copied());
        let has_bad_number =
            [root.number, root.epoch].into_iter().chain(generations).chain(journal).any(|number| number > MOST);
        match root {
            _ if has_bad_number => Err(damaged("it has a number that is too large")),
            _ if has_bad_key => Err(damaged("it names an object that can be none")),
            _ if has_bad_name => Err(damaged("an index has a name that is none")),
            root if root.number != number => Err(damaged("it is another root")),
            root => Ok(root),
        }
    }
}

/// Adds the checksum to the JSON of a root.
fn signed(mut json: Vec<u8>) -> Vec<u8> {
    let checksum = crc32fast::hash(&json);
    json.pop();
    json.extend(format!("{CHECKSUM}{checksum:08x}\"}}").into_bytes());
    json
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root() -> Root {
        let index = PublishedIndex {
            uid: "films".into(),
            folder: FolderName::try_from("a4a63437-cd45-48a7-a768-e2e1fcbb23c6".to_owned()).expect("a name"),
            manifest: PublishedManifest { generation: 3, checksum: 0xab },
            moved: BTreeMap::from([("seg-1".to_owned(), "2-a".to_owned())]),
            shared: BTreeMap::new(),
        };
        Root { number: 7, epoch: 2, generation: Some(4), indexes: vec![index], ..Root::none() }
    }

    #[test]
    fn roots_are_read_as_they_were_written() {
        let bytes = root().to_bytes();
        assert_eq!(Root::read(7, &bytes).unwrap(), root());
        let reason = |number, bytes: &[u8]| Root::read(number, bytes).unwrap_err().to_string();
        assert!(reason(8, &bytes).contains("another root"));
        assert!(reason(7, &bytes[..bytes.len() - 1]).contains("no root"));
        assert!(reason(7, b"{}").contains("no root"));
        assert!(reason(7, b"").contains("no root"));
        assert!(reason(7, b"{\"format\":2,\"other\":1}").contains("later version"));
        let text = serde_json::to_string(&root()).unwrap();
        assert!(reason(7, text.as_bytes()).contains("no checksum"));
        let with = |from: &str, to: &str| {
            let other = text.replace(from, to);
            assert_ne!(other, text);
            reason(7, &signed(other.into_bytes()))
        };
        assert!(with("\"films\"", "\"a/b\"").contains("a name that is none"));
        assert!(with("\"2-a\"", "\"../a\"").contains("an object that can be none"));
        assert!(with("\"carried\":null", "\"carried\":\"../a\"").contains("an object that can be none"));
        assert!(with("\"format\":1", "\"format\":2").contains("later version"));
        let folder = root().indexes[0].folder.as_str().to_owned();
        assert_eq!(folder.len(), 36);
        assert!(with("\"folder\":\"", "\"folder\":\"../").contains("no root"));
    }

    #[test]
    fn a_root_with_other_bytes_is_refused_or_says_the_same() {
        let bytes = root().to_bytes();
        for place in 0..bytes.len() {
            for bit in 0..8 {
                let mut other = bytes.clone();
                other[place] ^= 1 << bit;
                assert!(Root::read(7, &other).map_or(true, |read| read == root()), "{place} {bit}");
            }
        }
        let other = String::from_utf8(bytes).unwrap().replace("films", "filmt");
        let refusal = Root::read(7, other.as_bytes()).unwrap_err().to_string();
        assert!(refusal.contains("its checksum does not match"), "{refusal}");
    }

    #[test]
    fn numbers_that_have_no_next_one_are_refused() {
        let with = |change: &dyn Fn(&mut Root)| {
            let mut root = Root { journal: Some(Position { fences: vec![3], ..Position::default() }), ..root() };
            change(&mut root);
            Root::read(root.number, &root.to_bytes())
        };
        with(&|_| ()).unwrap();
        type Change = dyn Fn(&mut Root, u64);
        let changes: [&Change; 5] = [
            &|root, number| root.number = number,
            &|root, number| root.epoch = number,
            &|root, number| root.indexes[0].manifest.generation = number,
            &|root, number| root.journal.as_mut().unwrap().from = number,
            &|root, number| root.journal.as_mut().unwrap().fences = vec![1, number],
        ];
        for (place, change) in changes.into_iter().enumerate() {
            with(&|root| change(root, MOST)).unwrap();
            for number in [MOST + 1, u64::MAX] {
                let said = with(&|root| change(root, number)).unwrap_err().to_string();
                assert!(said.contains("too large"), "{place}: {said}");
            }
        }
    }

    #[test]
    fn keys_name_checksums_and_what_was_added() {
        let index = root().indexes[0].clone();
        let file = |name: &str| NamedFile { name: name.into(), bytes: 1, checksum: 0x1f };
        assert!(index.file_key(&file("seg-1")).ends_with("/seg-1.0000001f.2-a"));
        assert!(index.file_key(&file("seg-2")).ends_with("/seg-2.0000001f"));
        let origin = FolderName::random();
        let clone = PublishedIndex { shared: BTreeMap::from([("seg-1".to_owned(), origin.clone())]), ..index.clone() };
        assert_eq!(clone.file_key(&file("seg-1")), format!("i/{}/seg-1.0000001f.2-a", origin.as_str()));
        assert_eq!(clone.file_key(&file("seg-2")), index.file_key(&file("seg-2")));
        assert!(index.manifest_key().ends_with("/manifest-0000000000000003.lam.000000ab"));
    }

    #[test]
    fn keys_of_roots_sort_like_their_numbers() {
        assert!(root_key(9) < root_key(10));
        assert_eq!(root_number(&root_key(MOST)), Some(MOST));
        for other in [root_key(MOST + 1), root_key(u64::MAX)] {
            assert_eq!(root_number(&other), None, "{other}");
        }
        for other in ["root/1", "root/0000000000000000000x", "i/a", ""] {
            assert_eq!(root_number(other), None, "{other}");
        }
    }
}
