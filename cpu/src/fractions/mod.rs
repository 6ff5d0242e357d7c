//! How versions that follow the plan write the terms of regular poles: see the same names in
//! [`gpp_kernels::tiles`].

pub mod branches;
pub mod partial_fractions;
pub mod real_poles;
