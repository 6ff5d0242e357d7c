//! What kernels of sorted pairs know of their cells.

use core::ops::Range;

use num_complex::Complex64;

use super::series::Way;
use super::team::Team;
use crate::arguments::CellsArguments;
use crate::arrays::Limits;
use crate::pairs::Pole;

/// What the cells of a kernel are: pairs next to each other whose poles lie between two bounds, or in a disc
/// ([`crate::discs`]).
pub trait Cell: Copy {
    /// What a pole is: a real number, or any.
    type Wtilde: Copy;

    /// Where the sums of the shares stand in shared memory.
    const SUMS: u32;

    /// Number `part` of all.
    ///
    /// # Safety
    /// The [launch contract](crate::contract), with parts of this kind; there are more than `part`.
    unsafe fn read(a: &CellsArguments, part: u32) -> Self;

    /// Pair `at`.
    ///
    /// # Safety
    /// As [`Cell::read`]; there are more than `at`.
    unsafe fn pole(a: &CellsArguments, at: u32) -> Pole<Self::Wtilde>;

    /// ω̃.
    fn wtilde(of: Self::Wtilde) -> Complex64;

    /// Its pairs.
    fn pairs(&self) -> Range<u32>;

    /// How its moments tell its sums at an energy, of an occupied band or an empty one; `None` where they do
    /// not.
    fn ways(&self, limits: Limits) -> impl Fn(f64, bool) -> Option<Way>;

    /// Sums its moments for each band from `first` on, which the block then shares.
    ///
    /// # Safety
    /// As [`block`](super::block).
    unsafe fn sum_moments<T: Team>(&self, a: &CellsArguments, team: &T, first: u32);

    /// Adds what its moments of the bands from `first` on give a share.
    ///
    /// # Safety
    /// As [`block`](super::block).
    unsafe fn at_energy<T: Team>(&self, a: &CellsArguments, team: &T, first: u32, share: u32);
}
