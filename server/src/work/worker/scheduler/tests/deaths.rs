//! Tasks that kill the process, and those that only stand near.

use super::*;

/// A process that begins after another and dies while it carries out its next batch, whose tasks it returns.
fn dies(server: &Server, alone: bool, is_long: bool) -> Vec<u32> {
    let mut worker = started(server, alone);
    let Some(mut plan) = worker.plan().unwrap() else { return Vec::new() };
    if let Some(attempt) = worker.prepare(&mut plan).filter(|_| is_long) {
        crash_loop::note(&server.queue, Some(&Attempt { is_long, ..attempt }));
    }
    plan.tasks.iter().map(|task| task.uid).collect()
}

fn started(server: &Server, alone: bool) -> Worker {
    let mut worker = Worker { crash_loop: CrashLoopGuard::begin(&server.queue).unwrap(), ..server.worker() };
    if let (Some(guard), false) = (&mut worker.crash_loop, alone) {
        guard.separates_only_suspects();
    }
    worker.recover().unwrap();
    worker.fail_guilty().unwrap();
    worker
}

/// Carries out so many batches.
fn goes_on(worker: &mut Worker, batches: usize) -> Vec<Vec<u32>> {
    let mut done = Vec::new();
    while done.len() < batches
        && let Some(mut plan) = worker.plan().unwrap()
    {
        worker.prepare(&mut plan);
        done.push(plan.tasks.iter().map(|task| task.uid).collect());
        worker.process(plan);
        crash_loop::note(&worker.queue, None);
    }
    done
}

#[test]
fn a_task_that_kills_twice_fails_alone() {
    for is_long in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let server = Server::open(folder.path());
        for id in 0..3 {
            server.add("films", &[document(id)]);
        }
        assert_eq!(dies(&server, true, is_long), [0, 1, 2], "nothing was known");
        assert_eq!(dies(&server, true, is_long), [0], "one after another");
        if !is_long {
            assert_eq!(dies(&server, true, is_long), [0], "who was killed at once may be innocent");
        }
        let mut worker = started(&server, true);
        assert_eq!(server.code(0), "internal");
        assert!(server.task(0)["error"]["message"].as_str().unwrap().contains("ended more than once"));
        assert_eq!(goes_on(&mut worker, 9), [[1], [2]]);
        assert_eq!(server.document_count("films"), 2);
        server.add("films", &[document(3)]);
        server.add("films", &[document(4)]);
        assert_eq!(goes_on(&mut worker, 9), [[3, 4]], "what came later is not watched");
        assert_eq!(dies(&server, true, is_long), [0; 0], "nothing is left");
    }
}

#[test]
fn who_is_killed_from_outside_has_not_died_of_a_task() {
    let folder = tempfile::tempdir().unwrap();
    let Server { queue, instance } = Server::open(folder.path());
    let Ok(queue) = Arc::try_unwrap(queue) else { panic!("nothing else has it") };
    let server = Server { queue: Arc::new(queue.after_abort(false)), instance };
    server.add("films", &[document(0)]);
    // One without a trace, then some that were written down.
    for _ in 0..8 {
        assert_eq!(dies(&server, true, true), [0], "it is killed in a loop");
    }
    // What leaves no sign ends, too.
    assert_eq!(dies(&server, true, true), [0]);
    drop(started(&server, true));
    assert_eq!(server.code(0), "internal");
}

#[test]
fn a_batch_that_kills_is_taken_apart() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::open(folder.path());
    for id in 0..4 {
        server.add("films", &[document(id)]);
    }
    assert_eq!(dies(&server, false, true), [0, 1, 2, 3]);
    assert_eq!(dies(&server, false, true), [0, 1, 2, 3], "too many to take it apart at once");
    let mut worker = started(&server, false);
    assert_eq!(goes_on(&mut worker, 1), [[0]]);
    let mut plan = worker.plan().unwrap().unwrap();
    let attempt = worker.prepare(&mut plan).unwrap();
    assert_eq!(attempt.tasks, [1], "suspects are not put together");
    crash_loop::note(&server.queue, Some(&Attempt { is_long: true, ..attempt }));
    drop(worker);
    let mut worker = started(&server, false);
    assert_eq!(server.code(1), "internal");
    assert_eq!(goes_on(&mut worker, 9), [[2, 3]]);
    assert_eq!(server.document_count("films"), 3);
}

#[test]
fn who_is_asked_to_end_or_got_on_has_not_died_of_a_task() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::open(folder.path());
    server.add("films", &[document(1)]);
    for _ in 0..5 {
        assert_eq!(dies(&server, true, true), [0]);
        server.queue.store().process_ends().unwrap();
    }
    drop(started(&server, true));
    for round in 0..5 {
        assert_eq!(goes_on(&mut started(&server, true), 9), [[round]], "it dies after it has done something");
        server.add("films", &[document(round)]);
    }
    assert_eq!(goes_on(&mut started(&server, true), 9), [[5]]);
    for uid in 0..6 {
        assert_eq!(server.task(uid)["status"], "succeeded");
    }
}
