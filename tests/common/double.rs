//! Complex numbers of some 30 digits.

use num_complex::Complex64;
use twofloat::TwoFloat;

pub type Double = [TwoFloat; 2];

pub const ZERO: Double = [TwoFloat::from_f64(0.0); 2];

pub fn double(z: Complex64) -> Double {
    [z.re, z.im].map(TwoFloat::from)
}

pub fn rounded([re, im]: Double) -> Complex64 {
    Complex64::new(re.into(), im.into())
}

pub fn plus([a, b]: Double, [c, d]: Double) -> Double {
    [a + c, b + d]
}

pub fn times([a, b]: Double, [c, d]: Double) -> Double {
    [a * c - b * d, a * d + b * c]
}

pub fn scaled([a, b]: Double, factor: f64) -> Double {
    [a * factor, b * factor]
}

pub fn norm_sqr([a, b]: Double) -> TwoFloat {
    a * a + b * b
}

pub fn inverse([re, im]: Double) -> Double {
    [re, -im].map(|part| part / norm_sqr([re, im]))
}
