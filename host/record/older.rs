//! Older forms of records, made into the ones that the program knows.

use serde_json::{Value, json};

/// Times of which only the median in milliseconds is known.
fn median(ms: &Value) -> Value {
    let seconds = ms.as_f64().map(|ms| ms / 1e3);
    json!({ "median": seconds, "min": seconds, "max": seconds, "samples": [] })
}

/// The record with a field in place of another one.
fn replaced(record: &Value, old: &str, new: &str, value: Vec<Value>) -> Option<Value> {
    let mut fields = record.as_object()?.clone();
    fields.remove(old);
    fields.insert(new.into(), value.into());
    Some(fields.into())
}

fn list<'v>(record: &'v Value, field: &str) -> Option<&'v Vec<Value>> {
    record.get(field)?.as_array()
}

/// A comparison up to schema 5: with Fortran a list of racers, with CUDA C++ a list of versions by both sides and
/// one of the best.
pub fn comparison(record: &Value) -> Option<Value> {
    let heats = match list(record, "racers") {
        Some(racers) => of_racers(racers),
        None => {
            let parity =
                list(record, "parity")?.iter().map(|row| of_both(record, row, ["rust", "cuda"]));
            let best =
                list(record, "best")?.iter().map(|row| of_both(record, row, ["best", "cuda_v8"]));
            let mut heats: Vec<Value> = parity.chain(best).collect();
            // A system's best is after its versions.
            let systems: Vec<Value> = heats.iter().map(|heat| heat["system"].clone()).collect();
            heats.sort_by_key(|heat| systems.iter().position(|name| *name == heat["system"]));
            heats
        }
    };
    replaced(record, "racers", "heats", heats)
}

fn of_racers(racers: &[Value]) -> Vec<Value> {
    let of_one = racers.chunk_by(|one, next| one["system"] == next["system"]);
    let heat = |racers: &[Value]| {
        let of = &racers[0];
        json!({ "system": of["system"], "poles": of["poles"], "terms": of["terms"], "racers": racers })
    };
    of_one.map(heat).collect()
}

/// A heat of ours and the yardstick's: how the names of the fields of each begin.
fn of_both(record: &Value, row: &Value, [ours, other]: [&str; 2]) -> Value {
    let version = &row["version"];
    let v8 = Value::from("v8");
    let other_version = if other == "cuda" { version } else { &v8 };
    json!({
        "system": row["system"],
        "poles": row["poles"],
        "v3_error": row["v3_error"],
        "racers": [
            racer(record, row, (ours, "rust", version)),
            racer(record, row, (other, "cuda", other_version)),
        ],
    })
}

fn racer(record: &Value, row: &Value, (begin, side, name): (&str, &str, &Value)) -> Value {
    let mut racer = match &row[begin] {
        Value::Null => json!({ "time_s": median(&row[format!("{begin}_ms")]) }),
        runs => runs.clone(),
    };
    if side == "rust" {
        for field in ["kernel", "kernel_hash", "source_hash", "fp64_pipe_percent", "hbm_bytes"] {
            racer[field] = row[field].clone();
        }
    }
    let failed = list(record, "failures").into_iter().flatten().find(|failure| {
        let (version, system) = (&failure["version"], &failure["system"]);
        (version, system) == (name, &row["system"]) && failure["by"] == side
    });
    racer["outcome"] = failed.map_or("passed".into(), |failure| failure["outcome"].clone());
    racer["max_rel_error"] = row[format!("{begin}_error")].clone();
    racer["side"] = side.into();
    racer["name"] = name.clone();
    racer
}
