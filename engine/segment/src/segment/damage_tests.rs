//! Files that were cut, flipped or scribbled over: an error that names the damage, and no panic from any accessor.

use super::checked_blocks::BlockSums;
use super::tests::{many_docs, small_lists, write_segment};
use super::word_pairs::Followers;
use super::*;
use crate::bits::little_endian::{read_u16, read_u32, read_u64};
use crate::bits::monotone::Monotone;
use crate::bits::{BitsetBuilder, DocSet};
use crate::storage::{Directory, MemoryDirectory};
use lamina_text::id::{FIRST_TERM, SegmentId};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::ops::Range;

/// Opens it without a comparison of more than some bytes: damage is met by whatever reads it.
pub(super) fn open(directory: &dyn Directory, meta: &SegmentMeta) -> Result<SegmentReader, SegmentError> {
    SegmentReader::open_comparing(directory, meta, 64)
}

/// Calls everything a query, a listing or a merge may call. What it answers is of no interest.
pub(super) fn use_everything(segment: &SegmentReader, directory: &dyn Directory) {
    let docs = segment.doc_count();
    let (mut fields, mut tokens, mut json) = (Vec::new(), Vec::new(), Vec::new());
    for doc in (0..docs).chain([docs, u32::MAX]) {
        segment.internal_id(doc);
        segment.doc_of_internal_id(u64::from(doc));
        segment.tokens().doc(doc).decode(&mut fields, &mut tokens);
        segment.tokens().doc(doc).fields().for_each(|(_, run)| run.decode(&mut tokens));
        let _ = segment.store().get(doc, &mut json);
        segment.keys().get(doc.to_string().as_bytes());
    }
    let list: DocSet = (0..docs).filter(|doc| doc % 5 == 0).collect();
    use_postings(segment, &list);
    use_values(segment);
    let inputs = [MergeInput { segment, deleted: Some(&list) }];
    let _ = merge(&inputs, directory, SegmentId(77), &small_lists());
    let _ = directory.delete("seg-000000000000004d.lam");
}

fn use_postings(segment: &SegmentReader, list: &DocSet) {
    let docs = segment.doc_count();
    let mut set = BitsetBuilder::new(docs);
    for ordinal in (0..FIRST_TERM + segment.terms().len()).chain([u32::MAX]) {
        segment.terms().term(ordinal);
        segment.postings().doc_freq(ordinal);
        segment.postings().for_each(ordinal, |_, code| {
            segment.postings().field_sets().fields(code);
        });
        segment.postings().add_to(ordinal, &mut set);
        segment.postings().docs(ordinal);
        segment.postings().docs_among(ordinal, list);
    }
    if let Some(union) = segment.postings().prefix_union(b"a") {
        let groups = union.groups.heads().count();
        (0..=groups).for_each(|group| assert!(union.groups.small_group(group).iter().all(|doc| doc < docs)));
    }
    segment.terms().prefix_range(b"a").for_each(|ordinal| segment.postings().add_to(ordinal, &mut set));
    assert!(set.finish().iter().all(|doc| doc < docs));
}

fn use_values(segment: &SegmentReader) {
    let docs = segment.doc_count();
    let mut ordinals = Vec::new();
    for field in segment.columns().fields().collect::<Vec<_>>() {
        let column = segment.columns().get(field).expect("it was listed");
        for doc in (0..docs).chain([docs, u32::MAX]) {
            column.ordinals_of(doc, &mut ordinals);
            assert!(ordinals.iter().all(|&ordinal| ordinal < column.value_count()));
            column.first(doc);
            column.last(doc);
        }
        for ordinal in (0..column.value_count()).chain([u32::MAX]) {
            column.number(ordinal);
            column.string(ordinal);
            column.original(ordinal);
            column.doc_freq(ordinal);
            assert!(column.docs_of(ordinal).all(|doc| doc < docs));
        }
        let _ = column.find_string("odd");
        let _ = column.find_number(7.0);
        let _ =
            (column.docs_in(0..column.value_count()), column.null(), column.empty(), column.exists(), column.blank());
    }
    if let Some(geo) = segment.geo() {
        for doc in 0..docs {
            geo.point(doc);
        }
        geo.search(|_| BoxRelation::Crossing, |_, _| true);
        geo.search(|_| BoxRelation::Inside, |_, _| true);
        geo.nearest(|b| b.lat_min, |_, _, _| 1.0);
    }
    if let Some(shapes) = segment.shapes() {
        shapes.search(|_| BoxRelation::Crossing, |shape| shape.parts.len() == 1);
        shapes.search(|_| BoxRelation::Inside, |_| true);
    }
}

fn small_segment() -> (MemoryDirectory, SegmentMeta, Vec<u8>) {
    let directory = MemoryDirectory::new();
    let meta = write_segment(&directory, 1, &many_docs(150));
    let bytes = directory.open_read(&meta.file.name).unwrap().to_vec();
    (directory, meta, bytes)
}

#[test]
fn a_cut_file_is_refused() {
    let (directory, meta, bytes) = small_segment();
    for length in (0..bytes.len()).step_by(97).chain([bytes.len() - 1]) {
        directory.overwrite(&meta.file.name, bytes[..length].to_vec());
        let refused = open(&directory, &meta).unwrap_err();
        assert!(matches!(refused, SegmentError::NotASegment { .. }), "{length}: {refused}");
        // Also when the manifest was cut to match.
        let mut shorter = meta.clone();
        shorter.file.bytes = length as u64;
        open(&directory, &shorter).unwrap_err();
    }
    directory.delete(&meta.file.name).unwrap();
    assert!(matches!(open(&directory, &meta).unwrap_err(), SegmentError::Io { .. }));
}

#[test]
fn a_later_version_is_distinguished_from_damage() {
    let (directory, meta, mut bytes) = small_segment();
    bytes[8] = 2;
    directory.overwrite(&meta.file.name, bytes);
    let refused = open(&directory, &meta).unwrap_err();
    assert!(matches!(refused, SegmentError::TooNew { found: 2, supported: 1, .. }), "{refused}");
}

#[test]
fn every_flipped_byte_is_found() {
    let (directory, meta, bytes) = small_segment();
    for at in (0..bytes.len()).step_by(61) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x10;
        directory.overwrite(&meta.file.name, damaged);
        if let Ok(segment) = open(&directory, &meta) {
            let found = segment.verify().expect_err("one byte differs");
            assert!(matches!(found, SegmentError::Checksum { .. }), "byte {at}: {found}");
            use_everything(&segment, &directory);
        }
    }
}

/// Kind and place of each section, and where its entry in the table is.
pub(super) fn sections(bytes: &[u8]) -> Vec<(u16, Range<usize>, usize)> {
    let footer = bytes.len() - format::FOOTER_BYTES;
    let table = read_u64(bytes, footer).unwrap() as usize;
    (0..read_u32(bytes, footer + 8).unwrap() as usize)
        .map(|entry| {
            let at = table + entry * format::ENTRY_BYTES;
            let start = read_u64(bytes, at + 8).unwrap() as usize;
            let end = start + read_u64(bytes, at + 16).unwrap() as usize;
            (read_u16(bytes, at).unwrap(), start..end, at)
        })
        .collect()
}

/// The section of a kind, of that with the same parameter if there are several.
fn section_of(bytes: &[u8], kind: format::SectionKind, parameter: u16) -> Option<Range<usize>> {
    let is_wanted = |at: usize| read_u16(bytes, at + 2) == Some(parameter);
    let mut all = sections(bytes).into_iter();
    all.find(|(found, _, at)| *found == kind as u16 && is_wanted(*at)).map(|(_, section, _)| section)
}

/// The places of the blocks of a store and that of their checksums in its index, as the index has them.
fn blocks_of(index: &[u8]) -> Option<(Vec<Range<usize>>, usize)> {
    let first_docs = Monotone::open(index)?;
    let ends_bytes = index.get(first_docs.byte_len()..)?;
    let ends = Monotone::open(ends_bytes)?;
    let sums_at = first_docs.byte_len() + ends.byte_len();
    let count = index.len().saturating_sub(sums_at) / 4;
    let end = |block| ends.get(ends_bytes, block) as usize;
    Some(((0..count).map(|block| end(block)..end(block + 1)).collect(), sums_at))
}

/// Rewrites the checksums of blocks, as far as an index that may be damaged says where these are.
fn sign_blocks(bytes: &mut [u8]) {
    use format::SectionKind as Kind;
    let of = |bytes: &[u8], kind| section_of(bytes, kind, 0).unwrap_or_default();
    let (store, index) = (of(bytes, Kind::Store), of(bytes, Kind::StoreIndex));
    if let Some((blocks, sums_at)) = blocks_of(&bytes[index.clone()]) {
        for (block, at) in blocks.into_iter().zip((index.start + sums_at..).step_by(4)) {
            let sum = crc32fast::hash(bytes[store.clone()].get(block).unwrap_or_default());
            bytes[at..at + 4].copy_from_slice(&sum.to_le_bytes());
        }
    }
    for (kind, sums) in [(Kind::Vectors, Kind::VectorSums), (Kind::VectorCodes, Kind::VectorCodeSums)] {
        for (_, section, at) in sections(bytes).into_iter().filter(|(found, ..)| *found == kind as u16) {
            let parameter = read_u16(bytes, at + 2).unwrap();
            let mut written = BlockSums::default();
            written.update(&bytes[section]);
            let place = section_of(bytes, sums, parameter).expect("vectors have checksums");
            bytes[place].copy_from_slice(&written.finish());
        }
    }
}

/// Rewrites all checksums, so that only the structure can show the damage.
pub(super) fn sign(bytes: &mut [u8], meta: &mut SegmentMeta) {
    sign_blocks(bytes);
    let footer = bytes.len() - format::FOOTER_BYTES;
    let table = read_u64(bytes, footer).unwrap() as usize;
    for (_, section, entry) in sections(bytes) {
        let checksum = crc32fast::hash(&bytes[section]);
        bytes[entry + 4..entry + 8].copy_from_slice(&checksum.to_le_bytes());
    }
    let checksum = crc32fast::hash(&bytes[table..footer]);
    bytes[footer + 12..footer + 16].copy_from_slice(&checksum.to_le_bytes());
    meta.file.checksum = crc32fast::hash(bytes);
}

/// Returns the ranges of the sections that other crates read without checks. Only their checksum protects them.
pub(super) fn trusted(bytes: &[u8]) -> Vec<Range<usize>> {
    let walked = [format::SectionKind::Terms as u16, format::SectionKind::Keys as u16];
    sections(bytes).into_iter().filter(|(kind, ..)| walked.contains(kind)).map(|(_, section, _)| section).collect()
}

/// A segment of so many documents that it has pairs, near pairs, triples and followers of frequent words, unions of prefixes and dictionaries.
fn large_segment() -> &'static (MemoryDirectory, SegmentMeta, Vec<u8>) {
    static LARGE: std::sync::LazyLock<(MemoryDirectory, SegmentMeta, Vec<u8>)> = std::sync::LazyLock::new(|| {
        let directory = MemoryDirectory::new();
        let meta = write_segment(&directory, 1, &many_docs(15_000));
        let bytes = directory.open_read(&meta.file.name).unwrap().to_vec();
        (directory, meta, bytes)
    });
    &LARGE
}

#[test]
fn a_flipped_byte_is_found_in_every_section() {
    use format::SectionKind as Kind;
    let (_, meta, bytes) = large_segment();
    let directory = MemoryDirectory::new();
    let mut seen = Vec::new();
    for (kind, section, _) in sections(bytes).into_iter().filter(|(_, section, _)| !section.is_empty()) {
        seen.push(kind);
        for at in [section.start, section.start + section.len() / 2, section.end - 1] {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            directory.overwrite(&meta.file.name, damaged);
            if let Ok(segment) = open(&directory, meta) {
                let found = segment.verify().expect_err("one bit differs");
                assert!(matches!(found, SegmentError::Checksum { .. }), "byte {at} of section {kind}: {found}");
            }
        }
    }
    let absent: Vec<_> = Kind::ALL.into_iter().filter(|&kind| !seen.contains(&(kind as u16))).collect();
    assert_eq!(
        absent,
        [
            Kind::Keys,
            Kind::KeyFilter,
            Kind::Patches,
            Kind::Vectors,
            Kind::VectorCodes,
            Kind::VectorSums,
            Kind::VectorCodeSums
        ],
        "sections these documents have nothing for"
    );
}

#[test]
fn what_is_damaged_is_not_merged() {
    let (directory, meta, bytes) = small_segment();
    // What a merge says of the segment with this byte damaged; `None` if it cannot be opened.
    let merged = |at: usize| {
        let mut damaged = bytes.clone();
        damaged[at] ^= 4;
        directory.overwrite(&meta.file.name, damaged);
        let segment = open(&directory, &meta).ok()?;
        let inputs = [MergeInput { segment: &segment, deleted: None }];
        Some(merge(&inputs, &directory, SegmentId(77), &small_lists()).unwrap_err())
    };
    let mut opened = Vec::new();
    for (kind, section, _) in sections(&bytes).into_iter().filter(|(_, section, _)| !section.is_empty()) {
        let Some(refused) = merged(section.start + section.len() / 2) else { continue };
        assert!(matches!(refused, SegmentError::Checksum { .. }), "section {kind}: {refused}");
        opened.push(kind);
    }
    use format::SectionKind as Kind;
    assert!([Kind::Store, Kind::Postings, Kind::Tokens].iter().all(|kind| opened.contains(&(*kind as u16))));
    let ends = sections(&bytes).into_iter().map(|(_, section, _)| section.end);
    let padding = ends.into_iter().find(|end| end % 8 != 0).expect("some padding");
    let refused = merged(padding).expect("padding hides nothing");
    assert!(matches!(refused, SegmentError::Checksum { section: "whole file", .. }), "{refused}");
    assert_eq!(directory.list().unwrap(), [meta.file.name], "nothing is left of the merges");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]
    /// Damage under valid checksums, as a faulty program or an attacker would leave it.
    #[test]
    fn signed_damage_is_survived(
        places in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 1usize..9), 1..6),
    ) {
        let (directory, mut meta, mut bytes) = small_segment();
        let end = bytes.len() - format::FOOTER_BYTES;
        let table = read_u64(&bytes, end).unwrap() as usize;
        let trusted = trusted(&bytes);
        for (place, value, length) in places {
            let at = place.index(table - format::HEADER_BYTES) + format::HEADER_BYTES;
            let end = (at + length).min(table);
            for (at, byte) in (at..end).zip(&mut bytes[at..end]) {
                if !trusted.iter().any(|section| section.contains(&at)) {
                    *byte = value;
                }
            }
        }
        sign(&mut bytes, &mut meta);
        directory.overwrite(&meta.file.name, bytes);
        if let Ok(segment) = open(&directory, &meta) {
            let _ = segment.verify();
            use_everything(&segment, &directory);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    /// Small segments have nothing of frequent words, and no unions.
    #[test]
    fn signed_damage_to_pairs_triples_and_unions_is_survived(
        places in prop::collection::vec((0usize..LISTS.len(), any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let (_, meta, bytes) = large_segment();
        let (mut meta, mut bytes) = (meta.clone(), bytes.clone());
        let section = |kind| sections(&bytes).into_iter().find(|section| section.0 == kind as u16).expect("is there").1;
        let damaged = LISTS.map(section);
        for (number, place, value) in places {
            let section = &damaged[number];
            // The entries at the start say where everything else is.
            let at = section.start + place.index(section.len().min(if value % 2 == 0 { 200 } else { usize::MAX }));
            bytes[at] = value;
        }
        sign(&mut bytes, &mut meta);
        let directory = MemoryDirectory::new();
        directory.overwrite(&meta.file.name, bytes);
        if let Ok(segment) = open(&directory, &meta) {
            let _ = segment.verify();
            let docs = segment.doc_count();
            let words = segment.word_pairs().words();
            for pair in words.iter().flat_map(|&left| words.iter().take(9).map(move |&right| [left, right])).take(400) {
                let found = segment.word_pairs().next(pair).map_or_else(DocSet::empty, |known| known.documents);
                prop_assert!(found.iter().all(|doc| doc < docs));
            }
            for pair in segment.word_pairs().known_near().take(400) {
                let near = segment.word_pairs().near(pair).expect("known");
                prop_assert!(near.documents.iter().all(|doc| doc < docs));
            }
            for row in segment.word_pairs().known_in_a_row().take(400) {
                let found = segment.word_pairs().in_a_row(row).expect("known");
                prop_assert!(found.documents.iter().all(|doc| doc < docs));
            }
            for (_, found) in segment.word_pairs().followers().into_iter().flat_map(Followers::known).take(400) {
                prop_assert!(found.iter().all(|doc| doc < docs));
            }
            for prefix in segment.postings().union_prefixes() {
                let Some(union) = segment.postings().prefix_union(prefix) else { continue };
                let mut set = union.groups.docs();
                (0..=union.groups.heads().count().min(40)).for_each(|group| set.or_assign(&union.groups.small_group(group)));
                prop_assert!(set.iter().all(|doc| doc < docs));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    /// Small segments have no dictionaries.
    #[test]
    fn signed_damage_to_the_store_is_survived(
        places in prop::collection::vec((0usize..4, any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        use format::SectionKind as Kind;
        let (_, meta, bytes) = large_segment();
        let (mut meta, mut bytes) = (meta.clone(), bytes.clone());
        let section = |kind| sections(&bytes).into_iter().find(|section| section.0 == kind as u16).expect("is there").1;
        let damaged = [Kind::StorePieces, Kind::Store, Kind::StoreIndex, Kind::StoreDictionaries].map(section);
        for (number, place, value) in places {
            let section = &damaged[number];
            bytes[section.start + place.index(section.len())] = value;
        }
        sign(&mut bytes, &mut meta);
        let directory = MemoryDirectory::new();
        directory.overwrite(&meta.file.name, bytes);
        if let Ok(segment) = open(&directory, &meta) {
            let _ = segment.store().validate();
            let mut json = Vec::new();
            for doc in 0..segment.doc_count() {
                let _ = segment.store().get(doc, &mut json);
            }
        }
    }
}

/// Sections that list documents of frequent words and prefixes.
const LISTS: [format::SectionKind; 5] = [
    format::SectionKind::Pairs,
    format::SectionKind::PrefixUnions,
    format::SectionKind::Triples,
    format::SectionKind::NearPairs,
    format::SectionKind::Followers,
];

/// Returns the documents in each list, for the kinds in [`LISTS`], in this order.
fn lists_of(segment: &SegmentReader) -> [BTreeMap<Vec<u8>, Vec<u32>>; LISTS.len()] {
    let word_pairs = segment.word_pairs();
    let key = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let of_pair = |words: [u32; 2]| Some((key(&words), word_pairs.next(words)?.documents.to_vec()));
    let of_pairs =
        word_pairs.words().iter().flat_map(|&left| word_pairs.words().iter().map(move |&right| [left, right]));
    let unions = segment.postings().union_prefixes();
    let of_union =
        |prefix: &[u8]| Some((prefix.to_vec(), segment.postings().prefix_union(prefix)?.groups.docs().to_vec()));
    let of_triple = |words: [u32; 3]| {
        let known = word_pairs.in_a_row(words)?;
        if !known.complement {
            return Some((key(&words), known.documents.to_vec()));
        }
        let [first, middle, last] = words;
        let mut docs = word_pairs.next([first, middle])?.documents.and(&word_pairs.next([middle, last])?.documents);
        known.narrow(&mut docs);
        Some((key(&words), docs.to_vec()))
    };
    let of_near_pair = |words: [u32; 2]| {
        let near = word_pairs.near(words)?;
        Some(([key(&words), near.cost.to_le_bytes().to_vec()].concat(), near.documents.to_vec()))
    };
    let of_followers = |(list, docs): (usize, DocSet)| (list.to_le_bytes().to_vec(), docs.to_vec());
    [
        of_pairs.filter_map(of_pair).collect(),
        unions.filter_map(of_union).collect(),
        word_pairs.known_in_a_row().filter_map(of_triple).collect(),
        word_pairs.known_near().filter_map(of_near_pair).collect(),
        word_pairs.followers().into_iter().flat_map(Followers::known).map(of_followers).collect(),
    ]
}

#[test]
fn lists_that_are_sound_but_wrong_are_found() {
    let directory = MemoryDirectory::new();
    let meta = write_segment(&directory, 1, &many_docs(5_000));
    let bytes = directory.open_read(&meta.file.name).unwrap().to_vec();
    let right = lists_of(&open(&directory, &meta).unwrap());
    let mut wrong = [0; LISTS.len()];
    for kind in LISTS {
        let section = sections(&bytes).into_iter().find(|section| section.0 == kind as u16).expect("is there").1;
        for at in (0..40).map(|step| section.start + (section.len() - 1) * step / 39) {
            let (mut meta, mut damaged) = (meta.clone(), bytes.clone());
            // Not the first bit: no eighth document has a triple.
            damaged[at] ^= 2;
            sign(&mut damaged, &mut meta);
            directory.overwrite(&meta.file.name, damaged);
            let Ok(segment) = open(&directory, &meta) else { continue };
            let mut found = lists_of(&segment);
            // What is said of another triple, near pair or follower may be so, and nothing has to be said of any.
            let mut right = right.clone();
            for (right, found) in right.iter_mut().zip(&mut found).skip(2) {
                right.retain(|words, _| found.contains_key(words));
                found.retain(|words, _| right.contains_key(words));
            }
            if found != right {
                segment.verify().expect_err("not what the documents hold");
                for (count, differs) in wrong.iter_mut().zip((0..LISTS.len()).map(|list| found[list] != right[list])) {
                    *count += usize::from(differs);
                }
            }
        }
    }
    assert!(wrong.iter().all(|&count| count > 4), "{wrong:?}: the test shows little");
}

#[test]
fn a_manifest_of_another_segment_is_refused() {
    let (directory, meta, _) = small_segment();
    let other = write_segment(&directory, 2, &many_docs(20));
    let mixed = SegmentMeta { doc_count: other.doc_count, ..meta.clone() };
    assert!(matches!(open(&directory, &mixed).unwrap_err(), SegmentError::Corrupt { .. }));
    let mixed = SegmentMeta { file: other.file, ..meta };
    open(&directory, &mixed).unwrap_err();
}
