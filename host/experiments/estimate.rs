//! How long work takes a processor, in round figures, said before it begins.
//!
//! Rates are those of one core at some 3 GHz with 256-bit vectors, so a minute may be half of one, or two. GPUs
//! take seconds for what processors take hours for: what is left there is the reference, on the host.

use std::time::Duration;

use gpp_cpu::level::Level;
use indicatif::HumanDuration;

use super::counting;
use crate::catalogue::{BackEnd, Kernel, best_for};
use crate::devices::Device;
use crate::problem::{Frame, Slabs};
use crate::process::progress::Progress;
use crate::reference::{self, Source, Terms};

/// Seconds that nobody is told of.
const UNSAID: f64 = 40.0;

/// Seconds of an operation in vectors, and of one alone or emulated.
const OPERATION: [f64; 2] = [0.05e-9, 0.3e-9];

/// Seconds of a band and a sorted pair, and of each energy beside them.
const SORTED: [f64; 2] = [0.8e-9, 0.01e-9];

/// Seconds of a term in the serial reference.
const REFERENCE: f64 = 16e-9;

/// Seconds of a term in a build of the yardstick, the slower ones.
const YARDSTICK: f64 = 15e-9;

/// Operations of a term where none are kept.
const OPERATIONS: f64 = 100.0;

/// The built-in system whose operations stand for others.
const TYPICAL: &str = "demo";

/// What takes how long on a processor.
pub struct Estimate<'a> {
    problem: &'a Frame,
    back_end: BackEnd,
    level: Level,
    threads: f64,
    /// Seconds of versions made for the device, of those emulated, and of the verification.
    seconds: [f64; 3],
    /// How many versions are emulated.
    emulated: usize,
}

impl<'a> Estimate<'a> {
    /// Nothing yet, on a device.
    pub fn on(device: &dyn Device, problem: &'a Frame) -> Estimate<'a> {
        let level = device.host().map_or(Level::Scalar, |host| host.level());
        Estimate { back_end: device.back_end(), level, ..Estimate::on_host(problem) }
    }

    /// The same, on the processor whatever there is beside it.
    pub fn on_host(problem: &'a Frame) -> Estimate<'a> {
        let threads = rayon::current_num_threads() as f64;
        let (back_end, level) = (BackEnd::Cpu, Level::best());
        Estimate { problem, back_end, level, threads, seconds: [0.0; 3], emulated: 0 }
    }

    /// A version runs so many times.
    pub fn runs(&mut self, kernel: Kernel, times: usize) {
        let is_emulated = self.back_end == BackEnd::Cpu && kernel.back_end() == BackEnd::Gpu;
        self.seconds[usize::from(is_emulated)] += times as f64 * self.of(kernel, self.problem.nw());
        self.emulated += usize::from(is_emulated);
    }

    /// Sums are compared: with a reference, or with the sums of this version.
    pub fn verification(&mut self, slabs: Slabs, judge: Option<Kernel>) {
        let judge = judge.map_or(0.0, |judge| {
            let nw = self.problem.nw();
            self.of(judge, reference::chosen(nw).map_or(nw, |some| some.len()))
        });
        self.seconds[2] += judge;
        if let (Some(Source::Serial), Some(terms)) =
            (reference::source_of(slabs), reference::evaluated(slabs))
        {
            self.evaluation(&terms);
        }
    }

    /// So many builds of the yardstick run so many times.
    pub fn yardsticks(&mut self, builds: usize, times: usize) {
        let runs = builds as f64 * times as f64;
        self.seconds[0] += runs * self.problem.terms() as f64 * YARDSTICK / self.threads;
    }

    /// Every term is evaluated by the definition.
    pub fn evaluation(&mut self, terms: &Terms) {
        self.seconds[2] += terms.count() as f64 * REFERENCE / self.threads;
    }

    /// Seconds of a calculation at so many energies; none on a GPU.
    fn of(&self, kernel: Kernel, nw: usize) -> f64 {
        if self.back_end == BackEnd::Gpu {
            return 0.0;
        }
        let terms = self.problem.terms() as f64 * nw as f64 / self.problem.nw() as f64;
        let poles = self.problem.poles();
        let (operations, in_vectors) = match kernel {
            Kernel::Cpu(cpu) => {
                (counting::kept_of(kernel, TYPICAL), cpu.level(self.level) != Level::Scalar)
            }
            Kernel::Gpu(gpu) => (gpu.kernel(poles).flops_per_term, false),
        };
        let slower = OPERATION[1] / OPERATION[0];
        let of_term = match kernel.sorts(poles) {
            true => (SORTED[0] / nw as f64 + SORTED[1]) * if in_vectors { 1.0 } else { slower },
            false => operations.unwrap_or(OPERATIONS) * OPERATION[usize::from(!in_vectors)],
        };
        terms * of_term / self.threads
    }

    /// What is faster than these versions on this problem.
    pub fn faster(&self, versions: &[Kernel]) -> String {
        let best = best_for(self.back_end, &self.problem.outline().task());
        let of_best = self.of(best.kernel, self.problem.nw());
        let [own, emulated, verification] = self.seconds;
        let is_alone = matches!(versions, [only] if only.id() == best.id());
        let mut faster = Vec::new();
        if !is_alone && own + emulated > 3.0 * of_best {
            faster.push(format!("--version best takes {}", human(of_best)));
        }
        if verification > (own + emulated) / 10.0 {
            faster.push("--no-verify leaves the verification out".into());
        }
        if self.problem.terms() as f64 > LARGE && self.problem.name() != TYPICAL {
            faster.push(format!("--system {TYPICAL} is small"));
        }
        faster.join(", ")
    }

    /// Says it where it is long, with what is faster, if anything is.
    pub fn say(&self, faster: &str, progress: Progress) {
        if let Some(text) = self.text(faster) {
            progress.say(text);
        }
    }

    /// What is said, where it is long.
    pub fn text(&self, faster: &str) -> Option<String> {
        let [own, emulated, verification] = self.seconds;
        let all = own + emulated + verification;
        if all <= UNSAID {
            return None;
        }
        let mut parts = Vec::new();
        if emulated > all / 10.0 {
            let versions = if self.emulated == 1 { "version" } else { "versions" };
            parts.push(format!("{} emulated {versions} {}", self.emulated, human(emulated)));
        }
        if verification > all / 10.0 {
            parts.push(format!("the verification {}", human(verification)));
        }
        let parts =
            if parts.is_empty() { String::new() } else { format!(": {}", parts.join(", ")) };
        let faster = if faster.is_empty() { String::new() } else { format!("; {faster}") };
        let (all, threads) = (human(all), self.threads);
        Some(format!("note: this takes about {all} on {threads} threads{parts}{faster}"))
    }
}

/// Terms of what is no small system.
const LARGE: f64 = 1e9;

/// Seconds as people say them.
fn human(seconds: f64) -> String {
    HumanDuration(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::find;
    use crate::devices::host::Host;
    use crate::problem::grid::{Grid, OnGrid};
    use crate::problem::synthesis::synthesise;
    use crate::problem::systems;
    use crate::problem::{Problem, Source as _};

    const QUIET: Progress = Progress { shown: false };

    fn demo(nw: usize, seed: u64) -> Problem {
        let made = synthesise(systems::find("demo").unwrap(), seed, QUIET).unwrap();
        if nw == 2 { made } else { OnGrid::new(Box::new(made), Grid::Count(nw)).load().unwrap() }
    }

    fn said(problem: &Problem, versions: &[&str], verifies: bool) -> Option<String> {
        let host = Host::new();
        let mut estimate = Estimate { threads: 2.0, ..Estimate::on(&host, problem) };
        let kernels: Vec<Kernel> = versions.iter().map(|id| find(id).unwrap().kernel).collect();
        kernels.iter().for_each(|kernel| estimate.runs(*kernel, 1));
        if verifies {
            estimate.verification(problem.into(), None);
        }
        estimate.text(&estimate.faster(&kernels))
    }

    #[test]
    fn short_work_begins_without_a_word() {
        let all: Vec<&str> = crate::catalogue::versions().map(|version| version.id()).collect();
        let paper = &all[..all.iter().position(|id| *id == "v9").unwrap()];
        assert_eq!(said(&demo(2, 214), paper, true), None);
        assert_eq!(said(&demo(2, 1), &["cpu:paired"], true), None);
        assert_eq!(said(&demo(501, 214), &["sigma:cells"], true), None);
    }

    #[test]
    fn long_work_is_said_with_what_is_faster() {
        let problem = demo(1000, 214);
        let text = said(&problem, &["v0", "v8"], true).unwrap();
        assert!(text.starts_with("note: this takes about 7"), "{text}");
        for part in ["minutes on 2 threads", "2 emulated versions", "--version best takes"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert_eq!(said(&problem, &["cpu:paired"], false), None);
        // Three times as many terms as are evaluated for a sample.
        let mut reference = Estimate { threads: 2.0, ..Estimate::on_host(&problem) };
        reference.evaluation(&(&problem).into());
        let text = reference.text("x is faster").unwrap();
        assert!(text.ends_with(": the verification 2 minutes; x is faster"), "{text}");
    }
}
