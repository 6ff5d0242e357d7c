//! Σ as a matrix on a GPU: `matrix SYSTEM BANDS RUNS`.

use std::env;

use gpp_core::devices::gpu::Gpu;
use gpp_core::offdiag::gpu::OnGpu;
use gpp_core::offdiag::{Synthesised, Task};
use gpp_core::problem::{synthesis::synthesise, systems};
use gpp_core::progress::Progress;
use gpp_core::stop;

fn main() -> Result<(), gpp_core::Error> {
    let mut given = env::args().skip(1);
    let system = systems::find(&given.next().unwrap_or("demo".into()))?;
    let mut number =
        |default: usize| given.next().and_then(|text| text.parse().ok()).unwrap_or(default);
    let (bands, runs) = (number(32), number(3));
    let problem = synthesise(system, 214, Progress::NONE)?;
    let task = Task { problem: &problem, elements: &Synthesised::new(system, 214, bands) };
    let gpu = Gpu::open(0)?;
    let on_gpu = OnGpu::new(&gpu, task, stop::never)?;
    for _ in 0..runs {
        let summed = on_gpu.sums(&|_| (), stop::never)?;
        let at = summed.sums.at(0, bands - 1, 0);
        println!(
            "{} {bands}: {:.4} s, {:.1} TFLOP/s; SX_0{} {:.12e} CH {:.12e}",
            system.name,
            summed.seconds,
            task.operations() / summed.seconds * 1e-12,
            bands - 1,
            summed.sums.sx[at],
            summed.sums.ch[at],
        );
    }
    Ok(())
}
