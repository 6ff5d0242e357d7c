//! Pointers and dimensions are checked before anything is read, and arrays are borrowed.

use std::borrow::Cow;
use std::ffi::{CStr, c_char};
use std::mem::transmute;
use std::ops::Range;
use std::{ptr, slice};

use gpp_core::catalogue::BackEnd;
use gpp_core::on_gpu::{DeviceMatrix, Pod, is_on_device};
use gpp_core::problem::header::MOST_ENERGIES;
use gpp_core::{Calculator, Placed, on_gpu};
use num_complex::Complex64;

use crate::{Complex, Failure, Formula, Result, Screening, Status};

/// A dimension.
pub fn extent(name: &str, found: i64, [least, most]: [usize; 2]) -> Result<usize> {
    match usize::try_from(found) {
        Ok(extent) if (least..=most).contains(&extent) => Ok(extent),
        _ => {
            Err(Failure::argument(format!("{name} must be from {least} to {most}, found {found}")))
        }
    }
}

/// A dimension that indices of 32 bits count.
pub fn indexed(name: &str, found: i64) -> Result<usize> {
    extent(name, found, [0, i32::MAX as usize])
}

/// Number of energies of the sums.
pub fn energies(found: i64) -> Result<usize> {
    extent("nw", found, [1, MOST_ENERGIES])
}

/// 1 or 0.
pub fn flag(name: &str, found: i32) -> Result<bool> {
    match found {
        0 | 1 => Ok(found == 1),
        other => Err(Failure::argument(format!("{name} must be 0 or 1, found {other}"))),
    }
}

/// The addresses of `len` elements: in place, and all within the address space. No elements may be anywhere.
pub fn addresses<T>(name: &str, at: *const T, len: usize) -> Result<Range<usize>> {
    if len == 0 {
        return Ok(0..0);
    }
    let wrong = |what: &str| Err(Failure::argument(format!("{name} {what}")));
    if at.is_null() {
        return wrong("is null");
    }
    if !at.is_aligned() {
        return wrong(&format!("is not at a multiple of {} bytes", align_of::<T>()));
    }
    let bytes = len.checked_mul(size_of::<T>()).filter(|&bytes| isize::try_from(bytes).is_ok());
    match bytes.and_then(|bytes| at.addr().checked_add(bytes)) {
        Some(end) => Ok(at.addr()..end),
        None => wrong(&format!("has {len} elements, more than memory can hold")),
    }
}

/// A string of C.
///
/// # Safety
/// It is null or null-terminated.
pub unsafe fn text<'a>(name: &str, at: *const c_char) -> Result<&'a str> {
    addresses(name, at, 1)?;
    // SAFETY: not null; the caller's word.
    let text = unsafe { CStr::from_ptr(at) };
    text.to_str().map_err(|_| Failure::argument(format!("{name} is not in UTF-8")))
}

/// A matrix of the caller.
pub enum Matrix<'a> {
    Host(Cow<'a, [Complex64]>),
    Device(DeviceMatrix),
}

/// A placed screening, and its matrices, dropped after it.
pub struct PlacedScreening {
    placed: Placed<'static>,
    _matrices: [Matrix<'static>; 2],
}

/// Bands n by energies and occupations, energies of the sums, and limits.
pub struct BandEnergies<'a> {
    pub e: Cow<'a, [f64]>,
    pub occ: Cow<'a, [f64]>,
    pub omega: Cow<'a, [f64]>,
    pub formula: gpp_core::Formula,
}

/// Checks the arguments of a call, one after the other.
pub struct Checks<'c> {
    calculator: &'c Calculator,
    /// Whether arrays may be in memory of a GPU, which the host cannot read.
    on_gpu: bool,
    /// Addresses of the arrays so far.
    ranges: Vec<(&'static str, Range<usize>)>,
}

impl Checks<'_> {
    pub fn by(calculator: &Calculator) -> Checks<'_> {
        let on_gpu = calculator.device().back_end() == BackEnd::Gpu;
        Checks { calculator, on_gpu, ranges: Vec::new() }
    }

    /// Fails for memory of a GPU.
    fn of_host<T>(&self, name: &str, at: *const T) -> Result<()> {
        if self.on_gpu && is_on_device(at.addr() as u64) {
            return Err(Failure::argument(format!(
                "{name} is in memory of a GPU; the host's was asked for"
            )));
        }
        Ok(())
    }

    /// An array of `len` elements.
    ///
    /// # Safety
    /// What is neither null nor misaligned points to so many elements, which nobody changes during `'a`.
    unsafe fn array<'a, T>(
        &mut self,
        name: &'static str,
        at: *const T,
        len: usize,
    ) -> Result<&'a [T]> {
        let all = addresses(name, at, len)?;
        self.of_host(name, at)?;
        self.ranges.push((name, all));
        // SAFETY: aligned, not null and no larger than an object may be; the rest is the caller's word.
        Ok(if len == 0 { &[] } else { unsafe { slice::from_raw_parts(at, len) } })
    }

    /// The same, or an array on the GPU, which is copied to the host.
    ///
    /// # Safety
    /// As of [`Checks::array`].
    unsafe fn small<'a, T: Pod>(
        &mut self,
        name: &'static str,
        at: *const T,
        len: usize,
    ) -> Result<Cow<'a, [T]>> {
        addresses(name, at, len)?;
        let address = at.addr() as u64;
        if self.on_gpu && is_on_device(address) {
            // SAFETY: found on the GPU; the rest is the caller's word.
            return Ok(unsafe { self.calculator.fetch_vector(name, address, len) }?.into());
        }
        // SAFETY: the caller's word.
        unsafe { self.array(name, at, len) }.map(Into::into)
    }

    /// A value, as an array of one.
    ///
    /// # Safety
    /// As of [`Checks::array`].
    pub unsafe fn one<'a, T>(&mut self, name: &'static str, at: *const T) -> Result<&'a T> {
        // SAFETY: the caller's word.
        unsafe { self.array(name, at, 1) }.map(|one| &one[0])
    }

    /// A matrix: in place if columns follow each other or if it is on the GPU, else a copy of its columns.
    ///
    /// # Safety
    /// As of [`Checks::array`], for the rows of each column; the gaps between columns are not read.
    pub unsafe fn matrix<'a>(
        &mut self,
        name: &'static str,
        at: *const Complex,
        [rows, columns]: [usize; 2],
        ld: i64,
        on_device: bool,
    ) -> Result<Matrix<'a>> {
        let ld = match usize::try_from(ld) {
            Ok(found) if found >= rows => found,
            _ => {
                let needs = "elements from one column to the next";
                return Err(Failure::argument(format!(
                    "{name} must have at least {rows} {needs} (ld_{name}), found {ld}"
                )));
            }
        };
        let at = at.cast::<Complex64>();
        if rows == 0 || columns == 0 {
            return Ok(Matrix::Host(Cow::Borrowed(&[])));
        }
        let len = (columns - 1).checked_mul(ld).and_then(|before| before.checked_add(rows));
        let all = addresses(name, at, len.unwrap_or(usize::MAX))?;
        if on_device {
            let matrix = DeviceMatrix { at: at.addr() as u64, ld };
            return Ok(Matrix::Device(matrix));
        }
        self.ranges.push((name, all));
        self.of_host(name, at)?;
        if ld == rows || columns == 1 {
            // SAFETY: aligned, not null, one column behind the other; the rest is the caller's word.
            let all = unsafe { slice::from_raw_parts(at, rows * columns) };
            return Ok(Matrix::Host(all.into()));
        }
        let (mut copy, len) = (Vec::new(), rows * columns);
        copy.try_reserve_exact(len).map_err(|_| {
            let bytes = len.saturating_mul(size_of::<Complex64>());
            let message = format!("not enough host memory to copy {name}: {bytes} bytes needed");
            Failure { status: Status::Memory, message }
        })?;
        for column in 0..columns {
            // SAFETY: as above, of this column alone.
            copy.extend_from_slice(unsafe { slice::from_raw_parts(at.add(column * ld), rows) });
        }
        Ok(Matrix::Host(copy.into()))
    }

    /// A result, which does not overlap any other argument, the gaps between columns included.
    pub fn output(
        &mut self,
        name: &'static str,
        at: *mut Complex,
        len: usize,
    ) -> Result<*mut [Complex64]> {
        let own = addresses(name, at, len)?;
        self.of_host(name, at)?;
        let overlaps = |other: &Range<usize>| own.start < other.end && other.start < own.end;
        if let Some((other, _)) = self.ranges.iter().find(|(_, range)| overlaps(range)) {
            return Err(Failure::argument(format!("{name} overlaps {other}")));
        }
        self.ranges.push((name, own));
        Ok(ptr::slice_from_raw_parts_mut(at.cast(), len))
    }

    /// The placed screening, or if `screening` is not null that one, placed in `once`.
    ///
    /// # Safety
    /// As of `gpp_sums`; a screening of this call stays as it is until `once` is dropped.
    pub unsafe fn screening<'p>(
        &mut self,
        screening: *const Screening,
        placed: &'p mut Option<PlacedScreening>,
        once: &'p mut Option<PlacedScreening>,
    ) -> Result<&'p mut Placed<'static>> {
        if !screening.is_null() {
            // SAFETY: the caller's word.
            return Ok(&mut once.insert(unsafe { self.place(screening) }?).placed);
        }
        match placed {
            Some(placed) => Ok(&mut placed.placed),
            None => Err(Failure::argument("screening is null, and none is placed".into())),
        }
    }

    /// Places a screening.
    ///
    /// # Safety
    /// As of `gpp_sums`; the matrices stay as they are until the result is dropped.
    pub unsafe fn place(&mut self, screening: *const Screening) -> Result<PlacedScreening> {
        // SAFETY: of all in the block, the caller's word.
        unsafe {
            let s: &Screening = self.one("screening", screening)?;
            let shape @ [ncouls, ngpown] =
                [indexed("ncouls", s.ncouls)?, indexed("ngpown", s.ngpown)?];
            let ng = indexed("ng", s.ng)?;
            let on_device = flag("screening.on_device", s.on_device)?;
            let vcoul = &*self.small("vcoul", s.vcoul, ncouls)?;
            let inv_igp_index = &*self.small("inv_igp_index", s.inv_igp_index, ngpown)?;
            let indinv = &*self.small("indinv", s.indinv, ng)?;
            let wtilde = self.matrix("wtilde", s.wtilde, shape, s.ld_wtilde, on_device)?;
            let eps = self.matrix("eps", s.eps, shape, s.ld_eps, on_device)?;
            let placed = match (&wtilde, &eps) {
                (&Matrix::Device(wtilde), &Matrix::Device(eps)) => {
                    let screening = on_gpu::Screening { wtilde, eps, vcoul, inv_igp_index, indinv };
                    self.calculator.place_on_gpu(&screening)
                }
                (Matrix::Host(wtilde), Matrix::Host(eps)) => {
                    // Matrices outlast what is placed by this function's contract, and copies are dropped after
                    // it. The small arrays are read now.
                    self.calculator.place(&transmute::<
                        gpp_core::Screening<'_>,
                        gpp_core::Screening<'static>,
                    >(gpp_core::Screening {
                        wtilde,
                        eps,
                        vcoul,
                        inv_igp_index,
                        indinv,
                    }))
                }
                _ => unreachable!("both are where screening.on_device says"),
            }?;
            Ok(PlacedScreening { placed, _matrices: [wtilde, eps] })
        }
    }

    /// Null `formula` has the defaults.
    ///
    /// # Safety
    /// As of `gpp_sums`.
    pub unsafe fn band_energies<'a>(
        &mut self,
        nbands: usize,
        [e, occ]: [*const f64; 2],
        nw: i64,
        omega: *const f64,
        formula: *const Formula,
    ) -> Result<BandEnergies<'a>> {
        // SAFETY: of all in the block, the caller's word.
        unsafe {
            let formula = match formula.is_null() {
                true => gpp_core::Formula::default(),
                false => {
                    let &Formula { gamma, sexcut } = self.one("formula", formula)?;
                    gpp_core::Formula { gamma, sexcut }
                }
            };
            Ok(BandEnergies {
                e: self.small("e", e, nbands)?,
                occ: self.small("occ", occ, nbands)?,
                omega: self.small("omega", omega, energies(nw)?)?,
                formula,
            })
        }
    }
}

/// Writes a result of [`Checks::output`].
///
/// # Safety
/// It points to so many elements, which nobody else has during the call.
///
/// # Panics
/// If there are more or fewer numbers.
pub unsafe fn write(to: *mut [Complex64], numbers: &[Complex64]) {
    assert_eq!(numbers.len(), to.len());
    // SAFETY: aligned, not null, and apart from all inputs; the rest is the caller's word.
    unsafe { ptr::copy_nonoverlapping(numbers.as_ptr(), to.cast(), to.len()) };
}
