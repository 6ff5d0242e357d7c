//! What is known of a version and of its kernels before any of them runs. *What* a version is stands in
//! [`Version`]; *how* the GPU does it, in its [`Gpu`] and the [`Kernel`]s of that.

#[cfg(not(target_arch = "nvptx64"))]
use crate::emulator::BlockBody;
use crate::layout::Layout;
use crate::lists;
use crate::plan::{EnergiesFrom, Poles, Table};
use crate::tiling::Shape;

/// A version: an idea.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Version {
    /// Name on the command line.
    pub id: &'static str,
    /// What it changes from the version before.
    pub change: &'static str,
    /// Where the change is described.
    pub source: &'static str,
}

/// How a version is done on a GPU.
pub struct Gpu {
    pub version: &'static Version,
    /// Its kernels, one for each number of energies in each; those for special poles before those for
    /// any.
    pub kernels: &'static [Kernel],
    /// Whose kernels run where the constant memory does not hold the energies that its own read
    /// there.
    pub beyond: Option<&'static Gpu>,
    /// The least compute capability.
    pub capability: f64,
}

impl Gpu {
    pub const fn id(&self) -> &'static str {
        self.version.id
    }

    /// Itself, or [`Gpu::beyond`] where the constant memory does not hold so many energies, of all
    /// bands.
    pub fn holding(&self, energies: usize) -> &Gpu {
        match self.beyond {
            Some(other) if energies > Table::CONSTANT => other,
            _ => self,
        }
    }

    /// The kernel for problems of these poles, the most special of those that sum them.
    ///
    /// # Panics
    /// Never: a test finds a kernel of every version for any poles.
    pub fn kernel(&self, poles: Poles) -> &Kernel {
        let admits = |kernel: &&Kernel| kernel.poles.admits(poles);
        self.kernels.iter().find(admits).expect("every version has a kernel for any poles")
    }
}

/// Loop structure, outer to inner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loops {
    /// `n`, `igp` and `ig` collapsed, `iw` in a thread.
    Collapse3,
    /// `igp` and `ig` collapsed, `n` in a thread.
    Collapse2,
    /// `n_blk`, `igp` and `ig_blk` collapsed; strided `ig`, then `n`, in a thread.
    Blocked {
        /// Blocks of bands, the stride of the band loop.
        n_blk: u32,
        /// Blocks of `ig`, the stride of the loop over `ig`.
        ig_blk: u32,
    },
    /// One `ig` and several `igp` in a thread, all bands: see [`crate::tiling`].
    Tiled(Shape),
    /// Pairs of lists, all bands: see [`crate::lists`].
    Listed,
    /// Parts of pairs sorted by their poles, bands in the threads of a block, with so many blocks at most: see
    /// [`crate::cells`].
    Cells(u32),
}

/// Whether one launch sums all energies or each has its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Energies {
    /// One launch, all energies in a thread.
    Together,
    /// One launch for each energy.
    OneLaunchEach,
    /// One launch, any number of energies up to this.
    UpTo(u32),
}

impl Energies {
    /// Launches of a calculation at most, as many as the paper's problems have.
    const LAUNCHES: usize = 3;
}

/// One entry of a kernel: its body for a number of energies.
#[derive(Clone, Copy)]
pub struct Entry {
    /// Energies that one launch sums.
    pub energies: u32,
    pub symbol: &'static str,
    /// Most registers of a thread, where that is not the kernel's.
    pub max_registers: Option<u32>,
    /// Spills that it may have.
    pub spills: Spills,
    /// The body on the host.
    #[cfg(not(target_arch = "nvptx64"))]
    pub body: BlockBody,
}

/// A kernel: one source, an entry for each number of energies, and how these are launched.
#[derive(Clone, Copy)]
pub struct Kernel {
    /// What it takes regular poles to be.
    pub poles: Poles,
    pub loops: Loops,
    pub energies: Energies,
    /// Where it reads them.
    pub energies_from: EnergiesFrom,
    /// Index order of `wx` and `aqsm_local`.
    pub layout: Layout,
    pub threads: u32,
    /// Most registers of a thread, `.maxnreg` in the PTX.
    pub max_registers: Option<u32>,
    /// FP64 operations (FMA = 2) for each (n, igp, ig, iw), where the hardware counted them for this
    /// kernel on si214: see the archived profiles.
    pub flops_per_term: Option<f64>,
    pub entries: &'static [Entry],
}

impl Kernel {
    /// A kernel of tiles, all energies together, without a cap on registers or counts.
    pub const fn tiled(
        (poles, energies_from): (Poles, EnergiesFrom),
        shape: Shape,
        entries: &'static [Entry],
    ) -> Kernel {
        Kernel {
            poles,
            loops: Loops::Tiled(shape),
            energies: Energies::Together,
            energies_from,
            layout: Layout::Planned,
            threads: shape.threads(),
            max_registers: None,
            flops_per_term: None,
            entries,
        }
    }

    /// The entry for a problem of `nw` energies, one launch or `nw`.
    pub fn entry(&self, nw: usize) -> Option<&'static Entry> {
        let energies = match self.energies {
            Energies::Together => nw as u32,
            Energies::OneLaunchEach => 1,
            Energies::UpTo(most) if nw as u64 <= u64::from(most) => most,
            Energies::UpTo(_) => return None,
        };
        self.entries.iter().find(|entry| entry.energies == energies)
    }

    /// Energies that a calculation of it sums at most, in one launch or several.
    pub fn holds(&self) -> usize {
        match self.energies {
            Energies::Together => {
                self.entries.iter().map(|entry| entry.energies as usize).max().unwrap_or(0)
            }
            Energies::OneLaunchEach => Energies::LAUNCHES,
            Energies::UpTo(most) => most as usize,
        }
    }

    /// First energy of each launch for a problem of `nw` energies.
    pub fn launches(&self, nw: usize) -> core::ops::Range<u32> {
        match self.energies {
            Energies::Together | Energies::UpTo(_) => 0..1,
            Energies::OneLaunchEach => 0..nw as u32,
        }
    }

    /// The cap on the registers of one of its entries.
    pub fn max_registers_of(&self, entry: &Entry) -> Option<u32> {
        entry.max_registers.or(self.max_registers)
    }

    /// `igp` of each group that sums are kept for, or none where there is one sum, of the slab.
    pub fn igp_of_group(&self) -> Option<u32> {
        match self.loops {
            Loops::Tiled(shape) => Some(shape.igp()),
            _ => None,
        }
    }

    /// Blocks of each group that sum odd pairs.
    pub fn odd_blocks(&self, odd_begins: &[u32]) -> u32 {
        match self.loops {
            Loops::Tiled(shape) => shape.odd_blocks(odd_begins),
            Loops::Listed => lists::odd_blocks(odd_begins),
            _ => 0,
        }
    }
}

/// Register spills that the tests let an entry have, with room for another compiler's choices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spills {
    /// Loads and stores of local memory in one pass of an innermost loop of FP64 arithmetic: these
    /// cost time.
    pub in_loop: u32,
    /// Bytes in the whole entry, most of which run once: more means that it has changed.
    pub bytes: u32,
}

impl Spills {
    /// None in a loop, but for the few that the tests let pass anywhere.
    pub const OUTSIDE: Spills = Spills { in_loop: 0, bytes: 192 };
}
