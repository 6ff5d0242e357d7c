//! Real matrix products, and complex ones made of three.

use gemm_common::Parallelism;
use gemm_f64::gemm::f64::get_gemm_fn;

/// A matrix in a slice: element (row, column) at `row · strides.0 + column · strides.1`.
#[derive(Clone, Copy)]
pub struct View<'a> {
    pub data: &'a [f64],
    pub rows: usize,
    pub columns: usize,
    pub strides: (usize, usize),
}

impl View<'_> {
    fn fits(&self) -> bool {
        let last = (self.rows - 1) * self.strides.0 + (self.columns - 1) * self.strides.1;
        last < self.data.len()
    }
}

/// `to += a · b`, or `to = a · b`: the columns of `to` follow each other.
///
/// # Panics
/// Where extents do not fit each other or the slices.
pub fn multiply(to: &mut [f64], a: View, b: View, adds: bool) {
    let (rows, columns, k) = (a.rows, b.columns, a.columns);
    assert!(rows > 0 && columns > 0 && k > 0 && k == b.rows, "extents of a product");
    assert!(a.fits() && b.fits() && rows * columns <= to.len(), "room for a product");
    let stride = |stride: usize| stride as isize;
    // SAFETY: all elements named by extents and strides are in their slices, as asserted, and `to` is borrowed alone.
    unsafe {
        get_gemm_fn()(
            rows,
            columns,
            k,
            to.as_mut_ptr(),
            stride(rows),
            1,
            adds,
            a.data.as_ptr(),
            stride(a.strides.1),
            stride(a.strides.0),
            b.data.as_ptr(),
            stride(b.strides.1),
            stride(b.strides.0),
            1.0,
            1.0,
            false,
            false,
            false,
            Parallelism::None,
        );
    }
}

/// Real parts, imaginary parts and their sums, one plane after the other in a slice.
pub fn planes(all: &[f64]) -> [&[f64]; 3] {
    let (re, rest) = all.split_at(all.len() / 3);
    let (im, both) = rest.split_at(rest.len() / 2);
    [re, im, both]
}

/// As [`planes`].
pub fn planes_mut(all: &mut [f64]) -> [&mut [f64]; 3] {
    let third = all.len() / 3;
    let (re, rest) = all.split_at_mut(third);
    let (im, both) = rest.split_at_mut(third);
    [re, im, both]
}

/// The three products `Re·Re`, `Im·Im` and `(Re + Im)·(Re + Im)` of complex matrices in planes.
pub fn three(to: [&mut [f64]; 3], a: [View; 3], b: [View; 3], adds: bool) {
    for ((to, a), b) in to.into_iter().zip(a).zip(b) {
        multiply(to, a, b, adds);
    }
}

/// Real and imaginary part of a sum of the [`three`] products.
pub fn complex([re, im, both]: [f64; 3]) -> [f64; 2] {
    [re - im, both - re - im]
}
