//! Which rules have their time: a bitmap that is right between two instants at which it changes.

use std::sync::Arc;

use lamina_engine::bits::DocSet;
use lamina_protocol::wire::rules::TimeWindow;
use parking_lot::Mutex;

/// A rule's time begins or ends.
#[derive(Clone, Copy, Debug)]
struct Change {
    /// The first instant of the new state, in nanoseconds since 1970.
    at: i64,
    rule: u32,
    begins: bool,
}

/// The times of rules. What it says of the present is kept, and changed as time passes.
#[derive(Debug)]
pub(super) struct Timetable {
    /// Sorted.
    changes: Vec<Change>,
    now: Mutex<ActiveRules>,
}

#[derive(Debug)]
struct ActiveRules {
    /// So many changes have happened.
    happened: usize,
    /// A bit for each rule.
    bits: Vec<u64>,
    rules: Arc<DocSet>,
}

impl Timetable {
    /// One window for each rule, in the order of their numbers.
    pub(super) fn new<'a>(windows: impl Iterator<Item = Option<&'a TimeWindow>>) -> Timetable {
        let (mut changes, mut bits) = (Vec::new(), Vec::new());
        for (rule, window) in (0..).zip(windows) {
            let start = window.and_then(|window| window.start).map(|start| start.nanos());
            let end = window.and_then(|window| window.end).map(|end| end.nanos());
            changes.extend(start.map(|at| Change { at, rule, begins: true }));
            changes.extend(end.map(|end| Change { at: end.saturating_add(1), rule, begins: false }));
            if bits.len() <= rule as usize / 64 {
                bits.push(0);
            }
            set(&mut bits, rule, start.is_none());
        }
        changes.sort_by_key(|change| change.at);
        let rules = Arc::new(DocSet::from_words(bits.clone()));
        Timetable { changes, now: Mutex::new(ActiveRules { happened: 0, bits, rules }) }
    }

    /// Returns the number of changes that have happened by an instant. Instants with the same number have the same
    /// rules.
    pub(super) fn happened(&self, at: i64) -> usize {
        self.changes.partition_point(|change| change.at <= at)
    }

    /// The rules that have their time at an instant. Cost: the changes since the instant that was asked for last.
    pub(super) fn at(&self, at: i64) -> Arc<DocSet> {
        let happened = self.happened(at);
        let mut state = self.now.lock();
        if state.happened != happened {
            let ActiveRules { happened: before, bits, rules } = &mut *state;
            // Searches arrive a little out of order, and clocks are set back: changes are undone as well.
            for change in self.changes.iter().take(happened).skip(*before) {
                set(bits, change.rule, change.begins);
            }
            for change in self.changes.iter().take(*before).skip(happened).rev() {
                set(bits, change.rule, !change.begins);
            }
            *rules = Arc::new(DocSet::from_words(bits.clone()));
            *before = happened;
        }
        Arc::clone(&state.rules)
    }
}

fn set(bits: &mut [u64], rule: u32, is_set: bool) {
    let (word, bit) = (&mut bits[rule as usize / 64], 1 << (rule % 64));
    if is_set { *word |= bit } else { *word &= !bit }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn windows_open_and_close_in_both_directions() {
        let window = |start: Option<&str>, end: Option<&str>| -> TimeWindow {
            serde_json::from_value(json!({"start": start, "end": end})).unwrap()
        };
        let windows = [
            None,
            Some(window(Some("1970-01-01T00:00:00.000000010Z"), None)),
            Some(window(None, Some("1970-01-01T02:00:00.000000020+02:00"))),
            Some(window(Some("1970-01-01T00:00:00.000000020Z"), Some("1970-01-01T00:00:00.000000020Z"))),
            Some(window(None, None)),
        ];
        let table = Timetable::new(windows.iter().map(Option::as_ref));
        for (at, rules) in [
            (9, vec![0, 2, 4]),
            (10, vec![0, 1, 2, 4]),
            (20, vec![0, 1, 2, 3, 4]),
            (21, vec![0, 1, 4]),
            (20, vec![0, 1, 2, 3, 4]),
            (0, vec![0, 2, 4]),
            (i64::MAX, vec![0, 1, 4]),
            (10, vec![0, 1, 2, 4]),
        ] {
            assert_eq!(table.at(at).to_vec(), rules, "{at}");
        }
        assert_eq!((table.happened(10), table.happened(19), table.happened(20)), (1, 1, 2));
    }
}
