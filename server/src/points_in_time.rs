//! States of indexes that searches hold on to, so that several pages are pages of the same hits.
//!
//! A view is a snapshot of an index: it costs no copy. What it holds back is disk: files that merges and updates have
//! replaced stay until the last view of them ends. Views end when nobody used them for the time they asked for, and with
//! the process; the next start removes the files that only they needed.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use lamina_engine::index::Snapshot;
use parking_lot::Mutex;
use tokio::runtime::Handle;
use uuid::Uuid;

use crate::error::{ApiError, ApiResult, Code};
use crate::timestamp::Timestamp;
use crate::wire::point_in_time::PointInTime;

/// Views held at the same time: bounds the files that are kept for them.
pub const VIEWS_MAX: usize = 100;

/// All views of a server.
#[derive(Debug, Default)]
pub struct PointsInTime {
    views: Mutex<HashMap<Uuid, View>>,
}

#[derive(Debug)]
struct View {
    index_uid: String,
    snapshot: Arc<Snapshot>,
    expires: Instant,
}

/// What a search gets of a view.
#[derive(Debug)]
pub struct Held {
    /// To ask for it again.
    pub id: Uuid,
    /// The state.
    pub snapshot: Arc<Snapshot>,
    /// When it ends unless it is used again; now, if it has just ended.
    pub expires_at: Timestamp,
    /// Whether somebody has to see to its end: it is new.
    is_new: bool,
}

impl PointsInTime {
    /// The view that a search of `index_uid` asks for; `present` is the state that a new one holds.
    ///
    /// # Errors
    /// `point_in_time_not_found` when it is of another index, unknown or has ended; `too_many_points_in_time`.
    pub fn hold(
        &self,
        index_uid: &str,
        asked: PointInTime,
        present: impl FnOnce() -> ApiResult<Arc<Snapshot>>,
    ) -> ApiResult<Held> {
        // Before the lock: the first use of an index takes time.
        let present = if asked.id.is_none() { Some(present()?) } else { None };
        let now = Instant::now();
        let expires = now + asked.keep_alive;
        let mut views = self.views.lock();
        views.retain(|_, view| view.expires > now);
        let (id, snapshot) = match (asked.id, present) {
            (Some(id), _) => {
                let view = views.get_mut(&id).filter(|view| view.index_uid == index_uid).ok_or_else(|| unknown(id))?;
                view.expires = expires;
                (id, Arc::clone(&view.snapshot))
            }
            (None, present) => {
                if views.len() >= VIEWS_MAX {
                    return Err(too_many());
                }
                let (id, snapshot) = (Uuid::new_v4(), present.expect("fetched for those without an id"));
                let view = View { index_uid: index_uid.to_owned(), snapshot: Arc::clone(&snapshot), expires };
                views.insert(id, view);
                (id, snapshot)
            }
        };
        if asked.keep_alive.is_zero() {
            views.remove(&id);
        }
        let expires_at = (SystemTime::now() + asked.keep_alive).into();
        Ok(Held { id, snapshot, expires_at, is_new: asked.id.is_none() && !asked.keep_alive.is_zero() })
    }

    /// Time until a view ends; `None` when it has, and then it is gone.
    fn remaining(&self, id: Uuid) -> Option<Duration> {
        let mut views = self.views.lock();
        let remaining = views.get(&id)?.expires.saturating_duration_since(Instant::now());
        if remaining.is_zero() {
            views.remove(&id);
            return None;
        }
        Some(remaining)
    }

    /// Ends a view in time even if no search comes any more: what it holds back is disk.
    pub fn watch(self: &Arc<Self>, held: &Held, runtime: &Handle) {
        if !held.is_new {
            return;
        }
        let (points, id) = (Arc::downgrade(self), held.id);
        runtime.spawn(async move {
            while let Some(remaining) = points.upgrade().and_then(|points| points.remaining(id)) {
                tokio::time::sleep(remaining).await;
            }
        });
    }

    /// Number of views held.
    pub fn len(&self) -> usize {
        self.views.lock().len()
    }

    /// Whether none is held.
    pub fn is_empty(&self) -> bool {
        self.views.lock().is_empty()
    }
}

fn unknown(id: Uuid) -> ApiError {
    ApiError::new(
        Code::PointInTimeNotFound,
        format!("The point in time `{id}` is unknown, has expired, or belongs to another index. Begin with a new one."),
    )
}

fn too_many() -> ApiError {
    ApiError::new(
        Code::TooManyPointsInTime,
        format!("{VIEWS_MAX} points in time are held already. Use fewer, or end those in use with `keepAliveMs: 0`."),
    )
}

#[cfg(test)]
mod tests {
    use lamina_engine::index::{Index, IndexOptions};
    use lamina_engine::storage::MemoryDirectory;

    use super::*;

    fn ask(id: Option<Uuid>, keep_alive_ms: u64) -> PointInTime {
        PointInTime { id, keep_alive: Duration::from_millis(keep_alive_ms) }
    }

    fn index() -> Index {
        let options = IndexOptions { background_merges: false, ..IndexOptions::default() };
        Index::create_in(Arc::new(MemoryDirectory::default()), options).unwrap()
    }

    #[test]
    fn views_are_found_until_they_end() {
        let (points, index) = (PointsInTime::default(), index());
        let hold = |uid: &str, asked| points.hold(uid, asked, || Ok(index.snapshot()));
        let held = hold("films", ask(None, 60_000)).unwrap();
        let again = hold("films", ask(Some(held.id), 60_000)).unwrap();
        assert!(Arc::ptr_eq(&held.snapshot, &again.snapshot) && held.is_new && !again.is_new);
        let other = hold("books", ask(Some(held.id), 60_000)).unwrap_err();
        assert_eq!((other.code, other.status()), (Code::PointInTimeNotFound, 404));
        hold("films", ask(Some(held.id), 0)).expect("the last use");
        assert_eq!(hold("films", ask(Some(held.id), 60_000)).unwrap_err().code, Code::PointInTimeNotFound);
        let short = hold("films", ask(None, 1)).unwrap();
        std::thread::sleep(Duration::from_millis(5));
        assert_eq!(hold("films", ask(Some(short.id), 60_000)).unwrap_err().code, Code::PointInTimeNotFound);
        assert!(points.is_empty());
    }

    #[test]
    fn their_number_is_bounded() {
        let (points, index) = (PointsInTime::default(), index());
        let hold = |asked| points.hold("films", asked, || Ok(index.snapshot()));
        let first = hold(ask(None, 60_000)).unwrap();
        for _ in 1..VIEWS_MAX {
            hold(ask(None, 60_000)).unwrap();
        }
        let refused = hold(ask(None, 60_000)).unwrap_err();
        assert_eq!((refused.code, refused.status()), (Code::TooManyPointsInTime, 429));
        hold(ask(Some(first.id), 0)).unwrap();
        hold(ask(None, 60_000)).expect("there is room again");
        assert_eq!(points.len(), VIEWS_MAX);
    }
}
