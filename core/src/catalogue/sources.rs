//! The sources of the kernels, as they were when the program was built.

use crate::catalogue::find;

/// A source file, or a module of one of versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceFile {
    pub path: &'static str,
    pub text: &'static str,
    /// Hash of all code of its crate without comments, 16 hexadecimal digits.
    pub hash: &'static str,
}

const FILES: &[(&str, &str, &str)] = include!(concat!(env!("OUT_DIR"), "/sources.rs"));

/// All sources of the kernels, for GPUs and for CPUs, sorted by path.
pub fn all() -> impl Iterator<Item = SourceFile> {
    FILES.iter().map(|&(path, text, hash)| SourceFile { path, text, hash })
}

/// The file of a version: the one that states its id.
pub fn of(version: &str) -> Option<SourceFile> {
    find(version)?;
    let stated = format!("id: \"{version}\"");
    all().find(|file| file.path.contains("/versions") && file.text.contains(&stated))
}

impl SourceFile {
    /// The paragraphs at its head, a line each.
    pub fn header(&self) -> Vec<String> {
        let lines = self.text.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim);
        let lines: Vec<&str> = lines.collect();
        lines.split(|line| line.is_empty()).map(|paragraph| paragraph.join(" ")).collect()
    }
}

// The kernel in a minute, as the page and docs/kernel.md show it.

pub const SUM: [&str; 4] = [
    "Σ(ω)  = SX(ω) + CH(ω)",
    "SX(ω) = − Σₙ Σ_G′ Σ_G  v(G′) · occ(n) · ssx · M",
    "CH(ω) = + Σₙ Σ_G′ Σ_G  v(G′) · ½ · sch · M",
    "M     = conj(aqsm(G′,n)) · aqsn(G,n)",
];

/// The sum in one paragraph.
pub const ABOUT: &str = "An electron in a crystal is surrounded by others that screen it. Σ(ω) is what the \
    screening adds to its energy, at a trial energy ω, without the bare exchange. For each q BerkeleyGW sums it \
    over bands n and over pairs of plane waves G, G′. Each pair has a pole: the energy ω̃ at which the crystal \
    answers to it. Whether w = ω − e(n) is far from the pole or near decides which of two formulas a term takes.";

/// The loop nest: depth, code and why; lines count from 1.
pub const NEST: [(usize, &str, &str); 10] = [
    (0, "for n in bands", "occupied or empty, in any order"),
    (1, "for igp in G′", "this rank's columns of eps"),
    (2, "for ig in G", "neighbours in memory"),
    (3, "for iw in energies", "the trial energies ω"),
    (4, "M = conj(aqsm(igp,n)) · aqsn(ig,n)", "two matrix elements"),
    (4, "w = wx(iw,n);  wdiff = w − wtilde;  delw = wtilde / wdiff", "how far from the pole"),
    (4, "far:  sch = delw·eps;  ssx = Ω² / (w² − wtilde²)", "|wdiff|² > γ², |delw|² < 1/(4·10⁻⁶)"),
    (
        4,
        "near: sch = 0;  ssx = −Ω²·delw / (4·wtilde²·(delw + ½))",
        "else, if |delw|² > 10⁻¹²; else both are 0",
    ),
    (4, "if |ssx| > sexcut·|eps| and w < 0:  ssx = 0", "the cutoff; γ and sexcut are inputs"),
    (4, "asx(iw) −= vcoul·occ·ssx·M;  ach(iw) += vcoul·½·sch·M", "the two sums"),
];

/// Six words: what the arrays are called, what they hold, and their shape.
pub const WORDS: [(&str, &str); 6] = [
    ("band n", "A state of the crystal, with its energy e(n). wx(iw,n) = ω(iw) − e(n)."),
    ("G and G′", "Plane waves, counted by ig and igp. A rank owns all G and its part of the G′."),
    (
        "aqsn, aqsm",
        "Matrix elements: how a band and the state whose Σ is sought couple through a plane wave.",
    ),
    ("eps", "δ − ε⁻¹(ig,igp): how strongly the crystal screens that pair."),
    (
        "ω̃, wtilde",
        "The pole of a pair, real in BerkeleyGW, except for invalid modes with `invalid_gpp_mode 1`. It may be complex. Ω² = ω̃²·eps.",
    ),
    (
        "asx, ach",
        "Screened exchange SX, without the bare exchange (BerkeleyGW's SX−X), and Coulomb hole CH: a complex number each, for every energy.",
    ),
];

const MARK: &str = "Lines of the nest: ";

/// The lines that a version changes, from 1 and rising; empty for the launch alone, `None` if none are named.
pub fn changed(version: &str) -> Option<Vec<usize>> {
    let header = of(version)?.header();
    let named = header.iter().find_map(|paragraph| paragraph.strip_prefix(MARK))?;
    let numbers = named.split(|sign: char| !sign.is_ascii_digit());
    Some(numbers.filter_map(|number| number.parse().ok()).collect())
}

/// Whether a paragraph of a header names lines.
pub fn names_lines(paragraph: &str) -> bool {
    paragraph.starts_with(MARK)
}
