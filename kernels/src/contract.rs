//! # The launch contract
//!
//! Conditions of every kernel launch, on the GPU or in the emulator. The code that launches a kernel
//! keeps them; every unsafe function of this crate that cites this contract relies on them.
//!
//! 1. **Arrays.** Every pointer of the arguments ([`crate::arguments`]) is valid for the extents given
//!    with it, in the kernel's [`crate::layout::Layout`], on the GPU aligned to 16 bytes. Nobody
//!    writes the arrays that are read while the launch runs, and nobody else touches those that are
//!    written.
//! 2. **Extents.** `nbands`, `ngpown`, `ncouls` and `nw` are positive and
//!    [`crate::kernel::Kernel::exceeded`] finds nothing: no array holds 2³² elements or more, padding
//!    included, no collapsed loop has 2³² iterations or more, and no grid 2³² threads.
//! 3. **Energies.** `iw` plus the energies of the entry is at most `nw`; a kernel of
//!    [`crate::kernel::Energies::Together`] has `iw = 0` and the entry of `nw` energies. One of
//!    [`crate::kernel::Energies::UpTo`] has one entry, which sums all `nw`; they are no more than it names.
//! 4. **Grid.** The grid has [`crate::tiling::Grid::blocks`] blocks of [`crate::tiling::Grid::threads`]
//!    threads, both one-dimensional, as [`crate::kernel::Kernel::grid`] says for the extents; a block
//!    is 16 whole warps at most. All threads of a block are launched, and what a body does for all of
//!    them alike (barriers, stages, the sum of the block) it reaches with all of them.
//! 5. **Constant memory.** A kernel with [`crate::table::EnergiesFrom::ConstantMemory`] finds the
//!    energies of all bands, [`crate::table::Table::CONSTANT`] at most, in the variable
//!    [`crate::table::SYMBOL`] of its own module; in the emulator behind the table's pointer.
//! 6. **Plan.** A kernel of [`crate::layout::Layout::Planned`] is given the plan of these bands and of
//!    these poles ([`crate::plan`]): `plain ≤ occupied ≤ far_begin ≤ nbands`. Its mask and its odd pairs
//!    are those for the kernel's kind of poles ([`crate::kernel::Kernel::poles`]); every pole that is not
//!    odd is of that kind. `odd_begins` holds `ngpown + 1` ascending offsets into `odd_pairs`, and
//!    `odd_blocks` is the number that the grid has. One of [`crate::layout::Layout::Listed`] is given the same
//!    with [`crate::lists`] of all pairs that are not odd and contribute instead of the mask.
//! 7. **Pairs.** A kernel of [`crate::layout::Layout::Cells`] is given parts of its pairs, none of them
//!    empty; `ig` and `igp` of the pairs are in range, and poles within the bounds of their part, where it
//!    has any. To a kernel for any poles `poles` and `parts` point to [`crate::pairs::Pole`]s of complex
//!    numbers and to [`crate::pairs::Disc`]s.
//! 8. **Sums.** `partials` holds [`crate::tiling::Grid::blocks`]` · nw · `[`crate::sums::VALUES`]
//!    numbers; the second stage has one block of [`crate::reduction::THREADS`] threads for each value of
//!    each group, `partials` of as many runs of `count`, and `sums` of as many numbers.
//! 9. **Kernels.** The kernel is one of [`crate::versions::ALL`], that of [`crate::versions::static_ch`], or
//!    one of these with another cap on its registers. Its layout, loops and threads are those that its
//!    entries were written for.
