//! What is made of slabs: odd poles, layouts, and what both take of memory.

mod common;

use std::borrow::Cow;

use common::{FIXTURES, Kind, Make, QUIET, fixture, make};
use gpp::kernels::cells::BANDS;
use gpp::kernels::layout::Layout;
use gpp::kernels::plan::Poles;
use gpp::problem::layout::preparation;
use gpp::problem::memory::{AQSM_LOCAL, AQSN, Of};
use gpp::problem::synthesis::Synthesis;
use gpp::problem::{BandPlan, Bands, Extents, Problem, Slab, Source, systems};
use num_complex::Complex64;

/// Problems with odd poles, bands in and out of order, real and complex poles.
fn assorted() -> Vec<Problem> {
    let kinds = [Kind::Mixed, Kind::Real, Kind::CutOff];
    let mut all: Vec<Problem> = kinds
        .into_iter()
        .flat_map(|kind| [(19, 27, 70), (5, 3, 31), (1, 1, 1)].map(|extents| (kind, extents)))
        .map(|(kind, (nbands, ngpown, ncouls))| {
            make(Make { nbands, ngpown, ncouls, nw: 2, kind, seed: 6 })
        })
        .collect();
    for name in ["tiny", "tiny-complex"] {
        all.push(Synthesis::new(systems::find(name).unwrap(), 3, QUIET).load().unwrap());
    }
    all.extend(FIXTURES.map(fixture));
    all
}

#[test]
fn odd_poles_of_slabs_make_up_those_of_the_whole() {
    let mut odd_pairs = 0;
    for problem in assorted() {
        let plan = BandPlan::of(problem.frame().bands(), problem.frame().poles());
        let Extents { ngpown, ncouls, .. } = problem.extents();
        for takes in [Poles::Any, Poles::Real] {
            let whole = plan.odd(problem.slab(), takes);
            assert_eq!(whole.begins().len(), ngpown + 1);
            assert_eq!(whole.begins()[ngpown] as usize, whole.pairs().len());
            odd_pairs += whole.pairs().len();
            for n in [1, 2, 5, ngpown] {
                let (mut mask, mut pairs, mut begins) = (Vec::new(), Vec::new(), vec![0]);
                for begin in (0..ngpown).step_by(n) {
                    let slab = problem.slab().part(begin..ngpown.min(begin + n));
                    let odd = plan.odd(slab, takes);
                    mask.extend_from_slice(odd.mask());
                    let before = pairs.len() as u32;
                    pairs.extend(odd.pairs().iter().map(|at| at + (begin * ncouls) as u32));
                    begins.extend(odd.begins()[1..].iter().map(|at| at + before));
                    for (igp, ends) in odd.begins().windows(2).enumerate() {
                        let own = &odd.pairs()[ends[0] as usize..ends[1] as usize];
                        assert!(own.iter().all(|at| *at as usize / ncouls == igp));
                    }
                }
                assert_eq!((&mask[..], &pairs[..]), (whole.mask(), whole.pairs()));
                assert_eq!(begins, whole.begins());
            }
        }
    }
    assert!(odd_pairs > 100, "{odd_pairs}");
}

#[test]
fn poles_without_weight_are_of_no_kind() {
    let made = Make { nbands: 2, ngpown: 3, ncouls: 4, nw: 1, kind: Kind::Real, seed: 2 };
    let problem = make(made);
    assert_eq!(problem.frame().poles(), Poles::Real);
    for (eps, poles) in [(0.0, Poles::Real), (1e-130, Poles::Real), (1e-110, Poles::Any)] {
        let [mut wtilde, mut weights, aqsm_local] =
            problem.slab().copied(problem.frame().bands()).unwrap().into_matrices();
        (wtilde[5], weights[5]) = (Complex64::new(3.0, 0.5), eps.into());
        let slab = Slab::new(problem.frame().bands(), 0..3, wtilde, weights, aqsm_local).unwrap();
        let bands = Bands::clone(problem.frame().bands()).into();
        let problem = Problem::of("made", problem.origin().clone(), bands, slab).unwrap();
        assert_eq!(problem.frame().poles(), poles, "{eps}");
    }
}

#[test]
fn layouts_hold_what_memory_says() {
    for problem in assorted().into_iter().filter(|problem| problem.nw() <= 3) {
        let batch = &problem.batches(3).first();
        let plan = batch.plan();
        let whole = problem.extents();
        let Extents { nbands, ngpown, .. } = whole;
        let bytes = |elements: usize| 16 * elements as u64;
        let large = problem.wtilde().len() + problem.eps().len() + problem.aqsn().len();
        let small = problem.wx().len() + problem.occ().len() + problem.vcoul_loc().len();
        let all = bytes(large + problem.aqsm_local().len()) + 8 * small as u64;
        assert_eq!(
            (problem.bytes(), whole.bytes_of(Of::Bands) + whole.bytes_of(Of::Slab)),
            (all, all)
        );
        for igp in [0..ngpown, 0..1, ngpown / 2..ngpown] {
            let slab = problem.slab().part(igp.clone());
            let extents = Extents { ngpown: igp.len(), ..whole };
            for layout in Layout::ALL {
                let prepared = preparation(layout);
                let aqsm = prepared.aqsm_local(slab, plan.bands()).unwrap();
                let of_bands = prepared.of_bands(problem.frame().bands(), plan.bands());
                let of_bands = of_bands.unwrap();
                let wx = prepared.energies(problem.frame().bands(), batch);
                let own = |is_own: bool, bytes: usize| if is_own { bytes as u64 } else { 0 };
                let keeps = plan.keeps_order();
                let is_owned = |cow: &Cow<[Complex64]>| matches!(cow, Cow::Owned(_));
                let varies = layout != Layout::Original;
                assert_eq!(
                    extents.bytes_beside(Of::Slab, layout, keeps),
                    own(varies, size_of_val(&aqsm[..]))
                );
                let reordered = layout == Layout::Planned && !keeps;
                assert_eq!(is_owned(of_bands.aqsn()), reordered || layout == Layout::Cells);
                let turned = [&AQSN, &AQSM_LOCAL].map(|array| prepared.has_bands_fastest(array));
                let cells = layout == Layout::Cells;
                assert_eq!(turned, [cells, cells || layout == Layout::Swapped]);
                let rows = nbands.next_multiple_of(BANDS as usize);
                assert_eq!(
                    extents.bytes_beside(Of::Bands, layout, keeps),
                    own(is_owned(of_bands.aqsn()), size_of_val(&of_bands.aqsn()[..]))
                        + own(matches!(wx, Cow::Owned(_)), size_of_val(&wx[..]))
                        + own(reordered, size_of_val(&of_bands.occ()[..]))
                );
                // Each element where its layout has it.
                for (place, n) in (0..nbands).enumerate() {
                    let band = if layout == Layout::Planned { plan.order()[n] } else { n };
                    assert_eq!(prepared.bands(plan.bands())[n], band);
                    for (igp, element) in slab.aqsm_local().column(band).iter().enumerate() {
                        let at = match layout {
                            Layout::Original => place * slab.len() + igp,
                            Layout::Swapped => igp * nbands + place,
                            Layout::Planned => place * slab.len().next_multiple_of(48) + igp,
                            Layout::Cells => igp * rows + place,
                        };
                        assert_eq!(aqsm[at], *element);
                    }
                    for (iw, w) in problem.frame().bands().energies(band).iter().enumerate() {
                        let at = match layout {
                            Layout::Original | Layout::Cells => place * whole.nw + iw,
                            Layout::Swapped => iw * nbands + place,
                            Layout::Planned => place * 4 + iw,
                        };
                        assert_eq!(wx[at], *w);
                    }
                    assert_eq!(of_bands.occ()[place], problem.occ()[band]);
                }
            }
        }
    }
}
