//! States before the present one: kept, read, restored, given up, and what crashes and damage leave of them.

use std::time::{Duration, SystemTime};

use lamina_segment::storage::{Fault, FaultyDirectory, MemoryDirectory, Survival};
use serde_json::json;

use super::super::manifest::{kept_generation, manifest_generation};
use super::super::{At, GenerationReport};
use super::*;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn keeping(keep: Duration) -> IndexOptions {
    IndexOptions { keep, ..options() }
}

fn open(files: &MemoryDirectory, keep: Duration) -> Index {
    Index::open_in(Arc::new(files.clone()), keeping(keep)).expect("opens")
}

fn numbers(index: &Index) -> Vec<u64> {
    index.generations().iter().map(|state| state.generation).collect()
}

fn restore(index: &Index, number: u64) -> Result<u64, IndexError> {
    let batch = index.snapshot().last_outcome().map_or(0, |(batch, _)| batch + 1);
    index.restore(At::Generation(number), CommitNote::new(batch, move |_| batch.to_le_bytes().to_vec()))
}

/// An index with three states besides the empty one, and what readers see in each.
fn three_states(files: &MemoryDirectory) -> (Index, Vec<Observed>) {
    let index = Index::create_in(Arc::new(files.clone()), keeping(DAY)).expect("new");
    let mut seen = vec![observe(&index.snapshot())];
    let batches = [
        vec![add(&[json!({"id": 1, "title": "one"}), json!({"id": 2, "title": "two"})])],
        vec![add(&[json!({"id": 2, "title": "changed"}), json!({"id": 3, "title": "three"})])],
        vec![delete(&["3"]), settings(json!({"sortableAttributes": ["title"]}))],
    ];
    for operations in &batches {
        apply(&index, operations);
        seen.push(observe(&index.snapshot()));
    }
    (index, seen)
}

#[test]
fn states_are_kept_and_read_as_they_were() {
    let files = MemoryDirectory::new();
    let (index, seen) = three_states(&files);
    assert_eq!(numbers(&index), [3, 2, 1, 0]);
    let check = |index: &Index| {
        for (number, expected) in (0..).zip(&seen) {
            let state = index.generation(At::Generation(number)).expect("kept");
            assert_eq!(&observe(&state), expected, "state {number}");
        }
    };
    check(&index);
    let states = index.generations();
    assert!(states[0].is_current);
    assert!(!states[1].is_current);
    assert_eq!(states.iter().map(|state| state.document_count).collect::<Vec<_>>(), [2, 3, 2, 0]);
    assert_eq!(states.iter().map(|state| state.batch).collect::<Vec<_>>(), [Some(2), Some(1), Some(0), None]);
    let at = |time| index.generation(At::Time(time)).expect("kept").contents();
    for GenerationReport { generation, committed_at, .. } in &states {
        assert_eq!(at(*committed_at), *generation);
    }
    assert_eq!(at(SystemTime::now()), 3);
    let before_all = index.generation(At::Time(SystemTime::UNIX_EPOCH)).expect_err("nothing was there");
    assert!(matches!(before_all, IndexError::GenerationNotFound { oldest: 0 }), "{before_all}");
    let later = index.generation(At::Generation(4)).expect_err("there is none yet");
    assert!(matches!(later, IndexError::GenerationNotFound { .. }), "{later}");
    drop(index);
    let index = open(&files, DAY);
    assert_eq!(numbers(&index), [3, 2, 1, 0]);
    check(&index);
    index.verify().expect("whole");
}

#[test]
fn nothing_is_kept_unless_it_is_asked_for() {
    let files = MemoryDirectory::new();
    let index = create(&files);
    apply(&index, &[add(&[json!({"id": 1})])]);
    apply(&index, &[add(&[json!({"id": 1, "n": 2})])]);
    assert_eq!(numbers(&index), [2]);
    assert!(!files.list().unwrap().iter().any(|name| kept_generation(name).is_some()));
    assert!(matches!(index.generation(At::Generation(1)), Err(IndexError::GenerationNotFound { oldest: 2 })));
}

#[test]
fn a_merge_takes_the_place_of_what_it_rewrites() {
    let files = MemoryDirectory::new();
    let (index, seen) = three_states(&files);
    // Columns that were added to segments are those of the state that the merge takes the place of.
    let is_segment = |name: &String| name.starts_with("seg-") && !name.contains("-c");
    let segments = || files.list().unwrap().into_iter().filter(is_segment).collect::<Vec<_>>();
    let before = segments();
    index.compact(&AtomicBool::new(false)).expect("merges");
    assert_eq!(index.snapshot().generation, 4);
    assert_eq!(numbers(&index), [3, 2, 1, 0], "the same states");
    // The merge has a number, which another index may have given to a state.
    assert!(matches!(index.generation(At::Generation(4)), Err(IndexError::GenerationNotFound { oldest: 0 })));
    for number in 0..4 {
        assert_eq!(observe(&index.generation(At::Generation(number)).expect("kept")), seen[number as usize]);
    }
    let after = segments();
    assert!(before.iter().all(|name| after.contains(name)), "the sources of the merge are those of states before");
    assert!(after.len() > before.len(), "{before:?} {after:?}");
    apply(&index, &[add(&[json!({"id": 9})])]);
    assert_eq!(numbers(&index), [5, 3, 2, 1, 0]);
    assert_eq!(observe(&index.generation(At::Generation(3)).expect("kept")), seen[3]);
    drop(index);
    let index = open(&files, DAY);
    assert_eq!(numbers(&index), [5, 3, 2, 1, 0]);
    assert_eq!(observe(&index.generation(At::Generation(3)).expect("kept")), seen[3]);
}

#[test]
fn a_restored_state_is_a_commit_that_can_be_undone() {
    let files = MemoryDirectory::new();
    let (index, seen) = three_states(&files);
    let without_batch = |observed: &Observed| Observed { last_batch: None, ..observed.clone() };
    assert_eq!(restore(&index, 1).expect("kept"), 1);
    assert_eq!(without_batch(&observe(&index.snapshot())), without_batch(&seen[1]), "with its settings");
    assert_eq!(numbers(&index), [4, 3, 2, 1, 0]);
    assert_eq!(index.snapshot().last_outcome().map(|(batch, _)| batch), Some(3));
    assert_eq!(ids_with_word(&index.snapshot(), "two"), ["2"]);
    // What is written now goes on from there, and no file or id is used twice.
    apply(&index, &[add(&[json!({"id": 4, "title": "four"})]), settings(json!({"sortableAttributes": ["title"]}))]);
    index.compact(&AtomicBool::new(false)).expect("merges");
    let ids: Vec<_> = documents(&index.snapshot()).iter().map(|document| document["id"].clone()).collect();
    assert_eq!(ids, [json!(1), json!(2), json!(4)]);
    assert_eq!(restore(&index, 3).expect("undone"), 3);
    assert_eq!(without_batch(&observe(&index.snapshot())), without_batch(&seen[3]));
    drop(index);
    let index = open(&files, DAY);
    assert_eq!(without_batch(&observe(&index.snapshot())), without_batch(&seen[3]));
    for number in 0..4 {
        assert_eq!(observe(&index.generation(At::Generation(number)).expect("kept")), seen[number as usize]);
    }
    index.verify().expect("whole");
    // The present state changes nothing, but the batch is noted.
    let current = index.snapshot().contents();
    assert_eq!(restore(&index, current).expect("there"), current);
    assert_eq!(index.snapshot().contents(), current);
    assert!(matches!(restore(&index, 1000), Err(IndexError::GenerationNotFound { .. })));
}

#[test]
fn columns_that_a_state_has_are_written_over_by_none() {
    let files = MemoryDirectory::new();
    let index = Index::create_in(Arc::new(files.clone()), keeping(DAY)).expect("new");
    apply(&index, &[add(&[json!({"id": 1, "a": 1, "b": 2})])]);
    apply(&index, &[settings(json!({"filterableAttributes": ["a"]}))]);
    let with_a = observe(&index.snapshot());
    restore(&index, 1).expect("kept");
    apply(&index, &[settings(json!({"filterableAttributes": ["b"]}))]);
    let with_b = observe(&index.snapshot());
    assert_eq!(observe(&index.generation(At::Generation(2)).expect("kept")), with_a);
    index.verify().expect("whole");
    drop(index);
    let index = open(&files, DAY);
    assert_eq!(observe(&index.snapshot()), with_b);
    assert_eq!(observe(&index.generation(At::Generation(2)).expect("kept")), with_a);
}

#[test]
fn what_was_kept_for_long_enough_goes_with_the_next_commit_or_start() {
    let files = MemoryDirectory::new();
    let (index, seen) = three_states(&files);
    let held = index.generation(At::Generation(1)).expect("kept");
    drop(index);
    let index = open(&files, Duration::from_nanos(1));
    assert_eq!(numbers(&index), [3]);
    assert_only_files_of(&files, &index);
    assert_eq!(observe(&held), seen[1], "a reader keeps what it holds");
    apply(&index, &[add(&[json!({"id": 5})])]);
    apply(&index, &[add(&[json!({"id": 6})])]);
    assert_eq!(numbers(&index).len(), 1, "each is over as soon as it is replaced");
    assert_only_files_of(&files, &index);
    drop(index);

    let files = MemoryDirectory::new();
    drop(three_states(&files));
    let index = open(&files, Duration::ZERO);
    assert_eq!(observe(&index.snapshot()), seen[3]);
    assert_only_files_of(&files, &index);
}

#[test]
fn of_very_many_states_those_go_that_lie_closest_together() {
    let files = MemoryDirectory::new();
    let index = Index::create_in(Arc::new(files.clone()), keeping(DAY)).expect("new");
    for id in 0..1010 {
        apply(
            &index,
            &[Operation::Settings(Box::new(
                serde_json::from_value(json!({"stopWords": [format!("w{id}")]})).expect("a patch"),
            ))],
        );
    }
    let states = numbers(&index);
    assert_eq!(states.len(), 1001);
    assert_eq!((states[0], states[1000]), (1010, 0), "the newest and the oldest stay");
    let manifests = files.list().unwrap().iter().filter(|name| kept_generation(name).is_some()).count();
    assert_eq!(manifests, 1000);
}

/// The files of the present state and no others.
fn assert_only_files_of(files: &MemoryDirectory, index: &Index) {
    let snapshot = index.snapshot();
    for name in files.list().unwrap() {
        let is_own = manifest_generation(&name) == Some(snapshot.generation) || snapshot.has_file(&name);
        assert!(is_own, "{name} is left over");
    }
}

#[test]
fn a_damaged_state_is_named_and_stops_nothing() {
    let files = MemoryDirectory::new();
    let (index, seen) = three_states(&files);
    drop(index);
    let manifest = files.list().unwrap().into_iter().find(|name| kept_generation(name) == Some(2)).expect("kept");
    let bytes = files.open_read(&manifest).unwrap().to_vec();
    files.overwrite(&manifest, bytes[..bytes.len() - 3].to_vec());
    let check = |expected: &str| {
        let index = open(&files, DAY);
        assert_eq!(observe(&index.snapshot()), seen[3]);
        let states = index.generations();
        assert_eq!(states.iter().map(|state| state.generation).collect::<Vec<_>>(), [3, 2, 1, 0]);
        let damage = states[1].damage.as_deref().expect("damaged");
        assert!(damage.contains(expected), "{damage}");
        let error = index.generation(At::Generation(2)).expect_err("damaged");
        assert!(matches!(&error, IndexError::DamagedGeneration { generation: 2, .. }), "{error}");
        assert!(matches!(restore(&index, 2), Err(IndexError::DamagedGeneration { .. })));
        assert_eq!(observe(&index.generation(At::Generation(1)).expect("sound")), seen[1]);
        let damages = super::super::verify::verify_directory(&files, false, &()).expect("a list").damages;
        assert!(matches!(&damages[..], [IndexError::DamagedGeneration { generation: 2, .. }]), "{damages:?}");
    };
    check("checksum");
    files.overwrite(&manifest, bytes);
    // A segment that only states before the present one have.
    let index = open(&files, DAY);
    index.compact(&AtomicBool::new(false)).expect("merges");
    let current = index.snapshot();
    let of_second = index.generation(At::Generation(2)).expect("kept");
    let of_first = index.generation(At::Generation(1)).expect("kept");
    let mut only_second = of_second.segments.iter().map(|view| view.reader.meta().file.name.clone());
    let only_second = only_second.find(|name| !current.has_file(name) && !of_first.has_file(name));
    let only_second = only_second.expect("its own segment");
    drop((of_second, of_first, current, index));
    files.delete(&only_second).unwrap();
    let index = open(&files, DAY);
    let error = index.generation(At::Generation(2)).expect_err("damaged");
    assert!(matches!(&error, IndexError::DamagedGeneration { generation: 2, .. }), "{error}");
    assert_eq!(observe(&index.generation(At::Generation(1)).expect("sound")), seen[1]);
}

/// A life with restored states and merges; `see` gets every state that was reached.
fn live(directory: &FaultyDirectory, mut see: impl FnMut(Observed)) -> Result<(), IndexError> {
    let index = Index::create_in(Arc::new(directory.clone()), keeping(DAY))?;
    see(observe(&index.snapshot()));
    let batches: [Vec<Operation>; 4] = [
        vec![add(&[json!({"id": 1, "title": "one", "n": 1}), json!({"id": 2, "title": "two", "n": 2})])],
        vec![settings(json!({"filterableAttributes": ["n"]}))],
        vec![add(&[json!({"id": 2, "title": "changed"})]), delete(&["1"])],
        vec![add(&[json!({"id": 3, "title": "three"})])],
    ];
    for (batch, operations) in (0..).zip(&batches) {
        try_apply(&index, batch, operations)?;
        see(observe(&index.snapshot()));
    }
    let note = |batch: u64| CommitNote::new(batch, move |_| batch.to_le_bytes().to_vec());
    index.restore(At::Generation(1), note(4))?;
    see(observe(&index.snapshot()));
    index.compact(&AtomicBool::new(false))?;
    see(observe(&index.snapshot()));
    index.restore(At::Generation(3), note(5))?;
    see(observe(&index.snapshot()));
    Ok(())
}

#[test]
fn a_power_loss_at_any_sync_leaves_the_state_before_or_after_and_all_that_were_kept() {
    let whole = FaultyDirectory::new(Fault::None);
    let mut states = Vec::new();
    live(&whole, |state| states.push(state)).expect("no fault");
    for step in 0..whole.sync_count() {
        for survival in [Survival::SyncedOnly, Survival::Everything] {
            let directory = FaultyDirectory::new(Fault::PowerLossAtSync(step));
            let mut reached = 0;
            live(&directory, |_| reached += 1).expect_err("the power is gone");
            let files = directory.after_crash(survival);
            if reached == 0 && Index::open_in(Arc::new(files.clone()), keeping(DAY)).is_err() {
                continue;
            }
            let index = open(&files, DAY);
            let found = observe(&index.snapshot());
            let before = reached.max(1) - 1;
            let is_after = found != states[before];
            assert!(!is_after || Some(&found) == states.get(reached), "power lost at sync {step} ({survival:?})");
            index.verify().expect("whole");
            // Every state that was acknowledged is there, and is what it was.
            let kept = index.generations();
            let mut expected: Vec<&Observed> = states[..=before].iter().collect();
            expected.extend(is_after.then_some(&found));
            // A merge shows the same as what it rewrites.
            expected.dedup();
            assert_eq!(kept.len(), expected.len(), "power lost at sync {step} ({survival:?}): {kept:?}");
            for (state, expected) in kept.iter().rev().zip(expected) {
                let opened = index.generation(At::Generation(state.generation)).expect("kept");
                assert_eq!(&observe(&opened), expected, "power lost at sync {step} ({survival:?})");
            }
            apply(&index, &[add(&[json!({"id": 7, "title": "life goes on"})])]);
            assert_eq!(ids_with_word(&index.snapshot(), "goes"), ["7"]);
        }
    }
}

#[test]
fn whatever_the_system_refuses_for_a_moment_gives_up_no_state() {
    let (files, seen) = {
        let files = MemoryDirectory::new();
        let (index, seen) = three_states(&files);
        drop(index);
        (files, seen)
    };
    let calls = {
        let directory = FaultyDirectory::holding(&files).expect("files");
        drop(Index::open_in(Arc::new(directory.clone()), keeping(DAY)).expect("opens"));
        directory.call_count()
    };
    for step in 0..calls {
        let directory = FaultyDirectory::holding(&files).expect("files");
        directory.set_fault(Fault::RefusalAtCall(step, 24));
        drop(Index::open_in(Arc::new(directory.clone()), keeping(DAY)));
        directory.set_fault(Fault::None);
        let index = Index::open_in(Arc::new(directory), keeping(DAY)).expect("opens");
        for (number, expected) in (0..).zip(&seen) {
            let state = index.generation(At::Generation(number)).expect("kept");
            assert_eq!(&observe(&state), expected, "call {step} was refused");
        }
    }
}
