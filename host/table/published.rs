//! The published figures, from `data/published/`.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// A row of the paper's Table I: one V100.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PaperRow {
    pub version: String,
    /// Seconds on si214.
    pub si214_time_s: f64,
    /// Rate on si214.
    pub si214_tflops: f64,
    /// Seconds on si510.
    pub si510_time_s: f64,
    /// Rate on si510.
    pub si510_tflops: f64,
    pub warps_per_sm: u32,
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
    pub version: String,
    pub name: String,
    /// 10¹² operations.
    pub tflop: f64,
    pub time_s: f64,
    pub tflops: f64,
}

/// A step of the blog; what it does not publish is empty.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BlogRow {
    pub step: String,
    pub change: String,
    pub time_s: Option<f64>,
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
    pub version: String,
    /// 10¹² operations.
    pub tflop: Option<f64>,
    pub time_s: Option<f64>,
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

/// The system beside whose runs [`told`] stands: the one of the paper with times like
/// theirs.
pub const BESIDE_SYSTEM: &str = "si214";

pub fn paper() -> Vec<PaperRow> {
    rows(include_str!("../../data/published/table1.csv"))
}

pub fn talk() -> Vec<TalkRow> {
    rows(include_str!("../../data/published/talk.csv"))
}

pub fn blog() -> Vec<BlogRow> {
    rows(include_str!("../../data/published/blog.csv"))
}

#[cfg(test)]
mod tests;
