//! What is looked at before an argument is read.

use std::borrow::Cow;
use std::ops::Range;
use std::{ptr, slice};

use gpp_core::catalogue::BackEnd;
use gpp_core::on_gpu::{DeviceMatrix, Pod, is_on_device};
use gpp_core::problem::header::MOST_ENERGIES;
use gpp_core::{Aqsm, Calculator, Found, Placed, on_gpu};
use num_complex::Complex64;

use crate::Result;
use crate::open::PlacedArrays;
use crate::types::{Bands, Complex, Failure, Formula, Screening, Status};

/// An extent.
pub fn extent(name: &str, found: i64, [least, most]: [usize; 2]) -> Result<usize> {
    match usize::try_from(found) {
        Ok(extent) if (least..=most).contains(&extent) => Ok(extent),
        _ => {
            Err(Failure::argument(format!("{name} must be from {least} to {most}, found {found}")))
        }
    }
}

/// What is 1 or 0.
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

/// A matrix that was looked at.
pub enum Matrix<'a> {
    Host(Cow<'a, [Complex64]>),
    Device(DeviceMatrix),
}

impl Matrix<'_> {
    /// The copy, if it is one.
    pub fn copy(self) -> Option<Vec<Complex64>> {
        match self {
            Matrix::Host(Cow::Owned(copy)) => Some(copy),
            _ => None,
        }
    }
}

/// Arguments of a call that were looked at, with their addresses.
pub struct Checks<'c> {
    /// What the call calculates with.
    pub calculator: &'c Calculator,
    /// Whether it may be given arrays of a GPU, which are never to be read here.
    on_gpu: bool,
    ranges: Vec<(&'static str, Range<usize>)>,
}

impl Checks<'_> {
    /// None yet.
    pub fn by(calculator: &Calculator) -> Checks<'_> {
        let on_gpu = calculator.device().back_end() == BackEnd::Gpu;
        Checks { calculator, on_gpu, ranges: Vec::new() }
    }

    /// Fails for an address of a GPU.
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
    pub unsafe fn array<'a, T>(
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

    /// The same, or an array of the GPU's, which is brought here.
    ///
    /// # Safety
    /// As of [`Checks::array`].
    pub unsafe fn small<'a, T: Pod>(
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

    /// One value, as an array of one.
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
    /// As of [`Checks::array`], for the rows of each column; what lies between them may be anybody's.
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
        let mut copy: Vec<Complex64> = with_room(name, rows * columns)?;
        for column in 0..columns {
            // SAFETY: as above, of this column alone.
            copy.extend_from_slice(unsafe { slice::from_raw_parts(at.add(column * ld), rows) });
        }
        Ok(Matrix::Host(copy.into()))
    }

    /// An array to be written, which does not overlap any other argument, the gaps between columns included.
    pub fn written(&mut self, name: &'static str, at: *mut Complex, len: usize) -> Result<Out> {
        let own = addresses(name, at, len)?;
        self.of_host(name, at)?;
        let overlaps = |other: &Range<usize>| own.start < other.end && other.start < own.end;
        if let Some((other, _)) = self.ranges.iter().find(|(_, range)| overlaps(range)) {
            return Err(Failure::argument(format!("{name} overlaps {other}")));
        }
        self.ranges.push((name, own));
        Ok(Out { at: at.cast(), len })
    }
}

/// An empty vector with room, or the failure that there is none.
fn with_room<T>(name: &str, len: usize) -> Result<Vec<T>> {
    let mut room = Vec::new();
    match room.try_reserve_exact(len) {
        Ok(()) => Ok(room),
        Err(_) => {
            let bytes = len.saturating_mul(size_of::<T>());
            let message = format!("not enough host memory to copy {name}: {bytes} bytes needed");
            Err(Failure { status: Status::Memory, message })
        }
    }
}

/// An array to be written.
pub struct Out {
    at: *mut Complex64,
    len: usize,
}

impl Out {
    /// Writes all of it.
    ///
    /// # Safety
    /// What it was made of points to so many elements, which nobody else has during the call.
    ///
    /// # Panics
    /// If there are more or fewer numbers.
    pub unsafe fn write(&self, numbers: &[Complex64]) {
        assert_eq!(numbers.len(), self.len);
        // SAFETY: aligned and not null; apart from all that was read, and from what the library owns, since
        // it is the caller's, who gives his word.
        unsafe { ptr::copy_nonoverlapping(numbers.as_ptr(), self.at, self.len) };
    }
}

// A caller's arrays, looked at.

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
    pub unsafe fn check(checks: &mut Checks, screening: *const Screening) -> Result<Arrays<'a>> {
        // SAFETY: of all in the block, the caller's word.
        unsafe {
            let s: &Screening = checks.one("screening", screening)?;
            let shape @ [ncouls, ngpown] =
                [indexed("ncouls", s.ncouls)?, indexed("ngpown", s.ngpown)?];
            let ng = indexed("ng", s.ng)?;
            let on_device = flag("screening.on_device", s.on_device)?;
            Ok(Arrays {
                vcoul: checks.small("vcoul", s.vcoul, ncouls)?,
                inv_igp_index: checks.small("inv_igp_index", s.inv_igp_index, ngpown)?,
                indinv: checks.small("indinv", s.indinv, ng)?,
                wtilde: checks.matrix("wtilde", s.wtilde, shape, s.ld_wtilde, on_device)?,
                eps: checks.matrix("eps", s.eps, shape, s.ld_eps, on_device)?,
            })
        }
    }

    /// Places them.
    ///
    /// # Safety
    /// They stay as they are until what is returned is dropped.
    pub unsafe fn placed(self, calculator: &Calculator) -> Result<PlacedArrays> {
        let Arrays { vcoul, inv_igp_index, indinv, .. } = &self;
        let placed = match (&self.wtilde, &self.eps) {
            (&Matrix::Device(wtilde), &Matrix::Device(eps)) => {
                let on_gpu = on_gpu::Screening { wtilde, eps, vcoul, inv_igp_index, indinv };
                // SAFETY: the caller's word.
                unsafe { calculator.place_on_gpu(&on_gpu) }
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
        Ok(PlacedArrays { placed, _copies: copies.collect() })
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
pub enum CallScreening<'a, 'w> {
    Once(Arrays<'a>),
    Placed(&'w mut Placed<'static>),
}

impl<'a, 'w> CallScreening<'a, 'w> {
    /// Looks at it.
    ///
    /// # Safety
    /// As of `gpp_sums`.
    pub unsafe fn check(
        checks: &mut Checks,
        given: *const Screening,
        placed: &'w mut Option<PlacedArrays>,
    ) -> Result<CallScreening<'a, 'w>> {
        if !given.is_null() {
            // SAFETY: the caller's word.
            return unsafe { Arrays::check(checks, given) }.map(CallScreening::Once);
        }
        match placed {
            Some(kept) => Ok(CallScreening::Placed(&mut kept.placed)),
            None => Err(Failure::argument("screening is null, and none is placed".into())),
        }
    }

    /// G and G′.
    pub fn extents(&self) -> [usize; 2] {
        match self {
            CallScreening::Once(arrays) => [arrays.vcoul.len(), arrays.inv_igp_index.len()],
            CallScreening::Placed(placed) => placed.extents(),
        }
    }

    /// The one that is placed, or placed here in `once`.
    ///
    /// # Safety
    /// Arrays that are given stay as they are until `once` is dropped.
    pub unsafe fn in_place(
        self,
        calculator: &Calculator,
        once: &'w mut Option<PlacedArrays>,
    ) -> Result<&'w mut Placed<'static>> {
        match self {
            CallScreening::Once(arrays) => {
                // SAFETY: the caller's word.
                let placed = unsafe { arrays.placed(calculator) }?;
                Ok(&mut once.insert(placed).placed)
            }
            CallScreening::Placed(placed) => Ok(placed),
        }
    }
}

/// Bands n by energies and occupations, energies of the sums, and limits.
pub struct BandEnergies<'a> {
    pub e: Cow<'a, [f64]>,
    pub occ: Cow<'a, [f64]>,
    pub omega: Cow<'a, [f64]>,
    pub formula: gpp_core::Formula,
}

impl<'a> BandEnergies<'a> {
    /// Looks at them.
    ///
    /// # Safety
    /// As of `gpp_sums`.
    pub unsafe fn check(
        checks: &mut Checks,
        (nbands, e, occ): (usize, *const f64, *const f64),
        (nw, omega): (i64, *const f64),
        formula: *const Formula,
    ) -> Result<BandEnergies<'a>> {
        // SAFETY: of all in the block, the caller's word.
        unsafe {
            let formula = match formula.is_null() {
                true => gpp_core::Formula::default(),
                false => {
                    let &Formula { gamma, sexcut } = checks.one("formula", formula)?;
                    gpp_core::Formula { gamma, sexcut }
                }
            };
            Ok(BandEnergies {
                e: checks.small("e", e, nbands)?,
                occ: checks.small("occ", occ, nbands)?,
                omega: checks.small("omega", omega, energies(nw)?)?,
                formula,
            })
        }
    }
}

/// The bands of sums.
pub struct SumBands<'a> {
    aqsn: Matrix<'a>,
    aqsm: Matrix<'a>,
    aqsm_local: bool,
    pub small: BandEnergies<'a>,
}

impl<'a> SumBands<'a> {
    /// Looks at bands of a screening with so many G and G′.
    ///
    /// # Safety
    /// As of `gpp_sums`.
    pub unsafe fn check(
        checks: &mut Checks,
        [ncouls, ngpown]: [usize; 2],
        bands: *const Bands,
        energies: (i64, *const f64),
        formula: *const Formula,
    ) -> Result<SumBands<'a>> {
        // SAFETY: of all in the block, the caller's word.
        unsafe {
            let b: &Bands = checks.one("bands", bands)?;
            let nbands = indexed("nbands", b.nbands)?;
            let (aqsm_local, on_device) =
                (flag("aqsm_local", b.aqsm_local)?, flag("bands.on_device", b.on_device)?);
            let rows = if aqsm_local { ngpown } else { ncouls };
            Ok(SumBands {
                small: BandEnergies::check(checks, (nbands, b.e, b.occ), energies, formula)?,
                aqsn: checks.matrix("aqsn", b.aqsn, [ncouls, nbands], b.ld_aqsn, on_device)?,
                aqsm: checks.matrix("aqsm", b.aqsm, [rows, nbands], b.ld_aqsm, on_device)?,
                aqsm_local,
            })
        }
    }

    /// Their sums.
    ///
    /// # Safety
    /// As of `gpp_sums`.
    pub unsafe fn sums(&self, calculator: &Calculator, of: CallScreening) -> Result<Found> {
        let SumBands { aqsn, aqsm, aqsm_local, small: BandEnergies { e, occ, omega, formula } } =
            self;
        let mut once = None;
        let found = match (aqsn, aqsm) {
            (Matrix::Host(aqsn), Matrix::Host(aqsm)) => {
                let aqsm = if *aqsm_local { Aqsm::Local(aqsm) } else { Aqsm::Whole(aqsm) };
                let bands = gpp_core::Bands { aqsn, aqsm, e, occ };
                // SAFETY: the caller's word; it is gone when this returns.
                let placed = unsafe { of.in_place(calculator, &mut once) }?;
                calculator.sums_at(placed, &bands, omega, *formula)
            }
            (&Matrix::Device(aqsn), &Matrix::Device(aqsm)) => {
                let aqsm = match aqsm_local {
                    true => on_gpu::Aqsm::Local(aqsm),
                    false => on_gpu::Aqsm::Whole(aqsm),
                };
                let bands = on_gpu::Bands { aqsn, aqsm, e, occ };
                // SAFETY: the caller's word; it is gone when this returns.
                unsafe {
                    let placed = of.in_place(calculator, &mut once)?;
                    calculator.sums_on_gpu(placed, &bands, omega, *formula)
                }
            }
            _ => unreachable!("both are where bands.on_device says"),
        };
        Ok(found?)
    }
}
