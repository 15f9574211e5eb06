//! State of the process or of a thread: which there is, and why it is none of an index, a request or a server.

use super::{none, sources};

/// Statics of the engine.
const OF_THE_ENGINE: [(&str, &str); 8] = [
    // The dictionary of another crate, which is read once for a process.
    ("engine/text/src/text/segment.rs", "CHINESE_IS_READ"),
    // A source of numbers that are different.
    ("engine/segment/src/segment/store/reader.rs", "NEXT_IDENTITY"),
    // What a thread has at hand: buffers, and the block that it has read last.
    ("engine/segment/src/segment/store/reader.rs", "LAST_BLOCK"),
    ("engine/segment/src/segment/store/compress.rs", "DECOMPRESSOR"),
    ("engine/segment/src/document/vectors.rs", "PARSING"),
    // Another crate calls back without a place to put the depth.
    ("engine/index/src/index/embedding/bounded/blocks.rs", "LEVEL"),
    ("engine/index/src/index/embedding/bounded/blocks.rs", "IS_EXCEEDED"),
    // A flag that is never set.
    ("engine/segment/src/segment/writer/mod.rs", "NEVER"),
];

/// Statics of the server.
const OF_THE_SERVER: [(&str, &str); 19] = [
    // How a process speaks: set once by what starts it, before anything is said.
    ("server/base/src/console.rs", "SAYS_JSON"),
    ("server/base/src/logs/mod.rs", "HANDLES"),
    ("server/base/src/logs/redaction.rs", "SECRETS"),
    // A signal handler has no place for anything else.
    ("server/base/src/crash_mark.rs", "MARK"),
    // The allocator of the process, and what each thread holds of it.
    ("server/base/src/memory.rs", "HELD_BYTES"),
    ("server/base/src/memory.rs", "PUBLISHED_BYTES"),
    ("server/base/src/memory.rs", "FREE"),
    ("server/base/src/memory.rs", "STATM"),
    ("server/base/src/memory.rs", "IS_GIVEN_BACK"),
    // What a thread has at hand.
    ("server/src/http/compress.rs", "ZSTD"),
    // What is made once and never changes: patterns, a header, the description, pages, the index of the manual.
    ("server/base/src/logs/redaction.rs", "PATTERNS"),
    ("server/protocol/src/wire/search/parameters/lists.rs", "LISTS"),
    ("server/src/api/table.rs", "TEXT"),
    ("server/src/api/page/mod.rs", "PAGE"),
    ("server/src/api/docs/mod.rs", "VIEWER"),
    ("server/src/api/docs/mod.rs", "INDEX"),
    // Of the request that a task of the runtime answers: between them are routes that need not know.
    ("server/src/http/requests/metadata.rs", "OF_REQUEST"),
    ("server/src/http/requests/replication.rs", "OF_REQUEST"),
    // Where allocations are made.
    ("server/cli/src/main.rs", "ALLOCATOR"),
];

/// The statics of a crate, by file and name: all of them, whatever they hold.
fn statics(folder: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for source in sources("rs").iter().filter(|source| source.path.starts_with(folder) && !source.is_test()) {
        for (_, line) in source.code() {
            let is_declared =
                |before: &str| ["", "pub "].contains(&before) || (before.starts_with("pub(") && before.ends_with(") "));
            let name = line.split_once("static ").filter(|(before, _)| is_declared(before));
            let name = name.and_then(|(_, rest)| rest.split_once(": "));
            found.extend(name.map(|(name, _)| (source.path.clone(), name.to_owned())));
        }
    }
    found
}

#[track_caller]
fn check(folder: &str, allowed: &[(&str, &str)], holds_state: impl Fn(&str, &str) -> bool) {
    let found = statics(folder);
    let is_listed = |path: &str, name: &str| allowed.contains(&(path, name));
    let unlisted = found.iter().filter(|(path, name)| holds_state(path, name) && !is_listed(path, name));
    let mut violations: Vec<String> =
        unlisted.map(|(path, name)| format!("{path}: `{name}` is state of the process")).collect();
    let is_there = |path: &str, name: &str| found.iter().any(|(p, n)| p == path && n == name);
    let gone = allowed.iter().filter(|(path, name)| !is_there(path, name));
    violations.extend(gone.map(|(path, name)| format!("{path}: `{name}` is gone: take it from the list")));
    none(violations);
}

/// Checks that the engine has no state of the process. State shared by indexes is in their options, and caches of
/// queries are next to the segments. Constant tables are not state.
#[test]
fn the_engine_has_no_state_of_the_process() {
    let sources = sources("rs");
    let holds_state = |path: &str, name: &str| {
        let source = sources.iter().find(|source| source.path == path).expect("it was found there");
        let declared = format!("static {name}: ");
        let mut of_name = source.code().filter_map(|(_, line)| Some(line.split_once(&declared)?.1.to_owned()));
        of_name.any(|rest| ["Mutex", "RwLock", "Atomic", "OnceLock", "Cell<"].iter().any(|word| rest.contains(word)))
    };
    check("engine/", &OF_THE_ENGINE, holds_state);
}

/// Checks that the server has no state of the process. State shared by requests is passed on with that of the
/// server.
#[test]
fn the_server_has_no_state_of_the_process() {
    check("server/", &OF_THE_SERVER, |_, _| true);
}
