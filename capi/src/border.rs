//! What is looked at before an argument is read.

use std::borrow::Cow;
use std::ops::Range;
use std::{ptr, slice};

use num_complex::Complex64;

use crate::status::{Failure, Status};
use crate::types::Complex;

type Result<T> = std::result::Result<T, Failure>;

/// An extent.
pub fn extent(name: &str, found: i64, most: usize) -> Result<usize> {
    match usize::try_from(found) {
        Ok(extent) if (1..=most).contains(&extent) => Ok(extent),
        _ => Err(Failure::argument(format!("{name} must be from 1 to {most}, found {found}"))),
    }
}

/// The addresses of `len` elements: in place, and all within the address space.
pub fn addresses<T>(name: &str, at: *const T, len: usize) -> Result<Range<usize>> {
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

/// Arguments that were looked at, with their addresses.
#[derive(Default)]
pub struct Seen(Vec<(&'static str, Range<usize>)>);

impl Seen {
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
        self.0.push((name, addresses(name, at, len)?));
        // SAFETY: aligned, not null and no larger than an object may be; the rest is the caller's word.
        Ok(unsafe { slice::from_raw_parts(at, len) })
    }

    /// One value, as an array of one.
    ///
    /// # Safety
    /// As of [`Seen::array`].
    pub unsafe fn one<'a, T>(&mut self, name: &'static str, at: *const T) -> Result<&'a T> {
        // SAFETY: the caller's word.
        unsafe { self.array(name, at, 1) }.map(|one| &one[0])
    }

    /// A matrix: in place where columns follow each other, else a copy.
    ///
    /// # Safety
    /// As of [`Seen::array`], for all columns but what lies behind the last one's rows.
    pub unsafe fn matrix<'a>(
        &mut self,
        name: &'static str,
        at: *const Complex,
        [rows, columns]: [usize; 2],
        ld: i64,
    ) -> Result<Cow<'a, [Complex64]>> {
        let ld = match usize::try_from(ld) {
            Ok(found) if found >= rows => found,
            _ => {
                let needs = format!("ld_{name} must be at least {rows}, the rows, found {ld}");
                return Err(Failure::argument(needs));
            }
        };
        let len = (columns - 1).checked_mul(ld).and_then(|before| before.checked_add(rows));
        let at = at.cast::<Complex64>();
        // SAFETY: the caller's word; both types are two `f64`, the real part first.
        let all = unsafe { self.array(name, at, len.unwrap_or(usize::MAX)) }?;
        if ld == rows {
            return Ok(all.into());
        }
        let mut copy: Vec<Complex64> = with_room(name, rows * columns)?;
        all.chunks(ld).for_each(|column| copy.extend_from_slice(&column[..rows]));
        Ok(copy.into())
    }

    /// An array to be written, which shares no byte with any other argument.
    pub fn written(&mut self, name: &'static str, at: *mut Complex, len: usize) -> Result<Out> {
        let own = addresses(name, at, len)?;
        let meets = |other: &Range<usize>| own.start < other.end && other.start < own.end;
        if let Some((other, _)) = self.0.iter().find(|(_, addresses)| meets(addresses)) {
            return Err(Failure::argument(format!("{name} overlaps {other}")));
        }
        self.0.push((name, own));
        Ok(Out { at, len })
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
    at: *mut Complex,
    len: usize,
}

impl Out {
    /// Writes all of it.
    ///
    /// # Safety
    /// What it was made of points to so many elements, which nobody else has during the call.
    ///
    /// # Panics
    /// Where there are more or fewer numbers.
    pub unsafe fn write(&self, numbers: &[Complex64]) {
        assert_eq!(numbers.len(), self.len);
        // SAFETY: aligned and not null; apart from all that was read, and from what the library owns, since
        // it is the caller's, who gives his word. Both types are two `f64`, the real part first.
        unsafe { ptr::copy_nonoverlapping(numbers.as_ptr(), self.at.cast(), self.len) };
    }
}

/// Fails at the first number that is infinite or none; 1-based.
pub fn finite(name: &str, numbers: &[f64]) -> Result<()> {
    match numbers.iter().position(|number| !number.is_finite()) {
        Some(at) => Err(Failure::argument(format!("{name}({}) is {}", at + 1, numbers[at]))),
        None => Ok(()),
    }
}
