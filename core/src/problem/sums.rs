//! The result of a calculation: a complex pair for each energy.

use num_complex::Complex64;
use serde::{Deserialize, Serialize};

/// `asx` and `ach` for iw = nstart..=nend.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sums {
    /// Screened exchange.
    #[serde(with = "pairs")]
    pub asx: Vec<Complex64>,
    /// Coulomb hole.
    #[serde(with = "pairs")]
    pub ach: Vec<Complex64>,
}

impl Sums {
    pub fn zero(nw: usize) -> Sums {
        Sums { asx: vec![Complex64::ZERO; nw], ach: vec![Complex64::ZERO; nw] }
    }

    /// From the values in the order in which blocks store them: the parts of `asx`, then of `ach`,
    /// energy by energy.
    pub fn from_values(values: &[f64]) -> Sums {
        let (energies, _) = values.as_chunks::<4>();
        Sums {
            asx: energies.iter().map(|v| Complex64::new(v[0], v[1])).collect(),
            ach: energies.iter().map(|v| Complex64::new(v[2], v[3])).collect(),
        }
    }

    pub fn plus(&self, other: &Sums) -> Sums {
        let add = |a: &[Complex64], b: &[Complex64]| a.iter().zip(b).map(|(a, b)| a + b).collect();
        Sums { asx: add(&self.asx, &other.asx), ach: add(&self.ach, &other.ach) }
    }

    /// Each element with its name, as in `asx(iw=2)`; `nstart` is the first energy.
    pub fn named(&self, nstart: usize) -> impl Iterator<Item = (String, Complex64)> + '_ {
        let name = move |what: &'static str| {
            move |(e, &z): (usize, &Complex64)| (format!("{what}(iw={})", nstart + e), z)
        };
        let (asx, ach) = (self.asx.iter().enumerate(), self.ach.iter().enumerate());
        asx.map(name("asx")).chain(ach.map(name("ach")))
    }
}

/// Complex numbers as `[re, im]` in JSON, which has null for what is no number.
mod pairs {
    use num_complex::Complex64;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(z: &[Complex64], to: S) -> Result<S::Ok, S::Error> {
        z.iter().map(|z| [z.re, z.im]).collect::<Vec<_>>().serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Complex64>, D::Error> {
        let pairs = Vec::<[Option<f64>; 2]>::deserialize(from)?;
        let part = |part: Option<f64>| part.unwrap_or(f64::NAN);
        Ok(pairs.into_iter().map(|[re, im]| Complex64::new(part(re), part(im))).collect())
    }
}
