//! The power goes at each sync in turn, the disk is full at each write in turn. Whatever the moment, the index found
//! afterwards is the one before the interrupted step or the one after it.

use lamina_segment::storage::{Fault, FaultyDirectory, MemoryDirectory, Survival};
use serde_json::json;

use super::super::verify::verify_directory;
use super::*;

/// A life of an index: `observed` sees every state that was reached. Stops at the first error.
fn live(directory: &FaultyDirectory, observed: impl FnMut(Observed)) -> Result<(), IndexError> {
    live_trying(directory, 1, observed)
}

/// Works like [`live`], but makes up to `attempts` attempts at calls that fail with a transient error.
fn live_trying(
    directory: &FaultyDirectory,
    attempts: usize,
    mut observed: impl FnMut(Observed),
) -> Result<(), IndexError> {
    let index = trying(attempts, || Index::create_in(Arc::new(directory.clone()), options()))?;
    observed(observe(&index.snapshot()));
    let many: Vec<Value> = (10..40).map(|id| json!({"id": id, "title": format!("film {id}"), "n": id % 3})).collect();
    let batches: Vec<Vec<Operation>> = vec![
        vec![add(&[json!({"id": 1, "title": "one"}), json!({"id": 2, "title": "two"})])],
        vec![settings(json!({"filterableAttributes": ["n"]}))],
        vec![add(&many)],
        vec![update(&[json!({"id": 12, "extra": true})]), delete(&["1", "13"])],
        vec![settings(json!({"filterableAttributes": ["n", "title"], "separatorTokens": []}))],
        vec![settings(json!({"separatorTokens": ["zz"]}))],
        vec![settings(json!({"searchableAttributes": ["title", "id"]}))],
        vec![Operation::UpdateValues(payload(&[
            json!({"id": "12", "increment": {"n": 5}, "set": {"isNew": true}}),
            json!({"id": "14", "increment": {"n": 1}}),
        ]))],
        vec![Operation::UpdateValues(payload(&[json!({"id": "14", "increment": {"n": 1}})]))],
        vec![add(&[json!({"id": 50})])],
    ];
    for (batch, operations) in (0..).zip(&batches) {
        trying(attempts, || try_apply(&index, batch, operations))?;
        observed(observe(&index.snapshot()));
    }
    trying(attempts, || index.compact(&AtomicBool::new(false)))?;
    observed(observe(&index.snapshot()));
    trying(attempts, || try_apply(&index, 99, &[Operation::Clear]))?;
    observed(observe(&index.snapshot()));
    Ok(())
}

fn trying<T>(attempts: usize, mut act: impl FnMut() -> Result<T, IndexError>) -> Result<T, IndexError> {
    for _ in 1..attempts {
        match act() {
            Err(error) if error.is_momentary() => {}
            other => return other,
        }
    }
    act()
}

#[test]
fn whatever_call_the_system_refuses_once_is_no_harm_when_tried_again() {
    let (states, whole) = all_states();
    let call_count = whole.call_count();
    assert!(call_count > 80, "{call_count} calls");
    // EINTR, EIO, EAGAIN, ENOMEM, EBUSY, ENFILE, EMFILE, ENOSPC, EDQUOT
    for (step, number) in (0..call_count).zip([4, 5, 11, 12, 16, 23, 24, 28, 122].into_iter().cycle()) {
        let directory = FaultyDirectory::new(Fault::RefusalAtCall(step, number));
        let mut reached = Vec::new();
        live_trying(&directory, 2, |state| reached.push(state))
            .unwrap_or_else(|error| panic!("call {step} was refused with {number}: {error:?}"));
        assert_eq!(reached, states, "call {step} was refused with {number}");
        directory.set_fault(Fault::None);
        let index = open(directory.after_crash(Survival::SyncedOnly));
        assert_eq!(Some(&observe(&index.snapshot())), states.last(), "call {step} was refused with {number}");
        index.verify().expect("whole");
    }
}

#[test]
fn a_manifest_that_cannot_be_read_for_a_moment_is_not_passed_over() {
    // A crash between the commit of a manifest and the removal of the one before leaves both.
    let (states, whole) = all_states();
    let last = whole.sync_count() - 1;
    let directory = FaultyDirectory::new(Fault::PowerLossAtSync(last));
    live(&directory, |_| {}).expect_err("the power is gone");
    let files = directory.after_crash(Survival::Everything);
    let manifests = files.list().expect("a list").iter().filter(|name| name.starts_with("manifest-")).count();
    assert_eq!(manifests, 2, "the old one and the new one");
    let newest = observe(&open(MemoryDirectory::clone(&files)).snapshot());
    assert_eq!(Some(&newest), states.last());
    let calls = {
        let directory = FaultyDirectory::holding(&directory.after_crash(Survival::Everything)).expect("files");
        Index::open_in(Arc::new(directory.clone()), options()).expect("opens");
        directory.call_count()
    };
    for step in 0..calls {
        let files = directory.after_crash(Survival::Everything);
        let directory = FaultyDirectory::holding(&files).expect("files");
        directory.set_fault(Fault::RefusalAtCall(step, 24));
        let opened = Index::open_in(Arc::new(directory.clone()), options());
        if let Err(error) = &opened {
            assert!(error.is_momentary(), "{error}");
        }
        drop(opened);
        directory.set_fault(Fault::None);
        let index = Index::open_in(Arc::new(directory), options()).expect("opens");
        assert_eq!(observe(&index.snapshot()), newest, "call {step} was refused");
    }
}

fn all_states() -> (Vec<Observed>, FaultyDirectory) {
    let directory = FaultyDirectory::new(Fault::None);
    let mut states = Vec::new();
    live(&directory, |state| states.push(state)).expect("no fault");
    (states, directory)
}

fn open(files: MemoryDirectory) -> Index {
    Index::open_in(Arc::new(files), options()).expect("a state to return to")
}

#[test]
fn a_power_loss_at_any_sync_leaves_the_state_before_or_after() {
    let (states, whole) = all_states();
    let sync_count = whole.sync_count();
    assert!(sync_count > 25, "{sync_count} syncs");
    for step in 0..sync_count {
        for survival in [Survival::SyncedOnly, Survival::Everything] {
            let directory = FaultyDirectory::new(Fault::PowerLossAtSync(step));
            let mut reached = 0;
            live(&directory, |_| reached += 1).expect_err("the power is gone");
            let files = directory.after_crash(survival);
            if reached == 0 && Index::open_in(Arc::new(files.clone()), options()).is_err() {
                continue;
            }
            let index = open(files.clone());
            let found = observe(&index.snapshot());
            let before = reached.max(1) - 1;
            assert!(
                found == states[before] || Some(&found) == states.get(reached),
                "power lost at sync {step} ({survival:?}) after {reached} states: found\n{found:#?}"
            );
            index.verify().expect("whole");
            assert_only_named_files(&files, &index);
            apply(&index, &[add(&[json!({"id": 7, "title": "life goes on"})])]);
            assert_eq!(ids_with_word(&index.snapshot(), "goes"), ["7"]);
        }
    }
}

#[test]
fn a_full_disk_at_any_write_changes_nothing_and_room_heals() {
    let (states, whole) = all_states();
    let write_count = whole.write_count();
    for step in 0..write_count {
        let directory = FaultyDirectory::new(Fault::NoSpaceAtWrite(step));
        let mut reached = 0;
        let error = live(&directory, |_| reached += 1).expect_err("the disk is full");
        assert!(error.is_out_of_space(), "{error}");
        if reached == 0 {
            continue;
        }
        directory.set_fault(Fault::None);
        let index = Index::open_in(Arc::new(directory.clone()), options()).expect("opens");
        assert_eq!(observe(&index.snapshot()), states[reached - 1], "disk full at write {step}");
        apply(&index, &[add(&[json!({"id": 7})])]);
    }
}

#[test]
fn a_failed_batch_leaves_a_running_index_as_it_was() {
    let directory = FaultyDirectory::new(Fault::None);
    let index = create_faulty(&directory);
    apply(&index, &[add(&[json!({"id": 1, "title": "one"})]), settings(json!({"sortableAttributes": ["n"]}))]);
    apply(&index, &[add(&[json!({"id": 2, "title": "two"})])]);
    let before = observe(&index.snapshot());
    let files = directory.list().expect("lists");
    directory.set_fault(Fault::NoSpaceAtWrite(0));
    let batch = [add(&[json!({"id": 3})]), settings(json!({"sortableAttributes": ["title"]}))];
    assert!(try_apply(&index, 50, &batch).expect_err("full").is_out_of_space());
    assert!(index.compact(&AtomicBool::new(false)).expect_err("full").is_out_of_space());
    let status = index.merge_status();
    assert!(status.out_of_space);
    assert!(status.last_error.is_some());
    assert_eq!(observe(&index.snapshot()), before);
    directory.set_fault(Fault::None);
    assert_eq!(directory.list().expect("lists"), files, "nothing is left behind");
    try_apply(&index, 50, &batch).expect("there is room again");
    index.compact(&AtomicBool::new(false)).expect("there is room again");
    assert_eq!(index.merge_status().last_error, None);
    assert_eq!(index.snapshot().document_count(), 3);
}

#[test]
fn a_damaged_newest_manifest_gives_way_to_none() {
    let directory = FaultyDirectory::new(Fault::None);
    let index = create_faulty(&directory);
    apply(&index, &[add(&[json!({"id": 1})])]);
    // As after a crash between the commit and the removal of what came before.
    let older = directory.after_crash(Survival::Everything);
    apply(&index, &[add(&[json!({"id": 2})])]);
    let newer = directory.after_crash(Survival::Everything);
    let manifest = newer.list().expect("lists").into_iter().find(|name| name.starts_with("manifest-")).expect("one");
    let bytes = newer.open_read(&manifest).expect("reads");
    for directory in [&older, &newer] {
        directory.atomic_write(&manifest, &bytes[..bytes.len() / 2]).expect("writes");
        let files = directory.list().expect("lists");
        let error = Index::open_in(Arc::new(directory.clone()), options()).expect_err("damaged");
        assert!(matches!(error, IndexError::CorruptManifest { .. }), "{error}");
        assert_eq!(directory.list().expect("lists"), files, "nothing is removed");
        let damages = verify_directory(directory, false, &()).expect("a list of damages").damages;
        assert!(matches!(&damages[..], [IndexError::CorruptManifest { .. }]), "{damages:?}");
    }
}

/// A commit that failed has removed its segments; its manifest may be there all the same.
#[test]
fn a_manifest_of_a_failed_commit_gives_way_to_the_one_before() {
    let directory = MemoryDirectory::default();
    let index = create(&directory);
    apply(&index, &[add(&[json!({"id": 1})])]);
    let before = observe(&index.snapshot());
    let kept: Vec<String> = directory.list().expect("lists");
    let contents: Vec<Vec<u8>> = kept.iter().map(|name| directory.open_read(name).expect("reads").to_vec()).collect();
    apply(&index, &[add(&[json!({"id": 2})])]);
    drop(index);
    for (name, bytes) in kept.iter().zip(&contents) {
        directory.overwrite(name, bytes.clone());
    }
    for name in directory.list().expect("lists") {
        if name.starts_with("seg-") && !kept.contains(&name) {
            directory.delete(&name).expect("removes");
        }
    }
    let index = open(directory.clone());
    assert_eq!(observe(&index.snapshot()), before);
    assert_only_named_files(&directory, &index);
}

#[test]
fn a_manifest_from_the_future_is_not_passed_over() {
    let directory = MemoryDirectory::default();
    let index = create(&directory);
    apply(&index, &[add(&[json!({"id": 1})])]);
    drop(index);
    let mut bytes = b"LAMINAMF".to_vec();
    bytes.extend_from_slice(&9_u32.to_le_bytes());
    directory.atomic_write(&super::super::manifest::manifest_name(1000), &bytes).expect("writes");
    let error = Index::open_in(Arc::new(directory), options()).expect_err("refused");
    assert!(matches!(error, IndexError::ManifestTooNew { found: 9, .. }));
}

fn create_faulty(directory: &FaultyDirectory) -> Index {
    Index::create_in(Arc::new(directory.clone()), options()).expect("no fault yet")
}

fn assert_only_named_files(directory: &MemoryDirectory, index: &Index) {
    let snapshot = index.snapshot();
    let segment_files = snapshot.segments.iter().flat_map(|segment| segment.reader.meta().files());
    let mut named: Vec<String> = segment_files.map(|file| file.name.clone()).collect();
    named.push(super::super::manifest::manifest_name(snapshot.generation));
    named.sort();
    assert_eq!(directory.list().expect("lists"), named);
}
