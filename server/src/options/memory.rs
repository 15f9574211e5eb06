//! How much memory the process may use.

use std::fs;
use std::path::PathBuf;

/// When nothing can be found out.
const FALLBACK_BYTES: u64 = 2 << 30;

/// The smaller of the machine's memory and the limit of the control group, in bytes.
pub fn usable_memory_bytes() -> u64 {
    let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| machine_bytes(&text));
    let group = group_limits().into_iter().min();
    match (machine, group) {
        (Some(machine), Some(group)) => machine.min(group),
        (Some(bytes), None) | (None, Some(bytes)) => bytes,
        (None, None) => FALLBACK_BYTES,
    }
}

fn machine_bytes(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

/// Limits of this process's control group and of those around it: the smallest one counts.
fn group_limits() -> Vec<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let mut files = vec![PathBuf::from("/sys/fs/cgroup/memory/memory.limit_in_bytes")];
    for path in groups.lines().filter_map(|line| line.strip_prefix("0::")) {
        let mut path = path.trim_matches('/');
        loop {
            files.push(PathBuf::from("/sys/fs/cgroup").join(path).join("memory.max"));
            match path.rfind('/') {
                Some(parent) => path = &path[..parent],
                None if !path.is_empty() => path = "",
                None => break,
            }
        }
    }
    // "max" is no number: no limit.
    files.iter().filter_map(|file| fs::read_to_string(file).ok()?.trim().parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meminfo_is_in_kibibytes() {
        assert_eq!(machine_bytes("MemTotal:       16384 kB\nMemFree: 1 kB\n"), Some(16 << 20));
        assert_eq!(machine_bytes("MemFree: 1 kB\n"), None);
    }

    #[test]
    fn there_is_some_memory() {
        assert!(usable_memory_bytes() > 1 << 20);
    }
}
