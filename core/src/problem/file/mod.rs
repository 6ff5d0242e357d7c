//! The reference mini-app's input format: Fortran sequential unformatted records, little-endian,
//! with 4-byte length markers; records over 2 GiB are split into subrecords as gfortran does.

mod input;
mod read;
mod records;
mod write;

pub use read::{Input, read};
pub use write::{write, write_with_subrecords};

#[cfg(target_endian = "big")]
compile_error!("the file format is little-endian and is read into memory as it stands");

/// Energies that the mini-app has room for: its arrays of sums have this length. A file of more energies has a
/// sum for each, and the mini-app cannot read it.
pub const MINI_APPS_ENERGIES: usize = 3;

/// The records in order: the arrays or scalars that each holds.
pub const RECORDS: [&str; 18] = [
    "sig_ntband, gvec_ng, ncoul, epsmpi_ngpown_max, peinf_ntband_max",
    "peinf_ntband_dist, ipe, ispin, ngpown, ncouls",
    "peinf_indext_dist",
    "wfnkq_ekq",
    "nstart, nend, sig_fdf, sig_dw, sig_gamma, e_lk",
    "inv_igp_index",
    "gvec_ng, indinv",
    "aqsmtemp",
    "nvband, tol, efermi",
    "vcoul",
    "sexcut, limittwo, limitone",
    "wtilde_array",
    "I_eps_array",
    "aqsntemp",
    "asxtemp",
    "achtemp",
    "asxtempref",
    "achtempref",
];
