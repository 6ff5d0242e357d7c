//! The lists of a slab's pairs: see [`gpp_kernels::lists`].

use std::ops::Range;

use gpp_kernels::intrinsics::WARP;
use gpp_kernels::lists::{NONE, SHAPE, STATIC, STATIC_TILE, WINDOW};
use gpp_kernels::plan::Plan;
use num_complex::Complex64;
use rayon::prelude::*;

use crate::problem::plan::fallback::FallbackPairs;
use crate::problem::slab::SlabView;

/// Lanes of a warp.
const LANES: usize = WARP as usize;

/// Neighbouring `ig` that are sorted, so that the lanes of a warp have about as many `igp`.
const SORTED: usize = 32 * LANES;

/// The lists of a slab.
#[derive(Clone, Debug, PartialEq)]
pub struct Lists {
    /// As kernels read them.
    pub words: Vec<u32>,
    /// Records.
    pub records: u32,
}

impl Lists {
    /// Of all pairs that contribute, except fallback pairs, those with the static pole among themselves where these are `apart`.
    pub fn of(slab: SlabView, fallback: &FallbackPairs, apart: bool) -> Lists {
        let ncouls = slab.ncouls();
        let of_some = |igs: Range<usize>| {
            let mut lists = [0, 1].map(|_| vec![Vec::new(); igs.len()]);
            let columns = slab.wtilde().chunks(ncouls);
            let masks = fallback.mask.chunks(Plan::words(ncouls as u32) as usize);
            for (igp, (poles, mask)) in (0..).zip(columns.zip(masks)) {
                for (at, ig) in igs.clone().enumerate() {
                    if mask[ig / LANES] >> (ig % LANES) & 1 == 0 {
                        let is_static = apart && poles[ig] == Complex64::new(STATIC, 0.0);
                        lists[usize::from(is_static)][at].push(igp);
                    }
                }
            }
            let [others, of_static] = lists.map(|lists| {
                let mut lists: Vec<(usize, Vec<u32>)> = igs.clone().zip(lists).collect();
                lists.sort_by_key(|(_, igp)| igp.len());
                lists
            });
            let warps = others.chunks(LANES).zip(of_static.chunks(LANES));
            let records = warps.flat_map(|(others, of_static)| {
                let others = records(others, SHAPE.tile as usize);
                others.into_iter().chain(records(of_static, STATIC_TILE))
            });
            records.collect::<Vec<_>>()
        };
        let parts = (0..ncouls).into_par_iter().step_by(SORTED);
        let parts = parts.flat_map_iter(|first| of_some(first..ncouls.min(first + SORTED)));
        let mut records: Vec<Vec<u32>> = parts.collect();
        if records.is_empty() {
            // A launch has a block.
            records.push(record(&[0], 0, &[], SHAPE.tile as usize));
        }
        let begins = records.iter().scan(records.len() as u32, |end, record| {
            let begin = *end;
            *end += record.len() as u32;
            Some(begin)
        });
        let words = begins.chain(records.iter().flatten().copied()).collect();
        Lists { words, records: records.len() as u32 }
    }
}

/// The records of 32 `ig` at most, from the `igp` of each.
fn records(lists: &[(usize, Vec<u32>)], tile: usize) -> Vec<Vec<u32>> {
    let igs: Vec<usize> = lists.iter().map(|(ig, _)| *ig).collect();
    let mut left: Vec<&[u32]> = lists.iter().map(|(_, igp)| &igp[..]).collect();
    let mut records = Vec::new();
    while let Some(&first) = left.iter().filter_map(|list| list.first()).min() {
        let next = |list: &mut &[u32]| {
            let within = list.iter().take_while(|&&igp| igp - first < WINDOW);
            let (now, later) = list.split_at(within.take(SHAPE.warps as usize * tile).count());
            *list = later;
            now.to_vec()
        };
        let now: Vec<Vec<u32>> = left.iter_mut().map(next).collect();
        records.push(record(&igs, first, &now, tile));
    }
    records
}

/// A record of the `igp` of some `ig`, so many in a thread.
fn record(igs: &[usize], first: u32, now: &[Vec<u32>], tile: usize) -> Vec<u32> {
    let last = now.iter().filter_map(|list| list.last()).max().unwrap_or(&first);
    let mut bytes = vec![NONE; SHAPE.threads() as usize * tile];
    for (lane, list) in now.iter().enumerate() {
        let mut turns = vec![NONE; SHAPE.warps as usize * tile];
        deal(list.iter().map(|igp| (igp - first) as u8), lane, &mut turns);
        for (warp, turns) in turns.chunks(tile).enumerate() {
            let at = (warp * LANES + lane) * tile;
            bytes[at..at + tile].copy_from_slice(turns);
        }
    }
    let words = bytes.chunks_exact(4).map(|of| u32::from_ne_bytes([of[0], of[1], of[2], of[3]]));
    let igs = (0..LANES).map(|lane| igs[lane.min(igs.len() - 1)] as u32);
    [first, last - first + 1, tile as u32].into_iter().chain(igs).chain(words).collect()
}

/// Banks of shared memory, of 16 bytes.
const BANKS: usize = 8;

/// Deals places in the window out to the turns of a lane, so that neighbouring lanes read of different banks in most
/// turns.
fn deal(now: impl Iterator<Item = u8>, lane: usize, turns: &mut [u8]) {
    let mut rest = Vec::new();
    for place in now {
        let bank = (place as usize + BANKS - lane % BANKS) % BANKS;
        match turns.iter().skip(bank).step_by(BANKS).position(|&turn| turn == NONE) {
            Some(at) => turns[bank + at * BANKS] = place,
            None => rest.push(place),
        }
    }
    let free = turns.iter_mut().filter(|turn| **turn == NONE);
    free.zip(rest).for_each(|(turn, place)| *turn = place);
}

#[cfg(test)]
mod tests;
