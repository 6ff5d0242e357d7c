use super::*;

#[test]
fn a_list_is_taken_as_openmp_takes_it() {
    let cases = [("4", Some(4)), ("4,2", Some(4)), (" 3 , 2", Some(3)), ("65535", Some(65_535))];
    for (list, threads) in cases {
        assert_eq!(first(list), threads, "{list}");
    }
    for wrong in ["", "0", "-1", "two", "2.5", ",4", "65536", "1e3"] {
        assert_eq!(first(wrong), None, "{wrong}");
    }
}

#[test]
fn what_is_set_comes_before_the_environment_and_that_before_the_room() {
    let counts = |team: &CpuTeam| {
        [DefaultThreads::Cores, DefaultThreads::All].map(|threads| team.count(threads))
    };
    let team = CpuTeam { asked: None, ..CpuTeam::new(Room { cores: 2, all: 3 }) };
    assert_eq!(counts(&team), [2, 3]);
    let team = CpuTeam { asked: Some(5), ..team };
    assert_eq!(counts(&team), [5, 5]);
    team.set(4);
    assert_eq!(counts(&team), [4, 4]);
    team.set(0);
    assert_eq!(counts(&team), [5, 5]);
}

#[test]
fn lists_are_read_as_linux_writes_them() {
    assert_eq!(numbers("\t0-3,8\n"), [0, 1, 2, 3, 8]);
    assert!(numbers("").is_empty());
}
