//! Pointers and dimensions are checked before anything is read, and arrays are borrowed.
//!
//! All unsafe functions have one contract, that of `gpp_sums`: a pointer that is neither null nor misaligned points to
//! as many elements as the dimensions say, a string to its null byte, and nobody changes them as long as the result is
//! used. What stays placed, and its matrices, is used until it is dropped.

use std::ffi::{CStr, c_char, c_void};
use std::ops::Range;
use std::{ptr, slice};

use gpp_core::catalogue::BackEnd;
use gpp_core::on_gpu::{DeviceMatrix, is_on_device};
use gpp_core::problem::header::MOST_ENERGIES;
use gpp_core::{Calculator, MatrixRef, Placed, Result};
use num_complex::{Complex32, Complex64};

use crate::{
    CBands, CComplex, CFormula, CScreening, FORMULA_BERKELEYGW, FORMULA_TIME_ORDERED, argument,
};

/// A number from `least` to `most`.
pub fn dimension(name: &str, found: i64, [least, most]: [usize; 2]) -> Result<usize> {
    let dimension = usize::try_from(found).ok().filter(|n| (least..=most).contains(n));
    dimension
        .ok_or_else(|| argument(format!("{name} must be from {least} to {most}, found {found}")))
}

/// A dimension that indices of 32 bits count.
pub fn indexed(name: &str, found: i64) -> Result<usize> {
    dimension(name, found, [0, i32::MAX as usize])
}

/// Number of energies of the sums.
pub fn energies(found: i64) -> Result<usize> {
    dimension("nw", found, [1, MOST_ENERGIES])
}

/// 1 or 0.
pub fn flag(name: &str, found: i32) -> Result<bool> {
    match found {
        0 | 1 => Ok(found == 1),
        other => Err(argument(format!("{name} must be 0 or 1, found {other}"))),
    }
}

/// The addresses of `len` elements: not null, aligned and within the address space. No elements may be anywhere.
pub fn addresses<T>(name: &str, pointer: *const T, len: usize) -> Result<Range<usize>> {
    if len == 0 {
        return Ok(0..0);
    }
    let wrong = |what: &str| Err(argument(format!("{name} {what}")));
    if pointer.is_null() {
        return wrong("is null");
    }
    if !pointer.is_aligned() {
        return wrong(&format!("is not at a multiple of {} bytes", align_of::<T>()));
    }
    let bytes = len.checked_mul(size_of::<T>()).filter(|&bytes| isize::try_from(bytes).is_ok());
    match bytes.and_then(|bytes| pointer.addr().checked_add(bytes)) {
        Some(end) => Ok(pointer.addr()..end),
        None => wrong(&format!("has {len} elements, more than memory can hold")),
    }
}

/// A string of C.
pub unsafe fn text<'a>(name: &str, pointer: *const c_char) -> Result<&'a str> {
    addresses(name, pointer, 1)?;
    // SAFETY: not null; the caller's word.
    let text = unsafe { CStr::from_ptr(pointer) };
    text.to_str().map_err(|_| argument(format!("{name} is not in UTF-8")))
}

/// Checks the arguments of a call, one after the other.
pub struct Checks<'c> {
    calculator: &'c Calculator,
    /// Addresses of the arrays so far.
    ranges: Vec<(&'static str, Range<usize>)>,
}

impl Checks<'_> {
    pub fn by(calculator: &Calculator) -> Checks<'_> {
        Checks { calculator, ranges: Vec::new() }
    }

    fn require_on_host<T>(&self, name: &str, pointer: *const T) -> Result<()> {
        let on_gpu = self.calculator.device().back_end() == BackEnd::Gpu;
        match on_gpu && is_on_device(pointer.addr() as u64) {
            true => Err(argument(format!("{name} is in memory of a GPU, but must be on the host"))),
            false => Ok(()),
        }
    }

    /// An array of `len` elements.
    pub unsafe fn array<'a, T>(
        &mut self,
        name: &'static str,
        pointer: *const T,
        len: usize,
    ) -> Result<&'a [T]> {
        let range = addresses(name, pointer, len)?;
        self.require_on_host(name, pointer)?;
        self.ranges.push((name, range));
        // SAFETY: aligned, not null and no larger than an object may be; the rest is the caller's word.
        Ok(if len == 0 { &[] } else { unsafe { slice::from_raw_parts(pointer, len) } })
    }

    /// A value, as an array of one.
    pub unsafe fn one<'a, T>(&mut self, name: &'static str, pointer: *const T) -> Result<&'a T> {
        // SAFETY: the caller's word.
        unsafe { self.array(name, pointer, 1) }.map(|one| &one[0])
    }

    /// A matrix of which column k begins at element `k * ld`; the gaps between columns are not read.
    pub unsafe fn matrix<'a>(
        &mut self,
        name: &'static str,
        pointer: *const c_void,
        shape @ [rows, columns]: [usize; 2],
        ld: i64,
        [on_device, single]: [bool; 2],
    ) -> Result<MatrixRef<'a>> {
        let found = ld;
        let Some(ld) = usize::try_from(found).ok().filter(|&ld| ld >= rows) else {
            let needs = "elements from one column to the next";
            return Err(argument(format!(
                "{name} must have at least {rows} {needs} (ld_{name}), found {found}"
            )));
        };
        if shape.contains(&0) {
            return Ok(MatrixRef::Host(&[]));
        }
        let len = (columns - 1).checked_mul(ld).and_then(|before| before.checked_add(rows));
        let len = len.unwrap_or(usize::MAX);
        if on_device {
            addresses(name, pointer.cast::<Complex64>(), len)?;
            // SAFETY: the caller's word.
            return Ok(MatrixRef::Device(unsafe { DeviceMatrix::new(pointer.addr() as u64, ld) }));
        }
        if single {
            // SAFETY: the caller's word.
            let all: &[Complex32] = unsafe { self.array(name, pointer.cast(), len) }?;
            return Ok(MatrixRef::Single(all, ld));
        }
        // SAFETY: the caller's word.
        let all: &[Complex64] = unsafe { self.array(name, pointer.cast(), len) }?;
        Ok(if len == rows * columns { MatrixRef::Host(all) } else { MatrixRef::Spaced(all, ld) })
    }

    /// A result, which does not overlap any other argument, the gaps between columns included.
    pub fn output(
        &mut self,
        name: &'static str,
        pointer: *mut CComplex,
        len: usize,
    ) -> Result<*mut [Complex64]> {
        let range = addresses(name, pointer, len)?;
        self.require_on_host(name, pointer)?;
        let overlaps = |other: &Range<usize>| range.start < other.end && other.start < range.end;
        if let Some((other, _)) = self.ranges.iter().find(|(_, range)| overlaps(range)) {
            return Err(argument(format!("{name} overlaps {other}")));
        }
        self.ranges.push((name, range));
        Ok(ptr::slice_from_raw_parts_mut(pointer.cast(), len))
    }

    /// The same, if the pointer is not null.
    pub fn wanted(
        &mut self,
        name: &'static str,
        pointer: *mut CComplex,
        len: usize,
    ) -> Result<Option<*mut [Complex64]>> {
        (!pointer.is_null()).then(|| self.output(name, pointer, len)).transpose()
    }

    /// The placed screening, or if `screening` is not null that one, placed in `once`.
    pub unsafe fn screening<'p>(
        &mut self,
        screening: *const CScreening,
        placed: &'p mut Option<Placed<'static>>,
        once: &'p mut Option<Placed<'static>>,
    ) -> Result<&'p mut Placed<'static>> {
        if !screening.is_null() {
            // SAFETY: the caller's word.
            return Ok(once.insert(unsafe { self.place(screening) }?.once()));
        }
        placed.as_mut().ok_or_else(|| argument("screening is null, and none is placed"))
    }

    /// Places a screening.
    pub unsafe fn place(&mut self, screening: *const CScreening) -> Result<Placed<'static>> {
        // SAFETY: of all in the block, the caller's word.
        unsafe {
            let s: &CScreening = self.one("screening", screening)?;
            let shape @ [ncouls, ngpown] =
                [indexed("ncouls", s.ncouls)?, indexed("ngpown", s.ngpown)?];
            let ng = indexed("ng", s.ng)?;
            let on_device = flag("screening.on_device", s.on_device)?;
            let vcoul = self.array("vcoul", s.vcoul, ncouls)?;
            let inv_igp_index = self.array("inv_igp_index", s.inv_igp_index, ngpown)?;
            let indinv = self.array("indinv", s.indinv, ng)?;
            let is = [on_device, false];
            let wtilde = self.matrix("wtilde", s.wtilde.cast(), shape, s.ld_wtilde, is)?;
            let eps = self.matrix("eps", s.eps.cast(), shape, s.ld_eps, is)?;
            let screening = gpp_core::Screening { wtilde, eps, vcoul, inv_igp_index, indinv };
            self.calculator.place(&screening)
        }
    }

    /// The bands of a sum, with a screening of these dimensions.
    pub unsafe fn bands<'a>(
        &mut self,
        b: &CBands,
        [ncouls, ngpown]: [usize; 2],
    ) -> Result<gpp_core::Bands<'a>> {
        let nbands = indexed("nbands", b.nbands)?;
        let aqsm_local = flag("aqsm_local", b.aqsm_local)?;
        let is @ [on_device, single] =
            [flag("bands.on_device", b.on_device)?, flag("single", b.single)?];
        if on_device && single {
            return Err(argument("single must be 0 for matrices on a GPU"));
        }
        let rows = if aqsm_local { ngpown } else { ncouls };
        // SAFETY: of all in the block, the caller's word.
        unsafe {
            let e = self.array("e", b.e, nbands)?;
            let occ = self.array("occ", b.occ, nbands)?;
            let aqsn = self.matrix("aqsn", b.aqsn, [ncouls, nbands], b.ld_aqsn, is)?;
            let aqsm = self.matrix("aqsm", b.aqsm, [rows, nbands], b.ld_aqsm, is)?;
            Ok(gpp_core::Bands { aqsn, aqsm, aqsm_local, e, occ })
        }
    }

    /// Null `formula` has the defaults.
    pub unsafe fn formula(&mut self, formula: *const CFormula) -> Result<gpp_core::Formula> {
        if formula.is_null() {
            return Ok(gpp_core::Formula::default());
        }
        // SAFETY: the caller's word.
        let &CFormula { kind, gamma, sexcut, eta, window } =
            unsafe { self.one("formula", formula) }?;
        match kind {
            FORMULA_BERKELEYGW => Ok(gpp_core::Formula::BerkeleyGw { gamma, sexcut }),
            FORMULA_TIME_ORDERED => Ok(gpp_core::Formula::TimeOrdered { eta, window }),
            _ => {
                let needs = "GPP_FORMULA_BERKELEYGW (1) or GPP_FORMULA_TIME_ORDERED (2)";
                Err(argument(format!("formula.kind needs {needs}, found {kind}")))
            }
        }
    }
}

/// Writes a result of [`Checks::output`].
pub unsafe fn write(to: *mut [Complex64], numbers: &[Complex64]) {
    assert_eq!(numbers.len(), to.len());
    // SAFETY: aligned, not null, and apart from all inputs; the rest is the caller's word.
    unsafe { ptr::copy_nonoverlapping(numbers.as_ptr(), to.cast(), to.len()) };
}
