//! What schedules have met.

/// Counts of events in a schedule, or in many.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts {
    pub(super) roots: u64,
    pub(super) takeovers: u64,
    /// Roots that were created behind newer ones.
    pub(super) stale: u64,
    pub(super) refused: u64,
    pub(super) removed: u64,
    /// Files whose own keys could not be relied on.
    pub(super) moved: u64,
    /// Files of clones that were named and not put.
    pub(super) shared: u64,
    pub(super) followed: u64,
    /// Tasks that were acknowledged when they were in the journal, and of those, or nearly, what another server has carried out.
    pub(super) acknowledged: u64,
    pub(super) replayed: u64,
    /// Records that were removed.
    pub(super) trimmed: u64,
    pub(super) crashes: u64,
    /// Clocks of servers that went to another time.
    pub(super) jumps: u64,
    /// Publications that held an index back.
    pub(super) held_back: u64,
    /// Attempts to follow after one that failed in the same process.
    pub(super) tried_again: u64,
    /// Numbers of states that more than one server had.
    pub(super) met_again: u64,
    /// Indexes that went to folders of their own, for they were of another history.
    pub(super) apart: u64,
    /// Files that stayed for a reader when no state had them any more, and removals by readers that found another file.
    pub(super) read_on: u64,
    pub(super) passed_over: u64,
    /// Stores that went away from a server, and what was refused because of that.
    pub(super) away: u64,
    pub(super) gone: u64,
    /// Objects that could not be read when a server wanted to follow.
    pub(super) unreadable: u64,
    /// Indexes of servers that take over, with files whose ids are above those of the present state.
    pub(super) above: u64,
    /// Schedules in which one call of the store failed.
    pub(super) failed_once: u64,
}

impl Counts {
    pub(super) fn add(&mut self, other: &Counts) {
        self.roots += other.roots;
        self.takeovers += other.takeovers;
        self.stale += other.stale;
        self.refused += other.refused;
        self.removed += other.removed;
        self.moved += other.moved;
        self.shared += other.shared;
        self.followed += other.followed;
        self.acknowledged += other.acknowledged;
        self.replayed += other.replayed;
        self.trimmed += other.trimmed;
        self.crashes += other.crashes;
        self.jumps += other.jumps;
        self.held_back += other.held_back;
        self.tried_again += other.tried_again;
        self.met_again += other.met_again;
        self.apart += other.apart;
        self.read_on += other.read_on;
        self.passed_over += other.passed_over;
        self.away += other.away;
        self.gone += other.gone;
        self.unreadable += other.unreadable;
        self.above += other.above;
        self.failed_once += other.failed_once;
    }
}
