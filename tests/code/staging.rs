//! The staging of bands, as a block does it.

use gpp::kernels::arrays::Planned;
use gpp::kernels::intrinsics::WARP;
use gpp::kernels::tiling::{StageLayout, StagedArray, TilePlace};

fn stage<const T: usize, const W: usize, const E: usize>(extents: [u32; 3], first: u32) {
    let [nbands, ngpown, ncouls] = extents;
    let (tile, warps) = (T as u32, StageLayout::<T, W>::BANDS);
    let threads = warps * WARP;
    for column in 0..ncouls.div_ceil(WARP) {
        for group in 0..ngpown.div_ceil(tile * warps) {
            let place = |thread: u32| TilePlace {
                ig: column * WARP + thread % WARP,
                igp: (group * warps + thread / WARP) * tile,
            };
            let mut filled = vec![None; StageLayout::<T, W>::LENGTH as usize];
            for thread in 0..threads {
                for share in
                    StageLayout::<T, W>::shares(thread, place(thread), ngpown, ncouls, E > 0)
                {
                    let element = Some((share.array, share.element(first, nbands)));
                    let slot = &mut filled[share.slot as usize];
                    assert!(slot.is_none() || *slot == element, "two threads, one slot");
                    *slot = element;
                }
            }
            for thread in 0..threads {
                let TilePlace { ig, igp } = place(thread);
                for row in 0..warps.min(nbands - first) {
                    let n = first + row;
                    let at = |slot: u32| filled[(row * StageLayout::<T, W>::BAND + slot) as usize];
                    let ig = ig.min(ncouls - 1);
                    let aqsn = Some((StagedArray::Aqsn, n * ncouls + ig));
                    assert_eq!(at(StageLayout::<T, W>::aqsn(thread)), aqsn);
                    for t in 0..T {
                        let element = n * Planned::rows(ngpown) + igp + t as u32;
                        let aqsm = Some((StagedArray::AqsmLocal, element));
                        assert_eq!(at(StageLayout::<T, W>::aqsm_local(thread, t)), aqsm);
                    }
                    for pair in 0..E / 2 {
                        let wx = Some((StagedArray::Wx, n * 2 + pair as u32));
                        assert_eq!(at(StageLayout::<T, W>::wx(pair)), wx);
                    }
                }
            }
        }
    }
}

#[test]
fn a_block_stages_what_its_threads_read() {
    for extents in [[1, 1, 1], [9, 27, 70], [40, 49, 33]] {
        for first in [0, extents[0] / 2, extents[0] - 1] {
            stage::<1, 8, 0>(extents, first);
            stage::<2, 8, 0>(extents, first);
            stage::<3, 8, 0>(extents, first);
            stage::<4, 4, 0>(extents, first);
            stage::<1, 8, 4>(extents, first);
            stage::<2, 8, 4>(extents, first);
        }
    }
}
