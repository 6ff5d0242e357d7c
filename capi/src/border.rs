//! What is looked at before an argument is read.

use std::borrow::Cow;
use std::ops::Range;
use std::{ptr, slice};

use gpp_core::Calculator;
use gpp_core::catalogue::BackEnd;
use gpp_core::lent::{DeviceMatrix, Pod, is_on_device};
use num_complex::Complex64;

use crate::Result;
use crate::types::{Complex, Failure, Status};

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

/// Columns in memory: where the first begins and the last ends, and bytes of a column and to the next one.
struct Span {
    all: Range<usize>,
    column: usize,
    step: usize,
}

impl Span {
    fn of(all: Range<usize>) -> Span {
        let length = all.len().max(1);
        Span { all, column: length, step: length }
    }

    /// Whether an array shares a byte with a column.
    fn meets(&self, other: &Range<usize>) -> bool {
        if other.start >= self.all.end || self.all.start >= other.end {
            return false;
        }
        // The last column that begins before the end of the other.
        let last = (other.end.min(self.all.end) - 1 - self.all.start) / self.step;
        self.all.start + last * self.step + self.column > other.start
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
pub struct Seen<'c> {
    /// What the call calculates with.
    pub calculator: &'c Calculator,
    /// Whether it may be given arrays of a GPU, which are never to be read here.
    on_gpu: bool,
    spans: Vec<(&'static str, Span)>,
}

impl Seen<'_> {
    /// None yet.
    pub fn by(calculator: &Calculator) -> Seen<'_> {
        let on_gpu = calculator.device().back_end() == BackEnd::Gpu;
        Seen { calculator, on_gpu, spans: Vec::new() }
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
        self.spans.push((name, Span::of(all)));
        // SAFETY: aligned, not null and no larger than an object may be; the rest is the caller's word.
        Ok(if len == 0 { &[] } else { unsafe { slice::from_raw_parts(at, len) } })
    }

    /// The same, or an array of the GPU's, which is brought here.
    ///
    /// # Safety
    /// As of [`Seen::array`].
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
    /// As of [`Seen::array`].
    pub unsafe fn one<'a, T>(&mut self, name: &'static str, at: *const T) -> Result<&'a T> {
        // SAFETY: the caller's word.
        unsafe { self.array(name, at, 1) }.map(|one| &one[0])
    }

    /// A matrix: in place if columns follow each other or if it is on the GPU, else a copy of its columns.
    ///
    /// # Safety
    /// As of [`Seen::array`], for the rows of each column; what lies between them may be anybody's.
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
        let [column, step] = [rows, ld].map(|length| length * size_of::<Complex64>());
        self.spans.push((name, Span { all, column, step }));
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

    /// An array to be written, which shares no byte with any other argument.
    pub fn written(&mut self, name: &'static str, at: *mut Complex, len: usize) -> Result<Out> {
        let own = addresses(name, at, len)?;
        self.of_host(name, at)?;
        if let Some((other, _)) = self.spans.iter().find(|(_, span)| span.meets(&own)) {
            return Err(Failure::argument(format!("{name} overlaps {other}")));
        }
        self.spans.push((name, Span::of(own)));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_between_columns_overlaps_nothing() {
        // Columns of 4 bytes, 10 apart, from 100 on.
        let span = Span { all: 100..124, column: 4, step: 10 };
        for (other, meets) in [
            (90..100, false),
            (90..101, true),
            (103..104, true),
            (104..110, false),
            (104..111, true),
            (109..110, false),
            (113..114, true),
            (114..120, false),
            (123..130, true),
            (124..130, false),
            (0..200, true),
        ] {
            assert_eq!(span.meets(&other), meets, "{other:?}");
        }
        assert!(Span::of(5..6).meets(&(5..6)) && !Span::of(5..6).meets(&(6..7)));
    }
}
