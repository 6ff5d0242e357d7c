//! A caller's arrays, looked at.

use std::borrow::Cow;

use gpp_core::problem::header::MOST_ENERGIES;
use gpp_core::{Aqsm, Calculator, Found, Placed, lent};

use crate::Result;
use crate::border::{Matrix, Seen, extent, flag};
use crate::open::Kept;
use crate::types::{Bands, Failure, Formula, Screening};

/// An extent that indices of 32 bits count.
pub fn indexed(name: &str, found: i64) -> Result<usize> {
    extent(name, found, [0, i32::MAX as usize])
}

/// Energies of the sums.
pub fn energies(found: i64) -> Result<usize> {
    extent("nw", found, [1, MOST_ENERGIES])
}

/// The arrays of a screening.
pub struct Arrays<'a> {
    wtilde: Matrix<'a>,
    eps: Matrix<'a>,
    vcoul: Cow<'a, [f64]>,
    inv_igp_index: Cow<'a, [i32]>,
    indinv: Cow<'a, [i32]>,
}

impl<'a> Arrays<'a> {
    /// Looks at them.
    ///
    /// # Safety
    /// As of `gpp_sums`.
    pub unsafe fn seen(seen: &mut Seen, screening: *const Screening) -> Result<Arrays<'a>> {
        // SAFETY: of all in the block, the caller's word.
        unsafe {
            let s: &Screening = seen.one("screening", screening)?;
            let shape @ [ncouls, ngpown] =
                [indexed("ncouls", s.ncouls)?, indexed("ngpown", s.ngpown)?];
            let ng = indexed("ng", s.ng)?;
            let on_device = flag("screening.on_device", s.on_device)?;
            Ok(Arrays {
                vcoul: seen.small("vcoul", s.vcoul, ncouls)?,
                inv_igp_index: seen.small("inv_igp_index", s.inv_igp_index, ngpown)?,
                indinv: seen.small("indinv", s.indinv, ng)?,
                wtilde: seen.matrix("wtilde", s.wtilde, shape, s.ld_wtilde, on_device)?,
                eps: seen.matrix("eps", s.eps, shape, s.ld_eps, on_device)?,
            })
        }
    }

    /// All of them, if they are the host's.
    fn on_host(&self) -> Option<gpp_core::Screening<'_>> {
        let Arrays { wtilde, eps, vcoul, inv_igp_index, indinv } = self;
        let (Matrix::Host(wtilde), Matrix::Host(eps)) = (wtilde, eps) else { return None };
        Some(gpp_core::Screening { wtilde, eps, vcoul, inv_igp_index, indinv })
    }

    /// Places them.
    ///
    /// # Safety
    /// They stay as they are until what is returned is dropped.
    pub unsafe fn placed(self, calculator: &Calculator) -> Result<Kept> {
        let Arrays { vcoul, inv_igp_index, indinv, .. } = &self;
        let placed = match (&self.wtilde, &self.eps) {
            (&Matrix::Device(wtilde), &Matrix::Device(eps)) => {
                let lent = lent::Screening { wtilde, eps, vcoul, inv_igp_index, indinv };
                // SAFETY: the caller's word.
                unsafe { calculator.place_lent(&lent) }
            }
            (Matrix::Host(wtilde), Matrix::Host(eps)) => {
                // SAFETY: arrays outlast what is placed by this function's contract. Copies are kept with it
                // and dropped after it. What is small is read now.
                let screening = unsafe {
                    gpp_core::Screening {
                        wtilde: unbound(wtilde),
                        eps: unbound(eps),
                        vcoul: unbound(vcoul),
                        inv_igp_index: unbound(inv_igp_index),
                        indinv: unbound(indinv),
                    }
                };
                calculator.place(&screening)
            }
            _ => unreachable!("both are where screening.on_device says"),
        }?;
        let copies = [self.wtilde, self.eps].into_iter().filter_map(Matrix::copy);
        Ok(Kept { placed, _copies: copies.collect() })
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

/// The screening of a call: the one that it gives, or else the one that is placed.
pub enum Of<'a, 'w> {
    Once(Arrays<'a>),
    Placed(&'w mut Placed<'static>),
}

impl<'a, 'w> Of<'a, 'w> {
    /// Looks at it.
    ///
    /// # Safety
    /// As of `gpp_sums`.
    pub unsafe fn seen(
        seen: &mut Seen,
        given: *const Screening,
        placed: &'w mut Option<Kept>,
    ) -> Result<Of<'a, 'w>> {
        match placed {
            // SAFETY: the caller's word.
            _ if !given.is_null() => unsafe { Arrays::seen(seen, given) }.map(Of::Once),
            Some(kept) => Ok(Of::Placed(&mut kept.placed)),
            None => Err(Failure::argument("screening is null, and none is placed".into())),
        }
    }

    /// G and G′.
    pub fn extents(&self) -> [usize; 2] {
        match self {
            Of::Once(arrays) => [arrays.vcoul.len(), arrays.inv_igp_index.len()],
            Of::Placed(placed) => placed.extents(),
        }
    }

    /// The one that is placed, or placed here in `once`.
    ///
    /// # Safety
    /// Arrays that are given stay as they are until `once` is dropped.
    pub unsafe fn in_place(
        self,
        calculator: &Calculator,
        once: &'w mut Option<Kept>,
    ) -> Result<&'w mut Placed<'static>> {
        match self {
            // SAFETY: the caller's word.
            Of::Once(arrays) => Ok(&mut once.insert(unsafe { arrays.placed(calculator) }?).placed),
            Of::Placed(placed) => Ok(placed),
        }
    }
}

/// Bands n by energies and occupations, energies of the sums, and limits.
pub struct Small<'a> {
    pub e: Cow<'a, [f64]>,
    pub occ: Cow<'a, [f64]>,
    pub omega: Cow<'a, [f64]>,
    pub formula: gpp_core::Formula,
}

impl<'a> Small<'a> {
    /// Looks at them.
    ///
    /// # Safety
    /// As of `gpp_sums`.
    pub unsafe fn seen(
        seen: &mut Seen,
        (nbands, e, occ): (usize, *const f64, *const f64),
        (nw, omega): (i64, *const f64),
        formula: *const Formula,
    ) -> Result<Small<'a>> {
        // SAFETY: of all in the block, the caller's word.
        unsafe {
            let formula = match formula.is_null() {
                true => gpp_core::Formula::default(),
                false => {
                    let &Formula { gamma, sexcut } = seen.one("formula", formula)?;
                    gpp_core::Formula { gamma, sexcut }
                }
            };
            Ok(Small {
                e: seen.small("e", e, nbands)?,
                occ: seen.small("occ", occ, nbands)?,
                omega: seen.small("omega", omega, energies(nw)?)?,
                formula,
            })
        }
    }
}

/// The bands of sums.
pub struct Given<'a> {
    aqsn: Matrix<'a>,
    aqsm: Matrix<'a>,
    aqsm_local: bool,
    pub small: Small<'a>,
}

impl<'a> Given<'a> {
    /// Looks at bands of a screening with so many G and G′.
    ///
    /// # Safety
    /// As of `gpp_sums`.
    pub unsafe fn seen(
        seen: &mut Seen,
        [ncouls, ngpown]: [usize; 2],
        bands: *const Bands,
        energies: (i64, *const f64),
        formula: *const Formula,
    ) -> Result<Given<'a>> {
        // SAFETY: of all in the block, the caller's word.
        unsafe {
            let b: &Bands = seen.one("bands", bands)?;
            let nbands = indexed("nbands", b.nbands)?;
            let (aqsm_local, on_device) =
                (flag("aqsm_local", b.aqsm_local)?, flag("bands.on_device", b.on_device)?);
            let rows = if aqsm_local { ngpown } else { ncouls };
            Ok(Given {
                small: Small::seen(seen, (nbands, b.e, b.occ), energies, formula)?,
                aqsn: seen.matrix("aqsn", b.aqsn, [ncouls, nbands], b.ld_aqsn, on_device)?,
                aqsm: seen.matrix("aqsm", b.aqsm, [rows, nbands], b.ld_aqsm, on_device)?,
                aqsm_local,
            })
        }
    }

    /// Their sums.
    ///
    /// # Safety
    /// As of `gpp_sums`.
    pub unsafe fn sums(&self, calculator: &Calculator, of: Of) -> Result<Found> {
        let Given { aqsn, aqsm, aqsm_local, small: Small { e, occ, omega, formula } } = self;
        let mut once = None;
        let found = match (aqsn, aqsm) {
            (Matrix::Host(aqsn), Matrix::Host(aqsm)) => {
                let aqsm = if *aqsm_local { Aqsm::Local(aqsm) } else { Aqsm::Whole(aqsm) };
                let bands = gpp_core::Bands { aqsn, aqsm, e, occ };
                if let Of::Once(arrays) = &of
                    && let Some(screening) = arrays.on_host()
                {
                    return Ok(calculator.sums(&screening, &bands, omega, *formula)?);
                }
                // SAFETY: the caller's word; it is gone when this returns.
                let placed = unsafe { of.in_place(calculator, &mut once) }?;
                calculator.sums_at(placed, &bands, omega, *formula)
            }
            (&Matrix::Device(aqsn), &Matrix::Device(aqsm)) => {
                let aqsm = match aqsm_local {
                    true => lent::Aqsm::Local(aqsm),
                    false => lent::Aqsm::Whole(aqsm),
                };
                let bands = lent::Bands { aqsn, aqsm, e, occ };
                // SAFETY: the caller's word; it is gone when this returns.
                unsafe {
                    let placed = of.in_place(calculator, &mut once)?;
                    calculator.sums_at_lent(placed, &bands, omega, *formula)
                }
            }
            _ => unreachable!("both are where bands.on_device says"),
        };
        Ok(found?)
    }
}
