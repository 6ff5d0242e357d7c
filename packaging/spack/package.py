# The recipe for Spack: copy it to packages/gpp_gw/package.py of a repository of packages, set `git` or `url` to where
# the source is, and run `spack install gpp-gw`.
from spack.package import *


class GppGw(Package):
    """BerkeleyGW's generalized plasmon-pole self-energy kernel on NVIDIA GPUs and CPUs: the program gpp, and the
    library libgpp for C and Fortran. The GPU kernels are compiled from Rust; no CUDA toolkit is needed."""

    git = "file:///path/to/gpp"

    license("MIT OR Apache-2.0")

    # A release adds its line: version("0.2.0", tag="v0.2.0", commit="...").
    version("main", branch="main")

    variant("mpi", default=False, description="Run on the ranks of MPI")

    # rust-src, of which the kernels' `core` is built, comes with the variant +src.
    depends_on("c", type="build")
    depends_on("rust@1.95: +src", type="build")
    depends_on("mpi", when="+mpi")
    depends_on("llvm +clang", type="build", when="+mpi")

    def setup_build_environment(self, env):
        env.set("GPP_REQUIRE_KERNELS", "1")
        env.set("CARGO_HOME", join_path(self.stage.path, "cargo"))
        # As scripts/install does, so that files hold no path of this machine.
        env.set("RUSTC_WRAPPER", join_path(self.stage.source_path, "build", "rustc"))
        if "+mpi" in self.spec:
            env.set("LIBCLANG_PATH", self.spec["llvm"].prefix.lib)

    def install(self, spec, prefix):
        Executable("./scripts/install")(prefix)
        if "+mpi" in spec:
            cargo = which("cargo", required=True)
            cargo("build", "--release", "--locked", "--features", "mpi", "--target-dir", "target/install")
            install("target/install/release/gpp", prefix.bin)

    def test_run(self):
        """a small system, verified"""
        which(self.prefix.bin.gpp, required=True)("--system", "tiny", "--device", "cpu")
