//! Figures of the process from the operating system, for metrics.

use std::fs;

use rustix::process::{Resource, getrlimit};

/// Figures of the process. Those that the system does not report are absent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ProcessStats {
    /// Time on all cores since the start.
    pub cpu_seconds: Option<f64>,
    pub open_files: Option<u64>,
    /// The most that may be open.
    pub open_files_max: Option<u64>,
}

impl ProcessStats {
    /// Reads them. Cost: a system call for each of some hundred open files.
    pub fn read() -> ProcessStats {
        ProcessStats {
            cpu_seconds: fs::read_to_string("/proc/self/stat").ok().and_then(|text| cpu_seconds(&text)),
            // One of them is that of the folder.
            open_files: fs::read_dir("/proc/self/fd").ok().map(|entries| entries.count().saturating_sub(1) as u64),
            open_files_max: getrlimit(Resource::Nofile).current,
        }
    }
}

/// The time of a process as user and in the kernel, of its line in `/proc`.
fn cpu_seconds(stat: &str) -> Option<f64> {
    // The name of the program may have spaces and brackets itself.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut ticks = fields.split_whitespace().skip(11).map(str::parse::<u64>);
    let (user, kernel) = (ticks.next()?.ok()?, ticks.next()?.ok()?);
    Some((user + kernel) as f64 / rustix::param::clock_ticks_per_second() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_times_stand_behind_the_name() {
        let ticks = rustix::param::clock_ticks_per_second();
        let line = format!("7 (a ) b) S 1 2 3 4 5 6 7 8 9 10 {} {ticks} 13 14", 2 * ticks);
        assert_eq!(cpu_seconds(&line), Some(3.0));
        for wrong in ["", "7 (a) S 1 2", "7 (a) S 1 2 3 4 5 6 7 8 9 10 x y"] {
            assert_eq!(cpu_seconds(wrong), None, "{wrong}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn linux_reports_all_of_them() {
        let stats = ProcessStats::read();
        assert!(stats.cpu_seconds.is_some());
        let (open, max) = (stats.open_files.unwrap(), stats.open_files_max.unwrap_or(u64::MAX));
        assert!(open >= 3, "{open}");
        assert!(open <= max, "{open} {max}");
    }
}
