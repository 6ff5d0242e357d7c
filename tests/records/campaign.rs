//! A thousand damaged records, by a seed: whatever reads them says what is wrong, or shows what there is.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use gpp::chart::{Chart, Roofline};
use gpp::explain::show::Parts;
use gpp::explain::{Evidence, card};
use gpp::record::profile::{Ceilings, Profile};
use gpp::record::run::Run;
use gpp::record::{self, Record};
use gpp::report::{self, Page};
use gpp::roofline::{FIGURES, LEVELS};
use gpp::sigma::{self, Sigma};
use gpp::table::{self, show};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use rayon::prelude::*;
use serde_json::{Value, json};

use crate::common::repository;

const DAMAGED: usize = 1000;

struct Draws(ChaCha8Rng);

impl Draws {
    /// A number below this one, which is not zero.
    fn below(&mut self, end: usize) -> usize {
        (self.0.next_u64() % end as u64) as usize
    }
}

/// The records of a folder as texts: the run, the ceilings, a few profiles.
struct Texts(Vec<String>);

/// What is kept of the archive, so that a thousand are shown in seconds.
const VERSIONS: [&str; 2] = ["v0", "v13"];

impl Texts {
    fn archived() -> Texts {
        let folder = repository("data/runs/h200-2026-11-23/si214");
        let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
        let mut run: Value = serde_json::from_str(&read("run.json")).unwrap();
        let results = run["results"].as_array_mut().unwrap();
        results.retain(|result| VERSIONS.iter().any(|version| result["version"] == *version));
        let mut texts = vec![run.to_string(), read("ceilings.json")];
        for version in VERSIONS {
            let profile: Value =
                serde_json::from_str(&read(&format!("profile-{version}.json"))).unwrap();
            texts.push(profile.to_string());
        }
        Texts(texts)
    }
}

/// What a value is replaced with.
fn odd(draws: &mut Draws) -> Value {
    let odd = [
        Value::Null,
        json!(0),
        json!(-1),
        json!(1e308),
        json!(-1e308),
        json!(5e-324),
        json!(1e15),
        json!(u64::MAX),
        json!(i64::MIN),
        json!(u32::MAX),
        json!(true),
        json!(""),
        json!("v13"),
        json!("\u{0}<script>&\"'\u{202e}ω̃\n"),
        json!([]),
        json!([1e308, -1e308]),
        json!({}),
    ];
    odd[draws.below(odd.len())].clone()
}

/// Replaces, removes or repeats something at any depth; most often a number by another.
fn change(value: &mut Value, draws: &mut Draws) {
    let deeper = draws.below(32) > 0;
    match value {
        Value::Array(all) if !all.is_empty() && deeper => {
            let at = draws.below(all.len());
            match draws.below(24) {
                0 => all.truncate(at),
                1 => all.push(all[at].clone()),
                2 => drop(all.remove(at)),
                _ => change(&mut all[at], draws),
            }
        }
        Value::Object(all) if !all.is_empty() && deeper => {
            let name = all.keys().nth(draws.below(all.len())).unwrap().clone();
            match draws.below(48) {
                0 => drop(all.remove(&name)),
                _ => change(all.get_mut(&name).unwrap(), draws),
            }
        }
        Value::Number(number) if deeper => {
            let whole = number.is_u64();
            let number = number.as_f64().unwrap();
            *value = match draws.below(8) {
                0 => json!(0),
                1 if whole => json!(u32::MAX),
                2 if whole => json!(1),
                1 => json!(1e308),
                2 => json!(5e-324),
                3 => json!(-number),
                4 => json!(number * 1e-300),
                5 => json!(1e300),
                6 => json!(number * 1e9),
                _ => json!((number.round() as u64).saturating_add(1)),
            };
        }
        Value::String(text) if deeper => {
            *text = ["", "v13", "\u{0}<script>&\"'\u{202e}ω̃\n"][draws.below(3)].into()
        }
        other => *other = odd(draws),
    }
}

fn damaged(text: &str, draws: &mut Draws) -> String {
    if draws.below(8) == 0 {
        let mut bytes = text.as_bytes().to_vec();
        match draws.below(3) {
            0 => bytes.truncate(draws.below(text.len())),
            1 => {
                let at = draws.below(bytes.len());
                bytes[at] ^= 1 << draws.below(7);
            }
            _ => {
                let begin = draws.below(bytes.len());
                bytes.drain(begin..(begin + 1 + draws.below(100)).min(text.len()));
            }
        }
        return String::from_utf8_lossy(&bytes).into_owned();
    }
    let mut value: Value = serde_json::from_str(text).unwrap();
    for _ in 0..=draws.below(4) {
        change(&mut value, draws);
    }
    value.to_string()
}

fn parsed<R: Record>(text: &str) -> Option<R> {
    record::parse(text, Path::new("damaged.json")).ok()
}

/// All that `table --from` and `sigma --from` show of a run.
fn show_run(run: &Run) {
    let sections = table::sections(run, Some("damaged.json"));
    show::text(&mut Vec::new(), &sections).unwrap();
    show::csv(&mut Vec::new(), &sections).unwrap();
    show::json(&mut Vec::new(), &sections).unwrap();
    let _ = show::markdown(&sections);
    for version in VERSIONS {
        if let Ok(sigma) = Sigma::of(run, Some(version)) {
            sigma::text(&mut Vec::new(), &sigma, Some(80)).unwrap();
            sigma::csv(&mut Vec::new(), &sigma).unwrap();
            let _ = sigma.svg();
        }
    }
}

/// What `explain` and `diff` show of a folder.
fn show_cards(run: &Run, profiles: &[Profile], ceilings: &Ceilings) {
    let evidence = Evidence { from: "folder", run: Some(run), profiles, ceilings: Some(ceilings) };
    let pairs = [(VERSIONS[0], None), (VERSIONS[1], None), (VERSIONS[1], Some(VERSIONS[0]))];
    let cards = pairs.into_iter().filter_map(|(version, before)| card(version, before, evidence));
    let cards: Vec<_> = cards.collect();
    for parts in [Parts::Explained, Parts::Compared] {
        gpp::explain::show::text(&mut Vec::new(), &cards, parts, None).unwrap();
        let _ = gpp::explain::show::markdown(&cards, parts);
    }
    gpp::explain::show::json(&mut Vec::new(), &cards, &[]).unwrap();
}

/// What `roofline` shows of a folder, a figure of it.
fn show_chart(figure: usize, profiles: &[Profile], ceilings: &Ceilings) {
    let figure = &FIGURES[figure % FIGURES.len()];
    let shown = figure.of(profiles);
    let title = figure.title(&shown);
    let _ = Roofline::of(&title, &shown, ceilings, &LEVELS).svg();
}

/// What `report` shows of a folder.
fn show_page(run: &Run, profiles: &[Profile], ceilings: &Ceilings) {
    let mut sections = table::sections(run, None);
    for section in &mut sections {
        table::rate_by(&mut section.rows, profiles);
    }
    let page = Page { run, sections: &sections, profiles, ceilings, matrices: None };
    let _ = report::page(&page);
}

/// Shows some of the records, a damaged one among them; whether all could be read.
fn show(number: usize, texts: &[String]) -> bool {
    let (run, ceilings) = (parsed::<Run>(&texts[0]), parsed::<Ceilings>(&texts[1]));
    let profiles: Option<Vec<Profile>> = texts[2..].iter().map(|text| parsed(text)).collect();
    if let Some(run) = &run {
        show_run(run);
    }
    let (Some(run), Some(ceilings), Some(profiles)) = (run, ceilings, profiles) else {
        return false;
    };
    show_cards(&run, &profiles, &ceilings);
    // What draws takes longest.
    match number % 5 {
        0 => show_page(&run, &profiles, &ceilings),
        _ => show_chart(number / 5, &profiles, &ceilings),
    }
    true
}

#[test]
fn damaged_records_are_refused_or_shown() {
    let seed = std::env::var("GPP_CAMPAIGN_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or(23);
    println!("damaged records: GPP_CAMPAIGN_SEED={seed}");
    let mut draws = Draws(ChaCha8Rng::seed_from_u64(seed));
    let Texts(whole) = Texts::archived();
    assert!((0..10).all(|number| show(number, &whole)));
    let cases: Vec<(usize, String)> = (0..DAMAGED)
        .map(|_| {
            let at = draws.below(whole.len());
            (at, damaged(&whole[at], &mut draws))
        })
        .collect();
    let ended = cases.par_iter().enumerate().map(|(number, (at, text))| {
        let mut texts = whole.clone();
        texts[*at].clone_from(text);
        catch_unwind(AssertUnwindSafe(|| show(number, &texts))).map_err(|_| (number, *at))
    });
    let (shown, panics): (Vec<_>, Vec<_>) = ended.partition(Result::is_ok);
    let panics: Vec<_> = panics.into_iter().filter_map(Result::err).collect();
    assert!(panics.is_empty(), "{} panics, by number and record: {panics:?}", panics.len());
    let shown = shown.into_iter().filter(|all| matches!(all, Ok(true))).count();
    assert!((DAMAGED / 20..DAMAGED).contains(&shown), "{shown}");
}
