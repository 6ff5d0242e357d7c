//! What plans depend on beside the screening, with its identity from one call to the next.

use gpp_kernels::arrays::Limits;

use crate::problem::Id;

/// Energies, occupations and limits of the last call.
#[derive(Default)]
pub struct Last(Option<(At, Id)>);

#[derive(PartialEq)]
struct At {
    wx: Vec<f64>,
    occ: Vec<f64>,
    limits: [u64; 3],
}

impl Last {
    /// The identity of these: that of the last ones where they are the same.
    pub fn id(&mut self, wx: &[f64], occ: &[f64], limits: Limits) -> Id {
        let Limits { limittwo, limitone, sexcut } = limits;
        let limits = [limittwo, limitone, sexcut].map(f64::to_bits);
        let at = At { wx: wx.to_vec(), occ: occ.to_vec(), limits };
        let same = self.0.take().filter(|(last, _)| *last == at);
        self.0.insert(same.unwrap_or_else(|| (at, Id::unique()))).1
    }
}
