//! MPI's launcher.

use std::process::Command;

/// Has Open MPI start more processes than cores, as root too, and without a network; other launchers ignore it.
const SETTINGS: [(&str, &str); 7] = [
    ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
    ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
    ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
    ("OMPI_MCA_hwloc_base_binding_policy", "none"),
    ("OMPI_MCA_plm", "isolated"),
    ("OMPI_MCA_pml", "ob1"),
    ("OMPI_MCA_btl", "self,vader"),
];

pub fn mpirun() -> Command {
    let mut command = Command::new("mpirun");
    command.envs(SETTINGS).env("RUST_BACKTRACE", "0").env_remove("GPP_PTX");
    command
}
