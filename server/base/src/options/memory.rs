//! How much memory the process may use.

use std::fs;
use std::path::{Component, Path, PathBuf};

/// Memory that is assumed if no limit can be determined.
const FALLBACK_BYTES: u64 = 2 << 30;

/// The smallest of the machine's memory, the limits of the control group, and those of the process (`ulimit -d`, `ulimit
/// -v`), in bytes.
pub fn usable_memory_bytes() -> u64 {
    let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| machine_bytes(&text));
    let process = fs::read_to_string("/proc/self/limits").map(|text| process_limits(&text)).unwrap_or_default();
    group_limits().into_iter().chain(machine).chain(process).min().unwrap_or(FALLBACK_BYTES)
}

/// Reads the limits of the process on its address space and on its data.
fn process_limits(limits: &str) -> Vec<u64> {
    let lines = limits
        .lines()
        .filter_map(|line| ["Max address space", "Max data size"].iter().find_map(|name| line.strip_prefix(name)));
    // The first number is the one in force; "unlimited" is none.
    lines.filter_map(|line| line.split_whitespace().next()?.parse().ok()).collect()
}

fn machine_bytes(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

/// Limits of this process's control group and of those around it, of either version: the smallest one counts.
fn group_limits() -> Vec<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    limits_of(&hierarchies(&groups, &mounts))
}

/// A tree of control groups that bounds memory, and the place of the process in it.
#[derive(Debug, PartialEq, Eq)]
struct Hierarchy {
    /// Mount point of the tree.
    mount: PathBuf,
    /// The group of the process, below the mount.
    group: PathBuf,
    /// The file in which the limit of a group is.
    limit_file: &'static str,
}

const LIMIT_FILE_V1: &str = "memory.limit_in_bytes";
const LIMIT_FILE_V2: &str = "memory.max";

/// The trees with the process in them, from `/proc/self/cgroup` and `/proc/self/mountinfo`.
fn hierarchies(groups: &str, mounts: &str) -> Vec<Hierarchy> {
    let lines = groups.lines().filter_map(|line| {
        let mut parts = line.splitn(3, ':');
        let (number, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
        let is_v2 = number == "0" && controllers.is_empty();
        let bounds_memory = is_v2 || controllers.split(',').any(|controller| controller == "memory");
        bounds_memory.then_some((is_v2, path))
    });
    lines
        .map(|(is_v2, path)| {
            let (default, limit_file) = match is_v2 {
                true => ("/sys/fs/cgroup", LIMIT_FILE_V2),
                false => ("/sys/fs/cgroup/memory", LIMIT_FILE_V1),
            };
            let (root, mount) = mount_of(mounts, is_v2).unwrap_or_else(|| ("/".to_owned(), default.to_owned()));
            // In a container the mount may show a part of the tree only, while the path begins at its root.
            let below = Path::new(path).strip_prefix(&root).unwrap_or(Path::new(path));
            let group = below.strip_prefix("/").unwrap_or(below).to_owned();
            Hierarchy { mount: mount.into(), group, limit_file }
        })
        .collect()
}

/// Returns the mounted part of the tree of control groups, and its mount point.
fn mount_of(mounts: &str, is_v2: bool) -> Option<(String, String)> {
    mounts.lines().find_map(|line| {
        let (left, right) = line.split_once(" - ")?;
        let (mut left, mut right) = (left.split(' ').skip(3), right.split(' '));
        let (root, mount) = (left.next()?, left.next()?);
        let (kind, _, options) = (right.next()?, right.next()?, right.next()?);
        let is_it = match is_v2 {
            true => kind == "cgroup2",
            false => kind == "cgroup" && options.split(',').any(|option| option == "memory"),
        };
        is_it.then(|| (root.to_owned(), mount.to_owned()))
    })
}

/// The limits of the groups and of all groups around them. What is no number, as `max`, is no limit.
fn limits_of(hierarchies: &[Hierarchy]) -> Vec<u64> {
    let files = hierarchies.iter().flat_map(|Hierarchy { mount, group, limit_file }| {
        // A path that leads out of the mount (`/../x`) is that of a group which cannot be seen from here.
        let is_inside = group.components().all(|part| matches!(part, Component::Normal(_)));
        let group = if is_inside { group.as_path() } else { Path::new("") };
        group.ancestors().map(move |group| mount.join(group).join(limit_file))
    });
    files.filter_map(|file| fs::read_to_string(file).ok()?.trim().parse().ok()).collect()
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
    fn limits_of_the_process_are_read() {
        let limits = "Limit                     Soft Limit           Hard Limit           Units\n\
                      Max data size             536870912            unlimited            bytes\n\
                      Max address space         unlimited            unlimited            bytes\n\
                      Max open files            1024                 4096                 files\n";
        assert_eq!(process_limits(limits), [512 << 20]);
    }

    #[test]
    fn there_is_some_memory() {
        assert!(usable_memory_bytes() > 1 << 20);
    }

    /// A tree of files with limits, and the smallest of those that count for a process.
    fn smallest(files: &[(&str, &str)], groups: &str, mounts: &str) -> Option<u64> {
        let folder = tempfile::tempdir().unwrap();
        for (path, limit) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("{limit}\n")).unwrap();
        }
        let mounts = mounts.replace("ROOT", folder.path().to_str().unwrap());
        limits_of(&hierarchies(groups, &mounts)).into_iter().min()
    }

    const V1: &str = "30 25 0:26 / ROOT/memory rw,nosuid shared:9 - cgroup cgroup rw,memory\n\
                      31 25 0:27 / ROOT/cpu rw,nosuid shared:10 - cgroup cgroup rw,cpu,cpuacct\n";

    #[test]
    fn nested_groups_of_version_1_count() {
        let none = "9223372036854771712";
        let groups = "11:cpu,cpuacct:/a/b\n9:memory:/a/b\n1:name=systemd:/a/b\n0::/a\n";
        let of = |inner, middle, outer| {
            let files = [
                ("memory/a/b/memory.limit_in_bytes", inner),
                ("memory/a/memory.limit_in_bytes", middle),
                ("memory/memory.limit_in_bytes", outer),
                ("memory/other/memory.limit_in_bytes", "1"),
                ("cpu/a/b/memory.limit_in_bytes", "2"),
            ];
            smallest(&files, groups, V1)
        };
        assert_eq!(of("1000000", none, none), Some(1_000_000));
        assert_eq!(of(none, "2000000", none), Some(2_000_000));
        assert_eq!(of(none, none, "3000000"), Some(3_000_000));
        assert_eq!(of("5000000", "4000000", none), Some(4_000_000));
    }

    #[test]
    fn nested_groups_of_version_2_count() {
        let mounts = "29 23 0:26 / ROOT rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";
        let files =
            [("a/b/memory.max", "max"), ("a/memory.max", "7000000"), ("memory.max", "max"), ("c/memory.max", "1")];
        assert_eq!(smallest(&files, "0::/a/b\n", mounts), Some(7_000_000));
        assert_eq!(smallest(&files, "0::/\n", mounts), None);
        assert_eq!(smallest(&files, "0::/../c\n", mounts), None, "a group outside of what is mounted");
    }

    #[test]
    fn a_container_sees_a_part_of_the_tree() {
        let mounts = "30 25 0:26 /docker/1f ROOT/memory ro - cgroup cgroup rw,memory\n";
        let files = [("memory/memory.limit_in_bytes", "9000000"), ("memory/inner/memory.limit_in_bytes", "8000000")];
        assert_eq!(smallest(&files, "9:memory:/docker/1f\n", mounts), Some(9_000_000));
        assert_eq!(smallest(&files, "9:memory:/docker/1f/inner\n", mounts), Some(8_000_000));
    }

    #[test]
    fn both_versions_side_by_side_count() {
        let mounts = format!("{V1}29 23 0:26 / ROOT/unified rw - cgroup2 cgroup2 rw\n");
        let files = [("memory/a/memory.limit_in_bytes", "6000000"), ("unified/u/memory.max", "5000000")];
        assert_eq!(smallest(&files, "4:memory:/a\n0::/u\n", &mounts), Some(5_000_000));
        assert_eq!(smallest(&files, "4:memory:/a\n0::/\n", &mounts), Some(6_000_000));
    }
}
