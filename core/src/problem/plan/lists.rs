//! The lists of a slab's pairs: see [`gpp_kernels::lists`].

use gpp_kernels::intrinsics::WARP;
use gpp_kernels::lists::{BYTES, NONE, SHAPE, STATIC, WINDOW, byte};
use gpp_kernels::plan::Plan;
use num_complex::Complex64;
use rayon::prelude::*;

use super::OddPoles;
use crate::problem::SlabView;

/// Lanes of a block.
const LANES: usize = WARP as usize;

/// Words of the lists of a slab: all pairs that contribute and are not odd, those with the static pole among themselves
/// where these are `apart`.
pub fn words(slab: SlabView, odd: &OddPoles, apart: bool) -> Vec<u32> {
    let ncouls = slab.ncouls();
    let of_igp = Plan::words(ncouls as u32) as usize;
    let is_static = |pole: &Complex64| apart && *pole == Complex64::new(STATIC, 0.0);
    let statics = slab.wtilde().par_chunks(ncouls).flat_map_iter(|poles| {
        poles.chunks(LANES).map(|poles| {
            let lanes = poles.iter().enumerate();
            lanes.fold(0, |word, (lane, pole)| word | u32::from(is_static(pole)) << lane)
        })
    });
    let statics: Vec<u32> = statics.collect();
    let of_group = of_igp * SHAPE.igp() as usize;
    let groups = odd.mask().par_chunks(of_group).zip(statics.par_chunks(of_group));
    let records = groups.enumerate().flat_map_iter(|(group, (odd, statics))| {
        let first = group as u32 * SHAPE.igp();
        let within = move |block: usize| u32::MAX >> (LANES - (ncouls - LANES * block).min(LANES));
        (0..of_igp).flat_map(move |block| {
            let of_block = |wanted: u32| {
                let words = odd[block..].iter().zip(&statics[block..]).step_by(of_igp);
                let lanes = words.map(|(odd, statics)| !odd & (statics ^ !wanted) & within(block));
                of_block(lanes, first)
            };
            // All others, then the static ones.
            [0, u32::MAX].map(of_block)
        })
    });
    let records: Vec<(u32, Vec<u32>)> = records.collect();
    let ends = records.iter().scan(0, |end, (count, _)| {
        *end += count;
        Some(*end)
    });
    let begins = [0].into_iter().chain(ends);
    begins.chain(records.iter().flat_map(|(_, words)| words).copied()).collect()
}

/// The records of 32 `ig`, how many and their words: the lanes that have a pair at each `igp` of the group, whose first
/// `igp` is named.
fn of_block(lanes_at: impl Iterator<Item = u32>, first: u32) -> (u32, Vec<u32>) {
    let mut lists: [Vec<u32>; LANES] = Default::default();
    for (igp, mut lanes) in (first..).zip(lanes_at) {
        while lanes != 0 {
            lists[lanes.trailing_zeros() as usize].push(igp);
            lanes &= lanes - 1;
        }
    }
    let mut left = lists.each_ref().map(Vec::as_slice);
    let (mut count, mut words) = (0, Vec::new());
    while let Some(&first) = left.iter().filter_map(|list| list.first()).min() {
        let mut bytes = [NONE; BYTES as usize];
        for (lane, list) in left.iter_mut().enumerate() {
            let within = list.iter().take_while(|&&igp| igp - first < WINDOW);
            let (now, later) = list.split_at(within.take(SHAPE.igp_of_block() as usize).count());
            *list = later;
            let mut places = [NONE; SHAPE.igp_of_block() as usize];
            deal(now.iter().map(|igp| (igp - first) as u8), lane, &mut places);
            for (at, place) in (0..).zip(places) {
                bytes[byte(at, lane as u32) as usize] = place;
            }
        }
        words.push(first);
        words.extend(
            bytes.chunks_exact(4).map(|of| u32::from_ne_bytes([of[0], of[1], of[2], of[3]])),
        );
        count += 1;
    }
    (count, words)
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
mod tests {
    use std::collections::HashSet;

    use gpp_kernels::lists;
    use gpp_kernels::lists::RECORD;

    use super::*;
    use crate::problem::synthesis::synthesise;
    use crate::problem::{Matrices, Origin, Problem, systems};
    use crate::progress::Progress;

    /// Pairs of lists, from their words, static ones last, with the most blocks of a list.
    fn listed(words: &[u32], ngpown: usize, ncouls: usize) -> ([Vec<usize>; 2], u32) {
        let blocks = ncouls.div_ceil(LANES) * 2;
        let count = ngpown.div_ceil(SHAPE.igp() as usize) * blocks;
        let (begins, records) = words.split_at(count + 1);
        assert_eq!(records.len(), (begins[count] * RECORD) as usize);
        let mut pairs = [Vec::new(), Vec::new()];
        for (list, of) in begins.windows(2).enumerate() {
            for record in
                records.chunks_exact(RECORD as usize).take(of[1] as usize).skip(of[0] as usize)
            {
                let bytes: Vec<u8> =
                    record[1..].iter().flat_map(|word| word.to_ne_bytes()).collect();
                for lane in 0..WARP {
                    for at in 0..SHAPE.igp_of_block() {
                        let place = bytes[byte(at, lane) as usize];
                        let igp = (record[0] + u32::from(place & !NONE)) as usize;
                        assert!(igp < ngpown && u32::from(place & !NONE) < WINDOW);
                        if place & NONE == 0 {
                            assert_eq!(igp / SHAPE.igp() as usize, list / blocks);
                            let ig = list % blocks / 2 * LANES + lane as usize;
                            pairs[list % 2].push(igp * ncouls + ig);
                        }
                    }
                }
            }
        }
        let most = begins.windows(2).map(|of| of[1] - of[0]).max().unwrap();
        pairs.iter_mut().for_each(|pairs| pairs.sort_unstable());
        (pairs, most)
    }

    /// Lists have each pair that contributes and is not odd once, in no more blocks than share a group.
    #[test]
    fn every_regular_pair_is_listed_once() {
        let made = synthesise(systems::find("demo").unwrap(), 1, Progress::NONE).unwrap();
        let (ngpown, ncouls) = (made.header().ngpown, made.header().ncouls);
        let kinds: [fn(usize, usize) -> bool; 5] = [
            |_, _| true,
            |_, _| false,
            |igp, ig| (igp * 31 + ig * 17) % 10 < 6,
            // Neighbours that have theirs far apart.
            |igp, ig| (igp < 60) == (ig % 2 == 0),
            |igp, ig| ig % 32 == 5 || igp == 100,
        ];
        for counts in kinds {
            let is_listed = |at: usize| counts(at / ncouls, at % ncouls);
            let poles = made.wtilde().iter().enumerate();
            let poles = poles.map(|(at, &pole)| match (is_listed(at), at % 3) {
                (false, _) => Complex64::ZERO,
                (true, 0) => STATIC.into(),
                (true, _) => pole,
            });
            let matrices = Matrices {
                wtilde: poles.collect(),
                eps: vec![Complex64::ONE; made.eps().len()],
                aqsn: made.aqsn().to_vec(),
                aqsm_local: made.aqsm_local().to_vec(),
            };
            let problem =
                Problem::new("lists", Origin::Made, made.header().clone(), matrices).unwrap();
            let (slab, batch) = (problem.slab(), problem.batches(3).first());
            let odd = problem.odd(slab, &batch, gpp_kernels::plan::Poles::Any);
            assert!(batch.plan().has_static());
            let odd_pairs: HashSet<u32> = odd.pairs().iter().copied().collect();
            let poles = slab.wtilde();
            let is_summed =
                |at: usize| poles[at] != Complex64::ZERO && !odd_pairs.contains(&(at as u32));
            for apart in [false, true] {
                let words = words(slab, &odd, apart);
                assert!(words.len() as u64 <= lists::words(ngpown as u64, ncouls as u64));
                let (pairs, most) = listed(&words, ngpown, ncouls);
                assert!(most <= SHAPE.sharing.min(ngpown.div_ceil(16) as u32));
                for (list, pairs) in pairs.iter().enumerate() {
                    let is_static = |at: usize| apart && poles[at] == STATIC.into();
                    let is_here = |at: &usize| is_summed(*at) && is_static(*at) == (list == 1);
                    let expected: Vec<usize> = (0..poles.len()).filter(is_here).collect();
                    assert_eq!(*pairs, expected, "{apart}, list {list}");
                }
            }
        }
    }
}
