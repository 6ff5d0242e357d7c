use super::*;

#[test]
fn what_the_system_refuses_is_an_error_with_its_name() {
    for length in [usize::MAX, usize::MAX / 32] {
        match zeros::<f64>("wx(iw,n)", length) {
            Err(Error::Memory { on_device: false, what, needed, .. }) => {
                assert_eq!((&what[..], needed), ("wx(iw,n)", length.saturating_mul(8) as u64));
            }
            other => panic!("{:?}", other.map(|all| all.len())),
        }
    }
    assert_eq!(zeros::<u32>("three", 3).unwrap(), [0; 3]);
}

/// A tree of files, and the limit of the process whose folder is `proc/self` in it.
fn limit(files: &[(&str, &str)]) -> Option<(String, u64)> {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let Free { bytes, limit } = group_limit(&root.path().join("proc/self"), root.path())?;
    let folder = format!("{}/", root.path().display());
    Some((limit.unwrap().strip_prefix(&folder).unwrap().into(), bytes))
}

/// The same for a file that allows so many bytes, of which some are free.
fn allowed(file: &str, bytes: u64, free: u64) -> Option<(String, u64)> {
    Some((format!("{file} allows {}", shown(bytes)), free))
}

const V2_MOUNT: (&str, &str) = (
    "proc/self/mountinfo",
    "24 23 0:22 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw,nsdelegate\n",
);

#[test]
fn systemds_scopes_where_some_have_no_files() {
    assert_eq!([limit(&[]), limit(&[V2_MOUNT])], [None, None]);
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
    assert_eq!(limit(&all), allowed(&max, 5000, 3900));
    all.push((&high, "4500\n"));
    assert_eq!(limit(&all), allowed(&high, 4500, 3400));
}

#[test]
fn containers_see_their_own_group_under_any_name() {
    let file = "sys/fs/cgroup/memory.max";
    let cases = [("/", "/"), ("/docker/3f", "/docker/3f"), ("/a", "/b/c"), ("/", "/../x")];
    for (root, group) in cases {
        let mount = format!("1 2 0:3 {root} /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
        let found = limit(&[
            ("proc/self/mountinfo", &mount),
            ("proc/self/cgroup", &format!("0::{group}")),
            (file, "300"),
            ("sys/fs/cgroup/memory.current", "100"),
        ]);
        assert_eq!(found, allowed(file, 300, 200), "{root} {group}");
    }
}

/// As RHEL 8 mounts them, and systems with both.
#[test]
fn limits_of_the_first_version_are_seen() {
    let group = "sys/fs/cgroup/memory/slurm/job_7";
    let [max, usage, stat] =
        ["limit_in_bytes", "usage_in_bytes", "stat"].map(|name| format!("{group}/memory.{name}"));
    let mounts = "30 25 0:26 / /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu,cpuacct\n\
                  31 25 0:27 / /sys/fs/cgroup/memory ro shared:9 - cgroup cgroup rw,seclabel,memory\n\
                  24 25 0:22 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
    let all = [
        ("proc/self/mountinfo", mounts),
        ("proc/self/cgroup", "8:memory,hugetlb:/slurm/job_7/step_0\n4:cpu,cpuacct:/a\n0::/b\n"),
        ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
        ("sys/fs/cgroup/memory/slurm/job_7/step_0/memory.limit_in_bytes", "9223372036854771712\n"),
        (&max, "5000\n"),
        (&usage, "4000\n"),
        (&stat, "inactive_file 1\ntotal_inactive_file 2500\ntotal_active_file 400\n"),
    ];
    assert_eq!(limit(&all), allowed(&max, 5000, 3900));
    let tighter = ("sys/fs/cgroup/unified/b/memory.max", "300");
    assert_eq!(limit(&[&all[..], &[tighter]].concat()), allowed(tighter.0, 300, 300));
}
