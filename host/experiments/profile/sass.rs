//! Instruction counts from the disassembly: what a kernel holds, where counters say what ran.
//!
//! The PTX is assembled by `ptxas` for the device's architecture and printed by `cuobjdump` or
//! `nvdisasm`. The driver's own compiler may be another release than that `ptxas`.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use crate::error::ProfileError;
use crate::process::interrupt;
use crate::record::profile::{Disassembled, Instructions, Profile};

type Result<T> = std::result::Result<T, ProfileError>;

/// The disassembly of all kernels.
#[derive(Clone, Debug, PartialEq)]
pub struct Disassembly {
    /// The tools and the architecture.
    pub source: String,
    /// Counts by kernel symbol.
    pub kernels: BTreeMap<String, Instructions>,
}

/// Assembles `ptx` for `architecture` (`sm_90`) and counts. The tools are `ptxas`, or the one that
/// `GPP_PTXAS` names, and `cuobjdump` or `nvdisasm`, all looked for on the PATH.
///
/// # Errors
/// Which tool is missing, or what it said.
pub fn disassemble(ptx: &str, architecture: &str) -> Result<Disassembly> {
    let ptxas = std::env::var_os("GPP_PTXAS").unwrap_or("ptxas".into());
    let (_guard, folder) = interrupt::scratch().map_err(no_room)?;
    let (input, image) = (folder.path().join("gpp.ptx"), folder.path().join("gpp.cubin"));
    std::fs::write(&input, ptx).map_err(no_room)?;
    let mut assemble = Command::new(&ptxas);
    assemble.args(["-arch", architecture, "-o"]).arg(&image).arg(&input);
    run(&mut assemble)?;

    let printers: [(&str, &[&str]); 2] = [("cuobjdump", &["-sass"]), ("nvdisasm", &["-c"])];
    let mut tried = Vec::new();
    for (printer, arguments) in printers {
        match run(Command::new(printer).args(arguments).arg(&image)) {
            Ok(text) => {
                let name = Path::new(&ptxas).file_name().unwrap_or(&ptxas).to_string_lossy();
                return Ok(Disassembly {
                    source: format!("{name} and {printer}, {architecture}"),
                    kernels: parse(&text)?,
                });
            }
            Err(why) => tried.push(why),
        }
    }
    Err(ProfileError::NoDisassembler(tried))
}

fn no_room(error: std::io::Error) -> ProfileError {
    ProfileError::NoRoom { what: "an image", why: error.to_string() }
}

fn run(command: &mut Command) -> Result<String> {
    let program = || command.get_program().to_string_lossy().into_owned();
    let (start, failed) = (program(), program());
    let output =
        command.output().map_err(|e| ProfileError::Start { program: start, why: e.to_string() })?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        let why = errors.lines().next().unwrap_or("failed").to_string();
        return Err(ProfileError::Failed { program: failed, why });
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Counts in what `cuobjdump -sass` or `nvdisasm -c` printed.
///
/// # Errors
/// That there is no function in it, or one without instructions.
pub fn parse(text: &str) -> Result<BTreeMap<String, Instructions>> {
    let mut kernels: BTreeMap<String, Instructions> = BTreeMap::new();
    let mut kernel = None;
    for line in text.lines() {
        let line = line.trim();
        let label = || line.strip_prefix(".text.")?.strip_suffix(':');
        if let Some(name) = line.strip_prefix("Function : ").or_else(label) {
            kernel = Some(kernels.entry(name.trim().to_string()).or_default());
        } else if let (Some(counts), Some(opcode)) = (kernel.as_deref_mut(), opcode(line)) {
            count(counts, opcode);
        }
    }
    match kernels.iter().find(|(_, counts)| counts.all == 0) {
        Some((name, _)) => {
            Err(ProfileError::Table(format!("the disassembly has no instruction of `{name}`")))
        }
        None if kernels.is_empty() => {
            Err(ProfileError::Table("the disassembly has no function".into()))
        }
        None => Ok(kernels),
    }
}

/// The operation of a line like `/*0250*/  @!P0 DFMA R2, R4, R6, R8 ;`, without its modifiers.
fn opcode(line: &str) -> Option<&str> {
    let (address, code) = line.strip_prefix("/*")?.split_once("*/")?;
    if address.len() < 4 || !address.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    let mut words = code.split_whitespace().skip_while(|word| word.starts_with('@'));
    let word = words.next()?.trim_end_matches(';');
    let name = word.split('.').next()?;
    name.starts_with(|c: char| c.is_ascii_uppercase()).then_some(name)
}

fn count(counts: &mut Instructions, opcode: &str) {
    let of_its_kind = match opcode {
        "NOP" => return,
        "DFMA" => Some(&mut counts.fma),
        "DMUL" => Some(&mut counts.mul),
        "DADD" => Some(&mut counts.add),
        "DSETP" => Some(&mut counts.compare),
        "MUFU" => Some(&mut counts.mufu),
        _ => None,
    };
    if let Some(count) = of_its_kind {
        *count += 1;
    }
    counts.all += 1;
}

impl Disassembly {
    /// What it says of the kernel that a profile is of.
    pub fn of(&self, profile: &Profile) -> Option<Disassembled> {
        let instructions = self.kernels.get(profile.launches.first()?)?.clone();
        Some(Disassembled { source: self.source.clone(), instructions })
    }
}
