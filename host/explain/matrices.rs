//! Cards of the versions of Σ as a matrix: tiles from the versions themselves, figures from a folder of records.
//!
//! Counters are of the first product of `sch`, which takes most of the time.

use gpp_core::kernels::offdiag::mma::{COLUMNS, DEPTH, ROWS};
use gpp_core::offdiag::versions::{ALL, Version, find};

use crate::catalogue::sources::{self, SourceFile};
use crate::explain::difference::between;
use crate::explain::verdict::{
    Band, BoundVerdict, Pair, Power, Reasons, Rule, Statement, Use, amount, capital, clock_said,
    differ, differs, instructions, percent,
};
use crate::explain::{Card, Figures, Group, Idea, Row, change};
use crate::offdiag::records::{COUNTERS, Folder};
use crate::offdiag::source;
use crate::record::offdiag::{OfVersion, Offdiag};
use crate::record::run::{State, Verdict};

pub const JOURNEY: &str = "offdiag";

const DESCRIBED: &str = "docs/off-diagonal.md";

/// Words of a right image of real poles.
const WORDS: u32 = 3;

/// The version that one is compared with: the nearest that it is made from, and that the record with most versions has
/// or, where it has none, the one that it is made from.
pub fn before(version: &Version, folder: Option<&Folder>) -> Option<&'static Version> {
    let made_from = |version: &Version| find(version.from?);
    let is_known = |other: &&'static Version| Side::of(other, folder).measured.is_some();
    let first = made_from(version);
    std::iter::successors(first, |version| made_from(version)).find(is_known).or(first)
}

/// The card of a version, against another or by itself; figures are of the record with most versions. `None` where the
/// folder has nothing of the version that passed.
pub fn card(
    version: &'static Version,
    before: Option<&'static Version>,
    folder: Option<&Folder>,
) -> Option<Card> {
    let side = |version: &'static Version| Side::of(version, folder);
    let now = side(version);
    if folder.is_some() && now.measured.is_none() {
        return None;
    }
    let before = before.map(side);
    let step = Step { before, now, first: side(ALL[0]), record: folder.map(Folder::of_versions) };
    let file = file(version)?;
    let told = [(Rule::Why, step.why()), (Rule::Bound, step.bound())];
    let said = |(rule, text): (Rule, Option<String>)| Some(Statement { rule, text: text? });
    Some(Card {
        version: version.id.into(),
        before: before.map(|side| side.version.id.into()),
        journey: JOURNEY.into(),
        idea: idea(version, &file),
        difference: before.and_then(|side| Some(between(&self::file(side.version)?, &file))),
        figures: folder.map(|folder| figures(version, folder)),
        published_by: None,
        rows: step.rows(),
        verdict: told.into_iter().filter_map(said).collect(),
    })
}

fn figures(version: &Version, folder: &Folder) -> Figures {
    let record = folder.of_versions();
    let has_counters = COUNTERS.iter().any(|own| folder.counter(version, own.metric).is_some());
    let told = if has_counters { "; counters of its first product of CH" } else { "" };
    Figures {
        from: format!("{}{told}", folder.path.display()),
        system: format!("{}, {} bands,", record.system.name, record.count()),
        device: record.head.device.name.clone(),
        has_counters,
    }
}

fn file(version: &Version) -> Option<SourceFile> {
    let path = source(Some(version.id));
    sources::all().find(|file| file.path == path)
}

fn idea(version: &Version, file: &SourceFile) -> Idea {
    let mut header = file.header().into_iter();
    let first = header.next().unwrap_or_default();
    Idea {
        title: first.split_once(": ").map_or(first.as_str(), |(_, title)| title).into(),
        text: header.collect(),
        change: version.change.into(),
        lines: None,
        source: DESCRIBED.into(),
        file: file.path.into(),
    }
}

/// A version, and what the records have of it.
#[derive(Clone, Copy)]
struct Side<'a> {
    version: &'static Version,
    measured: Option<(&'a Folder, &'a OfVersion)>,
}

impl<'a> Side<'a> {
    /// What the record with most versions has of it.
    fn of(version: &'static Version, folder: Option<&'a Folder>) -> Self {
        let is_own = |own: &&OfVersion| own.version.as_deref() == Some(version.id);
        let measured = folder.and_then(|folder| {
            let own = folder.of_versions().results.iter().find(is_own);
            Some((folder, own.filter(|own| own.is_right())?))
        });
        Side { version, measured }
    }

    fn own(&self) -> Option<&'a OfVersion> {
        self.measured.map(|(_, own)| own)
    }

    fn seconds(&self) -> Option<f64> {
        self.own().map(|own| own.time_s.median)
    }

    fn state(&self) -> Option<&'a State> {
        self.own()?.state.as_ref()
    }

    fn mhz(&self) -> Option<f64> {
        Some(self.state()?.sm_mhz?.median)
    }

    fn cycles(&self) -> Option<f64> {
        Some(self.seconds()? * 1e6 * self.mhz()?)
    }

    fn counter(&self, metric: &str) -> Option<f64> {
        self.measured?.0.counter(self.version, metric)
    }

    /// Cycles of the first product, which the profiler counts at a clock that power does not lower.
    fn counted_cycles(&self) -> Option<f64> {
        self.counter("Elapsed Cycles")
    }

    fn instructions(&self) -> Option<f64> {
        Some(self.counted_cycles()? * self.counter("Executed Ipc Elapsed")?)
    }
}

/// A version against the one before.
struct Step<'a> {
    before: Option<Side<'a>>,
    now: Side<'a>,
    first: Side<'a>,
    record: Option<&'a Offdiag>,
}

impl<'a> Step<'a> {
    fn both(&self, of: impl Fn(&Side<'a>) -> Option<f64>) -> Option<Pair> {
        of(self.before.as_ref()?).zip(of(&self.now))
    }

    /// What the limit of power took of the clock, where that is told.
    fn power(&self) -> Option<Power> {
        // Records of matrices do not have the highest clock of each version.
        let mut state = self.now.state()?.clone();
        state.highest_mhz = state.highest_mhz.or(self.record?.head.device.clock_mhz.map(f64::from));
        Power::of(&state).filter(Power::is_told)
    }

    fn rows(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        let mut row = |group, name: &str, unit, of: &dyn Fn(&Side<'a>) -> Option<f64>| {
            let (before, now) = (self.before.as_ref().and_then(of), of(&self.now));
            if before.or(now).is_some() {
                let (name, change) = (name.into(), change(before, now));
                rows.push(Row { group, name, unit, before, now, change, published: None });
            }
        };
        row(Group::Time, "time", "ms", &|side| Some(side.seconds()? * 1e3));
        let first = self.first.seconds();
        let over = format!("over {}", ALL[0].id);
        row(Group::Time, &over, "×", &|side| Some(first? / side.seconds()?));
        if self.now.counted_cycles().is_none() {
            row(Group::Time, "cycles", "10⁶", &|side| Some(side.cycles()? / 1e6));
        }
        row(Group::Time, "clock", "MHz", &|side| side.mhz());
        row(Group::Time, "power", "W", &|side| side.state()?.watts());
        row(Group::Time, "energy", "J", &|side| side.own()?.joules());
        row(Group::Operations, "rate", "TFLOP/s", &|side| Some(side.own()?.tflops));
        row(Group::Operations, "cycles of the first product", "10⁶", &|side| {
            Some(side.counted_cycles()? / 1e6)
        });
        for counter in &COUNTERS {
            let of = |side: &Side<'a>| Some(counter.factor * side.counter(counter.metric)?);
            row(Group::Operations, counter.name, counter.unit, &of);
        }
        let mut tile = |name, unit, of: &dyn Fn(&Version) -> u32| {
            row(Group::Kernel, name, unit, &|side| Some(f64::from(of(side.version))));
        };
        tile("l of a block", "", &|own| ROWS * own.tile_u.a_fragments());
        tile("igp of a block", "", &|own| COLUMNS * own.tile_u.b_fragments());
        tile("threads of a block", "", &|own| own.tile_u.threads());
        tile("l of a warp", "", &|own| ROWS * own.tile_u.m);
        tile("ig of a product", "", &|own| DEPTH * own.tile_u.k_tiles);
        tile("bands fill multiples of", "", &|own| {
            if own.splits { ROWS } else { ROWS * own.tile_u.m }
        });
        tile("ring of a block", "B", &|own| own.shared(own.tile_u, WORDS));
        rows
    }

    fn why(&self) -> Option<String> {
        let time = self.both(Side::seconds)?;
        let (counted, is_counted) = (self.counted(time), self.both(Side::counted_cycles).is_some());
        let cycles = self.both(Side::cycles).filter(|pair| !is_counted && differ(*pair));
        let clock = self.both(Side::mhz).filter(|pair| counted.is_none() && differ(*pair));
        let (before, now) = (self.before.as_ref()?, &self.now);
        let noise = differs(&before.own()?.time_s, &now.own()?.time_s) == Some(Verdict::Noise);
        let limit = self.power().and_then(|power| power.limit_w);
        let told = Reasons {
            before: before.version.id,
            time,
            stays: noise || !differ(time),
            cycles,
            clock: clock.map(|clock| (clock, clock_said(clock, limit, ""))),
            cause: counted,
        };
        Some(told.sentence())
    }

    /// How the cycles that were counted changed, where they went the way of the time, and why.
    fn counted(&self, time: Pair) -> Option<String> {
        let cycles = self.both(Side::counted_cycles).filter(|pair| differ(*pair))?;
        if (cycles.1 < cycles.0) != (time.1 < time.0) {
            return None;
        }
        let takes = format!("the first product takes {}", amount(cycles, "cycles"));
        Some(self.cause(cycles).map_or(takes.clone(), |cause| format!("{takes}, {cause}")))
    }

    /// Cycles are instructions over instructions a cycle: what weighs most in the direction of the cycles.
    fn cause(&self, (before, now): Pair) -> Option<String> {
        let lowers = now < before;
        let weight = |pair: Pair| (pair.1 / pair.0).ln();
        let rate = |side: &Side| side.counter("Executed Ipc Elapsed");
        let all = [
            self.both(Side::instructions).map(|pair| (weight(pair), instructions(pair))),
            self.both(rate).map(|pair| {
                let text = format!("with {} a cycle", amount(pair, "instructions"));
                (-weight(pair), text)
            }),
        ];
        let that_way = all.into_iter().flatten();
        let that_way = that_way.filter(|(weight, _)| differ((1.0, weight.exp())));
        let that_way = that_way.filter(|(weight, _)| (*weight < 0.0) == lowers);
        that_way.max_by(|a, b| a.0.abs().total_cmp(&b.0.abs())).map(|(_, text)| text)
    }

    /// The busiest pipe, the cache that is busier still, spills, and what the limit of power took of the clock.
    fn bound(&self) -> Option<String> {
        // Of the arithmetic pipes FP64's is the slow one.
        let pipes = [
            ("the FP64 pipe", "SM Busy"),
            ("the pipe of loads and shuffles", "Mem Pipes Busy"),
            ("instruction issue", "Issue Slots Busy"),
        ];
        let caches = [
            ("the L1 cache with shared memory", "L1/TEX Cache Throughput"),
            ("the L2 cache", "L2 Cache Throughput"),
            ("DRAM", "DRAM Throughput"),
        ];
        let busiest = |units: [(&'static str, &str); 3]| {
            let share = |metric: &str| Some(0.01 * self.now.counter(metric)?);
            let used = units
                .into_iter()
                .filter_map(|(limit, metric)| Some(Use { limit, share: share(metric)? }));
            used.max_by(|a, b| a.share.total_cmp(&b.share))
        };
        let most = busiest(pipes);
        let share = most.map_or(0.0, |most| most.share);
        let verdict =
            BoundVerdict { band: Band::of(share), most, stall: None, power: self.power() };
        let mut said = vec![verdict.to_string().trim().to_string()];
        if let Some(Use { limit, share }) = busiest(caches).filter(|cache| cache.share > share) {
            said.push(format!("{} is at {}.", capital(limit), percent(share)));
        }
        let spills = self.now.counter("Local Memory Spilling Requests").unwrap_or(0.0);
        if spills > 0.0 {
            said.push(format!(
                "Warps spill: {:.1} · 10⁶ requests of local memory a launch.",
                1e-6 * spills
            ));
        }
        said.retain(|text| !text.is_empty());
        (!said.is_empty()).then(|| said.join(" "))
    }
}
