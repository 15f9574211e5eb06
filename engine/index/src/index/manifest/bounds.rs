//! Numbers that a manifest may have. It may come from anywhere, with a right checksum, and programs add, allocate and reserve what it says.

use lamina_segment::segment::{DOCS_MAX, SegmentMeta};

use super::{Body, DeletedMeta};

/// The largest number of anything, and the largest sum of those that are added. One more is a number still.
const MOST: u64 = i64::MAX as u64;

/// Returns what is wrong with the numbers of a body.
pub(super) fn check(body: &Body) -> Result<(), &'static str> {
    let times = [body.created_at, body.updated_at, body.committed_at];
    let numbers = [body.generation, body.contents, body.next_internal_id, body.next_segment_id, body.outcome_bytes];
    let counted = body.field_distribution.values().chain(body.ancestors.iter()).copied();
    let single = times.into_iter().chain(numbers).chain(body.last_batch).chain(counted);
    let of_segments = body.segments.iter().flat_map(|segment| ids(&segment.meta));
    if single.chain(of_segments).any(|number| number > MOST) {
        return Err("it has a number that is too large");
    }
    if body.segments.iter().any(|segment| segment.meta.doc_count > DOCS_MAX) {
        return Err("a segment has more documents than any can have");
    }
    let lengths = body.segments.iter().flat_map(|segment| {
        let (file, inline) = match &segment.deleted {
            Some(DeletedMeta::File(file)) => (Some(file.bytes), None),
            Some(DeletedMeta::Inline { bytes }) => (None, Some(*bytes)),
            None => (None, None),
        };
        segment.meta.files().map(|file| file.bytes).chain(file).chain(inline).collect::<Vec<_>>()
    });
    let raw = body.segments.iter().map(|segment| segment.meta.raw_bytes);
    let tokens = body.segments.iter().map(|segment| segment.meta.token_count);
    if !is_summed(lengths) || !is_summed(raw) || !is_summed(tokens) {
        return Err("the lengths that it has are more than anything can have");
    }
    Ok(())
}

fn is_summed(mut numbers: impl Iterator<Item = u64>) -> bool {
    numbers.try_fold(0_u64, u64::checked_add).is_some_and(|sum| sum <= MOST)
}

fn ids(meta: &SegmentMeta) -> [u64; 3] {
    [meta.id, meta.first_internal_id, meta.last_internal_id]
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::super::settings::STORED_VERSION;
    use super::super::{Manifest, tests::manifest};
    use crate::index::IndexError;

    /// A manifest of a body that says this.
    fn bytes(change: impl FnOnce(&mut Value)) -> Result<Manifest, IndexError> {
        let mut body = serde_json::to_value(manifest().body).unwrap();
        let segment = |id: u64| {
            json!({
                "meta": {
                    "id": id, "file": {"name": "seg-1.lam", "bytes": 100, "checksum": 1}, "doc_count": 1,
                    "first_internal_id": 0, "last_internal_id": 0, "raw_bytes": 1, "term_count": 1, "token_count": 1,
                    "text_fields": "all", "text_rules": 1, "column_fields": [], "geo": false, "column_files": [
                        {"file": {"name": "seg-1-c0.lam", "bytes": 100, "checksum": 1}, "fields": [], "geo": false}
                    ]
                },
                "deleted": {"file": {"name": "del-1-1.lam", "bytes": 100, "checksum": 1}}
            })
        };
        body["segments"] = json!([segment(1), segment(2)]);
        body["settingsVersion"] = STORED_VERSION.into();
        body["ancestors"] = json!([3]);
        change(&mut body);
        let body = serde_json::to_vec(&body).unwrap();
        let mut bytes = b"LAMINAMF".to_vec();
        bytes.extend(1_u32.to_le_bytes());
        bytes.extend(u32::try_from(body.len()).unwrap().to_le_bytes());
        bytes.extend(body);
        bytes.extend([0, 255, 7]);
        let checksum = xxhash_rust::xxh3::xxh3_64(&bytes);
        bytes.extend(checksum.to_le_bytes());
        Manifest::from_bytes("m", &bytes)
    }

    /// All places of numbers.
    fn places(value: &Value, path: &str, found: &mut Vec<String>) {
        match value {
            Value::Object(map) => map.iter().for_each(|(key, value)| places(value, &format!("{path}/{key}"), found)),
            Value::Array(all) => {
                all.iter().enumerate().for_each(|(at, value)| places(value, &format!("{path}/{at}"), found))
            }
            Value::Number(_) => found.push(path.to_owned()),
            _ => {}
        }
    }

    #[test]
    fn numbers_that_nothing_can_have_are_refused() {
        let mut all = Vec::new();
        bytes(|body| places(body, "", &mut all)).expect("sound");
        all.retain(|path| !path.starts_with("/settings"));
        assert!(all.len() > 25, "{all:?}");
        for place in &all {
            for number in [u64::MAX, u64::MAX - 99, 1 << 63] {
                let read = bytes(|body| *body.pointer_mut(place).unwrap() = number.into());
                // A checksum is any number of its width.
                assert!(matches!(read, Err(IndexError::CorruptManifest { .. })), "{place}: {number}");
            }
        }
    }

    #[test]
    fn a_segment_has_no_more_documents_than_one_can_have() {
        let with = |count: u32| bytes(|body| body["segments"][0]["meta"]["doc_count"] = count.into());
        assert!(with(lamina_segment::segment::DOCS_MAX).is_ok());
        assert!(with(lamina_segment::segment::DOCS_MAX + 1).is_err());
        assert!(with(u32::MAX).is_err());
    }

    #[test]
    fn lengths_whose_sum_wraps_are_refused() {
        let set = |places: &[&str], number: u64| {
            bytes(|body| places.iter().for_each(|place| *body.pointer_mut(place).unwrap() = number.into()))
        };
        let files = ["meta/file/bytes", "meta/column_files/0/file/bytes", "deleted/file/bytes"];
        let all: Vec<String> = (0..2).flat_map(|at| files.map(|file| format!("/segments/{at}/{file}"))).collect();
        for one in &all {
            for other in all.iter().filter(|other| *other != one) {
                assert!(set(&[one, other], 1 << 62).is_err(), "{one} {other}");
            }
            // A file as long as this may be somewhere: a server that fetches it looks for room first.
            assert!(set(&[one], 1 << 61).is_ok(), "{one}");
        }
        for counts in ["raw_bytes", "token_count"] {
            let [one, other] = [0, 1].map(|at| format!("/segments/{at}/meta/{counts}"));
            assert!(set(&[&one, &other], 1 << 62).is_err(), "{counts}");
        }
    }
}
