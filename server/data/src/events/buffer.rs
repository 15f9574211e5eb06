//! Documents that wait for their commit, and searches that are joined.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use uuid::Uuid;

use super::document::UserHash;

/// Documents that may wait.
const COUNT_MAX: usize = 100_000;
/// Bytes of documents that may wait.
const BYTES_MAX: usize = 32 << 20;
/// Time after which the next search of a user is another one.
const JOIN_TIME: Duration = Duration::from_secs(5);
/// Users whose last search is remembered. Those of more users are not joined.
const USERS_MAX: usize = 50_000;
/// Searches that one stands for. What is typed is shorter; then another one begins.
const JOINED_MAX: usize = 64;

/// Documents as lines, bounded.
#[derive(Debug, Default)]
pub(super) struct Buffer {
    lines: Vec<u8>,
    count: usize,
    last_searches: HashMap<(String, UserHash), LastSearch>,
    /// True if nothing more comes.
    pub(super) stops: bool,
}

/// The last search of a user in an index, while another one may go on with it.
#[derive(Debug)]
struct LastSearch {
    text: String,
    uids: Vec<Uuid>,
    at: Instant,
}

impl Buffer {
    /// Adds the lines of so many documents, all or none. Returns whether there was room.
    pub(super) fn put(&mut self, count: usize, lines: &[u8]) -> bool {
        let has_room = self.count + count <= COUNT_MAX && self.lines.len() + lines.len() <= BYTES_MAX;
        if has_room {
            self.lines.extend_from_slice(lines);
            self.count += count;
        }
        has_room
    }

    pub(super) fn is_half_full(&self) -> bool {
        self.count >= COUNT_MAX / 2 || self.lines.len() >= BYTES_MAX / 2
    }

    /// Returns all lines, and is empty then.
    pub(super) fn take(&mut self) -> Vec<u8> {
        self.count = 0;
        std::mem::take(&mut self.lines)
    }

    /// The searches that a search stands for, itself the last one: while a user types, each text begins with the one before, or,
    /// when they delete, is its beginning.
    pub(super) fn joined(
        &mut self,
        index: &str,
        user: Option<UserHash>,
        text: &str,
        uid: Uuid,
        now: Instant,
    ) -> Vec<Uuid> {
        let Some(user) = user else { return vec![uid] };
        let text = text.trim_start().to_lowercase();
        let is_full = self.last_searches.len() >= USERS_MAX;
        let key = (index.to_owned(), user);
        if let Some(last) = self.last_searches.get_mut(&key) {
            let goes_on = text.starts_with(&last.text) || last.text.starts_with(&text);
            if !goes_on || now.duration_since(last.at) > JOIN_TIME || last.uids.len() >= JOINED_MAX {
                last.uids.clear();
            }
            last.uids.push(uid);
            (last.text, last.at) = (text, now);
            return last.uids.clone();
        }
        if !is_full {
            self.last_searches.insert(key, LastSearch { text, uids: vec![uid], at: now });
        }
        vec![uid]
    }

    /// Forgets searches that nothing goes on with.
    pub(super) fn forget_old(&mut self, now: Instant) {
        self.last_searches.retain(|_, last| now.duration_since(last.at) <= JOIN_TIME);
    }

    /// Forgets the searches of a user.
    pub(super) fn forget(&mut self, user: UserHash) {
        self.last_searches.retain(|(_, of), _| *of != user);
    }
}
