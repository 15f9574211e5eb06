//! What was asked before, as a source of completions: how often each query was sent, by index, for indexes that ask for it.
//!
//! Counts and nothing else are kept: not who asked, not when. They stay in the database folder; no figure, dump or snapshot
//! has them.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use lamina_data::durably::write_durably;
use lamina_data::instance::read_state_or_default;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

const FILE: &str = "asked-queries.json";
/// Queries of an index that are counted at the same time. Where there are more, those that were asked once go.
const QUERIES_MAX: usize = 10_000;
/// Indexes whose queries are counted.
const INDEXES_MAX: usize = 100;
/// Bytes of a query: a longer one is none that another person types.
const QUERY_BYTES_MAX: usize = 100;

/// The counts of all indexes, and the file that remembers them.
#[derive(Debug)]
pub(crate) struct QueryLog {
    folder: PathBuf,
    state: Mutex<QueryCounts>,
}

#[derive(Debug, Default)]
struct QueryCounts {
    indexes: HashMap<String, OfIndex>,
    has_changed: bool,
}

/// The queries of one index.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct OfIndex {
    /// Creation time of the index, in nanoseconds since 1970. Another index of the same name has other queries.
    created_at: i64,
    queries: HashMap<String, u32>,
}

impl OfIndex {
    fn add(&mut self, query: String) {
        if self.queries.len() >= QUERIES_MAX && !self.queries.contains_key(&query) {
            // What is asked again and again stays.
            self.queries.retain(|_, count| {
                *count /= 2;
                *count > 0
            });
        }
        if self.queries.len() < QUERIES_MAX {
            let count = self.queries.entry(query).or_default();
            *count = count.saturating_add(1);
        }
    }
}

/// The form in which queries are equal: lower case, one space between words. `None` for what completes nothing: long texts,
/// phrases and excluded words.
fn plain(query: &str) -> Option<String> {
    if query.len() > QUERY_BYTES_MAX || query.contains('"') {
        return None;
    }
    let words: Vec<&str> = query.split_whitespace().collect();
    let is_plain = !words.is_empty() && !words.iter().any(|word| word.starts_with('-'));
    is_plain.then(|| words.join(" ").to_lowercase())
}

impl QueryLog {
    /// Reads the counts from the database folder. Those that cannot be read are no reason not to start.
    pub(crate) fn open(folder: &Path) -> QueryLog {
        let indexes = read_state_or_default(folder, FILE, "the counts of earlier queries: counting starts again");
        QueryLog { folder: folder.to_owned(), state: Mutex::new(QueryCounts { indexes, has_changed: false }) }
    }

    /// Counts a query of the index `uid` that was made at `created_at`.
    pub(crate) fn count(&self, uid: &str, created_at: i64, query: &str) {
        let Some(query) = plain(query) else { return };
        let mut state = self.state.lock();
        if !state.indexes.contains_key(uid) && state.indexes.len() >= INDEXES_MAX {
            return;
        }
        let of_index = state.indexes.entry(uid.to_owned()).or_default();
        if of_index.created_at != created_at {
            *of_index = OfIndex { created_at, queries: HashMap::new() };
        }
        of_index.add(query);
        state.has_changed = true;
    }

    /// The queries that go on where `query` ends and were asked at least `min_count` times, most frequent first, `limit` at most.
    pub(crate) fn going_on(
        &self,
        uid: &str,
        created_at: i64,
        query: &str,
        min_count: u32,
        limit: usize,
    ) -> Vec<String> {
        let Some(beginning) = plain(query) else { return Vec::new() };
        // Behind a space another word begins.
        let beginning = if query.ends_with(char::is_whitespace) { format!("{beginning} ") } else { beginning };
        let state = self.state.lock();
        let Some(of_index) = state.indexes.get(uid).filter(|of_index| of_index.created_at == created_at) else {
            return Vec::new();
        };
        let goes_on = |(text, count): &(&String, &u32)| {
            **count >= min_count && text.len() > beginning.len() && text.starts_with(&beginning)
        };
        let mut found: Vec<(&String, &u32)> = of_index.queries.iter().filter(goes_on).collect();
        found
            .sort_unstable_by(|(one, one_count), (other, other_count)| other_count.cmp(one_count).then(one.cmp(other)));
        found.into_iter().take(limit).map(|(text, _)| text.clone()).collect()
    }

    /// Writes what has changed, without indexes that `is_wanted` knows nothing of any more, by uid and when they were made.
    ///
    /// # Errors
    /// What the file system says; the next call tries again.
    pub(crate) fn save(&self, is_wanted: impl Fn(&str, i64) -> bool) -> io::Result<()> {
        let known: Vec<(String, i64)> =
            self.state.lock().indexes.iter().map(|(uid, of_index)| (uid.clone(), of_index.created_at)).collect();
        let gone: Vec<(String, i64)> = known.into_iter().filter(|(uid, at)| !is_wanted(uid, *at)).collect();
        let json = {
            let mut state = self.state.lock();
            let before = state.indexes.len();
            state
                .indexes
                .retain(|uid, of_index| !gone.iter().any(|(gone, at)| gone == uid && *at == of_index.created_at));
            if !state.has_changed && state.indexes.len() == before {
                return Ok(());
            }
            state.has_changed = false;
            serde_json::to_string(&state.indexes)?
        };
        write_durably(&self.folder.join(FILE), &json).inspect_err(|_| self.state.lock().has_changed = true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_kept_by_index_and_survive_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let asked = QueryLog::open(folder.path());
        for query in ["Space  Odyssey", "space odyssey", "space opera", "space", "-space odyssey", "\"space odyssey\""]
        {
            asked.count("films", 1, query);
        }
        asked.count("books", 1, "space books");
        asked.count("films", 1, &format!("space {}", "x".repeat(QUERY_BYTES_MAX)));
        let going_on = |asked: &QueryLog, query: &str, min_count| asked.going_on("films", 1, query, min_count, 10);
        assert_eq!(going_on(&asked, "SPA", 1), ["space odyssey", "space", "space opera"]);
        assert_eq!(going_on(&asked, "space ", 1), ["space odyssey", "space opera"]);
        assert_eq!(going_on(&asked, "space o", 2), ["space odyssey"]);
        assert!(going_on(&asked, " ", 1).is_empty());
        assert!(going_on(&asked, "space odyssey", 1).is_empty());
        assert_eq!(asked.going_on("films", 1, "s", 1, 1).len(), 1);
        assert!(asked.going_on("films", 2, "s", 1, 9).is_empty(), "another index of the name");
        asked.save(|uid, _| uid == "films").unwrap();
        let again = QueryLog::open(folder.path());
        assert_eq!(going_on(&again, "space o", 1), ["space odyssey", "space opera"]);
        assert!(again.going_on("books", 1, "s", 1, 9).is_empty(), "it was not wanted any more");
        again.count("films", 2, "star");
        assert!(again.going_on("films", 1, "s", 1, 9).is_empty());
        assert_eq!(again.going_on("films", 2, "s", 1, 9), ["star"]);
    }

    #[test]
    fn what_is_asked_often_outlives_what_was_asked_once() {
        let folder = tempfile::tempdir().unwrap();
        let asked = QueryLog::open(folder.path());
        (0..4).for_each(|_| asked.count("films", 1, "often"));
        (0..QUERIES_MAX + 10).for_each(|number| asked.count("films", 1, &format!("once {number}")));
        assert_eq!(asked.going_on("films", 1, "of", 2, 10), ["often"]);
        assert!(asked.going_on("films", 1, "once", 1, usize::MAX).len() <= QUERIES_MAX);
        (0..INDEXES_MAX + 5).for_each(|number| asked.count(&format!("index{number}"), 1, "text"));
        assert!(asked.state.lock().indexes.len() <= INDEXES_MAX);
    }

    #[test]
    fn a_file_that_cannot_be_read_is_put_aside() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(FILE), "no json").unwrap();
        let asked = QueryLog::open(folder.path());
        asked.count("films", 1, "fox");
        asked.save(|_, _| true).unwrap();
        assert_eq!(QueryLog::open(folder.path()).going_on("films", 1, "f", 1, 1), ["fox"]);
    }
}
