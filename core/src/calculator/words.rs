//! Errors in the words of the caller: his names of arrays, and indices from the base that he counts from.

use crate::error::{DataError, Error, PoleAt};
use crate::problem::Header;
use crate::problem::header::MOST_ENERGIES;

/// How the caller of a function knows what it is given.
#[derive(Clone, Copy)]
pub(super) struct Words<'a> {
    /// The index of a first element.
    pub base: usize,
    /// The screening's, where `aqsm` has a row for each G.
    pub whole: Option<&'a Header>,
}

impl Words<'_> {
    /// This error with names and indices of the caller's.
    pub(super) fn say(self, mut error: Error) -> Error {
        if let Error::Problem { what, .. } = &mut error {
            self.put_into(what);
        }
        error
    }

    fn put_into(self, what: &mut DataError) {
        let of_pole = |pole: &mut PoleAt| {
            self.count(&mut pole.ig);
            self.count(&mut pole.igp);
        };
        match what {
            DataError::Extent { name, .. }
            | DataError::Exceeds { name, .. }
            | DataError::Length { name, .. }
            | DataError::Elements { name, .. }
            | DataError::NotFinite { name, .. }
            | DataError::Memory { name, .. }
            | DataError::Negative { name, .. } => *name = self.name(name),
            DataError::Index { name, at, .. }
            | DataError::Element { name, at, .. }
            | DataError::LargeElement { name, at, .. } => {
                *name = self.name(name);
                self.count(at);
            }
            DataError::Matrix { name, at, .. } | DataError::LargeMatrix { name, at, .. } => {
                if let (true, Some(header)) = (*name == "aqsm_local(igp,n)", self.whole) {
                    at.0 = header.row_of_given(at.0 - 1).map_or(at.0, |row| row + 1);
                }
                *name = self.name(name);
                self.count(&mut at.0);
                self.count(&mut at.1);
            }
            DataError::Occupation { n, .. } => self.count(n),
            DataError::LargeEnergy { energy, .. } => {
                self.count(&mut energy.iw);
                self.count(&mut energy.n);
            }
            DataError::LargePole { pole, .. } => of_pole(pole),
            DataError::LargeBoth { energy, pole, .. } | DataError::Unbounded { energy, pole } => {
                self.count(&mut energy.iw);
                self.count(&mut energy.n);
                of_pole(pole);
            }
            DataError::Energies { nend: 0, .. } => {
                *what = DataError::Extent { name: "the length of omega", found: 0, least: 1 };
            }
            DataError::Energies { nend: found, .. } => {
                let (name, limit) = ("the length of omega", "the most energies");
                *what = DataError::Exceeds { name, found: *found, limit, most: MOST_ENERGIES };
            }
            DataError::Exceeded { .. }
            | DataError::Igp { .. }
            | DataError::Unspaced
            | DataError::Stored { .. } => {}
        }
    }

    /// An index that counts from 1.
    fn count(self, at: &mut usize) {
        *at = *at - 1 + self.base;
    }

    fn name(self, name: &'static str) -> &'static str {
        match name {
            "wtilde_array(ig,igp)" => "wtilde(ig,igp)",
            "I_eps_array(ig,igp)" => "eps(ig,igp)",
            "aqsntemp(ig,n)" => "aqsn(ig,n)",
            "aqsmtemp(ig,n)" => "aqsm(ig,n)",
            "aqsm_local(igp,n)" if self.whole.is_some() => "aqsm(ig,n)",
            "aqsm_local(igp,n)" => "aqsm(igp,n)",
            "wfnkq_ekq" => "e",
            "energies" => "omega",
            "sig_gamma" => "gamma",
            "sig_ntband" | "peinf_ntband_dist" => "the length of e",
            "gvec_ng" => "the length of indinv",
            "ncouls" => "the length of vcoul",
            "ngpown" => "the length of inv_igp_index",
            same => same,
        }
    }
}
