//! Searches with the hits that users saw and clicked, and votes. Lines that cannot be true are left out and counted.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{self, BufRead, Read};

use lamina_base::text_file::text_without_mark;
use lamina_base::timestamp::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value};
use xxhash_rust::xxh3::xxh3_64;

use super::model::Cell;
use crate::evaluate::judgement::id_text;

/// A line is read up to here: a search with its hits is a hundredth of it.
const LINE_BYTES_MAX: u64 = 1 << 20;
/// Hits of a search that count; people look no further.
const HITS_MAX: usize = 100;
/// Deepest place that has its own rate of examination.
const PLACE_MAX: u32 = 199;
/// Times of two machines differ by as much.
const SKEW: i64 = 60_000;
/// A click belongs to a search for so long.
const SESSION: i64 = 24 * 3_600_000;

/// A line: a search with `hits`, or a vote with `vote`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    query_uid: Option<String>,
    user_id: Option<String>,
    q: String,
    at: Option<Time>,
    /// Parameters that change what is found, such as a filter.
    #[serde(default)]
    search: Map<String, Value>,
    hits: Option<Vec<Value>>,
    /// Number of hits on the pages before.
    #[serde(default)]
    offset: u32,
    #[serde(default)]
    clicks: Vec<Click>,
    object_id: Option<Value>,
    vote: Option<f64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Click {
    object_id: Value,
    /// Counted from 0 or from 1, as clients do.
    position: Option<u32>,
    at: Option<Time>,
}

/// Milliseconds since 1970, or RFC 3339.
#[derive(Deserialize)]
#[serde(untagged)]
enum Time {
    Millis(i64),
    Text(Timestamp),
}

impl Time {
    fn millis(&self) -> i64 {
        match self {
            Time::Millis(millis) => *millis,
            Time::Text(time) => time.nanos() / 1_000_000,
        }
    }
}

/// A query, and the parameters that it is sent with.
pub(super) type Query = (String, String);

/// One document of a query for one user: a vote that counts once, however often the user searched.
#[derive(Clone, Copy)]
struct Seen {
    place: u32,
    is_clicked: bool,
}

/// Everything that was read.
#[derive(Default)]
pub(super) struct Log {
    /// By query and document, its number.
    pairs: HashMap<(u32, String), usize>,
    queries: HashMap<Query, u32>,
    seen: HashMap<(u64, usize), Seen>,
    votes: HashMap<(u64, usize), bool>,
    query_uids: HashSet<u64>,
    pub(super) searches: usize,
    /// Number of things that were left out, by reason.
    pub(super) dropped: BTreeMap<&'static str, usize>,
}

impl Log {
    /// Reads a line for each search or vote. `now` is in milliseconds since 1970.
    ///
    /// # Errors
    /// The input cannot be read.
    pub(super) fn read(&mut self, mut input: impl BufRead, now: i64) -> io::Result<()> {
        let (mut line, mut number) = (Vec::new(), 0_u64);
        loop {
            line.clear();
            let size = input.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line)?;
            if size == 0 {
                return Ok(());
            }
            if size as u64 == LINE_BYTES_MAX && !line.ends_with(b"\n") {
                self.drop_one("lines that are too long");
                input.skip_until(b'\n')?;
                continue;
            }
            number += 1;
            let text = String::from_utf8_lossy(&line);
            let text = if number == 1 { text_without_mark(&text) } else { &*text };
            if !text.trim().is_empty() {
                match serde_json::from_str(text) {
                    Ok(line) => self.take(line, number, now),
                    Err(_) => self.drop_one("lines that are no search and no vote"),
                }
            }
        }
    }

    fn drop_one(&mut self, reason: &'static str) {
        *self.dropped.entry(reason).or_default() += 1;
    }

    fn take(&mut self, line: Line, number: u64, now: i64) {
        let at = line.at.as_ref().map(Time::millis);
        if at.is_some_and(|at| at > now.saturating_add(SKEW)) {
            return self.drop_one("searches and votes of the future");
        }
        let q = line.q.split_whitespace().collect::<Vec<&str>>().join(" ").to_lowercase();
        if q.is_empty() {
            return self.drop_one("searches without a query");
        }
        // Without a name, every search is of another user.
        let user = match (&line.user_id, &line.query_uid) {
            (Some(user), _) => format!("user {user}"),
            (None, Some(query_uid)) => format!("search {query_uid}"),
            (None, None) => format!("line {number}"),
        };
        let user = xxh3_64(user.as_bytes());
        let parameters = if line.search.is_empty() { String::new() } else { Value::Object(line.search).to_string() };
        let query = (q, parameters);
        if let (Some(vote), Some(id)) = (line.vote, &line.object_id) {
            let pair = self.pair(query, id_text(id));
            if vote == 0.0 {
                self.drop_one("votes that are neither up nor down");
            } else if self.votes.insert((user, pair), vote > 0.0).is_some() {
                self.drop_one("repeated votes of a user");
            }
            return;
        }
        let Some(hits) = line.hits.filter(|hits| !hits.is_empty()) else {
            return self.drop_one("searches without hits");
        };
        if line.query_uid.is_some_and(|query_uid| !self.query_uids.insert(xxh3_64(query_uid.as_bytes()))) {
            return self.drop_one("searches that were read before");
        }
        self.searches += 1;
        let hits: Vec<String> = hits.iter().take(HITS_MAX).map(id_text).collect();
        let clicked = self.clicked(&hits, &line.clicks, line.offset, at, now);
        for (place, (id, is_clicked)) in (line.offset..).zip(hits.into_iter().zip(clicked)) {
            let pair = self.pair(query.clone(), id);
            let seen = Seen { place: place.min(PLACE_MAX), is_clicked };
            match self.seen.get_mut(&(user, pair)) {
                None => drop(self.seen.insert((user, pair), seen)),
                Some(before) => {
                    if is_clicked && !before.is_clicked {
                        *before = seen;
                    } else if is_clicked {
                        self.drop_one("repeated clicks of a user");
                    }
                }
            }
        }
    }

    /// Returns for each hit whether it has a click that can be true.
    fn clicked(&mut self, hits: &[String], clicks: &[Click], offset: u32, at: Option<i64>, now: i64) -> Vec<bool> {
        let mut clicked = vec![false; hits.len()];
        for click in clicks {
            let id = id_text(&click.object_id);
            let Some(place) = hits.iter().position(|hit| *hit == id) else {
                self.drop_one("clicks on documents that were not shown");
                continue;
            };
            let shown_at = u64::from(offset) + place as u64;
            if click.position.is_some_and(|position| !(shown_at..=shown_at + 1).contains(&u64::from(position))) {
                self.drop_one("clicks at a place where the document was not");
                continue;
            }
            let clicked_at = click.at.as_ref().map(Time::millis);
            let is_apart = |clicked_at: i64| {
                let after = at.map_or(0, |at| clicked_at.saturating_sub(at));
                !(-SKEW..=SESSION).contains(&after) || clicked_at > now.saturating_add(SKEW)
            };
            if clicked_at.is_some_and(is_apart) {
                self.drop_one("clicks before their search, or a day after it");
            } else if clicked[place] {
                self.drop_one("repeated clicks of a user");
            } else {
                clicked[place] = true;
            }
        }
        clicked
    }

    fn pair(&mut self, query: Query, id: String) -> usize {
        let next = self.queries.len() as u32;
        let query = *self.queries.entry(query).or_insert(next);
        let next = self.pairs.len();
        *self.pairs.entry((query, id)).or_insert(next)
    }

    pub(super) fn pair_count(&self) -> usize {
        self.pairs.len()
    }

    /// Returns the counts by document and place.
    pub(super) fn cells(&self) -> Vec<Cell> {
        let mut cells: BTreeMap<(usize, usize), (u32, u32)> = BTreeMap::new();
        for ((_, pair), seen) in &self.seen {
            let cell = cells.entry((*pair, seen.place as usize)).or_default();
            *cell = (cell.0 + 1, cell.1 + u32::from(seen.is_clicked));
        }
        cells.into_iter().map(|((pair, place), (shown, clicks))| Cell { pair, place, shown, clicks }).collect()
    }

    /// By pair, votes for and against it.
    pub(super) fn votes(&self) -> BTreeMap<usize, (u32, u32)> {
        let mut votes: BTreeMap<usize, (u32, u32)> = BTreeMap::new();
        for ((_, pair), is_up) in &self.votes {
            let (up, down) = votes.entry(*pair).or_default();
            *(if *is_up { up } else { down }) += 1;
        }
        votes
    }

    /// By query in the order of the alphabet, its documents with their numbers.
    pub(super) fn queries(&self) -> BTreeMap<&Query, BTreeMap<&str, usize>> {
        let names: HashMap<u32, &Query> = self.queries.iter().map(|(query, number)| (*number, query)).collect();
        let mut queries: BTreeMap<&Query, BTreeMap<&str, usize>> = BTreeMap::new();
        for ((query, id), pair) in &self.pairs {
            queries.entry(names[query]).or_default().insert(id, *pair);
        }
        queries
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NOW: i64 = 1_700_000_000_000;

    fn read(lines: &[Value]) -> Log {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let mut log = Log::default();
        log.read(text.as_bytes(), NOW).unwrap();
        log
    }

    /// Shown and clicked, by document.
    fn counts(log: &Log) -> BTreeMap<String, (u32, u32)> {
        let mut counts: BTreeMap<String, (u32, u32)> = BTreeMap::new();
        for ((_, id), pair) in &log.pairs {
            for cell in log.cells().iter().filter(|cell| cell.pair == *pair) {
                let count = counts.entry(id.clone()).or_default();
                *count = (count.0 + cell.shown, count.1 + cell.clicks);
            }
        }
        counts
    }

    #[test]
    fn a_user_has_one_vote_for_a_document_of_a_query() {
        let search = |uid: &str, user: &str, clicks: Value| json!({"queryUid": uid, "userId": user, "q": " Red  FOX", "hits": [1, "b"], "clicks": clicks});
        let click = json!([{"objectId": "b"}]);
        let log = read(&[
            search("1", "x", json!([])),
            search("2", "x", click.clone()),
            search("3", "x", click.clone()),
            search("4", "y", json!([])),
            search("4", "z", click),
        ]);
        assert_eq!(counts(&log), BTreeMap::from([("1".to_owned(), (2, 0)), ("b".to_owned(), (2, 1))]));
        assert_eq!(
            log.dropped,
            BTreeMap::from([("repeated clicks of a user", 1), ("searches that were read before", 1)])
        );
        assert_eq!(log.queries().keys().map(|query| &*query.0).collect::<Vec<_>>(), ["red fox"]);
        assert_eq!(log.searches, 4);
    }

    #[test]
    fn what_cannot_be_true_is_left_out_and_counted() {
        let search =
            |clicks: Value| json!({"q": "a", "at": NOW - 1000, "offset": 10, "hits": ["1", "2"], "clicks": clicks});
        let log = read(&[
            search(json!([{"objectId": "3"}])),
            search(json!([{"objectId": "1", "position": 3}])),
            search(json!([{"objectId": "1", "position": 10}, {"objectId": "2", "position": 12}])),
            search(json!([{"objectId": "1", "at": NOW - 200_000}])),
            search(json!([{"objectId": "1", "at": NOW + 900_000}])),
            search(json!([{"objectId": "1", "at": "2023-11-14T22:13:25Z"}, {"objectId": "1"}])),
            json!({"q": "a", "at": "2033-11-14T22:13:25Z", "hits": ["1"]}),
            json!({"q": " ", "hits": ["1"]}),
            json!({"q": "a", "hits": []}),
            json!({"q": "a", "objectId": "1", "vote": 0}),
            json!({"q": 1}),
            json!([1]),
            json!({"q": "a", "at": i64::MIN, "hits": ["1"], "clicks": [{"objectId": "1", "at": i64::MAX}]}),
        ]);
        assert_eq!(counts(&log), BTreeMap::from([("1".to_owned(), (7, 2)), ("2".to_owned(), (6, 1))]));
        let expected = [
            ("clicks at a place where the document was not", 1),
            ("clicks before their search, or a day after it", 3),
            ("clicks on documents that were not shown", 1),
            ("lines that are no search and no vote", 2),
            ("repeated clicks of a user", 1),
            ("searches and votes of the future", 1),
            ("searches without a query", 1),
            ("searches without hits", 1),
            ("votes that are neither up nor down", 1),
        ];
        assert_eq!(log.dropped, BTreeMap::from(expected));
        assert!(log.cells().iter().any(|cell| cell.place == 10));
    }

    #[test]
    fn the_last_vote_of_a_user_counts_and_filters_make_other_queries() {
        let vote = |user: &str, vote: i32| json!({"q": "a", "userId": user, "objectId": 7, "vote": vote});
        let log = read(&[
            vote("x", 1),
            vote("y", 1),
            vote("x", -1),
            json!({"q": "a", "search": {"filter": "b = 1"}, "hits": [7]}),
        ]);
        assert_eq!(log.votes().into_values().collect::<Vec<_>>(), [(1, 1)]);
        assert_eq!(log.queries().len(), 2);
    }

    #[test]
    fn lines_without_an_end_are_not_read_to_it() {
        let mut text = vec![b'x'; 3 << 20];
        text.extend(b"\n{\"q\": \"a\", \"hits\": [1]}");
        let mut log = Log::default();
        log.read(&*text, NOW).unwrap();
        assert_eq!((log.searches, log.dropped["lines that are too long"]), (1, 1));
    }
}
