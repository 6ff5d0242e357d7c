//! A caller's arrays, looked at.

use std::borrow::Cow;

use gpp_core::problem::header::MOST_ENERGIES;
use gpp_core::{Aqsm, Calculator, Found, lent};

use crate::border::{Matrix, Seen, extent, flag};
use crate::open::Kept;
use crate::small::{Small, fetch};
use crate::status::Failure;
use crate::types::{Bands, Formula, Screening, Sizes};

type Result<T> = std::result::Result<T, Failure>;

/// An extent that indices of 32 bits count.
pub fn indexed(name: &str, found: i64) -> Result<usize> {
    extent(name, found, i32::MAX as usize)
}

/// Sizes, looked at.
pub fn sizes(sizes: &Sizes) -> Result<gpp_core::Sizes> {
    Ok(gpp_core::Sizes {
        ncouls: indexed("ncouls", sizes.ncouls)?,
        ngpown: indexed("ngpown", sizes.ngpown)?,
        nbands: indexed("nbands", sizes.nbands)?,
        nw: extent("nw", sizes.nw, MOST_ENERGIES)?,
        screening_lent: flag("screening_on_device", sizes.screening_on_device)?,
        bands_lent: flag("bands_on_device", sizes.bands_on_device)?,
    })
}

/// The failure of who gives none and has none placed.
pub fn no_screening() -> Failure {
    Failure::argument("screening is null, and none is placed".into())
}

/// A screening that was looked at.
pub struct Seeing<'a> {
    wtilde: Matrix<'a>,
    eps: Matrix<'a>,
    vcoul: Cow<'a, [f64]>,
    inv_igp_index: Cow<'a, [i32]>,
    indinv: Cow<'a, [i32]>,
}

/// Looks at a screening.
///
/// # Safety
/// As of `gpp_sums`.
pub unsafe fn screening<'a>(
    calculator: &Calculator,
    seen: &mut Seen,
    screening: *const Screening,
) -> Result<Seeing<'a>> {
    // SAFETY: of all in the block, the caller's word.
    unsafe {
        let s: &Screening = seen.one("screening", screening)?;
        let (ncouls, ngpown) = (indexed("ncouls", s.ncouls)?, indexed("ngpown", s.ngpown)?);
        let ng = indexed("ng", s.ng)?;
        let on_device = flag("screening.on_device", s.on_device)?;
        let (shape, integers) = ([ncouls, ngpown], fetch::<i32>(calculator));
        Ok(Seeing {
            vcoul: seen.small("vcoul", s.vcoul, ncouls, fetch(calculator))?,
            inv_igp_index: seen.small("inv_igp_index", s.inv_igp_index, ngpown, &integers)?,
            indinv: seen.small("indinv", s.indinv, ng, &integers)?,
            wtilde: seen.matrix("wtilde", s.wtilde, shape, s.ld_wtilde, on_device)?,
            eps: seen.matrix("eps", s.eps, shape, s.ld_eps, on_device)?,
        })
    }
}

/// Looks at the screening of a call, where it is not the one that is placed; and its G and G′.
///
/// # Safety
/// As of `gpp_sums`.
pub unsafe fn once<'a>(
    calculator: &Calculator,
    seen: &mut Seen,
    given: *const Screening,
    placed: Option<&Kept>,
) -> Result<(Option<Seeing<'a>>, [usize; 2])> {
    if given.is_null() {
        return Ok((None, placed.ok_or_else(no_screening)?.extents()));
    }
    // SAFETY: the caller's word.
    let once = unsafe { screening(calculator, seen, given) }?;
    let extents = once.extents();
    Ok((Some(once), extents))
}

/// Looks at a screening and places it.
///
/// # Safety
/// As of `gpp_place`.
pub unsafe fn placed(
    calculator: &Calculator,
    seen: &mut Seen,
    given: *const Screening,
) -> Result<Kept> {
    // SAFETY: the caller's word.
    unsafe { screening(calculator, seen, given)?.placed(calculator) }
}

impl Seeing<'_> {
    /// G and G′.
    pub fn extents(&self) -> [usize; 2] {
        [self.vcoul.len(), self.inv_igp_index.len()]
    }

    /// Its arrays, where all are the host's.
    pub fn on_host(&self) -> Option<gpp_core::Screening<'_>> {
        let Seeing { wtilde, eps, vcoul, inv_igp_index, indinv } = self;
        let (Matrix::Host(wtilde), Matrix::Host(eps)) = (wtilde, eps) else { return None };
        Some(gpp_core::Screening { wtilde, eps, vcoul, inv_igp_index, indinv })
    }

    /// Places it.
    ///
    /// # Safety
    /// Arrays stay as they are until what is returned is dropped.
    pub unsafe fn placed(self, calculator: &Calculator) -> Result<Kept> {
        let Seeing { vcoul, inv_igp_index, indinv, .. } = &self;
        match (&self.wtilde, &self.eps) {
            (&Matrix::Device(wtilde), &Matrix::Device(eps)) => {
                let lent = lent::Screening { wtilde, eps, vcoul, inv_igp_index, indinv };
                // SAFETY: the caller's word.
                Ok(Kept::of(unsafe { calculator.place_lent(&lent) }?, Vec::new()))
            }
            (Matrix::Host(wtilde), Matrix::Host(eps)) => {
                // SAFETY: arrays outlast what is placed by this function's contract. Copies are kept with it
                // and dropped after it. What is small is read now.
                let placed = unsafe {
                    calculator.place(&gpp_core::Screening {
                        wtilde: unbound(wtilde),
                        eps: unbound(eps),
                        vcoul: unbound(vcoul),
                        inv_igp_index: unbound(inv_igp_index),
                        indinv: unbound(indinv),
                    })
                }?;
                let copies = [self.wtilde, self.eps].into_iter().filter_map(Matrix::copy);
                Ok(Kept::of(placed, copies.collect()))
            }
            _ => Err(Failure::argument("wtilde and eps are in different memories".into())),
        }
    }
}

/// An array whose borrow nobody watches over.
///
/// # Safety
/// It is there as long as what is returned is used.
unsafe fn unbound<T>(array: &[T]) -> &'static [T] {
    // SAFETY: a slice's own address and length; the rest is the caller's word.
    unsafe { std::slice::from_raw_parts(array.as_ptr(), array.len()) }
}

/// The bands of a call.
pub struct Given<'a> {
    aqsn: Matrix<'a>,
    aqsm: Matrix<'a>,
    aqsm_local: bool,
    small: Small<'a>,
}

impl<'a> Given<'a> {
    /// Looks at bands of a screening with so many G and G′.
    ///
    /// # Safety
    /// As of `gpp_sums`.
    pub unsafe fn seen(
        calculator: &Calculator,
        seen: &mut Seen,
        [ncouls, ngpown]: [usize; 2],
        bands: *const Bands,
        energies: (i64, *const f64),
        formula: *const Formula,
    ) -> Result<Given<'a>> {
        // SAFETY: of all in the block, the caller's word.
        let given = unsafe {
            let b: &Bands = seen.one("bands", bands)?;
            let nbands = indexed("nbands", b.nbands)?;
            let (aqsm_local, on_device) =
                (flag("aqsm_local", b.aqsm_local)?, flag("bands.on_device", b.on_device)?);
            let rows = if aqsm_local { ngpown } else { ncouls };
            Given {
                small: Small::seen(calculator, seen, (nbands, b.e, b.occ), energies, formula)?,
                aqsn: seen.matrix("aqsn", b.aqsn, [ncouls, nbands], b.ld_aqsn, on_device)?,
                aqsm: seen.matrix("aqsm", b.aqsm, [rows, nbands], b.ld_aqsm, on_device)?,
                aqsm_local,
            }
        };
        // Rows of a matrix on the GPU are copied only where it is fetched, which asks for memory itself.
        let are_copied = !given.aqsm_local && matches!(given.aqsm, Matrix::Host(_));
        given.small.check(if are_copied { ngpown } else { 0 })?;
        Ok(given)
    }

    /// Energies of the sums.
    pub fn nw(&self) -> usize {
        self.small.omega.len()
    }

    /// Sums of a screening that is given, or else of the one that is placed.
    ///
    /// # Safety
    /// As of `gpp_sums`.
    pub unsafe fn sums(
        &self,
        calculator: &Calculator,
        once: Option<Seeing>,
        placed: Option<&mut Kept>,
    ) -> Result<Found> {
        let Small { e, occ, omega, formula } = &self.small;
        let on_host = self.on_host();
        let mut own = None;
        if let Some((screening, bands)) = once.as_ref().and_then(Seeing::on_host).zip(on_host) {
            return Ok(calculator.sums(&screening, &bands, omega, *formula)?);
        }
        let placed = match once {
            // SAFETY: the caller's word; it is gone when this returns.
            Some(once) => own.insert(unsafe { once.placed(calculator) }?),
            None => placed.ok_or_else(no_screening)?,
        };
        match (&on_host, &self.aqsn, &self.aqsm) {
            (Some(bands), ..) => Ok(calculator.sums_at(placed.get(), bands, omega, *formula)?),
            (None, &Matrix::Device(aqsn), &Matrix::Device(aqsm)) => {
                let aqsm = match self.aqsm_local {
                    true => lent::Aqsm::Local(aqsm),
                    false => lent::Aqsm::Whole(aqsm),
                };
                let bands = lent::Bands { aqsn, aqsm, e, occ };
                // SAFETY: the caller's word.
                Ok(unsafe { calculator.sums_at_lent(placed.get(), &bands, omega, *formula) }?)
            }
            _ => unreachable!("both are where bands are"),
        }
    }

    /// Energies of the sums, and the limits.
    pub fn energies(&self) -> (&[f64], gpp_core::Formula) {
        (&self.small.omega, self.small.formula)
    }

    /// The bands, where their matrices are the host's.
    pub fn on_host(&self) -> Option<gpp_core::Bands<'_>> {
        let Small { e, occ, .. } = &self.small;
        let (Matrix::Host(aqsn), Matrix::Host(aqsm)) = (&self.aqsn, &self.aqsm) else {
            return None;
        };
        let aqsm = if self.aqsm_local { Aqsm::Local(aqsm) } else { Aqsm::Whole(aqsm) };
        Some(gpp_core::Bands { aqsn, aqsm, e, occ })
    }
}
