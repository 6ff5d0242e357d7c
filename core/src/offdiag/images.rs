//! The arrays of a task as the kernels read them: see [`gpp_kernels::offdiag::pack`].

use gpp_kernels::offdiag::MatrixVersion;
use gpp_kernels::offdiag::mma::{COLUMNS, DEPTH, ROWS};
use gpp_kernels::offdiag::pack::{A_FRAGMENT, B_FRAGMENT, Fold, NO_ROW, packed_a, packed_b};
use gpp_kernels::offdiag::poles::{FallbackPair, HUGE, MatrixLimits, is_regular};
use gpp_kernels::offdiag::product::WORDS;
use gpp_kernels::plan::Poles;
use num_complex::Complex64;
use rayon::prelude::*;

use crate::offdiag::{GROUP, MatrixEnergies, MatrixSums, MatrixTask};
use crate::problem::range::Lookup;

/// Blocks of the second product that fill a device, of 16 l each.
const SECOND_BLOCKS: usize = 288;

/// Bytes of the sums of energies that are summed together, unless one alone takes more.
const MOST: usize = 1 << 30;

#[derive(Clone, Copy, Debug)]
pub struct ImageShape {
    pub version: &'static MatrixVersion,
    /// Left fragments of a band n, of all l.
    pub fragments: u32,
    pub steps: u32,
    /// Right fragments of igp, which are steps of U.
    pub right: u32,
    pub second: u32,
    pub slots: u32,
    /// Whether poles are real: which kernels run.
    pub real: bool,
}

impl ImageShape {
    pub fn for_task(task: &MatrixTask, version: &'static MatrixVersion) -> ImageShape {
        let extents = task.problem.extents();
        let fragments = version.fragments(task.bands());
        let [igp, m] = [version.tile_u.b_fragments(), version.tile_sigma.b_fragments()];
        let tiles = task.bands().div_ceil((COLUMNS * m) as usize);
        // Of the bands alone, so that all versions add in one order.
        let blocks = task.bands().div_ceil(ROWS as usize) * tiles;
        // Divisors of a group, so that all slots of a full group have as many items.
        let slots = [1, 2, 3, 4, 6, 8, 12, GROUP];
        let slots = slots.into_iter().find(|slots| slots * blocks >= SECOND_BLOCKS);
        ImageShape {
            version,
            fragments: fragments as u32,
            steps: (extents.ncouls.div_ceil(DEPTH as usize) as u32)
                .next_multiple_of(version.tile_u.k_tiles),
            right: extents.ngpown.div_ceil((COLUMNS * igp) as usize) as u32 * igp,
            second: tiles as u32 * m,
            slots: slots.unwrap_or(GROUP) as u32,
            real: task.problem.poles() == Poles::Real,
        }
    }

    pub fn words(&self) -> u32 {
        WORDS[usize::from(!self.real)]
    }

    /// Left fragments of a row of a group.
    pub fn group(&self) -> u32 {
        self.fragments * GROUP as u32
    }

    /// Numbers of a group's image of A, and of a tile behind it: the last of a batch that begins within the group may read
    /// some of them.
    pub fn a(&self) -> usize {
        let tile = self.version.tile_u.a_fragments() * A_FRAGMENT;
        self.steps as usize * (self.group() * A_FRAGMENT) as usize + tile as usize
    }

    /// Numbers of the images of U of a group.
    pub fn u(&self) -> usize {
        GROUP * self.right as usize * (self.fragments * A_FRAGMENT) as usize
    }

    /// Numbers of the images of V of a group.
    pub fn v(&self) -> usize {
        GROUP * self.right as usize * (self.second * 2 * B_FRAGMENT) as usize
    }

    /// Numbers of the sums of all slots.
    pub fn sums(&self) -> usize {
        self.slots as usize * self.folded()
    }

    /// Numbers of a matrix, `[m][l]` of real and imaginary part, with all that its tiles hold.
    pub fn folded(&self) -> usize {
        (self.fragments * ROWS * self.second * COLUMNS * 2) as usize
    }

    /// What adds up the slots of so many sums.
    pub fn fold(&self, sums: *mut f64, folded: *mut f64, count: u32) -> Fold {
        Fold { sums, folded, each: self.folded() as u32, slots: self.slots, count }
    }

    /// Takes the matrices of CH and SX at an energy from what was folded.
    pub fn take(&self, sums: &mut MatrixSums, energies: MatrixEnergies, iw: usize, folded: &[f64]) {
        let (hole, exchange) = folded.split_at(self.folded());
        sums.take(energies, iw, |l, m| {
            let element = 2 * (m * (self.fragments * ROWS) as usize + l);
            [exchange, hole].map(|matrix| Complex64::new(matrix[element], matrix[element + 1]))
        });
    }

    pub fn together(&self, nw: usize) -> usize {
        together(nw, 8 * 2 * self.sums())
    }
}

/// Energies whose sums are in memory at a time, one at least, if those of one take so many bytes.
pub fn together(nw: usize, bytes: usize) -> usize {
    (MOST / bytes.max(1)).clamp(1, nw)
}

/// Fills in A of a group of bands n, column by column, where another group's was, or zeros.
pub fn fill(task: &MatrixTask, shape: &ImageShape, group: usize, image: &mut [f64]) {
    let extents = task.problem.extents();
    let (ncouls, bands, row) = (extents.ncouls, task.bands(), shape.group() as usize);
    if (group + 1) * GROUP > extents.nbands {
        image.fill(0.0);
    }
    let mut columns = vec![Complex64::ZERO; ncouls * bands];
    for at in 0..GROUP.min(extents.nbands - group * GROUP) {
        columns.par_chunks_mut(ncouls).enumerate().for_each(|(l, column)| {
            task.elements.column(l, group * GROUP + at, column);
        });
        let first = at * (shape.fragments * ROWS) as usize;
        image.par_chunks_mut(row * A_FRAGMENT as usize).enumerate().for_each(|(step, image)| {
            for (l, column) in columns.chunks_exact(ncouls).enumerate() {
                let elements = column.iter().skip(step * DEPTH as usize).take(DEPTH as usize);
                for (k, element) in elements.enumerate() {
                    let to = packed_a(first + l, k, row);
                    image[to] = element.re;
                    image[to + A_FRAGMENT as usize / 2] = element.im;
                }
            }
        });
    }
}

/// The image of poles, and the fallback pairs, by their igp.
pub fn poles(task: &MatrixTask, shape: &ImageShape) -> (Vec<f64>, Vec<FallbackPair>) {
    let (problem, limits) = (task.problem, task.problem.limits());
    let (wtilde, eps, extents) = (problem.wtilde(), problem.eps(), problem.extents());
    let largest = problem.wx().iter().fold(0.0, |most: f64, w| most.max(w.abs()));
    // For Σ alone kernels do not test whether w is at a pole, where the definition has no term.
    let energies = Lookup::from_energies(problem.wx().iter().copied().filter(|_| task.sigma_alone));
    let is_at_w = |pole: Complex64| pole.im == 0.0 && energies.contains(pole.re);
    let fits = |pole: Complex64| {
        let is_made = largest < LARGEST && (!shape.real || pole.im == 0.0) && !is_at_w(pole);
        is_made && is_regular(pole, &limits, largest)
    };
    let (words, fragments) = (shape.words() as usize, shape.right as usize);
    let step = fragments * words * B_FRAGMENT as usize;
    let mut image = vec![0.0; shape.steps as usize * step];
    image.par_chunks_mut(step).enumerate().for_each(|(step, image)| {
        for (igp, k) in (0..fragments * COLUMNS as usize)
            .flat_map(|igp| (0..DEPTH as usize).map(move |k| (igp, k)))
        {
            let ig = step * DEPTH as usize + k;
            let inside = igp < extents.ngpown && ig < extents.ncouls;
            let pair = igp * extents.ncouls + ig;
            let pole = inside.then(|| wtilde[pair]).filter(|&pole| fits(pole));
            let product = pole.map_or(Complex64::ZERO, |pole| pole * eps[pair]);
            // A pair without a term has a pole that is far from all energies.
            let far = product == Complex64::ZERO;
            let pole = if far { HUGE.into() } else { pole.unwrap_or_default() };
            let real = [pole.re, product.re, product.im];
            let complex = [pole.re, pole.im, product.re, product.im];
            let values: &[f64] = if shape.real { &real } else { &complex };
            let to = packed_b(k, igp, fragments, words);
            for (word, value) in values.iter().enumerate() {
                image[to + word * B_FRAGMENT as usize] = *value;
            }
        }
    });
    let pairs = wtilde.par_iter().zip(eps).enumerate();
    let fallback = pairs.filter(|(_, (pole, eps))| {
        **pole != Complex64::ZERO && **eps != Complex64::ZERO && !fits(**pole)
    });
    let fallback = fallback.map(|(at, (&wtilde, &eps))| {
        let (ig, igp) = ((at % extents.ncouls) as u32, (at / extents.ncouls) as u32);
        FallbackPair { wtilde, eps, ig, igp }
    });
    (image, fallback.collect())
}

/// For Σ alone, fallback pairs whose `ssx` is what a fully occupied band adds to `sch`: −2 times that of the given ones.
pub fn scaled(task: &MatrixTask, fallback: &[FallbackPair]) -> Vec<FallbackPair> {
    let pairs = fallback.iter().filter(|_| task.sigma_alone);
    pairs.map(|&pair| FallbackPair { eps: -2.0 * pair.eps, ..pair }).collect()
}

/// The first fallback pair of each igp that has any, and the end of the last.
pub fn begins(fallback: &[FallbackPair]) -> Vec<u32> {
    let is_first = |&at: &usize| at == 0 || fallback[at].igp != fallback[at - 1].igp;
    let firsts = (0..fallback.len()).filter(is_first);
    firsts.chain([fallback.len()]).map(|at| at as u32).collect()
}

/// The row of A of each igp, and its Coulomb interaction, as far as U has igp.
pub fn rows(task: &MatrixTask, shape: &ImageShape) -> (Vec<u32>, Vec<f64>) {
    let length = (shape.right * COLUMNS) as usize;
    let rows = task.problem.header().rows().map(|row| row.map_or(NO_ROW, |row| row as u32));
    let rows = rows.chain(std::iter::repeat(NO_ROW)).take(length).collect();
    let mut vcoul = task.problem.vcoul_loc().to_vec();
    vcoul.resize(length, 0.0);
    (rows, vcoul)
}

/// With a `w` as large no P is made, and all pairs fall back: its fourth power may be no number.
const LARGEST: f64 = 1e70;

/// `w` of each energy and n, n fastest: of P, then of fallback pairs; weights of each n, of `sch`, then of `ssx`.
pub fn energies(task: &MatrixTask) -> (Vec<f64>, Vec<f64>) {
    let (nw, wx, occ) = (task.nw(), task.problem.wx(), task.problem.occ());
    let energies_of_bands = || (0..nw).flat_map(|iw| wx.iter().skip(iw).step_by(nw).copied());
    let made = energies_of_bands().map(|w| if w.abs() < LARGEST { w } else { 0.0 });
    let weights = occ.iter().map(|_| 0.5).chain(occ.iter().map(|occ| -occ));
    (made.chain(energies_of_bands()).collect(), weights.collect())
}

/// The kernels' bounds: of `|w − ω̃|` and of `|ssx / eps|`, or of their squares for complex poles.
pub fn limits(task: &MatrixTask, shape: &ImageShape) -> MatrixLimits {
    let limits = task.problem.limits();
    if !shape.real {
        let first = limits.limittwo.next_up().to_bits();
        return MatrixLimits { first, sexcut: (limits.sexcut * limits.sexcut).to_bits() };
    }
    // The smallest number whose square, rounded, is above the limit, if squares there have all their digits.
    let mut first = limits.limittwo.max(f64::MIN_POSITIVE).sqrt();
    while limits.limittwo > f64::MIN_POSITIVE && first * first > limits.limittwo {
        first = first.next_down();
    }
    while first * first <= limits.limittwo {
        first = first.next_up();
    }
    MatrixLimits { first: first.to_bits(), sexcut: limits.sexcut.to_bits() }
}
