//! How far sums may be from exact ones.

use crate::border::{Seen, extent};
use crate::given::{self, Given};
use crate::open;
use crate::status::{Failure, Status};
use crate::types::{Bands, Formula, Handle, Screening};

/// Tells how far the sums that `gpp_sums` finds, by any version, may be from exact ones: writes the largest absolute
/// value of the difference at each energy to `asx` and `ach`, `(nw)` each, in the unit of `vcoul`. Terms of
/// `columns` columns at most, evenly spaced, are evaluated by the definition on the processor, `ncouls * nbands *
/// nw` of them a column. Of all `ngpown` columns that is a bound, of fewer an estimate of it. It takes all
/// roundings to have one sign: errors are far smaller as a rule.
///
/// Other arguments as of `gpp_sums`; `screening` is not null, and matrices are in the host's memory.
///
/// # Safety
/// As of `gpp_sums`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gpp_bound(
    handle: *mut Handle,
    screening: *const Screening,
    bands: *const Bands,
    nw: i64,
    omega: *const f64,
    formula: *const Formula,
    columns: i64,
    asx: *mut f64,
    ach: *mut f64,
) -> Status {
    open::calculate(handle, |work, _| {
        let mut seen = Seen::of(work.on_gpu());
        let calculator = &work.calculator;
        let columns = extent("columns", columns, i32::MAX as usize)?;
        // SAFETY: the caller's word.
        let (found, asx, ach) = unsafe {
            let of = given::screening(calculator, &mut seen, screening)?;
            let given =
                Given::seen(calculator, &mut seen, of.extents(), bands, (nw, omega), formula)?;
            let asx = seen.written("asx", asx, given.nw())?;
            let ach = seen.written("ach", ach, given.nw())?;
            let (of, of_bands) = of.on_host().zip(given.on_host()).ok_or_else(|| {
                Failure::argument("gpp_bound needs matrices in the host's memory".into())
            })?;
            let (omega, formula) = given.energies();
            (calculator.bound(&of, &of_bands, omega, formula, columns)?, asx, ach)
        };
        // SAFETY: the caller's word.
        unsafe {
            asx.write(&found.asx);
            ach.write(&found.ach);
        }
        Ok(())
    })
}
