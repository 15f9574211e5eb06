//! Rules of before, each of which has lost something. Schedules that have one of them again find that: the proof can fail.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use super::{KINDS, number, schedule};

/// A rule that the program had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Old {
    /// The published folder is filled again after an attempt that failed, whatever is in it.
    Folder,
    /// Ids of segments go on from those that a followed state has.
    Ids,
    /// States are numbered from the one before, whichever server makes them.
    Numbers,
    /// All numbers up to that of the last merge are the state that was merged.
    Between,
    /// A file is fetched over one that a kept state has under the same name.
    Fetched,
    /// A file is not fetched where one is that a reader removes when it ends.
    Left,
    /// A reader that ends removes what has the name of its file.
    Guards,
    /// A server that starts takes a store without roots for an empty one.
    Known,
    /// A writer that runs does not look whether its store is still there.
    Anchor,
    /// A writer that runs looks whether its store is there, and writes to what is there a moment later.
    Looked,
}

/// Rules that are in force again, what the schedules say that find it, and the first of them.
const FOUND: [(&[Old], &str, u64); 10] = [
    (&[Old::Folder], "is followed, and in another state", 96),
    (&[Old::Ids], "File exists", 1420),
    (&[Old::Ids, Old::Guards], "is gone", 957),
    (&[Old::Ids, Old::Fetched], "was another one", 4541),
    (&[Old::Left], "is gone", 12),
    (&[Old::Known], "is believed to be published", 7),
    (&[Old::Anchor], "is believed to be published", 28),
    (&[Old::Looked], "is believed to be published", 333),
    (&[Old::Numbers], "was another one", 6),
    (&[Old::Between], "was another one", 6),
];

/// Schedules of the same kind that are enough for each, if the model has changed.
const WITHIN: usize = 300;

/// Returns the first of these schedules that fails with `text`.
fn first_failure(old: &'static [Old], text: &str, mut schedules: impl Iterator<Item = u64>) -> Option<u64> {
    let base = Instant::now();
    schedules.find(|seed| {
        let run = catch_unwind(AssertUnwindSafe(|| schedule(*seed, (base, old), false)));
        let said = run.err().map(|panic| match panic.downcast::<String>() {
            Ok(said) => *said,
            Err(panic) => panic.downcast_ref::<&str>().map_or(String::new(), |said| (*said).to_owned()),
        });
        said.is_some_and(|said| said.contains(text))
    })
}

#[test]
fn each_rule_of_before_is_found() {
    let found = FOUND.map(|(old, text, first)| {
        let found = match number("LAMINA_SCHEDULES") {
            Some(count) => first_failure(old, text, 0..count),
            None => first_failure(old, text, (first..).step_by(KINDS).take(WITHIN)),
        };
        println!("{old:?}: `{text}` in schedule {found:?}");
        found
    });
    assert!(found.iter().all(Option::is_some), "{found:?}");
}
