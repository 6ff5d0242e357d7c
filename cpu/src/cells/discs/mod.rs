//! Cells of poles anywhere in the complex plane: see [`gpp_kernels::discs`].

pub mod moments;
pub mod ways;
