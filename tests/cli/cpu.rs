//! What a CPU runs by default, its vectors and threads, what is emulated on it.

use crate::{gpp, json, parsed, printed};
use gpp::reference::ReferenceSource;
use gpp::{catalogue, record};
use gpp_cpu::simd::Level;
use predicates::prelude::*;
use predicates::str::contains;

#[test]
fn each_level_of_vectors_is_used_when_asked_for() {
    for level in Level::ALL {
        let asked = ["--system", "tiny", "-v", "cpu:simd", "--simd", level.name()];
        if level.is_available() {
            assert_eq!(json(&asked)["results"][0]["simd"], level.name());
        } else {
            gpp().args(asked).assert().code(2).stderr(contains("[possible values: scalar"));
        }
    }
}

/// On one thread no CPU emulates all of it in ten seconds.
#[test]
fn large_problems_are_emulated_on_a_sample() {
    let large = ["-s", "si214", "-d", "cpu", "--threads", "1", "-v", "v0-v3"];
    let (_dir, path) = crate::common::place("run.json");
    let run = gpp().args(large).arg("-j").arg(&path).assert().success();
    let said = "note: the CPU emulates the threads of v0-v3 one after the other: such times say";
    let all =
        contains("gpp -s si214 -d cpu --threads 1 -v v0-v3 -j ").and(contains(" --emulate\n"));
    let shown = contains(" of 1374 G′, 11075 G").and(contains("Self-energy").not());
    run.stderr(contains(said)).stdout(shown.and(all).and(contains("without --version")));
    let run: gpp::record::run::RunRecord = record::read(&path).unwrap();
    assert!((1..1374).contains(&run.system.ngpown) && run.system.sample_of == Some(1374));
    let reference = Some(ReferenceSource::Serial);
    assert!(run.passed() && run.results.iter().all(|of| of.verification.reference == reference));
}

#[test]
fn without_arguments_a_cpu_shows_its_versions() {
    let printed = printed(gpp().env("CUDA_VISIBLE_DEVICES", ""));
    for id in catalogue::series("cpu").unwrap().ids() {
        assert!(printed.contains(&format!("│ {id}")), "{id} is not in {printed}");
    }
    let fastest = ["Fastest: cpu:", "times as fast as cpu:threads"];
    for part in fastest.into_iter().chain(["; synthetic", "results agree", "Re SX", "Next: "]) {
        assert!(printed.contains(part), "{part} is not in {printed}");
    }
    assert!(!printed.contains("emulated"), "{printed}");
}

#[test]
fn versions_for_cpus_need_no_gpu() {
    let left_open = gpp().args(["-v", "cpu", "-s", "tiny"]).assert().success();
    left_open.stdout(contains("on cpu: ")).stderr(contains("no GPU").not());
}

#[test]
fn a_cpu_in_place_of_a_gpu_is_explained() {
    for arguments in [&["info"][..], &["--version", "v8", "--system", "tiny", "--repeat", "1"]] {
        let output = gpp().args(arguments).unwrap();
        let [shown, errors] =
            [output.stdout, output.stderr].map(|of| String::from_utf8(of).unwrap());
        let said = "note: no GPU found: running on the CPU (`gpp info` says why)";
        let is_said = errors.contains(said) != shown.contains("no GPU              ");
        assert!(shown.contains("gpu:0") || is_said, "{errors}");
    }
}

#[test]
fn runs_have_the_threads_asked_for() {
    let cpus = gpp_cpu::pool::Room::here().all;
    let more = (64 * cpus + 1).to_string();
    let most = |name: &str| contains(format!("{name} {more}: needs at most {}, ", 64 * cpus));
    let run = ["-s", "tiny", "-v", "cpu:simd", "-d", "cpu", "--threads", &more];
    gpp().args(run).assert().code(2).stderr(most("--threads"));
    let list = gpp().arg("list").env("OMP_NUM_THREADS", &more).assert();
    list.code(2).stderr(most("OMP_NUM_THREADS"));
    for (flag, asked, count, by) in [
        (&["--threads", "2"][..], None, 2, "--threads"),
        (&["--threads", "3"], Some("1"), 3, "--threads"),
        (&[], Some("3"), 3, "OMP_NUM_THREADS"),
    ] {
        let asking = || {
            let mut command = gpp();
            command.env_remove("OMP_NUM_THREADS").envs(asked.map(|list| ("OMP_NUM_THREADS", list)));
            command
        };
        let info = asking().args(["info", "-d", "cpu", "--simd", "scalar"]).args(flag).assert();
        let threads = contains(format!("{count} threads, by {by}\n"));
        let levels = Level::available().into_iter().map(Level::name).collect::<Vec<_>>();
        info.success().stdout(threads.and(contains(format!("scalar of {}\n", levels.join(", ")))));
        let run = ["-v", "cpu", "-s", "tiny", "--repeat", "1", "-d", "cpu", "--json", "-"];
        let document = parsed(asking().args(run).args(flag));
        let results = document["results"].as_array().unwrap();
        assert!(results.len() > 2 && results.iter().all(|of| of["threads"] == count));
    }
    let many = gpp().env("OMP_NUM_THREADS", "many").args(["info", "-d", "cpu"]).assert().success();
    many.stdout(contains("threads, by").not().and(contains(" threads\n")));
}
