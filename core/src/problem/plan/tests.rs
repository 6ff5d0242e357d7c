use gpp_kernels::lists;
use gpp_kernels::lists::HEAD;

use super::*;
use crate::problem::synthesis::Synthesis;
use crate::problem::{Origin, Slab, Source, System};
use crate::progress::Bars;

pub(super) fn with_poles(made: &Problem, wtilde: Vec<Complex64>) -> Problem {
    let eps = vec![Complex64::ONE; wtilde.len()];
    let (aqsn, aqsm_local) =
        (made.aqsn().to_vec(), made.slab().aqsm_local().whole().unwrap().to_vec());
    let bands = CheckedBands::new(made.header().clone(), aqsn).unwrap();
    let slab = Slab::new(&bands, made.slab().igp(), wtilde, eps, aqsm_local).unwrap();
    Problem::from_slab("other poles", Origin::Made, bands.into(), slab).unwrap()
}

pub(super) fn first_batch(problem: &Problem, holds: usize) -> Batch {
    Batch::new(problem, batches(problem.nw(), holds).next().unwrap())
}

/// Pairs of the records, static ones last.
fn listed(lists: &Lists, ngpown: usize, ncouls: usize) -> [Vec<usize>; 2] {
    let mut pairs = [Vec::new(), Vec::new()];
    for &begin in &lists.words[..lists.records as usize] {
        let [first, rows, tile] = lists.words[begin as usize..][..3] else { panic!() };
        let record = &lists.words[begin as usize..][..lists::record(tile) as usize];
        let places = record[HEAD as usize..].iter().flat_map(|word| word.to_ne_bytes());
        assert!((1..=WINDOW).contains(&rows) && (first + rows) as usize <= ngpown);
        for (at, place) in places.enumerate().filter(|(_, place)| *place != NONE) {
            assert!(u32::from(place) < rows);
            let ig = record[3 + at / tile as usize % LANES] as usize;
            let list = usize::from(tile as usize == STATIC_TILE);
            pairs[list].push((first as usize + place as usize) * ncouls + ig);
        }
    }
    pairs.iter_mut().for_each(|pairs| pairs.sort_unstable());
    pairs
}

/// Lists have each pair that contributes, except fallback pairs, once, in no more records than are allowed for.
#[test]
fn every_regular_pair_is_listed_once() {
    let made = Synthesis::new(System::find("demo").unwrap(), 1, Bars::NONE).load().unwrap();
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
        let problem = with_poles(&made, poles.collect());
        let (slab, batch) = (problem.slab(), first_batch(&problem, 3));
        let fallback = problem.fallback(slab, &batch, gpp_kernels::plan::Poles::Real);
        assert!(batch.plan.has_static());
        let poles = slab.wtilde();
        let is_summed =
            |at: usize| poles[at] != Complex64::ZERO && !fallback.pairs.contains(&(at as u32));
        let summed: Vec<usize> = (0..poles.len()).filter(|&at| is_summed(at)).collect();
        for apart in [false, true] {
            let lists = Lists::new(slab, &fallback, apart);
            let (ngpown_u64, ncouls_u64) = (ngpown as u64, ncouls as u64);
            assert!(u64::from(lists.records) <= lists::records(ngpown_u64, ncouls_u64));
            assert!(lists.words.len() as u64 <= lists::words(ngpown_u64, ncouls_u64));
            for (list, pairs) in listed(&lists, ngpown, ncouls).iter().enumerate() {
                let is_static = |at: usize| apart && poles[at] == STATIC.into();
                let expected = summed.iter().copied().filter(|&at| is_static(at) == (list == 1));
                assert!(expected.eq(pairs.iter().copied()), "{apart}, list {list}");
            }
        }
    }
}

#[test]
fn batches_are_few_and_even() {
    let of = |nw, holds| batches(nw, holds).map(|at| (at.start, at.end)).collect::<Vec<_>>();
    assert_eq!(of(1, 3), [(0, 1)]);
    assert_eq!(of(3, 3), [(0, 3)]);
    assert_eq!(of(4, 3), [(0, 2), (2, 4)]);
    assert_eq!(of(5, 3), [(0, 3), (3, 5)]);
    assert_eq!(of(7, 3), [(0, 3), (3, 5), (5, 7)]);
    assert_eq!(of(1025, 512), [(0, 352), (352, 704), (704, 1025)]);
    assert_eq!(of(501, 128), [(0, 128), (128, 256), (256, 384), (384, 501)]);
    assert_eq!(of(3, 1), [(0, 1), (1, 2), (2, 3)]);
}
