//! Aliases beside the names of the indexes.

use std::sync::Arc;

use lamina_base::aliases::Aliases;
use lamina_base::timestamp::Timestamp;

use super::Instance;
use crate::tasks::IndexChange;

impl Instance {
    /// With these aliases, for who looks into a database.
    #[must_use]
    pub fn with_aliases(self, aliases: Aliases) -> Instance {
        *self.aliases.write() = Arc::new(aliases);
        self
    }

    /// The aliases of this moment.
    pub fn aliases(&self) -> Arc<Aliases> {
        Arc::clone(&self.aliases.read())
    }

    /// Follows a change, of the names of indexes too.
    pub(super) fn change_aliases(&self, change: &IndexChange) {
        let mut aliases = self.aliases.write();
        if aliases.is_empty() && !matches!(change, IndexChange::Aliased { .. }) {
            return;
        }
        // Requests under way keep those that they began with.
        let mut changed = (**aliases).clone();
        match change {
            IndexChange::Aliased { moves, at } => changed.change(moves, Timestamp::from_nanos(*at)),
            IndexChange::Deleted { uid } => changed.index_deleted(uid),
            IndexChange::Renamed { from, to } | IndexChange::SwappedIntoFree { from, to, .. } => {
                changed.index_renamed(from, to);
            }
            IndexChange::Created { .. } | IndexChange::Swapped { .. } => return,
        }
        *aliases = Arc::new(changed);
    }
}
