//! Older forms of records, made into the ones that the program knows.

use serde_json::{Map, Value, json};

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
            let parity = list(record, "parity")?.iter().map(|row| of_both(record, row, PARITY));
            let best = list(record, "best")?.iter().map(|row| of_both(record, row, BEST));
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

/// The fields of our side and of the yardstick's: runs, median in milliseconds and error; and the yardstick's
/// version, where it is another.
type Fields = ([[&'static str; 3]; 2], Option<&'static str>);

const PARITY: Fields =
    ([["rust", "rust_ms", "rust_error"], ["cuda", "cuda_ms", "cuda_error"]], None);

const BEST: Fields =
    ([["best", "best_ms", "best_error"], ["cuda_v8", "cuda_v8_ms", ""]], Some("v8"));

fn of_both(record: &Value, row: &Value, (fields, other): Fields) -> Value {
    let other = other.map_or(row["version"].clone(), Value::from);
    let sides = [("rust", row["version"].clone()), ("cuda", other)];
    let racer = |((side, name), [runs, ms, error]): ((&str, Value), [&str; 3])| {
        let mut racer = row[runs].as_object().cloned().unwrap_or_else(Map::new);
        let mut set = |field: &str, value: &Value| racer.insert(field.into(), value.clone());
        if row[runs].is_null() {
            set("time_s", &median(&row[ms]));
        }
        if side == "rust" {
            let own = ["kernel", "kernel_hash", "source_hash", "fp64_pipe_percent", "hbm_bytes"];
            own.iter().for_each(|field| drop(set(field, &row[*field])));
        }
        let failed = list(record, "failures").into_iter().flatten().find(|failure| {
            (&failure["version"], &failure["system"]) == (&name, &row["system"])
                && failure["by"] == side
        });
        let outcome = failed.map_or("passed".into(), |failure| failure["outcome"].clone());
        set("outcome", &outcome);
        set("max_rel_error", &row[error]);
        set("side", &side.into());
        set("name", &name);
        Value::from(racer)
    };
    let [ours, theirs] = sides;
    json!({
        "system": row["system"],
        "poles": row["poles"],
        "v3_error": row["v3_error"],
        "racers": [racer((ours, fields[0])), racer((theirs, fields[1]))],
    })
}

/// A scaling up to schema 5: over members with one kernel and the extents of the system alone, over extents with
/// the median times alone.
pub fn scale(record: &Value) -> Option<Value> {
    if let Some(measured) = list(record, "measured") {
        let system = &record["system"];
        let nw = system["nend"]
            .as_u64()
            .zip(system["nstart"].as_u64())
            .map(|(end, start)| end + 1 - start);
        let point = |old: &Value| {
            let mut point = old.clone();
            for (field, value) in [
                ("line", &old["law"]),
                ("nbands", &system["nbands"]),
                ("ncouls", &system["ncouls"]),
                ("nw", &nw.into()),
                ("kernel", &record["kernel"]),
                ("kernel_hash", &record["kernel_hash"]),
            ] {
                point[field] = value.clone();
            }
            point
        };
        return replaced(record, "measured", "points", measured.iter().map(point).collect());
    }
    let points = list(record, "points").filter(|_| record.get("over").is_none())?;
    let point = |old: &Value| {
        let mut point = old.clone();
        for (field, value) in [
            ("data", json!("place")),
            ("members", json!(1)),
            ("igp", old["ngpown"].clone()),
            ("slabs", json!(1)),
            ("shares", json!([])),
            ("time_s", median(&old["time_ms"])),
        ] {
            point[field] = value;
        }
        point
    };
    let mut scale = replaced(record, "points", "points", points.iter().map(point).collect())?;
    scale["over"] = "extents".into();
    scale["group"] = 1.into();
    scale["places"] = json!([]);
    scale["source_hash"] = points.first().map_or(Value::Null, |point| point["source_hash"].clone());
    // The middle of all lines.
    scale["system"] = json!({
        "name": "400 × 692 × 5536 × 2",
        "nbands": 400, "nvband": 214, "ngpown": 692, "ncouls": 5536, "nstart": 2, "nend": 3,
    });
    Some(scale)
}
