//! Two hundred kills and four hundred damaged files, by a seed: whatever is continued comes to the right bits.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use gpp::catalogue::{Kernel, find};
use gpp::devices::Device;
use gpp::devices::host::Host;
use gpp::engine::Calculation;
use gpp::error::exit_code;
use gpp::experiments::parting::{Crew, Limits};
use gpp::experiments::setting::Setting;
use gpp::problem::{Problem, Slabs, Sums, synthesis, systems};
use gpp::ranks::Alone;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::*;
use crate::common::QUIET;
use crate::common::resuming::{Running, files, record, resumed, sums as all_sums};

/// What a campaign draws; its seed is printed where something fails.
struct Draws(ChaCha8Rng);

impl Draws {
    fn of(name: &str) -> Draws {
        let seed = std::env::var("GPP_CAMPAIGN_SEED").ok().and_then(|seed| seed.parse().ok());
        let seed = seed.unwrap_or(23);
        println!("{name}: GPP_CAMPAIGN_SEED={seed}");
        Draws(ChaCha8Rng::seed_from_u64(seed))
    }

    /// A number below this one, which is not zero.
    fn below(&mut self, end: usize) -> usize {
        (self.0.next_u64() % end as u64) as usize
    }

    fn chance(&mut self, of: usize) -> bool {
        self.below(of) == 0
    }
}

const KILLS: usize = 200;

/// Runs that are killed: one `igp` a slab, a grid over the slab, a few of several.
const KILLED: [&[&str]; 4] = [
    &["-v", "best", "-s", "tiny", "--slab", "1"],
    &["-v", "v3", "-s", "tiny", "--slab", "2"],
    &["-v", "v9", "-s", "tiny-complex", "--seed", "2", "--slab", "8", "--nw", "7"],
    &["-v", "cpu:threads", "-s", "tiny-complex", "--slab", "3"],
];

fn program(task: &[&str], json: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gpp"));
    command.args(task).args(["--device", "cpu", "--quiet", "--json"]).arg(json);
    command.env_remove("GPP_PTX").stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

/// At any moment of its life a run may be killed: its results are written, or its checkpoint has what is
/// finished.
#[test]
fn runs_that_are_killed_at_any_moment_come_to_the_same_bits() {
    let mut draws = Draws::of("kills");
    let mut continued = 0;
    for (at, task) in KILLED.into_iter().enumerate() {
        let folder = tempfile::tempdir().unwrap();
        let [path, json] = ["run.ckpt", "run.json"].map(|name| folder.path().join(name));
        let begin = Instant::now();
        assert!(program(task, &json).arg("--checkpoint").arg(&path).status().unwrap().success());
        let life = begin.elapsed();
        let whole = all_sums(&record(&json));
        fs::remove_file(&json).unwrap();
        let mut kills = 0;
        while kills < KILLS / KILLED.len() {
            let had = path.exists();
            let mut run = Running::start(program(task, &json).arg("--checkpoint").arg(&path));
            std::thread::sleep(Duration::from_nanos(draws.below(life.as_nanos() as usize) as u64));
            let _ = run.0.kill();
            let was_killed = run.code().is_none();
            kills += usize::from(was_killed);
            let context = format!("task {at}, kill {kills}");
            if json.exists() {
                let record = record(&json);
                assert_eq!(all_sums(&record), whole, "{context}");
                continued += usize::from(resumed(&record) > 0);
                fs::remove_file(&json).unwrap();
                // What is left of the checkpoint would be continued to the same record.
                continue;
            }
            assert!(
                was_killed,
                "{context}: {}",
                std::io::read_to_string(run.0.stderr.take().unwrap()).unwrap()
            );
            assert!(path.exists() || !had, "{context}: neither results nor checkpoint");
        }
        let last = program(task, &json).arg("--checkpoint").arg(&path).status().unwrap();
        assert!(last.success() && all_sums(&record(&json)) == whole && files(&path).is_empty());
    }
    // The moments were such that runs were continued.
    assert!(continued >= 4, "{continued}");
}

const DAMAGED: usize = 400;

/// A task in this process.
struct Task {
    problem: Problem,
    host: Host,
    kernel: Kernel,
    igp: usize,
}

impl Task {
    fn new(system: &str, seed: u64, version: &str, igp: usize) -> Task {
        let problem = synthesis::synthesise(systems::find(system).unwrap(), seed, QUIET).unwrap();
        Task { problem, host: Host::new(), kernel: find(version).unwrap().kernel, igp }
    }

    /// Runs it with a checkpoint, which stays.
    fn run(&self, path: &Path) -> gpp::Result<Calculation> {
        let device: &dyn Device = &self.host;
        let setting = Setting {
            crew: Crew { devices: &[device], ranks: &Alone },
            slabs: Slabs::from(&self.problem).of_size(self.igp),
            whole: Some(&self.problem),
            limits: Limits::default(),
            checkpoint: Some(path),
            contents: OnceLock::new(),
        };
        setting.engine(&[self.kernel])?.run(self.kernel)
    }
}

fn same_bits(a: &Sums, b: &Sums) -> bool {
    let bits = |sums: &Sums| -> Vec<[u64; 2]> {
        sums.named(1).map(|(_, z)| [z.re.to_bits(), z.im.to_bits()]).collect()
    };
    bits(a) == bits(b)
}

/// A checkpoint's text with some of its slabs, and what they add up to.
fn partial(whole: &str, draws: &mut Draws) -> String {
    let lines: Vec<&str> = whole.lines().collect();
    let mut text = format!("{}\n", lines[0]);
    for line in &lines[1..lines.len() - 1] {
        if !draws.chance(3) {
            text += &format!("{line}\n");
        }
    }
    let sum = crc32fast::hash(text.as_bytes());
    format!("{text}{{\"crc32\":\"{sum:08x}\"}}\n")
}

/// Flips bits, cuts a part out or off, or puts a part of this file or of another in.
fn damage(bytes: &mut Vec<u8>, others: &[Vec<u8>], draws: &mut Draws) -> &'static str {
    let part = |draws: &mut Draws, length: usize| {
        let begin = draws.below(length);
        begin..(begin + 1 + draws.below(200)).min(length)
    };
    match draws.below(5) {
        0 => {
            for _ in 0..=draws.below(8) {
                let at = draws.below(bytes.len());
                bytes[at] ^= 1 << draws.below(8);
            }
            "flipped"
        }
        1 => {
            bytes.truncate(draws.below(bytes.len()));
            "cut off"
        }
        2 => {
            let part = part(draws, bytes.len());
            bytes.drain(part);
            "cut out"
        }
        3 => {
            let own = part(draws, bytes.len());
            let copied = bytes[own].to_vec();
            let at = draws.below(bytes.len());
            bytes.splice(at..at, copied);
            "spliced"
        }
        _ => {
            let other = &others[draws.below(others.len())];
            let (own, put) = (part(draws, bytes.len()), part(draws, other.len()));
            bytes.splice(own, other[put].iter().copied());
            "spliced with another"
        }
    }
}

#[test]
fn damaged_checkpoints_are_refused_or_continued_to_the_same_bits() {
    let mut draws = Draws::of("damaged checkpoints");
    let folder = tempfile::tempdir().unwrap();
    let tasks = [
        Task::new("tiny", 1, "cpu:paired", 1),
        Task::new("tiny", 2, "cpu:paired", 1),
        Task::new("tiny-complex", 1, "v3", 2),
        Task::new("tiny", 1, "cpu:threads", 1),
        Task::new("tiny", 1, "cpu:paired", 2),
    ];
    let whole = tasks.each_ref().map(|task| {
        let path = folder.path().join("whole");
        let sums = task.run(&path).unwrap().sums;
        let text = fs::read_to_string(&path).unwrap();
        remove(&path).unwrap();
        (sums, text)
    });
    let texts: Vec<Vec<u8>> = whole.iter().map(|(_, text)| text.clone().into_bytes()).collect();
    let (mut refused, mut continued) = (0, 0);
    for number in 0..DAMAGED {
        let of = draws.below(tasks.len());
        let path = folder.path().join(format!("{number}.ckpt"));
        let mut bytes = partial(&whole[of].1, &mut draws).into_bytes();
        // Some are left whole, some are another task's, some have another file beside them.
        let (mut what, beside) = ("whole", draws.chance(4));
        if draws.chance(8) {
            let other = draws.below(tasks.len());
            (what, bytes) = ("another's", partial(&whole[other].1, &mut draws).into_bytes());
        }
        if !draws.chance(8) {
            what = damage(&mut bytes, &texts, &mut draws);
        }
        if beside {
            let mut bytes = partial(&whole[of].1, &mut draws).into_bytes();
            damage(&mut bytes, &texts, &mut draws);
            fs::write(folder.path().join(format!("{number}.ckpt.3")), bytes).unwrap();
        }
        fs::write(&path, &bytes).unwrap();
        let context = format!("number {number}, {what}, task {of}, beside another {beside}");
        let done = catch_unwind(AssertUnwindSafe(|| tasks[of].run(&path)));
        match done.unwrap_or_else(|_| panic!("{context}: a panic")) {
            Err(error) => {
                refused += 1;
                let named = error.to_string().contains(&format!("{number}.ckpt"));
                assert!(named && exit_code(&error) == 2, "{context}: {error}");
                assert_eq!(fs::read(&path).unwrap(), bytes, "{context}: it is left as it was");
            }
            Ok(calculation) => {
                continued += usize::from(calculation.resumed > 0);
                assert!(same_bits(&calculation.sums, &whole[of].0), "{context}: other sums");
            }
        }
    }
    assert!(refused >= DAMAGED / 2 && continued >= 5, "{refused} refused, {continued} continued");
}
