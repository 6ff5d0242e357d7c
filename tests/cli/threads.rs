//! How many threads compute on the CPU.

use crate::gpp;
use predicates::str::contains;
use serde_json::Value;

/// The document of a command, where the environment asks for so many threads.
fn document(arguments: &[&str], asked: Option<&str>) -> Value {
    let mut command = gpp();
    command.env_remove("OMP_NUM_THREADS").envs(asked.map(|list| ("OMP_NUM_THREADS", list)));
    let output = command.args(arguments).args(["-d", "cpu", "--json", "-"]).assert().success();
    serde_json::from_slice(&output.get_output().stdout).unwrap()
}

#[test]
fn the_flag_comes_before_the_environment_and_that_before_the_machine() {
    let info = |flag: &[&str], asked| {
        let document = document(&[&["info"], flag].concat(), asked);
        let processor = &document["processor"];
        let [cores, threads] = ["cores", "threads"].map(|name| processor[name].as_u64().unwrap());
        (cores, threads, processor["threads_by"].as_str().map(str::to_string))
    };
    let by = |name: &str| Some(name.to_string());
    let machine = info(&[], None);
    assert!(machine.2.is_none());
    assert_eq!(info(&[], Some("5")), (5, 5, by("OMP_NUM_THREADS")));
    assert_eq!(info(&[], Some("4,2")), (4, 4, by("OMP_NUM_THREADS")));
    assert_eq!(info(&["--threads", "3"], Some("5")), (3, 3, by("--threads")));
    for wrong in ["", "0", "many", "65536"] {
        assert_eq!(info(&[], Some(wrong)), machine, "{wrong}");
    }
    let text = gpp().env("OMP_NUM_THREADS", "5").args(["info", "-d", "cpu"]).assert().success();
    text.stdout(contains("5 threads, by OMP_NUM_THREADS"));
}

#[test]
fn runs_have_the_threads_asked_for_and_the_bits_of_any_number() {
    let run = |flag: &[&str], asked| {
        let versions = ["-v", "cpu", "-s", "tiny", "--repeat", "1"];
        let document = document(&[&versions, flag].concat(), asked);
        let results = document["results"].as_array().unwrap().clone();
        let counts = results.iter().map(|result| result["threads"]["count"].as_u64().unwrap());
        let counts: Vec<u64> = counts.collect();
        let sums = results.iter().map(|result| [&result["asx"], &result["ach"]].map(Value::clone));
        (counts, sums.collect::<Vec<_>>())
    };
    let (counts, expected) = run(&["--threads", "1"], Some("3"));
    assert!(expected.len() > 2 && expected.iter().flatten().all(|sums| sums.is_array()));
    assert_eq!(counts, vec![1; expected.len()]);
    for (flag, asked, count) in [
        (&["--threads", "2"][..], None, 2),
        (&["--threads", "3"], Some("1"), 3),
        (&[], Some("3"), 3),
    ] {
        assert_eq!(run(flag, asked), (vec![count; expected.len()], expected.clone()));
    }
}
