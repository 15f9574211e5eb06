//! Replication as a whole: schedules over a simulated store.

mod simulated;
