//! Cards of the versions of Σ as a matrix: the idea, the change in the source, and the tiles. Times are in the output of
//! `gpp offdiag --version all`, counters in the report.

use std::collections::BTreeSet;
use std::process::ExitCode;

use gpp_core::kernels::offdiag::mma::{COLUMNS, DEPTH, ROWS};
use gpp_core::offdiag::gpu::{ALL, Version, find};

use crate::catalogue::sources::{self, SourceFile};
use crate::cli::CardArgs;
use crate::error::{Result, invalid};
use crate::explain::verdict::Diagnosis;
use crate::explain::{Card, Idea, LINES, Row, difference};

/// The name of all versions together.
const SERIES: &str = "offdiag";

/// Words of a packed real pole.
const WORDS: u32 = 3;

/// The versions named, each once: of `SERIES` all. `None` if other versions are named.
pub fn named(names: &str) -> Result<Option<Vec<&'static Version>>> {
    let of = |name: &str| match find(name) {
        _ if name == SERIES => ALL.to_vec(),
        version => version.into_iter().collect(),
    };
    let (own, others): (Vec<&str>, Vec<&str>) =
        names.split(',').map(str::trim).partition(|name| !of(name).is_empty());
    let Some(first) = own.first() else { return Ok(None) };
    if let Some(other) = others.first() {
        let what = format!(
            "{first} is a version of Σ as a matrix and {other} is not: explain them separately"
        );
        return Err(invalid(format!("{first} and {other}"), what));
    }
    let mut all: Vec<&'static Version> = own.into_iter().flat_map(of).collect();
    let mut ids = BTreeSet::new();
    all.retain(|version| ids.insert(version.id));
    Ok(Some(all))
}

/// Shows the cards of versions: against a version or, for `None`, each against the one that it is made from.
pub fn show(
    versions: &[&'static Version],
    before: Option<&'static Version>,
    args: &CardArgs,
) -> anyhow::Result<ExitCode> {
    if args.from.is_some() {
        let what = "has no effect on versions of Σ as a matrix: `gpp report --offdiag FOLDER` shows their records";
        return Err(invalid("--from", what).into());
    }
    let card = |version: &&'static Version| card(version, before.or_else(|| find(version.from?)));
    let cards: Vec<Card> = versions.iter().filter_map(card).collect();
    super::show(&cards, args, if before.is_some() { usize::MAX } else { LINES })
}

fn card(version: &Version, before: Option<&Version>) -> Option<Card> {
    let file = file(version)?;
    let mut header = file.header().into_iter();
    let first = header.next().unwrap_or_default();
    let title = first.split_once(": ").map_or(&*first, |(_, title)| title);
    type Quantity = fn(&Version) -> u32;
    let row = |name: &str, unit: &'static str, of: Quantity| {
        Row::of(name, unit, before.map(|own| of(own).into()), Some(of(version).into()))
    };
    let rows = [
        row("l of a block", "", |own| ROWS * own.tile_u.a_fragments()),
        row("igp of a block", "", |own| COLUMNS * own.tile_u.b_fragments()),
        row("threads of a block", "", |own| own.tile_u.threads()),
        row("l of a warp", "", |own| ROWS * own.tile_u.m),
        row("ig of a product", "", |own| DEPTH * own.tile_u.k_tiles),
        row("shared memory of a block", "B", |own| own.shared(own.tile_u, WORDS)),
    ];
    Some(Card {
        version: version.id.into(),
        before: before.map(|before| before.id.into()),
        idea: Idea {
            title: title.trim_end_matches('.').into(),
            text: header.collect(),
            change: version.change.into(),
            lines: None,
            source: "docs/off-diagonal.md".into(),
            file: file.path.into(),
        },
        difference: before.and_then(|before| Some(difference(&self::file(before)?, &file))),
        measured: Some("tiles of the first product of CH, real poles".into()),
        rows: rows.into_iter().flatten().collect(),
        diagnosis: Diagnosis::default(),
    })
}

fn file(version: &Version) -> Option<SourceFile> {
    let path = format!("kernels/src/offdiag/mod.rs#{}", version.id);
    sources::all().find(|file| file.path == path)
}
