//! States of indexes that searches hold on to, so that several pages are pages of the same hits.
//!
//! A view is a snapshot of an index, or of each of the indexes of a multi-search: it costs no copy. What it holds back is disk: files that merges and updates have
//! replaced stay until the last view of them ends. Views end when they were not used for the time they asked for, and with
//! the process; the next start removes the files that only they needed.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use lamina_base::aliases::IndexName;
use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_base::timestamp::Timestamp;
use lamina_data::access::{Holder, Rights};
use lamina_engine::highlight::append_field;
use lamina_engine::index::Snapshot;
use lamina_protocol::wire::point_in_time::PointInTime;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::runtime::Handle;
use uuid::Uuid;

/// The states that the queries of a multi-search work on, by the names that requests use; all names of one index share one.
pub(crate) type Snapshots = HashMap<String, NamedSnapshot>;

/// A state of an index.
#[derive(Clone, Debug)]
pub(crate) struct NamedSnapshot {
    /// The uid of the index.
    pub uid: Arc<str>,
    /// Snapshot of the index.
    pub snapshot: Arc<Snapshot>,
}

/// Views held at the same time: bounds the files that are kept for them. When there are so many, a key (or a tenant) that
/// holds fewer than another one takes the place of the other's that was used least lately.
pub(crate) const VIEWS_MAX: usize = 100;
/// Then a view that was unused for this long ends for another one of the same key, too, however long it was to be kept.
const IDLE_TIME: Duration = Duration::from_secs(60);

/// All views of a server.
#[derive(Debug, Default)]
pub(crate) struct PointsInTime {
    views: Mutex<HashMap<Uuid, LeasedView>>,
}

#[derive(Debug)]
struct LeasedView {
    snapshots: Snapshots,
    expires: Instant,
    used: Instant,
    holder: Holder,
}

/// Request of a search in one index for a view.
#[derive(Debug)]
pub(crate) struct View<'a> {
    /// Index, by the name that the request uses.
    pub index: &'a IndexName,
    /// The present state without.
    pub point: Option<PointInTime>,
    /// Rights of the caller, on whose behalf a new view is held.
    pub rights: &'a Rights,
}

/// Part of a view for a search.
#[derive(Debug)]
pub(crate) struct Lease {
    /// To ask for it again.
    pub id: Uuid,
    /// The states, those asked for among them.
    pub snapshots: Snapshots,
    /// Time at which the view ends unless it is used again; now, if it has already ended.
    pub expires_at: Timestamp,
    /// True if the view is new: its end is still to be watched.
    is_new: bool,
}

impl NamedSnapshot {
    /// A state by the name that a request uses.
    pub(crate) fn named(index: &IndexName, snapshot: Arc<Snapshot>) -> (String, NamedSnapshot) {
        (index.asked.clone(), NamedSnapshot { uid: index.uid.as_str().into(), snapshot })
    }
}

impl Lease {
    /// `pointInTime` of an answer.
    pub(crate) fn shown(&self) -> Value {
        json!({ "id": self.id, "expiresAt": self.expires_at })
    }
}

impl PointsInTime {
    /// The view that a search of `indexes` asks for; `present` are the states that a new one holds, on behalf of
    /// the caller with these `rights`.
    ///
    /// # Errors
    /// `invalid_api_key` where an alias stood for an index then that the caller may not access;
    /// `point_in_time_not_found` when it is unknown, has ended, or lacks one of the indexes; `too_many_points_in_time`;
    /// `invalid_store_file` when one of them is known to be damaged.
    pub(crate) fn hold<'a>(
        &self,
        indexes: impl Iterator<Item = &'a IndexName>,
        asked: PointInTime,
        rights: &Rights,
        present: impl FnOnce() -> ApiResult<Snapshots>,
    ) -> ApiResult<Lease> {
        let indexes: Vec<&IndexName> = indexes.collect();
        // Before the lock: the first use of an index takes time.
        let present = match asked.id {
            None => Some(present()?),
            Some(id) if self.has_moved(id, &indexes) => present().ok(),
            Some(_) => None,
        };
        let now = Instant::now();
        let expires = now + asked.keep_alive;
        let mut views = self.views.lock();
        views.retain(|_, view| view.expires > now);
        let (id, snapshots) = match (asked.id, present) {
            (Some(id), present) => {
                let view = views.get_mut(&id).ok_or_else(|| unknown(id))?;
                let snapshots =
                    with_names(&view.snapshots, &indexes, present.as_ref(), rights)?.ok_or_else(|| unknown(id))?;
                (view.expires, view.used) = (expires, now);
                (id, snapshots)
            }
            (None, present) => {
                if views.len() >= VIEWS_MAX {
                    let given_up = to_give_up(&views, &rights.holder(), now).ok_or_else(too_many)?;
                    views.remove(&given_up);
                }
                let (id, snapshots) = (Uuid::new_v4(), present.expect("fetched for those without an id"));
                let holder = rights.holder();
                views.insert(id, LeasedView { snapshots: snapshots.clone(), expires, used: now, holder });
                (id, snapshots)
            }
        };
        if asked.keep_alive.is_zero() {
            views.remove(&id);
        }
        // The mark may be newer than the view.
        snapshots.values().try_for_each(|state| state.snapshot.check_health())?;
        let expires_at = (SystemTime::now() + asked.keep_alive).into();
        Ok(Lease { id, snapshots, expires_at, is_new: asked.id.is_none() && !asked.keep_alive.is_zero() })
    }

    /// Answers with what a search of one index sees, and whose it is: the view that it asks for, or else the present state. An
    /// alias that has moved since is still the index of the view. The answer, a JSON object, gets the view's `pointInTime`.
    ///
    /// # Errors
    /// The errors of [`PointsInTime::hold`], and those of `present` and `answer`.
    pub(crate) fn within<T>(
        self: &Arc<Self>,
        view: View<'_>,
        runtime: &Handle,
        present: impl FnOnce() -> ApiResult<Arc<Snapshot>>,
        answer: impl FnOnce(&str, &Snapshot) -> ApiResult<(Vec<u8>, T)>,
    ) -> ApiResult<(Vec<u8>, T)> {
        let View { index, point, rights } = view;
        let Some(asked) = point else { return answer(&index.uid, &*present()?) };
        let states = || Ok(Snapshots::from([NamedSnapshot::named(index, present()?)]));
        let held = self.hold(std::iter::once(index), asked, rights, states)?;
        let NamedSnapshot { uid, snapshot } = &held.snapshots[&index.asked];
        let (mut body, rest) = answer(uid, snapshot).inspect_err(|_| self.give_up(&held))?;
        self.watch(&held, runtime);
        append_field(&mut body, "pointInTime", held.shown().to_string().as_bytes());
        Ok((body, rest))
    }

    /// Reports whether a view lacks an index by these names, or one of them stands for another index than then.
    fn has_moved(&self, id: Uuid, indexes: &[&IndexName]) -> bool {
        let views = self.views.lock();
        views.get(&id).is_some_and(|view| {
            let is_there =
                |index: &&IndexName| state_of(&view.snapshots, index).is_some_and(|state| *state.uid == *index.uid);
            !indexes.iter().all(is_there)
        })
    }

    /// Returns the state of an index that a view holds, if it is there, as [`PointsInTime::hold`] finds it. Whether the caller may see it is not
    /// asked.
    pub(crate) fn held(&self, id: Uuid, index: &IndexName) -> Option<NamedSnapshot> {
        let views = self.views.lock();
        let view = views.get(&id).filter(|view| view.expires > Instant::now())?;
        state_of(&view.snapshots, index).cloned()
    }

    /// The refusal of searches that ask other servers too.
    pub(crate) fn not_over_network() -> ApiError {
        ApiError::new(
            Code::InvalidSearchPointInTime,
            "`pointInTime` holds a state of this server only, and cannot be combined with other servers.",
        )
    }

    /// Gives up a view that no client will ask for: it is new, and the answer that was to name it is an error.
    pub(crate) fn give_up(&self, held: &Lease) {
        if held.is_new {
            self.views.lock().remove(&held.id);
        }
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
    pub(crate) fn watch(self: &Arc<Self>, held: &Lease, runtime: &Handle) {
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
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.views.lock().len()
    }

    /// Reports whether no view is held.
    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.views.lock().is_empty()
    }
}

/// The states of a view, those asked for among them by the names that are used; `None` if it lacks one of them. `present`: the
/// present states, where names have moved.
///
/// # Errors
/// `invalid_api_key` where a name stands for another index by now, and the caller may not access the one of the view.
fn with_names(
    held: &Snapshots,
    indexes: &[&IndexName],
    present: Option<&Snapshots>,
    rights: &Rights,
) -> ApiResult<Option<Snapshots>> {
    let mut snapshots = held.clone();
    for index in indexes {
        let now = present.and_then(|present| present.get(&index.asked)).map(|state| state.snapshot.created_at());
        let is_same = |state: &&NamedSnapshot| now == Some(state.snapshot.created_at());
        let Some(state) = state_of(held, index).or_else(|| held.values().find(is_same)) else { return Ok(None) };
        if *state.uid != *index.uid && !is_same(&state) {
            rights.check_index(&state.uid)?;
        }
        if !held.contains_key(&index.asked) {
            snapshots.insert(index.asked.clone(), state.clone());
        }
    }
    Ok(Some(snapshots))
}

/// The state of an index: by the name that is used, or else by any name that the index had then.
fn state_of<'s>(held: &'s Snapshots, index: &IndexName) -> Option<&'s NamedSnapshot> {
    held.get(&index.asked).or_else(|| held.values().find(|state| *state.uid == *index.uid))
}

/// The view that makes room for one of `holder`: the one used least lately of the holder of most. Holders of as many as
/// any other give up what they do not use; a holder of none, what no other uses.
fn to_give_up(views: &HashMap<Uuid, LeasedView>, holder: &Holder, now: Instant) -> Option<Uuid> {
    let mut counts: HashMap<&Holder, usize> = HashMap::new();
    for view in views.values() {
        *counts.entry(&view.holder).or_default() += 1;
    }
    let own = counts.get(holder).copied().unwrap_or(0);
    let (most, count) = counts.into_iter().max_by_key(|(_, count)| *count)?;
    let is_behind = own + 1 < count;
    let may_go = |view: &LeasedView| match is_behind {
        true => view.holder == *most,
        false => (own == 0 || view.holder == *holder) && now.saturating_duration_since(view.used) >= IDLE_TIME,
    };
    let those = views.iter().filter(|(_, view)| may_go(view));
    those.min_by_key(|(_, view)| view.used).map(|(id, _)| *id)
}

fn unknown(id: Uuid) -> ApiError {
    ApiError::new(
        Code::PointInTimeNotFound,
        format!(
            "The point in time `{id}` is unknown, has expired, or holds no state of the index. Begin with a new one."
        ),
    )
}

fn too_many() -> ApiError {
    ApiError::new(
        Code::TooManyPointsInTime,
        format!("{VIEWS_MAX} points in time are already held. Use fewer, or release some with `keepAliveMs: 0`."),
    )
}

#[cfg(test)]
mod tests {
    use crate::answer::tests::key_rights;
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

    fn name(uid: &str) -> IndexName {
        IndexName { asked: uid.to_owned(), uid: uid.to_owned() }
    }

    #[test]
    fn views_are_found_until_they_end() {
        let (points, index, another) = (PointsInTime::default(), index(), index());
        let hold = |uid: &str, asked| {
            let uid = name(uid);
            points.hold(std::iter::once(&uid), asked, &Rights::all(), || {
                let index = if uid.asked == "books" { &another } else { &index };
                Ok(Snapshots::from([NamedSnapshot::named(&uid, index.snapshot())]))
            })
        };
        let held = hold("films", ask(None, 60_000)).unwrap();
        let again = hold("films", ask(Some(held.id), 60_000)).unwrap();
        assert!(Arc::ptr_eq(&held.snapshots["films"].snapshot, &again.snapshots["films"].snapshot));
        assert!(held.is_new);
        assert!(!again.is_new);
        let other = hold("books", ask(Some(held.id), 60_000)).unwrap_err();
        assert_eq!((other.code, other.status()), (Code::PointInTimeNotFound, 404));
        hold("films", ask(Some(held.id), 0)).expect("the last use");
        assert_eq!(hold("films", ask(Some(held.id), 60_000)).unwrap_err().code, Code::PointInTimeNotFound);
        let short = hold("films", ask(None, 1)).unwrap();
        // Longer than it is kept.
        std::thread::sleep(Duration::from_millis(5));
        assert_eq!(hold("films", ask(Some(short.id), 60_000)).unwrap_err().code, Code::PointInTimeNotFound);
        assert!(points.is_empty());
        let (used, unused) = (hold("films", ask(None, 60_000)).unwrap(), hold("films", ask(None, 60_000)).unwrap());
        points.give_up(&unused);
        points.give_up(&hold("films", ask(Some(used.id), 60_000)).unwrap());
        assert_eq!(points.len(), 1, "a view with a known id stays");
    }

    #[test]
    fn views_of_several_indexes_serve_each_of_them() {
        let (points, index) = (PointsInTime::default(), index());
        let all = ["films", "books"].map(name);
        let states = || Ok(all.iter().map(|uid| NamedSnapshot::named(uid, index.snapshot())).collect());
        let held = points.hold(all.iter(), ask(None, 60_000), &Rights::all(), states).unwrap();
        let again = |uids: &[IndexName]| {
            points.hold(uids.iter(), ask(Some(held.id), 60_000), &Rights::all(), || Err(unknown(held.id)))
        };
        assert_eq!(again(&all).unwrap().snapshots.len(), 2);
        again(&all[..1]).unwrap();
        let alias = IndexName { asked: "movies".to_owned(), uid: "films".to_owned() };
        assert_eq!(again(std::slice::from_ref(&alias)).unwrap().snapshots["movies"].uid, "films".into());
        // An alias that has moved is still the index of the view.
        let moved = IndexName { asked: "films".to_owned(), uid: "films-2".to_owned() };
        assert_eq!(again(&[moved]).unwrap().snapshots["films"].uid, "films".into());
        let more = [all[0].clone(), name("songs")];
        assert_eq!(again(&more).unwrap_err().code, Code::PointInTimeNotFound);
    }

    #[test]
    fn their_number_is_bounded() {
        let (points, index) = (PointsInTime::default(), index());
        let (uid, states) =
            (name("films"), || Ok(Snapshots::from([NamedSnapshot::named(&name("films"), index.snapshot())])));
        let hold = |asked| points.hold(std::iter::once(&uid), asked, &Rights::all(), states);
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

    fn rights(number: u32) -> Rights {
        key_rights(Uuid::from_u128(number.into()))
    }

    #[test]
    fn no_key_holds_what_others_need() {
        let (points, index) = (PointsInTime::default(), index());
        let (uid, states) =
            (name("films"), || Ok(Snapshots::from([NamedSnapshot::named(&name("films"), index.snapshot())])));
        let hold = |number, asked| points.hold(std::iter::once(&uid), asked, &rights(number), states);
        let first: Vec<Lease> = (0..VIEWS_MAX).map(|_| hold(1, ask(None, 3_600_000)).unwrap()).collect();
        assert_eq!(hold(1, ask(None, 60_000)).unwrap_err().code, Code::TooManyPointsInTime);
        // Used again, so the second one is now the one used least lately.
        hold(1, ask(Some(first[0].id), 3_600_000)).unwrap();
        let other = hold(2, ask(None, 60_000)).unwrap();
        assert_eq!(hold(1, ask(Some(first[1].id), 60_000)).unwrap_err().code, Code::PointInTimeNotFound);
        hold(1, ask(Some(first[0].id), 3_600_000)).unwrap();
        hold(2, ask(Some(other.id), 60_000)).unwrap();
        // In the end both hold the same, and neither takes from the other.
        let taken = (0..VIEWS_MAX).map_while(|_| hold(2, ask(None, 60_000)).ok()).count();
        assert_eq!(taken + 1, VIEWS_MAX / 2);
        assert_eq!(hold(1, ask(None, 60_000)).unwrap_err().code, Code::TooManyPointsInTime);
        assert_eq!(points.len(), VIEWS_MAX);
        for number in 3..VIEWS_MAX as u32 * 2 {
            assert_eq!(hold(number, ask(None, 60_000)).is_ok(), number <= VIEWS_MAX as u32, "{number}");
        }
        assert_eq!(points.len(), VIEWS_MAX);
    }

    #[test]
    fn what_is_not_used_ends_for_another_of_the_same_key() {
        let (points, index) = (PointsInTime::default(), index());
        let (uid, states) =
            (name("films"), || Ok(Snapshots::from([NamedSnapshot::named(&name("films"), index.snapshot())])));
        let hold = |asked| points.hold(std::iter::once(&uid), asked, &rights(1), states);
        let held: Vec<Lease> = (0..VIEWS_MAX).map(|_| hold(ask(None, 3_600_000)).unwrap()).collect();
        points.views.lock().get_mut(&held[7].id).unwrap().used -= IDLE_TIME;
        hold(ask(None, 60_000)).unwrap();
        assert_eq!(hold(ask(Some(held[7].id), 60_000)).unwrap_err().code, Code::PointInTimeNotFound);
        assert_eq!(hold(ask(None, 60_000)).unwrap_err().code, Code::TooManyPointsInTime);
    }
}
