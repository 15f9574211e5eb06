//! Where threads start.

use super::{none, sources};

/// Files of the engine that start threads: what an index does behind requests, what indexes share,
/// and the wait for the disk.
const STARTS_THREADS: [&str; 4] = [
    "engine/index/src/index/merge_thread.rs",
    "engine/index/src/index/transaction/threads.rs",
    "engine/index/src/runtime/mod.rs",
    "engine/segment/src/storage/steady.rs",
];

/// Modules that may run in parallel, on the threads that they are called on.
const RUNS_IN_PARALLEL: [&str; 6] = ["facet", "index", "query", "rank", "runtime", "search"];

#[test]
fn the_engine_starts_threads_where_it_says() {
    const STARTS: [&str; 5] =
        ["thread::Builder", "thread::spawn", "thread::scope", "ThreadPoolBuilder", "rayon::spawn"];
    let mut violations = Vec::new();
    for source in sources("rs").iter().filter(|source| source.path.starts_with("engine/") && !source.is_test()) {
        let Some((_, inside)) = source.path.split_once("/src/") else { continue };
        let module = inside.split(['/', '.']).next().expect("a module");
        for (number, line) in source.code() {
            let starts =
                STARTS.iter().any(|start| line.contains(start)) && !STARTS_THREADS.contains(&source.path.as_str());
            let shares = ["rayon::", "par_iter", "par_chunks"].iter().any(|word| line.contains(word));
            if starts || (shares && !RUNS_IN_PARALLEL.contains(&module)) {
                violations.push(format!("{}:{number}: {line}", source.path));
            }
        }
    }
    none(violations);
}
