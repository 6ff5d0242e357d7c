//! What control groups leave to this process of the host's memory: the groups that it is in and all around
//! them, of cgroup v1, of v2, or of both. Slurm's steps and systemd's scopes are such groups.
//!
//! sysinfo's `Process::cgroup_limits` is not used: it counts the page cache of files as taken, so that reading
//! an input would leave no room for it; it knows no limit where one of the groups has no files for memory; and
//! it does not say whose limit it is.

use std::fs;
use std::path::{Component, Path, PathBuf};

/// The limit that leaves least.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limit {
    /// The file that holds it.
    pub file: PathBuf,
    /// Its bytes.
    pub bytes: u64,
    /// Those that are free: what files take of the page cache gives way.
    pub free: u64,
}

/// What a version of control groups calls its files, and the page cache in `memory.stat`.
struct Names {
    limits: &'static [&'static str],
    usage: &'static str,
    cache: [&'static str; 2],
}

const V1: Names = Names {
    limits: &["memory.limit_in_bytes"],
    usage: "memory.usage_in_bytes",
    cache: ["total_inactive_file", "total_active_file"],
};

/// Above `memory.high` a process is slowed down until it hardly moves.
const V2: Names = Names {
    limits: &["memory.max", "memory.high"],
    usage: "memory.current",
    cache: ["inactive_file", "active_file"],
};

/// The one of this process; none without groups, or without limits.
pub fn tightest() -> Option<Limit> {
    of(Path::new("/proc/self"), Path::new("/"))
}

/// The same of the process of a folder of `/proc`, where all that is mounted is below `root`.
fn of(proc: &Path, root: &Path) -> Option<Limit> {
    let [groups, mounts] =
        ["cgroup", "mountinfo"].map(|name| fs::read_to_string(proc.join(name)).unwrap_or_default());
    let levels = mounts.lines().filter_map(Mount::of).flat_map(|mount| {
        let own = mount.group(&groups).map(|group| mount.folder(root, group));
        let top = mount.folder(root, Path::new(""));
        let up =
            own.into_iter().flat_map(|own| own.ancestors().map(PathBuf::from).collect::<Vec<_>>());
        up.take_while(move |level| level.starts_with(&top))
            .filter_map(move |level| mount.names.at(&level))
    });
    levels.min_by_key(|limit| limit.free)
}

impl Names {
    /// The limit of a group, where it has one.
    fn at(&self, group: &Path) -> Option<Limit> {
        let number = |name: &&str| -> Option<(PathBuf, u64)> {
            let file = group.join(name);
            // `max` is none.
            let bytes = fs::read_to_string(&file).ok()?.trim().parse().ok()?;
            Some((file, bytes))
        };
        let (file, bytes) =
            self.limits.iter().filter_map(number).min_by_key(|(_, bytes)| *bytes)?;
        let usage = number(&self.usage).map_or(0, |(_, bytes)| bytes);
        let stat = fs::read_to_string(group.join("memory.stat")).unwrap_or_default();
        let cached = |line: &str| {
            let (name, bytes) = line.split_once(' ')?;
            self.cache.contains(&name).then(|| bytes.trim().parse::<u64>().ok())?
        };
        let taken = usage.saturating_sub(stat.lines().filter_map(cached).sum());
        Some(Limit { file, bytes, free: bytes.saturating_sub(taken) })
    }
}

/// Where groups that limit memory are mounted.
struct Mount {
    names: &'static Names,
    /// The group that is seen there.
    root: String,
    point: String,
}

impl Mount {
    /// Of a line of `/proc/PID/mountinfo`; none for all else that is mounted.
    fn of(line: &str) -> Option<Mount> {
        let (before, behind) = line.split_once(" - ")?;
        let mut before = before.split(' ').skip(3).map(unescaped);
        let (root, point) = (before.next()?, before.next()?);
        let mut behind = behind.split(' ');
        let (kind, options) = (behind.next()?, behind.nth(1)?);
        let names = match kind {
            "cgroup2" => &V2,
            "cgroup" if options.split(',').any(|option| option == "memory") => &V1,
            _ => return None,
        };
        Some(Mount { names, root, point })
    }

    /// The process's group below what is mounted, of the lines of `/proc/PID/cgroup`.
    fn group<'g>(&self, groups: &'g str) -> Option<&'g Path> {
        let is_v2 = std::ptr::eq(self.names, &V2);
        let of_line = |line: &'g str| {
            let mut parts = line.splitn(3, ':');
            let (number, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
            let is_own = match is_v2 {
                true => number == "0" && controllers.is_empty(),
                false => controllers.split(',').any(|name| name == "memory"),
            };
            is_own.then_some(Path::new(path))
        };
        let path = groups.lines().find_map(of_line)?;
        // A container may see no more than its own group, whatever that is called outside.
        let below = path.strip_prefix(&self.root).unwrap_or(Path::new(""));
        let is_seen = !below.components().any(|part| part == Component::ParentDir);
        Some(if is_seen { below } else { Path::new("") })
    }

    /// A group's folder.
    fn folder(&self, root: &Path, group: &Path) -> PathBuf {
        root.join(self.point.trim_start_matches('/')).join(group)
    }
}

/// A field of `mountinfo`, where blanks and backslashes stand as `\040`.
fn unescaped(field: &str) -> String {
    let mut parts = field.split('\\');
    let mut all = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let code = part.get(..3).and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match code {
            Some(code) => all.extend([char::from(code)].into_iter().chain(part[3..].chars())),
            None => all.extend(['\\'].into_iter().chain(part.chars())),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree of files, and the limit of the process whose folder is `proc/self` in it.
    fn limit(files: &[(&str, &str)]) -> Option<(String, u64, u64)> {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let Limit { file, bytes, free } = of(&root.path().join("proc/self"), root.path())?;
        Some((file.strip_prefix(root.path()).unwrap().to_str().unwrap().into(), bytes, free))
    }

    const V1_MOUNT: (&str, &str) = (
        "proc/self/mountinfo",
        "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n\
         34 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n\
         35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory\n",
    );
    const V2_MOUNT: (&str, &str) = (
        "proc/self/mountinfo",
        "24 23 0:22 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw,nsdelegate\n",
    );

    #[test]
    fn slurms_groups_of_v1_from_the_task_up() {
        let groups =
            "5:cpuset:/slurm/uid_7/job_3\n4:memory:/slurm/uid_7/job_3/step_0/task_1\n0::/\n";
        let unlimited = "9223372036854771712\n";
        let job = "sys/fs/cgroup/memory/slurm/uid_7/job_3";
        let at = |level: &str, name: &str| format!("{job}{level}/memory.{name}");
        let files = [
            (at("/step_0/task_1", "limit_in_bytes"), unlimited),
            (at("/step_0/task_1", "usage_in_bytes"), "50"),
            (at("/step_0", "limit_in_bytes"), "1000\n"),
            (at("/step_0", "usage_in_bytes"), "600\n"),
            // What of it is files gives way; `inactive_file` alone is this level's without those below.
            (
                at("/step_0", "stat"),
                "inactive_file 1\ntotal_inactive_file 300\ntotal_active_file 100\n",
            ),
            (at("", "limit_in_bytes"), "900\n"),
            (at("", "usage_in_bytes"), "650\n"),
        ];
        let mut all: Vec<(&str, &str)> =
            files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        all.extend([V1_MOUNT, ("proc/self/cgroup", groups)]);
        assert_eq!(limit(&all), Some((at("", "limit_in_bytes"), 900, 250)));
        // Nor is a limit of another controller's group one, or that of a group beside.
        assert_eq!(limit(&[V1_MOUNT, ("proc/self/cgroup", groups)]), None);
        let other = "sys/fs/cgroup/memory/slurm/uid_8/memory.limit_in_bytes";
        assert_eq!(limit(&[V1_MOUNT, ("proc/self/cgroup", groups), (other, "1")]), None);
    }

    #[test]
    fn systemds_scopes_of_v2_where_some_have_no_files() {
        let scope = "/user.slice/user-7.slice/run-u3.scope";
        let slice = "sys/fs/cgroup/user.slice/user-7.slice";
        let groups = format!("0::{scope}\n");
        let [max, high, current, stat] =
            ["max", "high", "current", "stat"].map(|name| format!("{slice}/memory.{name}"));
        let mut all = vec![
            V2_MOUNT,
            ("proc/self/cgroup", groups.as_str()),
            // The scope has the controller not, its slice has it; the root never has a limit.
            ("sys/fs/cgroup/user.slice/user-7.slice/run-u3.scope/cgroup.procs", "1\n"),
            (&max, "5000\n"),
            (&high, "max\n"),
            (&current, "4000\n"),
            (&stat, "anon 1000\ninactive_file 2500\nactive_file 400\nfile_mapped 7\n"),
            ("sys/fs/cgroup/user.slice/memory.max", "max\n"),
        ];
        assert_eq!(limit(&all), Some((max.clone(), 5000, 3900)));
        all.push((&high, "4500\n"));
        assert_eq!(limit(&all), Some((high.clone(), 4500, 3400)));
    }

    #[test]
    fn containers_see_their_own_group_under_any_name() {
        let file = "sys/fs/cgroup/memory.max";
        let current = ("sys/fs/cgroup/memory.current", "100");
        for (root, group) in
            [("/", "/"), ("/docker/3f", "/docker/3f"), ("/a", "/b/c"), ("/", "/../x")]
        {
            let mount = format!("1 2 0:3 {root} /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
            let found = limit(&[
                ("proc/self/mountinfo", &mount),
                ("proc/self/cgroup", &format!("0::{group}")),
                (file, "300"),
                current,
            ]);
            assert_eq!(found, Some((file.into(), 300, 200)), "{root} {group}");
        }
    }

    #[test]
    fn blanks_and_backslashes_of_names() {
        assert_eq!(unescaped(r"/a\040b\134x2d\011"), "/a b\\x2d\t");
        assert_eq!(unescaped(r"/a\04"), r"/a\04");
        assert_eq!(limit(&[]), None);
    }
}
