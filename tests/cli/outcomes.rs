//! A device that gives sums on purpose: outcomes and spread.

use gpp::catalogue::Kernel;
use gpp::devices::{SlabSums, Watch, Worker};
use gpp::engine::Engine;
use gpp::kernels::versions::ALL;
use gpp::measure::{QUIETLY, measure};
use gpp::problem::{Batch, SlabView, Sums};
use gpp::record::Repetition;
use gpp::record::run::{Measurement, Run, Times};
use gpp::reference::verify::Outcome;

use crate::common::{self, fixture};

/// A device whose runs give these sums in turn.
struct Fake {
    info: gpp::devices::DeviceInfo,
    sums: Vec<f64>,
}

impl gpp::devices::Device for Fake {
    fn info(&self) -> &gpp::devices::DeviceInfo {
        &self.info
    }

    fn kernel(
        &self,
        _: &gpp::kernels::kernel::Kernel,
        _: &gpp::kernels::kernel::Entry,
    ) -> gpp::error::Result<gpp::devices::KernelInfo> {
        Ok(gpp::devices::KernelInfo {
            registers: Some(64),
            warps_per_sm: Some(32),
            ..Default::default()
        })
    }

    fn worker<'a>(
        &'a self,
        problem: &'a gpp::problem::Problem,
    ) -> gpp::error::Result<Box<dyn Worker + 'a>> {
        Ok(Box::new(FakeWorker { nw: problem.nw(), sums: self.sums.iter(), summed: None }))
    }
}

struct FakeWorker<'a> {
    nw: usize,
    sums: std::slice::Iter<'a, f64>,
    summed: Option<SlabSums>,
}

impl Worker for FakeWorker<'_> {
    fn begin(&mut self, _: SlabView<'_>, _: &Batch, _: Kernel, _: Watch) -> gpp::error::Result<()> {
        let value = *self.sums.next().unwrap();
        let values = [value, 0.0, value, 0.0].repeat(self.nw);
        let (seconds, blocks, upload) = (0.1234567, Some(1), Default::default());
        self.summed = Some(SlabSums { values, groups: 1, seconds, blocks, upload });
        Ok(())
    }

    fn finish(&mut self) -> gpp::error::Result<SlabSums> {
        Ok(self.summed.take().expect("begun"))
    }

    fn forget(&mut self) {}
}

/// A record of runs that give these sums, against a reference of one.
pub fn measured(sums: &[f64]) -> (gpp::problem::Problem, Measurement) {
    let problem = fixture("plain");
    let one = vec![num_complex::Complex64::from(1.0); problem.nw()];
    let sums_of_one = problem.start().plus(&Sums { asx: one.clone(), ach: one });
    let golden = gpp::reference::Source::Golden;
    let reference = gpp::reference::Reference::new(sums_of_one, golden, common::QUIET);
    let info = gpp::devices::host::Host::new();
    let fake = Fake { info: gpp::devices::Device::info(&info).clone(), sums: sums.to_vec() };
    let record = measure(
        Kernel::Gpu(ALL[0]),
        &fake,
        &mut Engine::whole(&fake, &problem).unwrap(),
        Some(&reference),
        Repetition::exactly(0, sums.len()),
        &QUIETLY,
    );
    (problem, record.unwrap())
}

#[test]
fn runs_that_differ_in_a_bit_have_not_passed() {
    let near = 1.0 + f64::EPSILON;
    for (sums, outcome) in [
        ([1.0, 1.0, 1.0], Outcome::Passed),
        ([1.0, near, 1.0], Outcome::Nondeterministic),
        ([1.0, 1.0, near], Outcome::Nondeterministic),
        ([1.0, 1.0, 2.0], Outcome::Incorrect),
    ] {
        let (problem, record) = measured(&sums);
        assert_eq!(record.verification.outcome, outcome, "{sums:?}");
        let passed =
            gpp::run::exit_code(std::slice::from_ref(&record)) == std::process::ExitCode::SUCCESS;
        assert_eq!(passed, outcome == Outcome::Passed);
        let table = gpp::run::results(std::slice::from_ref(&record), None);
        assert_eq!(table.contains("BITS DIFFER"), outcome == Outcome::Nondeterministic);
        let info = gpp::devices::host::Host::new();
        let repetition = Repetition::exactly(0, 3);
        let info = gpp::devices::Device::info(&info);
        let mut run = Run::new(info, &problem, repetition);
        run.push(record);
        let outcome = gpp::record::text(&run).contains("\"outcome\": \"nondeterministic\"");
        assert_eq!(outcome, table.contains("BITS DIFFER"));
    }
}

#[test]
fn spread_and_outliers() {
    let times = Times::of(vec![1.0, 1.01, 0.99, 1.0, 2.0]);
    assert_eq!(times.outliers(), 1);
    assert!((times.sigma().unwrap() - 0.4473).abs() < 1e-3);
    assert_eq!(Times::of(vec![1.0, 1.2, 1.4, 1.6]).outliers(), 0);
    // A tenth of a millisecond is no sign of anything.
    assert_eq!(Times::of(vec![1e-5, 1e-5, 1e-5, 1e-4]).outliers(), 0);
    assert_eq!((Times::of(vec![1.0]).sigma(), Times::of(vec![1.0]).outliers()), (None, 0));
}
