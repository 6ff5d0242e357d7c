//! Σ as a matrix.

use gpp_core::offdiag::MOST_BANDS;

use crate::border::{Matrix, Seen, extent, flag};
use crate::given::{self, indexed, no_screening};
use crate::open::{self, Work};
use crate::small::Small;
use crate::status::Status;
use crate::types::{Complex, Formula, Handle, Screening};

/// The bands l and m of a matrix, and the bands n that are summed over. Arrays as in `gpp_screening`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct MatrixBands {
    /// Bands l and m, from 1 to 8192.
    pub bands: i64,
    /// Bands n.
    pub nbands: i64,
    /// Matrix elements of band l with band n, `a(ig, n, l)`, no unit: what `aqsntemp(ig, n)` is where l is the
    /// state. Column (n, l) begins at element `ld_a * (n + nbands * l)`, both counted from 0.
    pub a: *const Complex,
    /// Elements from one column of `a` to the next; at least `ncouls`. Where it is more, a call copies.
    pub ld_a: i64,
    /// Energy of each band n in eV, `(nbands)`.
    pub e: *const f64,
    /// Occupation of each band n, from 0 to 1, `(nbands)`.
    pub occ: *const f64,
    /// 1 where `a` is in the memory of the handle's GPU, else 0. A call brings it to the host as a whole.
    pub on_device: i32,
    /// 1 where `omega` has the energy of each band l, so that `nw` is `bands`; else 0. Two matrices come of it then,
    /// as QSGW and GWPT take them.
    pub at_bands: i32,
}

/// Sums the elements of screened exchange and Coulomb hole between all bands l and m over bands n, G' and G at `nw`
/// energies `omega` in eV. Writes them to `sx` and `ch`, `(bands, bands, nw)` each, l fastest, then m: element (l,
/// m) at energy iw is entry `l + bands * (m + bands * iw)`, counted from 0. Those of l = m are what `gpp_sums` finds
/// with the elements of l as `aqsn` and `aqsm`. They have the unit of `vcoul` and are of this rank's G', to be
/// summed over ranks by the caller. After a failure `sx` and `ch` are as they were.
///
/// With `at_bands` they are `(bands, bands, 2)`: rows at the energies of their bands, `Sigma_lm(omega_l)`, then columns,
/// `Sigma_lm(omega_m)`.
///
/// Other arguments as of `gpp_sums`, with the same rules; the screening may be one of the GPU's. The version is the
/// fastest for matrices, whatever `gpp_set_version` says: "ring", "m16n8k16" or "wide" on recent GPUs, "cpu" on a
/// processor. A GPU keeps nothing for the next call but what `gpp_place` has placed.
///
/// # Safety
/// As of `gpp_sums`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gpp_matrix(
    handle: *mut Handle,
    screening: *const Screening,
    bands: *const MatrixBands,
    nw: i64,
    omega: *const f64,
    formula: *const Formula,
    sx: *mut Complex,
    ch: *mut Complex,
) -> Status {
    open::calculate(handle, |work, open| {
        let mut seen = Seen::of(work.on_gpu());
        let Work { calculator, placed } = work;
        // SAFETY: the caller's word.
        let (found, [sx, ch]) = unsafe {
            let (once, [ncouls, _]) =
                given::once(calculator, &mut seen, screening, placed.as_ref())?;
            let b: &MatrixBands = seen.one("bands", bands)?;
            let (bands, nbands) =
                (extent("bands", b.bands, MOST_BANDS)?, indexed("nbands", b.nbands)?);
            let of_bands = (nbands, b.e, b.occ);
            let small = Small::seen(calculator, &mut seen, of_bands, (nw, omega), formula)?;
            small.check(0)?;
            let (shape, on_device) =
                ([ncouls, nbands * bands], flag("bands.on_device", b.on_device)?);
            let a = seen.matrix("a", b.a, shape, b.ld_a, on_device)?;
            let at_bands = flag("bands.at_bands", b.at_bands)?;
            let len = bands * bands * if at_bands { 2 } else { small.omega.len() };
            let out = [seen.written("sx", sx, len)?, seen.written("ch", ch, len)?];
            let a = match a {
                Matrix::Host(a) => a,
                Matrix::Device(a) => calculator.fetch_matrix("a", a, shape)?.into(),
            };
            let mut own = None;
            let placed = match once {
                Some(once) => own.insert(once.placed(calculator)?),
                None => placed.as_mut().ok_or_else(no_screening)?,
            };
            let Small { e, occ, omega, formula } = &small;
            let bands = gpp_core::MatrixBands { a: &a, e, occ, at_bands };
            (calculator.matrix_at(placed.get(), &bands, omega, *formula)?, out)
        };
        let mut told = open.told();
        (told.version, told.seconds) = (found.version, found.seconds);
        // SAFETY: the caller's word.
        unsafe {
            sx.write(&found.sums.sx);
            ch.write(&found.sums.ch);
        }
        Ok(())
    })
}
