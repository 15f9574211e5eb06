//! The manifest: one file that says what an index is made of. Each commit writes a new one.
//!
//! ```text
//! file     = magic (8 bytes) version (u32) body_bytes (u32) body blobs checksum (u64)
//! body     = JSON object (see `Body`)
//! blobs    = outcome, then the inline tombstones of the segments, in order; their lengths are in the body
//! checksum = XXH3-64 of everything before it
//! ```
//! Integers are little-endian. A manifest is complete by itself: it names every file with its length and checksum, so
//! the newest valid manifest whose files are all there *is* the index.

mod bounds;

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::Arc;

use lamina_segment::segment::{FileMeta, SegmentMeta};
use lamina_text::id::InternalId;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::error::IndexError;
use super::settings::{STORED_VERSION, Settings};

const MAGIC: [u8; 8] = *b"LAMINAMF";
/// The newest version this program reads, and the one it writes.
const VERSION: u32 = 1;
const VERSION_START: usize = MAGIC.len();
const BODY_BYTES_START: usize = VERSION_START + size_of::<u32>();
const BODY_START: usize = BODY_BYTES_START + size_of::<u32>();
const CHECKSUM_BYTES: usize = size_of::<u64>();
const NAME_PREFIX: &str = "manifest-";
/// Prefix of the manifests of retained generations.
const KEPT_PREFIX: &str = "kept-";
const NAME_SUFFIX: &str = ".lam";

/// Everything a manifest holds.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Manifest {
    pub(super) body: Body,
    /// Outcome of the last batch, which its caller asked to store.
    pub(super) outcome: Vec<u8>,
    /// Serialised tombstones of segments whose [`DeletedMeta`] is inline, in order.
    pub(super) inline_tombstones: Vec<Vec<u8>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Body {
    pub(super) generation: u64,
    /// Generation of the last commit that changed what readers find: merges are later.
    pub(super) contents: u64,
    /// Time of that commit, in nanoseconds since 1970.
    pub(super) committed_at: u64,
    /// The caller's name of the index; none in a manifest that a repair has written without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<String>,
    /// Nanoseconds since 1970.
    pub(super) created_at: u64,
    pub(super) updated_at: u64,
    pub(super) primary_key: Option<String>,
    /// Mark that the writer of the documents stores with them. It is removed when another writer writes documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) mark: Option<String>,
    pub(super) next_internal_id: InternalId,
    /// Above the ids of all segments that the index ever had.
    pub(super) next_segment_id: u64,
    /// The last generation of each writer before the present one.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub(super) ancestors: Arc<[u64]>,
    pub(super) last_batch: Option<u64>,
    pub(super) outcome_bytes: u64,
    /// [`STORED_VERSION`] of the program that wrote the settings.
    pub(super) settings_version: u32,
    pub(super) settings: Arc<Settings>,
    /// Names by field id.
    pub(super) fields: Vec<String>,
    pub(super) field_distribution: Arc<BTreeMap<String, u64>>,
    pub(super) segments: Vec<SegmentEntry>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SegmentEntry {
    pub(super) meta: SegmentMeta,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) deleted: Option<DeletedMeta>,
}

/// Storage of the tombstones of a segment. Small ones are in the manifest, which saves a file and its sync per commit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum DeletedMeta {
    Inline { bytes: u64 },
    File(FileMeta),
}

fn is_empty(list: &Arc<[u64]>) -> bool {
    list.is_empty()
}

impl Manifest {
    /// All files it names.
    pub(super) fn files(&self) -> impl Iterator<Item = &FileMeta> {
        self.body.segments.iter().flat_map(|segment| {
            let tombstones = match &segment.deleted {
                Some(DeletedMeta::File(file)) => Some(file),
                _ => None,
            };
            segment.meta.files().chain(tombstones)
        })
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let body = serde_json::to_vec(&self.body).expect("a manifest body has string keys only");
        let mut bytes = Vec::with_capacity(BODY_START + body.len() + self.outcome.len() + CHECKSUM_BYTES);
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&u32::try_from(body.len()).expect("bodies are far below 4 GB").to_le_bytes());
        bytes.extend_from_slice(&body);
        bytes.extend_from_slice(&self.outcome);
        for tombstones in &self.inline_tombstones {
            bytes.extend_from_slice(tombstones);
        }
        bytes.extend_from_slice(&xxh3_64(&bytes).to_le_bytes());
        bytes
    }

    /// # Errors
    /// [`IndexError::CorruptManifest`] or [`IndexError::ManifestTooNew`].
    pub(super) fn from_bytes(file: &str, bytes: &[u8]) -> Result<Manifest, IndexError> {
        let corrupt = |reason| IndexError::CorruptManifest { file: file.to_owned(), reason };
        if !bytes.starts_with(&MAGIC) {
            return Err(corrupt("it does not begin like a manifest"));
        }
        let version = read_u32(bytes, VERSION_START).ok_or_else(|| corrupt("it is cut short"))?;
        if version > VERSION {
            if has_only_its_version_wrong(bytes) {
                return Err(corrupt("its version is not the one that was written"));
            }
            // A later version may keep its checksum elsewhere, so this comes first.
            return Err(too_new(file, "format", version, VERSION));
        }
        let content_bytes = bytes
            .len()
            .checked_sub(CHECKSUM_BYTES)
            .filter(|&content| content >= BODY_START)
            .ok_or_else(|| corrupt("it is cut short"))?;
        let (content, checksum) = bytes.split_at(content_bytes);
        if xxh3_64(content).to_le_bytes() != checksum {
            return Err(corrupt("its checksum does not match"));
        }
        let body_bytes = read_u32(bytes, BODY_BYTES_START).ok_or_else(|| corrupt("it is cut short"))? as usize;
        let (body, mut blobs) =
            content[BODY_START..].split_at_checked(body_bytes).ok_or_else(|| corrupt("its body is cut short"))?;
        let body = read_body(file, body)?;
        bounds::check(&body).map_err(corrupt)?;
        let mut take = |length: u64| {
            let (blob, rest) = usize::try_from(length).ok().and_then(|length| blobs.split_at_checked(length))?;
            blobs = rest;
            Some(blob.to_vec())
        };
        let outcome = take(body.outcome_bytes).ok_or_else(|| corrupt("its outcome is cut short"))?;
        let mut inline_tombstones = Vec::new();
        for segment in &body.segments {
            if let Some(DeletedMeta::Inline { bytes }) = segment.deleted {
                inline_tombstones.push(take(bytes).ok_or_else(|| corrupt("its tombstones are cut short"))?);
            }
        }
        let manifest = Manifest { body, outcome, inline_tombstones };
        if !manifest.files().all(|file| is_own_name(&file.name)) {
            return Err(corrupt("it names a file that no index has"));
        }
        Ok(manifest)
    }
}

fn read_body(file: &str, body: &[u8]) -> Result<Body, IndexError> {
    let unreadable = |_| IndexError::CorruptManifest { file: file.to_owned(), reason: "its body cannot be read" };
    // Settings of a later version may have another shape, so their version is looked at alone.
    let SettingsVersion { settings_version } = serde_json::from_slice(body).map_err(unreadable)?;
    if settings_version > STORED_VERSION {
        return Err(too_new(file, "settings", settings_version, STORED_VERSION));
    }
    serde_json::from_slice(body).map_err(unreadable)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SettingsVersion {
    settings_version: u32,
}

fn too_new(file: &str, part: &'static str, found: u32, supported: u32) -> IndexError {
    IndexError::ManifestTooNew { file: file.to_owned(), part, found, supported }
}

/// Reports whether the checksum is valid for the version that this program writes. A file of a later version would have
/// another checksum.
fn has_only_its_version_wrong(bytes: &[u8]) -> bool {
    let Some((content, checksum)) = bytes.split_last_chunk::<CHECKSUM_BYTES>() else { return false };
    let mut content = content.to_vec();
    let Some(version) = content.get_mut(VERSION_START..BODY_BYTES_START) else { return false };
    version.copy_from_slice(&VERSION.to_le_bytes());
    xxh3_64(&content).to_le_bytes() == *checksum
}

fn read_u32(bytes: &[u8], start: usize) -> Option<u32> {
    let field = bytes.get(start..start + size_of::<u32>())?;
    Some(u32::from_le_bytes(field.try_into().expect("four bytes")))
}

/// Reports whether a name is valid for a file of the index. A manifest may come from anywhere, and the files that it
/// names are read, linked and deleted.
fn is_own_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    name.strip_suffix(NAME_SUFFIX).is_some_and(|stem| !stem.is_empty() && stem.bytes().all(is_plain))
}

/// Name of the manifest of a generation; names sort like their generations.
pub(super) fn manifest_name(generation: u64) -> String {
    format!("{NAME_PREFIX}{generation:016x}{NAME_SUFFIX}")
}

/// The generation of a manifest's name, or `None` for other files.
pub(super) fn manifest_generation(name: &str) -> Option<u64> {
    generation_behind(NAME_PREFIX, name)
}

/// Name of the manifest of a generation before the present one.
pub(super) fn kept_name(generation: u64) -> String {
    format!("{KEPT_PREFIX}{generation:016x}{NAME_SUFFIX}")
}

/// The generation of such a name, or `None` for other files.
pub(super) fn kept_generation(name: &str) -> Option<u64> {
    generation_behind(KEPT_PREFIX, name)
}

fn generation_behind(prefix: &str, name: &str) -> Option<u64> {
    let digits = name.strip_prefix(prefix)?.strip_suffix(NAME_SUFFIX)?;
    (digits.len() == 16).then(|| u64::from_str_radix(digits, 16).ok()).flatten()
}

/// Writes a manifest into a folder that is not open as an index.
pub(super) fn write_beside(folder: &std::path::Path, manifest: &[u8], generation: u64) -> io::Result<()> {
    let mut file = std::fs::File::create_new(folder.join(manifest_name(generation)))?;
    file.write_all(manifest)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn manifest() -> Manifest {
        Manifest {
            body: Body {
                generation: 17,
                contents: 16,
                committed_at: 2,
                name: Some("films".to_owned()),
                created_at: 1,
                updated_at: 2,
                primary_key: Some("id".to_owned()),
                mark: Some("here".to_owned()),
                next_internal_id: 5,
                next_segment_id: 3,
                ancestors: Arc::default(),
                last_batch: Some(9),
                outcome_bytes: 3,
                settings_version: STORED_VERSION,
                settings: Arc::default(),
                fields: vec!["id".to_owned(), "title".to_owned()],
                field_distribution: Arc::new(BTreeMap::from([("id".to_owned(), 5)])),
                segments: Vec::new(),
            },
            outcome: vec![0, 255, 7],
            inline_tombstones: Vec::new(),
        }
    }

    #[test]
    fn bytes_read_back() {
        let manifest = manifest();
        assert_eq!(Manifest::from_bytes("m", &manifest.to_bytes()).expect("whole"), manifest);
    }

    #[test]
    fn a_body_may_have_no_name() {
        let mut manifest = manifest();
        manifest.body.name = None;
        let bytes = manifest.to_bytes();
        assert!(!bytes.windows(6).any(|window| window == b"\"name\""), "a name that is not there is not written");
        assert_eq!(Manifest::from_bytes("m", &bytes).expect("whole").body.name, None);
    }

    #[test]
    fn every_truncation_and_every_flipped_bit_is_noticed() {
        let bytes = manifest().to_bytes();
        for length in 0..bytes.len() {
            assert!(Manifest::from_bytes("m", &bytes[..length]).is_err(), "cut at {length}");
        }
        for position in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[position] ^= 1;
            assert!(Manifest::from_bytes("m", &damaged).is_err(), "flipped at {position}");
        }
    }

    #[test]
    fn a_later_version_is_no_damage() {
        let mut bytes = manifest().to_bytes();
        bytes[VERSION_START] = 2;
        let damaged = Manifest::from_bytes("m", &bytes).expect_err("a wrong version");
        assert!(matches!(damaged, IndexError::CorruptManifest { .. }), "{damaged}");
        let end = bytes.len() - CHECKSUM_BYTES;
        let checksum = xxh3_64(&bytes[..end]).to_le_bytes();
        bytes[end..].copy_from_slice(&checksum);
        assert!(matches!(
            Manifest::from_bytes("m", &bytes),
            Err(IndexError::ManifestTooNew { part: "format", found: 2, supported: 1, .. })
        ));
    }

    #[test]
    fn settings_of_a_later_version_are_no_damage() {
        let mut manifest = manifest();
        manifest.body.settings_version = STORED_VERSION + 1;
        let error = Manifest::from_bytes("m", &manifest.to_bytes()).expect_err("too new");
        assert!(matches!(error, IndexError::ManifestTooNew { part: "settings", supported: STORED_VERSION, .. }));
    }

    #[test]
    fn only_files_of_an_index_are_named() {
        for name in ["seg-000000000000004d.lam", "seg-000000000000004d-c1.lam", "del-000000000000004d-2.lam"] {
            assert!(is_own_name(name), "{name}");
        }
        for name in
            ["", ".", "..", ".lam", "../x.lam", "/path/x.lam", "a/b.lam", "a\\b.lam", "x\0.lam", "lock", "x.lam.tmp"]
        {
            assert!(!is_own_name(name), "{name:?}");
        }
    }

    #[test]
    fn names_sort_like_generations() {
        assert!(manifest_name(9) < manifest_name(10));
        assert!(manifest_name(255) < manifest_name(256));
        assert_eq!(manifest_generation(&manifest_name(u64::MAX)), Some(u64::MAX));
        for other in ["manifest-1.lam", "manifest-000000000000000g.lam", "seg-0000000000000001.lam", "lock"] {
            assert_eq!(manifest_generation(other), None);
        }
    }
}
