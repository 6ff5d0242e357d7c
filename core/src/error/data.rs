//! What may be wrong with the data of a problem.

use std::fmt;

use num_complex::Complex64;

/// Data that no kernel can take: its name, its place, what was needed and what was found. Indices are
/// 1-based and those of the whole problem; a [`Calculator`](crate::Calculator) says the caller's.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DataError {
    /// An extent that is too small.
    #[error("{name} must be at least {least}, found {found}")]
    Extent {
        /// The extent.
        name: &'static str,
        /// The least value that it may have.
        least: i32,
        /// Its value.
        found: i64,
    },

    /// A number that another one bounds.
    #[error("{name} = {found} exceeds {limit} = {most}")]
    Exceeds {
        /// The number.
        name: &'static str,
        /// Its value.
        found: usize,
        /// The other one.
        limit: &'static str,
        /// The value of that.
        most: usize,
    },

    /// An array of the wrong length.
    #[error("{name} needs {needed} elements, has {found}")]
    Length {
        /// The array.
        name: &'static str,
        /// Elements needed.
        needed: u64,
        /// Elements found.
        found: u64,
    },

    /// An array with more elements than 32 bits number.
    #[error("{name} has {found} elements; the kernels index at most {}", u32::MAX)]
    Elements {
        /// The array.
        name: &'static str,
        /// Its elements.
        found: u64,
    },

    /// More of something than a kernel's 32-bit numbers count.
    #[error("the kernel takes fewer than {below} {what}, found {count}")]
    Exceeded {
        /// What there would be too many of.
        what: &'static str,
        /// How many there would be.
        count: u64,
        /// Fewer than this can be.
        below: u64,
    },

    /// A range of igp that is empty or not within the problem; 0-based, its end excluded.
    #[error("igp {begin}..{end} is not a part of 0..{ngpown}")]
    Igp {
        /// First igp.
        begin: usize,
        /// One past the last.
        end: usize,
        /// How many there are.
        ngpown: usize,
    },

    /// An index that points outside.
    #[error("{name}({at}) = {found} is outside 1..={most} ({of})")]
    Index {
        /// The array of indices.
        name: &'static str,
        /// Which of its elements.
        at: usize,
        /// What that is.
        found: i32,
        /// The largest that it may be.
        most: usize,
        /// What it is an index of.
        of: &'static str,
    },

    /// First and last energy that are none.
    #[error("needs 1 <= nstart <= nend <= 100000, found {nstart} and {nend}")]
    Energies {
        /// First energy.
        nstart: usize,
        /// Last energy.
        nend: usize,
    },

    /// Energies that a file does not hold.
    #[error(
        "its energies are a list of their own; a file holds nstart, nend, sig_dw and e_lk, for \
         e_lk + sig_dw·(iw − 2)"
    )]
    Unspaced,

    /// A number that is infinite or none.
    #[error("{name} is {found}; it must be finite")]
    NotFinite {
        /// The number.
        name: &'static str,
        /// Its value.
        found: f64,
    },

    /// A number below zero.
    #[error("{name} must not be negative, found {found}")]
    Negative {
        /// The number.
        name: &'static str,
        /// Its value.
        found: f64,
    },

    /// An element that is infinite or none.
    #[error("{name}({at}) is {found}")]
    Element {
        /// The array.
        name: &'static str,
        /// Which of its elements.
        at: usize,
        /// What that is.
        found: f64,
    },

    /// An element that is too large.
    #[error("{name}({at}) is {found:e}; its size must be at most {most:e}")]
    LargeElement {
        /// The array.
        name: &'static str,
        /// Which of its elements.
        at: usize,
        /// What that is.
        found: f64,
        /// The largest that it may be.
        most: f64,
    },

    /// An occupation that is none.
    #[error("occ({n}) is {found}; it must be from 0 to 1")]
    Occupation {
        /// Band.
        n: usize,
        /// What it is.
        found: f64,
    },

    /// An element of a matrix that is infinite or none.
    #[error("{name} is {found} at ({},{}); it must be finite", at.0, at.1)]
    Matrix {
        /// The matrix, with the names of its indices.
        name: &'static str,
        /// These indices.
        at: (usize, usize),
        /// What stands there.
        found: Complex64,
    },

    /// An element of a matrix that is too large.
    #[error("{name} is {found:e} at ({},{}); its parts must be at most {most:e}", at.0, at.1)]
    LargeMatrix {
        /// The matrix, with the names of its indices.
        name: &'static str,
        /// These indices.
        at: (usize, usize),
        /// What stands there.
        found: Complex64,
        /// The largest that its parts may be.
        most: f64,
    },

    /// An energy that is too large.
    #[error("{energy}; its size must be at most {most:e}")]
    LargeEnergy {
        /// The energy.
        energy: EnergyAt,
        /// The largest that it may be.
        most: f64,
    },

    /// A pole that is too large.
    #[error("{pole}; its parts must be at most {most:e}")]
    LargePole {
        /// The pole.
        pole: PoleAt,
        /// The largest that its parts may be.
        most: f64,
    },

    /// A pole that is too large beside an energy that is large as well.
    #[error(
        "{energy}, beyond {beyond:e}, and {pole}; beside such energies the parts of poles must be at \
         most {most:e}"
    )]
    LargeBoth {
        /// The energy.
        energy: EnergyAt,
        /// What it is beyond.
        beyond: f64,
        /// The pole.
        pole: PoleAt,
        /// The largest that its parts may be.
        most: f64,
    },

    /// A pole at the negative of an energy, where no cutoff takes the term.
    #[error("{pole} and {energy}, its negative: their term has no bound, and no cutoff")]
    Unbounded {
        /// The pole.
        pole: PoleAt,
        /// The energy.
        energy: EnergyAt,
    },

    /// An array whose numbers are replaced or left out in a copy, for which there is no memory.
    #[error("there is no memory for a copy of {name}, {needed} bytes")]
    Memory {
        /// The array.
        name: &'static str,
        /// Bytes of the copy.
        needed: u64,
    },

    /// A stored sum that is infinite or none.
    #[error("the stored {name} is {found}")]
    Stored {
        /// The sum, as in `asx(iw=2)`.
        name: String,
        /// What it is.
        found: Complex64,
    },
}

/// An energy with its place.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct EnergyAt {
    /// Energy, as in `nstart..=nend`.
    pub iw: usize,
    /// Band.
    pub n: usize,
    /// In eV.
    pub wx: f64,
}

impl fmt::Display for EnergyAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let EnergyAt { iw, n, wx } = self;
        write!(f, "wx(iw,n) = ω(iw) − e(n) is {wx:e} eV at ({iw},{n})")
    }
}

/// A pole with its place.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct PoleAt {
    /// G vector.
    pub ig: usize,
    /// G′ vector.
    pub igp: usize,
    /// In eV.
    pub wtilde: Complex64,
}

impl fmt::Display for PoleAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PoleAt { ig, igp, wtilde } = self;
        write!(f, "the pole is {wtilde:e} eV at (ig,igp) = ({ig},{igp})")
    }
}
