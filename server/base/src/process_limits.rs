//! What the operating system lets the process have: file descriptors and memory maps.

use std::fs;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Maximum number of memory maps of a process where the system reports none. This is the long-standing default of
/// Linux.
const MAPS_DEFAULT: usize = 65_530;
/// Maps of an index with many segments: a file each, and a few with columns that were added.
const MAPS_OF_AN_INDEX: usize = 64;
/// Indexes left open beyond these would hold memory for little: opening one takes a millisecond.
const OPEN_INDEXES_MAX: usize = 1_000;
/// Descriptors that are not given to connections, at most: for files being written, the task store, requests of the server.
const RESERVE_MAX: usize = 256;
/// With fewer descriptors it is worth saying so.
const LOW: usize = 1_024;

/// Raises the number of files that the process may have open to what it may raise it to. How many that is.
pub fn raise_open_files() -> usize {
    let found = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: found.maximum, maximum: found.maximum };
    let limit = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => raised.current,
        Err(error) => {
            tracing::warn!(%error, "cannot raise the limit of open files");
            found.current
        }
    };
    // Without a limit memory is the bound.
    let limit = limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    if limit < LOW {
        tracing::warn!(
            limit,
            connections = connections_max(limit),
            "the limit of open files is low: raise the hard limit (`ulimit -Hn`) if many clients connect"
        );
    }
    limit
}

/// Connections that may be open at once when `open_files` may: the rest is for files.
pub fn connections_max(open_files: usize) -> usize {
    (open_files - (open_files / 2).min(RESERVE_MAX)).max(1)
}

/// Indexes that stay open when nothing uses them, unless an option says otherwise.
pub fn open_indexes_max() -> usize {
    let maps = fs::read_to_string("/proc/sys/vm/max_map_count").ok().and_then(|text| text.trim().parse().ok());
    open_indexes_for(maps.unwrap_or(MAPS_DEFAULT))
}

fn open_indexes_for(maps: usize) -> usize {
    (maps / MAPS_OF_AN_INDEX).clamp(1, OPEN_INDEXES_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_descriptors_for_files() {
        assert_eq!(connections_max(128), 64);
        assert_eq!(connections_max(1_024), 768);
        assert_eq!(connections_max(1 << 20), (1 << 20) - 256);
        assert_eq!(connections_max(1), 1);
    }

    #[test]
    fn open_indexes_have_maps_enough() {
        assert_eq!(open_indexes_for(MAPS_DEFAULT), 1_000);
        assert_eq!(open_indexes_for(6_400), 100);
        assert_eq!(open_indexes_for(0), 1);
        assert!(open_indexes_max() >= 1);
    }

    #[test]
    fn the_soft_limit_becomes_the_hard_one() {
        let limit = raise_open_files();
        let now = getrlimit(Resource::Nofile);
        assert_eq!(now.current, now.maximum);
        assert_eq!(limit as u64, now.current.unwrap_or(usize::MAX as u64));
    }
}
