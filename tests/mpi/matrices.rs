//! Σ as a matrix on several ranks: the bits of one process.

use std::process::Stdio;

use crate::Test;
use crate::common::matrices::{PARTS, arguments, arrays, kept, write};
use crate::common::resuming::{Running, SLOWLY, send};
use crate::launch::{alone, children, ended, ranks};

pub const TESTS: &[Test] = &[
    ("matrices of ranks", bits),
    ("matrices that are killed and go on on other ranks", resumed),
    ("matrix elements that differ from rank to rank", refused),
];

fn bits() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    write(folder.path(), 3);
    for at in [&[][..], &["--at", "bands"]] {
        let given =
            [arguments(folder.path()), at.iter().map(|at| at.to_string()).collect()].concat();
        let json = ["--json", "-", "--repeat", "2"];
        ended(alone().args(&given).args(json).arg("--npy").arg(path("one"))).record();
        for count in [1, 2, 3, 4] {
            let mut command = ranks(count);
            command.args(&given).args(json).arg("--npy").arg(path("many"));
            let record = ended(&mut command).record();
            assert_eq!(record["parts"], PARTS);
            assert_eq!(record["places"].as_array().unwrap().len(), count);
            assert_eq!(arrays(&path("many")), arrays(&path("one")), "{count} ranks");
        }
    }
}

fn resumed() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    write(folder.path(), 3);
    let (given, checkpoint) = (arguments(folder.path()), path("run.ckpt"));
    ended(alone().args(&given).args(["--json", "-", "--npy"]).arg(path("one"))).record();
    let mut last = 0;
    for (count, signal) in [(2, "KILL"), (3, "USR1")] {
        let mut command = ranks(count);
        command.args(&given).env(SLOWLY.0, SLOWLY.1).arg("--checkpoint").arg(&checkpoint);
        command.env("TMPDIR", folder.path()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut run = Running::start(&mut command);
        assert!(run.until(|| kept(&checkpoint).is_some_and(|parts| parts > last)), "{signal}");
        if signal == "KILL" {
            send("KILL", &children(run.0.id()));
            send("KILL", &[run.0.id()]);
        } else {
            send(signal, &[run.0.id()]);
        }
        let code = run.code();
        assert!(signal == "KILL" || code == Some(138), "{code:?}");
        last = kept(&checkpoint).unwrap();
        assert!((1..PARTS).contains(&last), "{last}");
    }
    let mut command = ranks(2);
    command.args(&given).arg("--checkpoint").arg(&checkpoint);
    let record = ended(command.args(["--json", "-", "--npy"]).arg(path("many"))).record();
    assert_eq!(record["resumed"], last);
    assert_eq!(arrays(&path("many")), arrays(&path("one")));
    assert!(!checkpoint.exists());
}

fn refused() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    write(folders[0].path(), 3);
    write(folders[1].path(), 4);
    let path = |at: usize, name: &str| folders[at].path().join(name).to_str().unwrap().to_string();
    std::fs::copy(path(0, "problem.dat"), path(1, "problem.dat")).unwrap();
    let script = "if [ ${OMPI_COMM_WORLD_RANK:-$PMI_RANK} = 0 ]; then A=$1; else A=$2; fi; shift 2; exec \"$@\" $A";
    let mut command = crate::launch::mpirun();
    let (one, other) = (path(0, "A.npy"), path(1, "A.npy"));
    command.args([
        "-n",
        "2",
        "sh",
        "-c",
        script,
        "sh",
        &one,
        &other,
        crate::launch::GPP,
        "offdiag",
    ]);
    command.args(["-d", "cpu", "-i", &path(0, "problem.dat"), "--elements"]);
    ended(&mut command).expect(2, &["rank 1 has matrix elements", "see --elements"]);
}
