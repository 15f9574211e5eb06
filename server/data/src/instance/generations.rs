//! States of indexes before the present one.

use std::sync::Arc;
use std::time::SystemTime;

use lamina_base::error::ApiResult;
use lamina_engine::index::{At, Snapshot, kept_state_count, unexpired_at};

use super::{Instance, damaged};

impl Instance {
    /// The state of an index that is meant, for searches: the present one without `at`.
    ///
    /// # Errors
    /// The errors of [`Instance::searchable`]; `generation_not_found`, and that the state is damaged.
    pub fn searchable_at(&self, uid: &str, at: Option<At>) -> ApiResult<Arc<Snapshot>> {
        self.seen_before(uid, at)?.map_or_else(|| self.searchable(uid), Ok)
    }

    /// Returns a snapshot like [`Instance::searchable_at`], for uses that need all documents.
    ///
    /// # Errors
    /// Same as [`Instance::snapshot`]; `generation_not_found`, or an error if the generation is damaged.
    pub fn snapshot_at(&self, uid: &str, at: Option<At>) -> ApiResult<Arc<Snapshot>> {
        self.seen_before(uid, at)?.map_or_else(|| self.snapshot(uid), Ok)
    }

    /// Returns a snapshot like [`Instance::searchable_at`], for uses that tolerate any damage of the current state.
    ///
    /// # Errors
    /// Same as [`Instance::state`]; `generation_not_found`, or an error if the earlier generation is damaged.
    pub fn state_at(&self, uid: &str, at: Option<At>) -> ApiResult<Arc<Snapshot>> {
        self.seen_before(uid, at)?.map_or_else(|| self.state(uid), Ok)
    }

    /// Returns a snapshot like [`Instance::state_at`], with the documents that have expired since, for what compares states.
    ///
    /// # Errors
    /// Same as [`Instance::state_at`].
    pub fn whole_state_at(&self, uid: &str, at: Option<At>) -> ApiResult<Arc<Snapshot>> {
        self.before(uid, at)?.map_or_else(|| self.state(uid), Ok)
    }

    /// Number of states before the present one that are kept of an index. Reads the names in its folder.
    pub fn kept_state_count(&self, uid: &str) -> usize {
        self.entry(uid).map_or(0, |entry| kept_state_count(&self.index_folder(&entry.folder)))
    }

    /// A state before the present one, without documents that have expired by now; `None` if the present one is meant.
    fn seen_before(&self, uid: &str, at: Option<At>) -> ApiResult<Option<Arc<Snapshot>>> {
        Ok(self.before(uid, at)?.map(|snapshot| unexpired_at(snapshot, SystemTime::now())))
    }

    /// A state before the present one; `None` if that is meant, which is the same as naming none.
    fn before(&self, uid: &str, at: Option<At>) -> ApiResult<Option<Arc<Snapshot>>> {
        let Some(at) = at else { return Ok(None) };
        let index = self.index(uid)?;
        let snapshot = index.generation(at).map_err(|error| damaged(uid, error))?;
        if Arc::ptr_eq(&snapshot, &index.snapshot()) {
            return Ok(None);
        }
        snapshot.check_whole().and_then(|()| snapshot.check_health()).map_err(|error| damaged(uid, error))?;
        Ok(Some(snapshot))
    }
}
