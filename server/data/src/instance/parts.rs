//! All that a database consists of, and what takes each part along. A new file, folder or table needs a line here: tests
//! compare the list with a folder that a server has written, and with `database-format.md`.

use Travels::{As, Stays, Whole};

/// Form in which a part of a database is transferred to another server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Travels {
    /// Unchanged, byte by byte or row by row.
    Whole,
    /// In another form: where.
    As(&'static str),
    /// Not at all: why.
    Stays(&'static str),
}

/// A file or a folder in the database folder, or a table of `tasks.sqlite`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    /// Name; a table has that of the database and a slash in front.
    pub name: &'static str,
    pub(crate) in_snapshots: Travels,
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "for people, and for the tests that compare the list with the page")
    )]
    pub(crate) in_dumps: Travels,
    /// To servers that follow, and with them to the next writer.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "for people, and for the tests that compare the list with the page")
    )]
    pub(crate) to_replicas: Travels,
}

const fn part(name: &'static str, in_snapshots: Travels, in_dumps: Travels, to_replicas: Travels) -> Part {
    Part { name, in_snapshots, in_dumps, to_replicas }
}

/// A part that stays with this folder, for one reason.
const fn own(name: &'static str, why: &'static str) -> Part {
    part(name, Stays(why), Stays(why), Stays(why))
}

const OF_PROCESS: &str = "of the process";
const CACHE: &str = "a cache";

/// By name.
pub(crate) const PARTS: &[Part] = &[
    part("VERSION", Whole, As("`metadata.json`"), Stays("each server has its program")),
    own("asked-queries.json", "what users ask is counted and kept where they ask"),
    own("before-upgrade", "what an older version left, until the next start"),
    part("chats.json", Whole, As("`chats.json`"), As("`chats` of the carried object")),
    own("crashed", OF_PROCESS),
    own("embeddings", CACHE),
    part(
        "events",
        As("the same, unless `--events-in-backups none`"),
        As("`lamina/events/`, with `--events-in-backups all`"),
        Stays("what people did stays where they did it"),
    ),
    part(
        "experimental-features.json",
        Whole,
        As("`experimental-features.json`"),
        As("`features` of the carried object"),
    ),
    part(
        "experiments.json",
        Whole,
        As("`lamina/experiments.json`, with `--events-in-backups all`"),
        Stays("what people did stays where they did it"),
    ),
    own("import-unfinished", OF_PROCESS),
    part("indexes", Whole, As("`indexes/`"), As("`indexes` of the root")),
    part("instance-uid", Whole, As("`instance_uid.uuid`"), Stays("each server has its own")),
    own("lock", OF_PROCESS),
    own("models", "they are fetched, or put there"),
    part("network.json", Whole, As("`network.json`"), As("`network` of the carried object")),
    part("payloads", Whole, As("`tasks/update_files/`"), As("the journal, with `--durability store`")),
    own("quarantine", "it is not used"),
    own("replica.json", "what this folder has"),
    own("store.json", "what this folder has published"),
    part("tasks.sqlite", Whole, As("see its tables"), As("see its tables")),
    part("tasks.sqlite/aliases", Whole, As("`aliases.jsonl`"), As("`aliases` of the carried object")),
    part("tasks.sqlite/api_keys", Whole, As("`keys.jsonl`"), As("`keys` of the root")),
    part(
        "tasks.sqlite/background",
        Whole,
        As("its tasks have ended in `tasks/queue.jsonl`"),
        Stays("the next writer makes the vectors that documents wait for"),
    ),
    part("tasks.sqlite/batches", Whole, As("`batches/queue.jsonl`"), Stays("what the writer has done")),
    part(
        "tasks.sqlite/folder_intents",
        Whole,
        Stays("folders have other names there"),
        Stays("folders have other names there"),
    ),
    part("tasks.sqlite/indexes", Whole, As("`indexes/`"), As("`indexes` of the root")),
    part("tasks.sqlite/payloads", Whole, As("`tasks/update_files/`"), As("the journal, with `--durability store`")),
    part("tasks.sqlite/process", Whole, Stays(OF_PROCESS), Stays(OF_PROCESS)),
    part("tasks.sqlite/search_rules", Whole, As("the index `.meili_dsr`"), As("`rules` of the carried object")),
    part(
        "tasks.sqlite/tasks",
        Whole,
        As("`tasks/queue.jsonl`"),
        As("waiting ones: the journal, with `--durability store`"),
    ),
    part(
        "tasks.sqlite/uids_passed_over",
        Whole,
        Stays("its tasks have their uids"),
        As("`nextTask` and `nextBatch` of the root"),
    ),
    part("tasks.sqlite/webhooks", Whole, As("`webhooks.json`"), As("`webhooks` of the carried object")),
    own("unpacked-snapshot", OF_PROCESS),
];

/// Returns whether a snapshot takes along what has this name at the top of the folder. What is not ours is taken along.
pub fn is_in_snapshots(name: &str) -> bool {
    PARTS.iter().find(|part| part.name == name).is_none_or(|part| part.in_snapshots == Whole)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fmt::Write;

    use super::*;

    fn shown(travels: Travels) -> String {
        match travels {
            Whole => "as it is".to_owned(),
            As(place) => place.to_owned(),
            Stays(why) => format!("no: {why}"),
        }
    }

    const HEAD: &str = "| part | in a snapshot | in a dump | to replicas and new writers |\n|---|---|---|---|\n";

    /// `UPDATE=1` writes it.
    #[test]
    fn the_page_has_the_list() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../database-format.md");
        let page = std::fs::read_to_string(path).unwrap();
        let mut table = String::new();
        for part in PARTS {
            let [snapshot, dump, replicas] = [part.in_snapshots, part.in_dumps, part.to_replicas].map(shown);
            writeln!(table, "| `{}` | {snapshot} | {dump} | {replicas} |", part.name).unwrap();
        }
        let (before, rest) = page.split_once(HEAD).expect("the table");
        let end = rest.find("\n\n").map_or(rest.len(), |end| end + 1);
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(path, format!("{before}{HEAD}{table}{}", &rest[end..])).unwrap();
            return;
        }
        assert_eq!(&rest[..end], table, "UPDATE=1 writes it");
    }

    #[test]
    fn the_list_is_in_order_and_has_each_part_once() {
        let names: Vec<&str> = PARTS.iter().map(|part| part.name).collect();
        let sorted: BTreeSet<&str> = names.iter().copied().collect();
        assert_eq!(names, sorted.into_iter().collect::<Vec<_>>());
    }

    #[test]
    fn snapshots_leave_out_what_belongs_to_the_folder() {
        for (name, is_in) in [("chats.json", true), ("store.json", false), ("crashed", false), ("notes.txt", true)] {
            assert_eq!(is_in_snapshots(name), is_in, "{name}");
        }
    }
}
