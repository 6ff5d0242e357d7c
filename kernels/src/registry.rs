//! Every version, described once. The launcher, the command line, the tables, the tests, the
//! benches and the build script all read [`VERSIONS`].

use crate::grid;
use crate::plan::Table;
#[cfg(not(target_arch = "nvptx64"))]
use crate::target::{CountedBody, HostBody};
use crate::tiles::Shape;
use crate::versions;

/// Loop structure, outer to inner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loops {
    /// `n`, `igp` and `ig` collapsed, `iw` in a thread.
    Collapse3,
    /// `igp` and `ig` collapsed, `n` in a thread.
    Collapse2,
    /// `n_blk`, `igp` and `ig_blk` collapsed; strided `ig`, then `n`, in a thread.
    Blocked,
    /// One `ig` and several `igp` in a thread, all bands: see [`crate::tiles`].
    Tiled(Shape),
}

/// Whether one launch sums all energies or each has its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Energies {
    /// One launch, all energies in a thread.
    Together,
    /// One launch for each energy.
    OneLaunchEach,
}

/// Index order of `wx` and `aqsm_local`, and order of the bands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// `wx(iw,n)`, `aqsm_local(igp,n)`.
    Original,
    /// `wx(n,iw)`, `aqsm_local(n,igp)`.
    Swapped,
    /// [`crate::arrays::Planned`], bands in the order of [`crate::plan`], whose parameters the
    /// entries take.
    Planned,
}

/// What the regular poles of a problem have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Poles {
    /// Nothing.
    Any,
    /// All are purely real.
    Real,
}

/// Register spills that the tests let a kernel have, with room for another compiler's choices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spills {
    /// Loads and stores of local memory in one pass of an innermost loop of FP64 arithmetic: these
    /// cost time.
    pub in_loop: u32,
    /// Bytes in the whole kernel, most of which run once: more means that the kernel has changed.
    pub bytes: u32,
}

impl Spills {
    /// None in a loop, but for the few that the tests let pass anywhere.
    pub const OUTSIDE: Spills = Spills { in_loop: 0, bytes: 192 };
}

/// One kernel: a version's body for a number of energies.
#[derive(Clone, Copy)]
pub struct Body {
    /// Energies that one launch sums.
    pub energies: u32,
    /// Kernel symbol in the PTX.
    pub symbol: &'static str,
    /// Most registers of a thread, where that is not the version's.
    pub max_registers: Option<u32>,
    /// Spills that it may have.
    pub spills: Spills,
    /// The same body on the host.
    #[cfg(not(target_arch = "nvptx64"))]
    pub host: HostBody,
    /// The same body on the host, with its operations counted: see [`crate::counted`].
    #[cfg(not(target_arch = "nvptx64"))]
    pub counted: CountedBody,
}

/// What is known of one version before it runs.
pub struct Version {
    /// Name on the command line.
    pub id: &'static str,
    /// What it changes from the version before.
    pub change: &'static str,
    /// Where the change is described.
    pub source: &'static str,
    /// Loop structure.
    pub loops: Loops,
    /// Energies in a launch.
    pub energies: Energies,
    /// Index order of `wx` and `aqsm_local`.
    pub layout: Layout,
    /// Threads of a block.
    pub threads: u32,
    /// Most registers of a thread, `.maxnreg` in the PTX.
    pub max_registers: Option<u32>,
    /// FP64 operations (FMA = 2) for each (n, igp, ig, iw), counted by the hardware for these kernels
    /// on si214: see the archived profiles.
    pub flops_per_term: f64,
    /// Its kernels.
    pub bodies: &'static [Body],
    /// What these take poles to be.
    pub poles: Poles,
    /// Its kernels for problems with [`Poles::Real`], where it has such.
    pub real: Option<Launch>,
    /// Whose kernels run where the constant memory does not hold the energies; its own need that.
    pub beyond: Option<&'static Version>,
}

/// How a version sums problems of some poles.
#[derive(Clone, Copy)]
pub struct Launch {
    /// Loop structure.
    pub loops: Loops,
    /// Threads of a block.
    pub threads: u32,
    /// Most registers of a thread.
    pub max_registers: Option<u32>,
    /// As [`Version::flops_per_term`].
    pub flops_per_term: f64,
    /// The kernels.
    pub bodies: &'static [Body],
}

/// All versions in the paper's order.
pub static VERSIONS: [&Version; 14] = [
    &versions::v0::VERSION,
    &versions::v1::VERSION,
    &versions::v2::VERSION,
    &versions::v3::VERSION,
    &versions::v4::VERSION,
    &versions::v5::VERSION,
    &versions::v6::VERSION,
    &versions::v7::VERSION,
    &versions::v8::VERSION,
    &versions::v9::VERSION,
    &versions::v10::VERSION,
    &versions::v11::VERSION,
    &versions::v12::VERSION,
    &versions::v13::VERSION,
];

impl Version {
    /// The fastest: the last.
    pub fn best() -> &'static Version {
        VERSIONS[VERSIONS.len() - 1]
    }

    /// Itself, or with the kernels of [`Version::beyond`], for so many energies of all bands.
    pub fn holding(&self, energies: usize) -> Version {
        let own = Version { ..*self };
        match self.beyond {
            Some(other) if energies > Table::CONSTANT => Version {
                loops: other.loops,
                threads: other.threads,
                max_registers: other.max_registers,
                flops_per_term: other.flops_per_term,
                bodies: other.bodies,
                poles: other.poles,
                real: other.real,
                beyond: None,
                ..own
            },
            _ => own,
        }
    }

    /// What it does for these poles.
    pub fn of(&self, poles: Poles) -> Launch {
        match self.real {
            Some(real) if poles == Poles::Real => real,
            _ => Launch {
                loops: self.loops,
                threads: self.threads,
                max_registers: self.max_registers,
                flops_per_term: self.flops_per_term,
                bodies: self.bodies,
            },
        }
    }

    /// What the kernels that sum problems of these poles take them to be.
    pub fn takes(&self, poles: Poles) -> Poles {
        if self.real.is_some() { poles } else { self.poles }
    }

    /// How it launches one of its kernels.
    pub fn launch_of(&self, body: &Body) -> Launch {
        let poles = [Poles::Any, Poles::Real];
        let has = |launch: &Launch| launch.bodies.iter().any(|own| own.symbol == body.symbol);
        poles.map(|poles| self.of(poles)).into_iter().find(has).unwrap_or(self.of(Poles::Any))
    }

    /// All its kernels.
    pub fn all_bodies(&self) -> impl Iterator<Item = &'static Body> {
        self.bodies.iter().chain(self.real.map_or(&[][..], |real| real.bodies))
    }

    /// The kernel that sums a problem of `nw` energies and these poles, one launch or `nw`.
    pub fn body(&self, nw: usize, poles: Poles) -> Option<&'static Body> {
        let energies = match self.energies {
            Energies::Together => nw as u32,
            Energies::OneLaunchEach => 1,
        };
        self.of(poles).bodies.iter().find(|body| body.energies == energies)
    }

    /// First energy of each launch for a problem of `nw` energies.
    pub fn launches(&self, nw: usize) -> core::ops::Range<u32> {
        match self.energies {
            Energies::Together => 0..1,
            Energies::OneLaunchEach => 0..nw as u32,
        }
    }

    /// Blocks of one launch.
    pub fn blocks(&self, extents: Extents, poles: Poles) -> u32 {
        let Extents { nbands, ngpown, ncouls, odd_count } = extents;
        let (bands, rows, columns) = (u64::from(nbands), u64::from(ngpown), u64::from(ncouls));
        let items = match self.of(poles).loops {
            Loops::Collapse3 => bands * rows * columns,
            Loops::Collapse2 => rows * columns,
            Loops::Blocked => u64::from(versions::v6::N_BLK * versions::v6::IG_BLK) * rows,
            Loops::Tiled(shape) => return shape.blocks(ngpown, ncouls, odd_count),
        };
        grid::blocks(items, self.threads)
    }
}

/// What the size of a grid depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extents {
    /// Bands.
    pub nbands: u32,
    /// G′ vectors.
    pub ngpown: u32,
    /// G vectors.
    pub ncouls: u32,
    /// Pairs with odd poles.
    pub odd_count: u32,
}
