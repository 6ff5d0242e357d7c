//! What a caller's calls take beside his arrays, against what was said before.

use gpp::devices::cpu::CpuDevice;
use gpp::problem::EnergyGrid;
use gpp_core::Calculator;
use gpp_core::offdiag::cpu::OnCpu;
use gpp_core::offdiag::{Task, on_cpu};

use crate::common::alone;
use crate::common::arrays::{Own, formula, screening, sizes, synthesised};
use crate::common::matrices::Given;
use crate::peak;

#[test]
fn a_call_takes_what_is_said() {
    let _turn = alone();
    for nw in [2, 700] {
        let problem = synthesised("demo", EnergyGrid::Count(nw));
        let (own, given, formula) = (Own::of(&problem), screening(&problem), formula(&problem));
        let bands = own.whole(&problem);
        let extents = [given.vcoul.len(), given.inv_igp_index.len(), own.e.len(), nw];
        for version in ["cpu:simd", "cpu:paired", "sigma:cells", "v3", "v13"] {
            if nw > 2 && version != "sigma:cells" {
                continue;
            }
            let calculator = Calculator::open("cpu").unwrap().with_version(version).unwrap();
            let said = calculator.workspace(sizes(extents)).unwrap().host;
            let sums = || calculator.sums(&given, &bands, &own.omega, formula).unwrap();
            sums();
            let (_, taken) = peak(sums);
            assert!(taken < said + (1 << 20), "{version} {nw}: took {taken}, {said} were said");
            assert!(said < 4 * taken + (8 << 20), "{version} {nw}: {said} said, {taken} taken");
        }
    }
}

#[test]
fn a_matrix_takes_what_is_said() {
    let _turn = alone();
    let host = CpuDevice::new().with_threads(2);
    for (name, bands) in [("tiny", 600), ("demo", 200)] {
        let problem = synthesised(name, EnergyGrid::Count(2));
        let given = Given::of(&problem, bands, 1);
        let task = Task::new(&problem, &given);
        let said = OnCpu::new(&host, task).unwrap().needs();
        let sum = || on_cpu(&host, &task, &|_| ()).unwrap();
        sum();
        let (_, taken) = peak(sum);
        assert!(taken < said + (1 << 20), "{name}: took {taken}, {said} were said");
        // Threads have some packed, which stays.
        assert!(said < taken * 5 / 4 + (5 << 20), "{name}: {said} were said, it took {taken}");
    }
}
