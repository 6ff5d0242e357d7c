//! Σ as a matrix on several ranks: the bits of one process.

use crate::common::matrices::{PARTS, arguments, arrays, write};
use crate::launch::{alone, ended, ranks};

pub fn bits() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    write(folder.path(), 3);
    for at in [&[][..], &["--qsgw"]] {
        let given =
            [arguments(folder.path()), at.iter().map(|at| at.to_string()).collect()].concat();
        let json = ["--json", "-", "--repeat", "2"];
        ended(alone().args(&given).args(json).arg("--npy").arg(path("one"))).record();
        for count in [1, 2, 3, 4] {
            let mut command = ranks(count);
            command.args(&given).args(json).arg("--npy").arg(path("many"));
            let record = ended(&mut command).record();
            assert_eq!(record["band_chunks"], PARTS);
            assert_eq!(record["workers"].as_array().unwrap().len(), count);
            assert_eq!(arrays(&path("many")), arrays(&path("one")), "{count} ranks");
        }
    }
}

pub fn refused() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    write(folders[0].path(), 3);
    write(folders[1].path(), 4);
    let path = |at: usize, name: &str| folders[at].path().join(name).to_str().unwrap().to_string();
    std::fs::copy(path(0, "problem.dat"), path(1, "problem.dat")).unwrap();
    let script = "if [ ${OMPI_COMM_WORLD_RANK:-$PMI_RANK} = 0 ]; then A=$1; else A=$2; fi; shift 2; exec \"$@\" $A";
    let mut command = crate::launch::mpirun();
    let (one, other) = (path(0, "A.npy"), path(1, "A.npy"));
    command.args(["-n", "2", "sh", "-c", script, "sh", &one, &other, crate::launch::GPP]);
    command.args(["offdiag", "-d", "cpu", "-i", &path(0, "problem.dat"), "--elements"]);
    ended(&mut command).expect(2, &["rank 1 has other matrix elements, "]);
}
