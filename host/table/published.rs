//! The published figures, from `data/published/`.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// A row of the paper's Table I: one V100.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PaperRow {
    /// The version's id.
    pub version: String,
    /// Seconds on si214.
    pub si214_time_s: f64,
    /// Rate on si214.
    pub si214_tflops: f64,
    /// Seconds on si510.
    pub si510_time_s: f64,
    /// Rate on si510.
    pub si510_tflops: f64,
    /// Warps on a multiprocessor.
    pub warps_per_sm: u32,
    /// Registers of a thread.
    pub registers_per_thread: u32,
}

impl PaperRow {
    /// Seconds on a system that the paper has.
    pub fn time_s(&self, system: &str) -> Option<f64> {
        match system {
            "si214" => Some(self.si214_time_s),
            "si510" => Some(self.si510_time_s),
            _ => None,
        }
    }

    /// Rate on a system that the paper has.
    pub fn tflops(&self, system: &str) -> Option<f64> {
        match system {
            "si214" => Some(self.si214_tflops),
            "si510" => Some(self.si510_tflops),
            _ => None,
        }
    }
}

/// A row of the talk's table (NERSC, February 2020), in its own numbering.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TalkRow {
    /// The talk's version.
    pub version: String,
    /// What it changes.
    pub name: String,
    /// 10¹² operations.
    pub tflop: f64,
    /// Seconds.
    pub time_s: f64,
    /// Rate.
    pub tflops: f64,
}

/// A step of the blog; what it does not publish is empty.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BlogRow {
    /// The step.
    pub step: String,
    /// What it changes.
    pub change: String,
    /// Seconds.
    pub time_s: Option<f64>,
    /// Rate.
    pub tflops: Option<f64>,
    /// FLOP/byte on HBM.
    pub arithmetic_intensity: Option<f64>,
}

fn rows<T: DeserializeOwned>(text: &str) -> Vec<T> {
    csv::Reader::from_reader(text.as_bytes())
        .into_deserialize()
        .collect::<Result<_, _>>()
        .expect("data/published is checked by a test")
}

/// What the source of a journey says of one of its versions.
#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    /// The version's id.
    pub version: String,
    /// 10¹² operations.
    pub tflop: Option<f64>,
    /// Seconds.
    pub time_s: Option<f64>,
    /// Rate.
    pub tflops: Option<f64>,
    /// FLOP/byte on HBM.
    pub intensity: Option<f64>,
}

/// What the talk or the blog says of its versions; nothing for other journeys, the paper's is
/// [`paper`].
pub fn told(journey: &str) -> Vec<Told> {
    let of_talk = |row: TalkRow| Told {
        version: format!("talk:{}", row.version.to_uppercase()),
        tflop: Some(row.tflop),
        time_s: Some(row.time_s),
        tflops: Some(row.tflops),
        intensity: None,
    };
    let of_blog = |row: BlogRow| Told {
        version: format!("blog:{}", row.step),
        tflop: None,
        time_s: row.time_s,
        tflops: row.tflops,
        intensity: row.arithmetic_intensity,
    };
    match journey {
        "talk" => talk().into_iter().map(of_talk).collect(),
        "blog" => blog().into_iter().map(of_blog).collect(),
        _ => Vec::new(),
    }
}

/// A published table to stand beside the runs.
pub struct Published {
    /// The journey that it is of.
    pub journey: &'static str,
    /// Who published it, of what.
    pub title: &'static str,
    /// Its headings.
    pub headings: [&'static str; 5],
    /// Its rows.
    pub rows: Vec<[String; 5]>,
}

/// The talk's table and the blog's steps. Neither names its system.
pub fn beside() -> [Published; 2] {
    let or_dash = |value: Option<f64>| value.map_or("–".into(), |value| value.to_string());
    let talk = talk().into_iter().map(|r| {
        [r.version, r.name, r.tflop.to_string(), r.time_s.to_string(), r.tflops.to_string()]
    });
    let blog = blog().into_iter().map(|r| {
        let [time, rate, intensity] = [r.time_s, r.tflops, r.arithmetic_intensity].map(or_dash);
        [r.step, r.change, time, rate, intensity]
    });
    [
        Published {
            journey: "talk",
            title: "The talk (NERSC, February 2020), V100, system not named, in its own order",
            headings: ["talk", "change", "TFLOP", "time [s]", "TFLOP/s"],
            rows: talk.collect(),
        },
        Published {
            journey: "blog",
            title: "The blog (NVIDIA developer blog), V100, system not named",
            headings: ["blog", "change", "time [s]", "TFLOP/s", "FLOP/byte"],
            rows: blog.collect(),
        },
    ]
}

/// The system beside whose runs [`told`] and [`beside`] stand: the one of the paper with times like
/// theirs.
pub const BESIDE_SYSTEM: &str = "si214";

/// The paper's Table I.
pub fn paper() -> Vec<PaperRow> {
    rows(include_str!("../../data/published/table1.csv"))
}

/// The talk's table.
pub fn talk() -> Vec<TalkRow> {
    rows(include_str!("../../data/published/talk.csv"))
}

/// The blog's steps.
pub fn blog() -> Vec<BlogRow> {
    rows(include_str!("../../data/published/blog.csv"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_published_row_is_read() {
        assert_eq!(paper().len(), 9);
        assert_eq!(paper()[8].tflops("si510"), Some(3.638));
        assert_eq!(talk().len(), 9);
        assert_eq!(blog().len(), 5);
        assert_eq!(blog()[3].arithmetic_intensity, Some(6.3));
    }

    #[test]
    fn what_is_told_is_of_versions() {
        for (journey, without) in [("talk", vec!["talk:bgw"]), ("blog", vec![])] {
            let told: Vec<String> = told(journey).into_iter().map(|told| told.version).collect();
            let ids = crate::catalogue::journey(journey).unwrap().ids();
            let expected: Vec<&str> = ids.into_iter().filter(|id| !without.contains(id)).collect();
            assert_eq!(told, expected);
        }
        assert!(told("paper").is_empty());
    }
}
