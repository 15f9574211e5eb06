//! Both forms of a set, against sets of the standard library.

use super::super::BitsetBuilder;
use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

const DOCS: u32 = 1_000;

fn both_forms(model: &BTreeSet<u32>) -> [DocSet; 2] {
    let list = DocSet::from_sorted(model.iter().copied().collect());
    let bits = list.clone().into_bitset(DOCS);
    assert!(matches!(bits, DocSet::Bitset { .. }));
    [list, bits]
}

fn check(set: &DocSet, model: &BTreeSet<u32>) {
    let docs: Vec<u32> = model.iter().copied().collect();
    assert_eq!(set.iter().collect::<Vec<_>>(), docs);
    assert_eq!(set.to_vec(), docs);
    assert_eq!(set.len() as usize, docs.len());
    assert_eq!(set.first(), docs.first().copied());
    let mut seen = Vec::new();
    set.for_each(|doc| seen.push(doc));
    assert_eq!(seen, docs);
    for size in [1, 64, 100] {
        let parts = set.parts(size);
        assert!(parts.is_sorted_by(|one, next| one.end <= next.start));
        let mut runs: Vec<Range<u32>> = Vec::new();
        for part in parts {
            let before = runs.len();
            set.for_each_run(part.clone(), |run| runs.push(run));
            assert!(runs[before..].is_sorted_by(|one, next| one.end < next.start), "as long as can be");
            assert!(runs[before..].iter().map(|run| run.end - run.start).sum::<u32>() < size + 64);
            assert!(runs[before..].iter().all(|run| part.start <= run.start));
            assert!(runs[before..].iter().all(|run| run.end <= part.end));
        }
        assert_eq!(runs.into_iter().flatten().collect::<Vec<_>>(), docs);
    }
    let mut inner = Vec::new();
    set.for_each_run(70..500, |run| inner.extend(run));
    assert_eq!(inner, docs.into_iter().filter(|doc| (70..500).contains(doc)).collect::<Vec<_>>());
}

fn model() -> impl Strategy<Value = BTreeSet<u32>> {
    prop_oneof![
        prop::collection::btree_set(0..DOCS, 0..20),
        prop::collection::btree_set(0..DOCS, 0..900),
        Just((0..DOCS).collect()),
    ]
}

proptest! {
    #[test]
    fn operations_agree_with_a_plain_set(a in model(), b in model()) {
        let and: BTreeSet<u32> = a.intersection(&b).copied().collect();
        let or: BTreeSet<u32> = a.union(&b).copied().collect();
        let not: BTreeSet<u32> = a.difference(&b).copied().collect();
        let rest: BTreeSet<u32> = (0..DOCS).filter(|d| !a.contains(d)).collect();
        for x in both_forms(&a) {
            check(&x.complement(DOCS), &rest);
            for doc in [0, 1, 63, 64, 65, 500, DOCS - 1, DOCS, u32::MAX] {
                prop_assert_eq!(x.contains(doc), a.contains(&doc));
            }
            let mut even = x.clone();
            even.retain(|doc| doc % 2 == 0);
            check(&even, &a.iter().copied().filter(|d| d % 2 == 0).collect());
            for y in both_forms(&b) {
                check(&x.and(&y), &and);
                check(&x.or(&y), &or);
                check(&x.and_not(&y), &not);
                prop_assert_eq!(x.and_len(&y) as usize, and.len());
                let mut z = x.clone();
                z.and_assign(&y);
                check(&z, &and);
                let mut z = x.clone();
                z.or_assign(&y);
                check(&z, &or);
                let mut z = x.clone();
                z.and_not_assign(&y);
                check(&z, &not);
                let mut builder = BitsetBuilder::new(DOCS);
                builder.insert_set(&x);
                builder.insert_set(&y);
                check(&builder.finish(), &or);
            }
        }
    }

    #[test]
    fn ranges_are_filled(start in 0..DOCS + 70, len in 0u32..200, doc_count in 1..DOCS) {
        let mut builder = BitsetBuilder::new(doc_count);
        builder.insert_range(start..start + len);
        check(&builder.finish(), &(start..start + len).filter(|&d| d < doc_count).collect());
    }
}

#[test]
fn documents_past_the_count_are_dropped() {
    let mut builder = BitsetBuilder::new(70);
    builder.insert(69);
    builder.insert(70);
    builder.insert_all(&[71, 128, u32::MAX]);
    builder.insert_bitset_bytes(&[0xff; 40]);
    assert_eq!(builder.finish(), DocSet::full(70));
}

#[test]
fn full_and_empty() {
    assert_eq!(DocSet::full(0).len(), 0);
    assert_eq!(DocSet::full(129).iter().count(), 129);
    assert!(DocSet::empty().is_empty());
    assert_eq!(DocSet::empty().complement(65), DocSet::full(65));
}
