//! The library's errors: one enum of data, and the texts that are made of them.

use std::cmp::Reverse;
use std::fmt::Display;
use std::path::Path;

use bytesize::ByteSize;
use num_complex::Complex64;

/// An error of the library.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file, flag, system or argument that is wrong.
    #[error("{}{what}", if origin.is_empty() { String::new() } else { format!("{origin}: ") })]
    Input {
        /// The name of the file, flag, system or argument.
        origin: String,
        /// What is wrong with it, and where.
        what: String,
    },

    /// An array or a number of a problem that is wrong.
    #[error("{}", fault.text(*quantity, owner.as_ref()))]
    Data {
        /// Whose it is, if that is known.
        owner: Option<Owner>,
        /// Which one.
        quantity: Quantity,
        /// What is wrong with it.
        fault: Box<Fault>,
    },

    /// An unknown name.
    #[error("{}", self.unknown_text(&format!("known: {}", known.join(", "))))]
    Unknown {
        /// What was named: "version", "system" or "device".
        what: &'static str,
        /// The unknown name.
        name: String,
        /// A similar known name, if there is one.
        nearest: Option<String>,
        /// All known names.
        known: Vec<String>,
    },

    /// Too little memory.
    #[error(
        "not enough {} memory for {what}: {}",
        if *on_device { "device" } else { "host" },
        lacking(*needed, *free, limit.as_deref())
    )]
    Memory {
        /// Whether it is the device's, not the host's.
        on_device: bool,
        /// What needs it.
        what: String,
        /// Bytes that it needs; 0 for what the driver allocates without saying how much.
        needed: u64,
        /// Bytes that are free, if known.
        free: Option<u64>,
        /// What leaves no more, if it is not the size of the memory.
        limit: Option<String>,
    },

    /// What single precision has lost of some sums is more than its bound for all.
    #[error(
        "single precision is off by {found:.1e} in a sample, more than its bound of {bound:.1e}: a device fails, or gpp"
    )]
    Inaccurate {
        /// The error of the sample, in the unit of `vcoul`.
        found: f64,
        /// The bound of the error of all.
        bound: f64,
    },

    /// The system starts no more threads.
    #[error("cannot start threads: {0}")]
    Threads(String),

    /// There is no GPU to run on.
    #[error("no GPU to run on: {why}")]
    NoGpu {
        /// No driver, no device, no kernels.
        why: String,
    },

    /// A device or its driver failed: the operation, the driver's code and text, and the compiler's log if there is one.
    #[error("{0}")]
    Driver(String),

    /// The error of one of several devices that work on a calculation, or of one of several states of a call.
    #[error("{part}: {error}")]
    OfPart {
        /// `gpu:0`, `gpu:1`, …, or `state 0`, `state 1`, …, from the caller's index of a first element on.
        part: String,
        /// Its error.
        error: Box<Error>,
    },

    /// The calculation was stopped, see [`Stop`](crate::Stop).
    #[error("stopped with code {code} after {done} of {total} {unit}")]
    Stopped {
        /// The number that the caller gave as the reason.
        code: i32,
        /// Slabs, parts or states that are finished.
        done: usize,
        /// Slabs, parts or states in all.
        total: usize,
        /// The unit: "slabs", "parts" or "states".
        unit: &'static str,
    },
}

/// Result of the library's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

fn lacking(needed: u64, free: Option<u64>, limit: Option<&str>) -> String {
    let needs = if needed > 0 { format!("{} needed, ", shown(needed)) } else { String::new() };
    let free = needs + &free.map_or("an unknown amount".into(), shown);
    limit.map_or_else(|| format!("{free} free"), |limit| format!("{free} available; {limit}"))
}

/// What is wrong with something that the user gave, named by `origin`: a file, a flag, a version or an argument.
pub fn invalid(origin: impl Display, what: impl Into<String>) -> Error {
    Error::Input { origin: origin.to_string(), what: what.into() }
}

impl Error {
    /// An unknown name, with a similar known one, if there is one. An empty name is [`Error::Input`].
    pub fn unknown<'a>(
        what: &'static str,
        name: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Error {
        let known: Vec<String> = known.into_iter().map(str::to_string).collect();
        if name.trim().is_empty() {
            return invalid(what, format!("the name is empty; known: {}", known.join(", ")));
        }
        let lower = name.to_lowercase();
        // An ending comes first: `8` means `v8`.
        let likeness = |known: &str| {
            let known = known.to_lowercase();
            let ends = known.ends_with(&lower);
            (ends, strsim::jaro_winkler(&lower, &known), Reverse(known.len()))
        };
        let likeness = known.iter().map(|known| (likeness(known), known));
        let nearest = likeness
            .max_by(|(a, _), (b, _)| a.partial_cmp(b).expect("likeness is a number"))
            .filter(|((ends, like, _), _)| *ends || *like >= 0.75)
            .map(|(_, known)| known.clone());
        Error::Unknown { what, name: name.into(), nearest, known }
    }

    /// The text of an unknown name, where `hint` says which are known; empty for other errors.
    pub fn unknown_text(&self, hint: &str) -> String {
        let Error::Unknown { what, name, nearest, .. } = self else { return String::new() };
        let meant = nearest.as_ref().map_or(";".into(), |name| format!(": did you mean `{name}`?"));
        format!("unknown {what} `{name}`{meant} {hint}")
    }

    /// Too little memory on a device; `needed` is 0 and `free` is `u64::MAX` if unknown.
    pub fn device_memory(what: &str, needed: u64, free: u64) -> Error {
        let (what, free) = (what.into(), Some(free).filter(|&free| free != u64::MAX));
        Error::Memory { on_device: true, what, needed, free, limit: None }
    }

    /// The system starts no more threads.
    pub fn threads(reason: impl Display) -> Error {
        Error::Threads(reason.to_string())
    }

    /// The driver refused an operation.
    pub fn driver(operation: impl Display, reason: impl Display) -> Error {
        Error::Driver(format!("GPU {operation} failed: {reason}"))
    }

    /// A file that cannot be written.
    pub fn write(path: &Path, reason: impl Display) -> Error {
        invalid(path.display(), format!("cannot write: {reason}"))
    }

    /// The error of a device or a state; a stop is none of its own.
    pub(crate) fn of_part(self, part: impl Display) -> Error {
        match self {
            Error::Stopped { .. } => self,
            error => Error::OfPart { part: part.to_string(), error: error.into() },
        }
    }

    /// The error, without the device or the state that has it.
    pub fn cause(&self) -> &Error {
        match self {
            Error::OfPart { error, .. } => error.cause(),
            error => error,
        }
    }

    /// Whether a device has too little memory.
    pub fn is_of_device_memory(&self) -> bool {
        matches!(self.cause(), Error::Memory { on_device: true, .. })
    }

    pub(crate) fn data(quantity: Quantity, fault: Fault) -> Error {
        Error::Data { owner: None, quantity, fault: fault.into() }
    }

    /// The same, where it is known whose data are wrong.
    pub(crate) fn owned_by(self, owner: Owner) -> Error {
        match self {
            Error::Data { owner: None, quantity, fault } => {
                Error::Data { owner: Some(owner), quantity, fault }
            }
            other => other,
        }
    }

    /// The same for whoever gave the rows of all G for `aqsm_local`; `row` is that of a column, both from 0.
    pub(crate) fn in_rows_of_g(mut self, row: impl Fn(usize) -> Option<usize>) -> Error {
        if let Error::Data { quantity: quantity @ Quantity::AqsmLocal, fault, .. } = &mut self {
            *quantity = Quantity::Aqsmtemp;
            if let Fault::Value { index, .. } = &mut **fault {
                index[0] = row(index[0]).unwrap_or(index[0]);
            }
        }
        self
    }
}

/// Whose arrays and numbers are wrong, which decides about names and indices in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Owner {
    /// A file, by its path: its names, the record, indices from 1.
    File(String),
    /// A problem in no file, by its name: the names in a file, indices from 1.
    Problem(String),
    /// A caller of the library: the names of arguments.
    Caller {
        /// The index of a first element.
        index_base: usize,
    },
}

/// What is wrong with an array or a number. Indices count from 0, masked columns included.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the text says what the fields are")]
pub enum Fault {
    /// Another length.
    Length { needed: u64, found: u64 },
    /// More elements than kernels index.
    TooLong { found: u64, most: u64 },
    /// A dimension that is too small or too large.
    Dimension { found: i64, least: i64, most: i64 },
    /// A dimension above another one.
    Exceeds { found: usize, limit: Quantity, most: usize },
    /// An element that is no index, from 1, of what has this dimension.
    Index { index: usize, found: i32, dimension: Quantity, most: usize },
    /// A number that is not finite or out of bounds, or a complex one with such a part.
    Value { index: Vec<usize>, found: Complex64, bounds: [f64; 2] },
    /// A pole that is larger than `most` at such an energy, or without it whose term has no bound there.
    Pole { index: Vec<usize>, found: Complex64, energy: EnergyAt, most: Option<f64> },
}

/// The number of an energy, from 0, and its band, with its element of `wx`.
pub type EnergyAt = ([usize; 2], f64);

impl Fault {
    /// A real number.
    pub(crate) fn value(index: &[usize], found: f64, bounds: [f64; 2]) -> Fault {
        Fault::Value { index: index.into(), found: found.into(), bounds }
    }

    fn text(&self, quantity: Quantity, owner: Option<&Owner>) -> String {
        let (names, record) = quantity.table();
        let prefix = match (owner, record) {
            (None, _) => String::new(),
            (Some(Owner::File(path)), 1..) => format!("{path}: record {record}: "),
            (Some(Owner::File(name) | Owner::Problem(name)), _) => format!("{name}: "),
            (Some(Owner::Caller { .. }), _) => "the caller's arrays: ".into(),
        };
        let whose = usize::from(matches!(owner, Some(Owner::Caller { .. })));
        let [name, array] = names[whose];
        let name_of = |other: &Quantity| other.table().0[whose][0];
        let place = |index: &[usize]| {
            let base = if let Some(Owner::Caller { index_base }) = owner { *index_base } else { 1 };
            let index = index.iter().map(|index| (index + base).to_string());
            index.collect::<Vec<_>>().join(",")
        };
        let energy = |(index, w): EnergyAt| {
            format!("{} is {w:e} eV at ({})", Quantity::Wx.table().0[whose][1], place(&index))
        };
        let what = match self {
            Fault::Length { needed, found } => {
                format!("{array} needs {needed} elements, has {found}")
            }
            Fault::TooLong { found, most } => {
                format!("{array} has {found} elements; the kernels index at most {most}")
            }
            Fault::Dimension { found, least, most } => {
                format!("{name} must be from {least} to {most}, found {found}")
            }
            Fault::Exceeds { found, limit, most } => {
                format!("{name} = {found} exceeds {} = {most}", name_of(limit))
            }
            Fault::Index { index, found, dimension, most } => {
                let (place, dimension) = (place(&[*index]), name_of(dimension));
                format!("{name}({place}) = {found} is outside 1..={most} ({dimension})")
            }
            Fault::Value { index, found, bounds: [_, high] }
                if index.len() > 1 && quantity != Quantity::Wx =>
            {
                let needs = format!("real and imaginary part must be finite and at most {high:e}");
                format!("{array} is {found:e} at ({}); {needs}", place(index))
            }
            Fault::Value { index, found: Complex64 { re: found, .. }, bounds: [low, high] } => {
                let needs = match *high {
                    f64::MAX if *low == 0.0 => "it must be finite and not negative".into(),
                    f64::MAX => "it must be finite".into(),
                    high if *low == -high => format!("its absolute value must be at most {high:e}"),
                    high => format!("it must be from {low} to {high}"),
                };
                let found = match index[..] {
                    [] => format!("{name} is {found:?}"),
                    [at] => format!("{name}({}) is {found:?}", place(&[at])),
                    _ => energy(([index[0], index[1]], *found)),
                };
                format!("{found}; {needs}")
            }
            Fault::Pole { index, found, energy: at, most } => {
                let needs = match most {
                    Some(most) => format!("for such an energy poles must be at most {most:e} eV"),
                    None => "their term is not bounded, not even by the cutoff".into(),
                };
                format!(
                    "{array} is {found:e} eV at ({}), and {}; {needs}",
                    place(index),
                    energy(*at)
                )
            }
        };
        prefix + &what
    }
}

/// Declares [`Quantity`]: the name in a file, the names of an array's indices if there are several, the name of a
/// caller's argument, and the record of a file, 0 for none.
macro_rules! quantities {
    ($($id:ident: $file:literal $indices:literal $caller:literal $record:literal;)*) => {
        /// An array or a number of a problem.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[expect(missing_docs, reason = "their names are those in a file")]
        pub enum Quantity {
            $($id,)*
        }

        impl Quantity {
            /// Its names in a file and of a caller's argument, each alone and with those of its indices, and its record.
            const fn table(self) -> ([[&'static str; 2]; 2], u8) {
                match self {
                    $(Quantity::$id => (
                        [[$file, concat!($file, $indices)], [$caller, concat!($caller, $indices)]],
                        $record,
                    ),)*
                }
            }

            /// Its name with those of its indices, in a file.
            pub(crate) fn array(self) -> &'static str {
                self.table().0[0][1]
            }
        }
    };
}

quantities! {
    SigNtband: "sig_ntband" "" "the length of e" 1;
    GvecNg: "gvec_ng" "" "the length of indinv" 1;
    Ncoul: "ncoul" "" "the length of vcoul" 1;
    EpsmpiNgpownMax: "epsmpi_ngpown_max" "" "the length of inv_igp_index" 1;
    PeinfNtbandMax: "peinf_ntband_max" "" "the length of e" 1;
    PeinfNtbandDist: "peinf_ntband_dist" "" "the length of e" 2;
    Ngpown: "ngpown" "" "the length of inv_igp_index" 2;
    Ncouls: "ncouls" "" "the length of vcoul" 2;
    PeinfIndextDist: "peinf_indext_dist" "" "peinf_indext_dist" 3;
    WfnkqEkq: "wfnkq_ekq" "" "e" 4;
    Nstart: "nstart" "" "nstart" 5;
    Nend: "nend" "" "the length of omega" 5;
    SigDw: "sig_dw" "" "sig_dw" 5;
    SigGamma: "sig_gamma" "" "gamma" 5;
    ELk: "e_lk" "" "e_lk" 5;
    Energies: "energies" "" "omega" 0;
    InvIgpIndex: "inv_igp_index" "" "inv_igp_index" 6;
    Aqsmtemp: "aqsmtemp" "(ig,n)" "aqsm" 8;
    AqsmLocal: "aqsm_local" "(igp,n)" "aqsm" 0;
    Tol: "tol" "" "tol" 9;
    Efermi: "efermi" "" "efermi" 9;
    Vcoul: "vcoul" "" "vcoul" 10;
    VcoulLoc: "vcoul_loc" "(igp)" "vcoul" 0;
    Sexcut: "sexcut" "" "sexcut" 11;
    Eta: "eta" "" "eta" 0;
    Window: "window" "" "window" 0;
    Wtilde: "wtilde_array" "(ig,igp)" "wtilde" 12;
    IEps: "I_eps_array" "(ig,igp)" "eps" 13;
    Aqsntemp: "aqsntemp" "(ig,n)" "aqsn" 14;
    Wx: "wx" "(iw,n) = ω(iw) − e(n)" "wx" 0;
    Occ: "occ" "(n)" "occ" 0;
    A: "a" "(ig,n,l)" "a" 0;
}

/// Bytes as messages show them.
pub fn shown(bytes: u64) -> String {
    ByteSize(bytes).display().iec().to_string()
}

#[cfg(test)]
mod tests;
