//! All that a scaling takes its teams from.

use gpp_cpu::pool::Threads;

use crate::catalogue::Kernel;
use crate::devices::Device;
use crate::devices::host::Host;
use crate::error::{Error, Result};
use crate::experiments::parting::Crew;
use crate::ranks::{Alone, Ranks};
use crate::record::scale::Over;

/// Who there is to share a problem.
#[derive(Clone, Copy)]
pub struct All<'a> {
    /// The devices of this process.
    pub devices: &'a [&'a dyn Device],
    /// The processes.
    pub ranks: &'a dyn Ranks,
    /// What a member of a team is.
    pub over: Over,
    /// How many there are.
    pub most: usize,
}

impl<'a> All<'a> {
    /// Of some devices and processes: the processes where there are several, else the cores of the only
    /// device that is a processor, as many as this version takes, else the devices.
    ///
    /// # Errors
    /// [`Error::Data`] for several devices of several processes, and for a version that is emulated;
    /// [`Error::Threads`].
    ///
    /// # Panics
    /// Where there is no device.
    pub fn of(
        devices: &'a [&'a dyn Device],
        ranks: &'a dyn Ranks,
        version: Kernel,
    ) -> Result<All<'a>> {
        let wrong = |what: String| Error::Data { origin: version.id().into(), what };
        if version.back_end() != devices[0].back_end() {
            let what = "is emulated on a CPU, which takes all of its cores at once: its time over \
                        cores or ranks tells nothing";
            return Err(wrong(what.into()));
        }
        if ranks.size() > 1 && devices.len() > 1 {
            let (each, of) = (devices.len(), ranks.size());
            return Err(wrong(format!("scales over ranks of one device, not {of} of {each}")));
        }
        let (over, most) = match (devices[0].host(), version) {
            _ if ranks.size() > 1 => (Over::Ranks, ranks.size()),
            (Some(host), Kernel::Cpu(cpu)) if devices.len() == 1 => {
                (Over::Cores, threads(host, cpu.threads))
            }
            _ => (Over::Devices, devices.len()),
        };
        Ok(All { devices, ranks, over, most })
    }

    /// The only device, for extents.
    ///
    /// # Errors
    /// [`Error::Data`] for several devices or processes.
    pub fn alone(devices: &'a [&'a dyn Device], ranks: &'a dyn Ranks) -> Result<All<'a>> {
        match (devices.len(), ranks.size()) {
            (1, 1) => Ok(All { devices, ranks, over: Over::Extents, most: 1 }),
            (devices, ranks) => {
                let what = format!("times one device, not {devices} on each of {ranks} ranks");
                Err(Error::Data { origin: "--over".into(), what })
            }
        }
    }

    /// One, two, four, … and all, or only one, two and all.
    pub(super) fn counts(&self, quick: bool) -> Vec<usize> {
        let powers = (0..).map(|power| 1 << power).take_while(|&count| count < self.most);
        powers.take(if quick { 2 } else { usize::MAX }).chain([self.most]).collect()
    }

    /// What the first `members` of them do together; nothing where this process is none of them.
    pub(super) fn first<R>(
        &self,
        members: usize,
        act: impl FnOnce(Crew) -> Result<R>,
    ) -> Result<Option<R>> {
        match (self.over, self.devices[0].host()) {
            (Over::Ranks, _) => match self.ranks.first(members) {
                Some(team) => act(Crew { devices: self.devices, ranks: team.as_ref() }).map(Some),
                None => Ok(None),
            },
            (Over::Cores, Some(host)) => {
                let cores = Host::at(host.level()).with_threads(members);
                act(Crew { devices: &[&cores], ranks: &Alone }).map(Some)
            }
            _ => act(Crew { devices: &self.devices[..members], ranks: &Alone }).map(Some),
        }
    }
}

/// The threads that a version runs on a processor.
fn threads(host: &Host, threads: Threads) -> usize {
    host.team().count(threads)
}
