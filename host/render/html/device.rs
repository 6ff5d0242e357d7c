//! What the page is of: device, system, ceilings.

use maud::{Markup, html};

use crate::analysis::levels::Level;
use crate::analysis::peaks::shared_limits;
use crate::record::ceilings::Ceilings;
use crate::record::provenance::Provenance;
use crate::record::run::Run;
use crate::render::table::or_dash;

pub(super) fn device(run: &Run, ceilings: &Ceilings) -> Markup {
    let (device, system) = (&run.head.device, &run.system);
    let of = |field: fn(&Provenance) -> Option<&String>| {
        or_dash(run.head.provenance.as_ref().and_then(field))
    };
    let tera = |value: f64, unit: &str| format!("{:.2} {unit}", value / 1e12);
    let promised = |value: Option<f64>| or_dash(value.map(|value| tera(value, "TB/s")));
    let memory = Level::Hbm.name();
    let theory = &ceilings.theoretical;
    html! {
        div .scroll { table {
            tr { th { "device" } td .left { (device.name) } }
            tr { th { "driver" } td .left { (or_dash(device.driver.as_ref())) } }
            tr { th { "compute capability" } td .left { (or_dash(device.compute_capability.as_ref())) } }
            tr { th { "multiprocessors" } td .left { (device.multiprocessors) } }
            tr { th { "kernels by" } td .left { (of(|p| p.kernels_by.as_ref())) } }
            tr { th { "program by" } td .left {
                (of(|p| p.program_by.as_ref())) ", commit " (of(|p| p.commit.as_ref()))
            } }
            tr { th { "measured" } td .left { (of(|p| Some(&p.date))) } }
            tr { th { "system" } td .left {
                (system.name) ": " (system.nbands) " bands, "
                (system.ngpown) " G′, " (system.ncouls) " G, energies "
                (system.nstart) "–" (system.nend)
            } }
        } }
        h3 { "Ceilings" }
        div .scroll { table {
            tr { th { "" } th { "measured" } th { "theoretical" } }
            tr { td { "FP64, all fused" } td { (tera(ceilings.fp64, "TFLOP/s")) }
                 td { (or_dash(theory.fp64.map(|v| tera(v, "TFLOP/s")))) } }
            @if let Some(sustained) = ceilings.fp64_sustained {
                tr { td { "FP64, sustained" } td { (tera(sustained, "TFLOP/s")) } td { "–" } }
            }
            tr { td { (memory) } td { (tera(ceilings.hbm, "TB/s")) } td { (promised(theory.hbm)) } }
            tr { td { "L2" } td { (tera(ceilings.l2, "TB/s")) } td { "–" } }
            tr { td { "L1" } td { (tera(ceilings.l1, "TB/s")) } td { (promised(theory.l1)) } }
            @if theory.shared.is_some() {
                tr { td { "shared memory" } td { "–" } td { (promised(theory.shared)) } }
            }
        } }
        @if ceilings.fp64_sustained.is_some() {
            p .note {
                "The FP64 peak is that of a burst of a twentieth of a second, at the highest clock; "
                "sustained for seconds it is what the board’s power limit leaves."
            }
        }
        @if let Some(shared) = theory.shared {
            p .note {
                "Shared memory moves " (tera(shared, "TB/s")) " by the rule of thumb "
                "(multiprocessors × 4 B × 32 lanes × clock): with one FP64 access for every 2, 1 and ½ "
                "operations it would allow "
                (shared_limits(shared).map(|rate| format!("{:.1}", rate / 1e12)).join(", "))
                " TFLOP/s."
            }
        }
    }
}
