//! The page in a browser, as wide as a phone, a tablet and a desk, light and dark: nothing overlaps or is cut off.

#[path = "../common/mod.rs"]
mod common;

mod browser;

use std::sync::LazyLock;

use browser::{Browser, View};
use libtest_mimic::{Arguments, Failed, Trial};

fn main() {
    let browser = Browser::find();
    if browser.is_none() {
        println!("no browser on this machine: the page is not opened");
    }
    let of = |name: String, test: fn(Browser, View) -> Result<(), Failed>, view: View| {
        let run = move || test(browser.unwrap_or_default(), view);
        Trial::test(name, run).with_ignored_flag(browser.is_none())
    };
    let mut trials = Vec::new();
    for width in [390, 1024, 1440] {
        for dark in [false, true] {
            let (view, tone) = (View { width, dark }, if dark { "dark" } else { "light" });
            trials.push(of(format!("readable at {width} pixels, {tone}"), readable, view));
        }
        let view = View { width, dark: false };
        trials.push(of(format!("laid out at {width} pixels"), laid_out, view));
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

static PAGE: LazyLock<String> = LazyLock::new(|| {
    let (_dir, path) = common::place("report.html");
    let mut command = assert_cmd::Command::cargo_bin("gpp").unwrap();
    command.args(["report", "--from"]).arg(common::repository("data/runs/h200-2026-11-28/si214"));
    command.arg("--output").arg(&path).assert().success();
    std::fs::read_to_string(path).unwrap()
});

/// The script found no problem, and checked at least so many of each kind.
fn none(found: &serde_json::Value, least: &[(&str, u64)]) {
    for (what, needed) in least {
        let count = found[what].as_u64().unwrap_or(0);
        assert!(count >= *needed, "{count} {what} were checked, not {needed}");
    }
    assert_eq!(found["problems"].as_array().map(Vec::len), Some(0), "{:#}", found["problems"]);
}

fn laid_out(browser: Browser, view: View) -> Result<(), Failed> {
    let found = browser.find_in(&PAGE, view, include_str!("layout.js"))?;
    none(&found, &[("charts", 4), ("names", 50), ("boxes", 300)]);
    Ok(())
}

fn readable(browser: Browser, view: View) -> Result<(), Failed> {
    let found = browser.find_in(&PAGE, view, include_str!("colors.js"))?;
    none(&found, &[("texts", 500)]);
    let paper = found["paper"].as_f64().unwrap_or(f64::NAN);
    let expected = if view.dark { 0.0..0.05 } else { 0.9..1.01 };
    assert!(expected.contains(&paper), "the page's own luminance is {paper}");
    Ok(())
}
