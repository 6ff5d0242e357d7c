//! A system on teams of several sizes.

use std::sync::OnceLock;

use super::Options;
use super::all::All;
use super::judge::Judge;
use super::point::sampled;
use crate::catalogue::Kernel;
use crate::engine::Engine;
use crate::error::Result;
use crate::experiments::parting::{Crew, Loaded};
use crate::experiments::setting::Setting;
use crate::experiments::sizes::{Share, Waves};
use crate::problem::System;
use crate::problem::synthesis::Synthesis;
use crate::process::progress::Progress;
use crate::record::scale::{Data, Line, Over, Point};

/// What teams are measured with.
pub struct Teams<'a> {
    pub all: All<'a>,
    pub options: &'a Options,
    pub kernel: Kernel,
    /// `igp` of its groups; none where a slab is one.
    pub groups: Option<usize>,
    pub line: Line,
    /// Whether one member is measured with slabs of other sizes as well.
    pub calibrates: bool,
}

/// Slabs of one member at least, where its slabs are to be several.
const SEVERAL: usize = 8;

impl Teams<'_> {
    /// Measures teams of so many members on a system; `done` is given the points of each, for rank 0.
    ///
    /// # Errors
    /// Those of making the system and of the devices.
    pub fn measure(
        &self,
        system: &System,
        counts: &[usize],
        mut done: impl FnMut(Vec<Point>),
    ) -> Result<()> {
        let Teams { all, options, .. } = *self;
        let load = |crew: Crew| {
            let quiet = Progress { shown: false };
            let source = Box::new(Synthesis::new(system, options.seed, quiet));
            Loaded::of(source, crew, options.limits)
        };
        // Of several ranks each has its part.
        let held = if all.over == Over::Ranks { None } else { all.first(1, load)? };
        let judge = all.first(1, |crew| match &held {
            Some(held) => self.judge(held, crew),
            None => self.judge(&load(crew)?, crew),
        })?;
        for &members in counts {
            let found = all.first(members, |crew| match &held {
                Some(held) => self.team(held, crew, members, judge.as_ref()),
                None => {
                    let loaded = load(crew)?;
                    let igp = loaded.igp(&[self.kernel], crew, options.limits)?;
                    self.team(&loaded.for_slabs(igp, crew.ranks)?, crew, members, judge.as_ref())
                }
            })?;
            done(found.unwrap_or_default());
        }
        Ok(())
    }

    /// What one member finds.
    fn judge(&self, loaded: &Loaded, crew: Crew) -> Result<Judge> {
        let igp = loaded.igp(&[self.kernel], crew, self.options.limits)?;
        // Any members give the same bits where sums are of groups.
        Judge::new(&mut self.engine(loaded, crew, igp)?, self.kernel, self.groups.is_some())
    }

    fn engine<'e>(&self, loaded: &'e Loaded, crew: Crew<'e>, igp: usize) -> Result<Engine<'e>> {
        let (slabs, limits) = (loaded.slabs(igp), self.options.limits);
        let setting = Setting {
            crew,
            slabs,
            whole: loaded.whole(),
            limits,
            checkpoint: None,
            contents: OnceLock::new(),
        };
        setting.engine(&[self.kernel])
    }

    /// The points of a team.
    fn team(
        &self,
        loaded: &Loaded,
        crew: Crew,
        members: usize,
        judge: Option<&Judge>,
    ) -> Result<Vec<Point>> {
        let Teams { all, options, kernel, line, calibrates, .. } = *self;
        let transfers = crew.devices[0].free_memory()?.is_some();
        let igp = loaded.igp(&[kernel], crew, options.limits)?;
        let mut found = Vec::new();
        let mut take = |engine: &mut Engine, line: Line, data: Data| -> Result<Data> {
            let gauge = crew.devices[0].gauge().filter(|_| crew.ranks.is_root());
            let sampled = sampled(engine, crew.ranks, kernel, options.repetition, data, gauge)?;
            let data = sampled.data;
            if let Some(judge) = judge {
                let (at, of) = ((line, members), (kernel, crew.devices[0].back_end()));
                found.push(sampled.judged(at, engine, of, judge)?);
            }
            Ok(data)
        };

        let mut engine = self.engine(loaded, crew, igp)?;
        let stays = take(&mut engine, line, Data::Place)? == Data::Place;
        // One slab's transfer is hidden by nothing: from the host's memory one member takes several.
        let [finer, finest] = self.finer(loaded, crew)?;
        let is_coarse = members == 1 && finer < igp;
        if stays && transfers && !is_coarse {
            take(&mut engine, line, Data::Host)?;
        }
        drop(engine);
        if !stays || !is_coarse {
            return Ok(found);
        }
        // Cores share each slab, whatever its size.
        let calibrates = calibrates && all.over != Over::Cores;
        if calibrates || transfers {
            let mut engine = self.engine(loaded, crew, finer)?;
            if calibrates {
                take(&mut engine, Line::Slabs, Data::Place)?;
            }
            if transfers {
                take(&mut engine, line, Data::Host)?;
            }
        }
        if calibrates && finest < finer {
            take(&mut self.engine(loaded, crew, finest)?, Line::Slabs, Data::Place)?;
        }
        Ok(found)
    }

    /// The `igp` of slabs for one member that has several of them, and half as many or one group.
    fn finer(&self, loaded: &Loaded, crew: Crew) -> Result<[usize; 2]> {
        let group = self.groups.unwrap_or(1);
        let frame = loaded.frame();
        let groups = frame.header().ngpown.div_ceil(group);
        let batches = frame.batches_for(self.kernel).count();
        let terms = frame.terms() as f64 / (groups * batches) as f64;
        let waves = Waves::on(crew.devices[0], frame, &[self.kernel])?;
        let most = (groups / SEVERAL).max(1);
        let finer = Share { groups, terms, workers: 1, waves }.at_most(most);
        Ok([finer, (finer / 2).max(1)].map(|groups| groups * group))
    }
}
