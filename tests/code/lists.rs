//! The lists of versions, kernels and shapes, and the grids that kernels are launched in.

use std::collections::HashSet;

use gpp::devices::gpu::{NO_KERNELS, own};
use gpp::kernels::arrays::{Layout, Planned};
use gpp::kernels::intrinsics::WARP;
use gpp::kernels::kernel::{Dimensions, Energies, Kernel, Loops};
use gpp::kernels::plan::{CONSTANT, EnergiesFrom, Poles};
use gpp::kernels::threads::Thread;
use gpp::kernels::tiling::{StageLayout, StagedArray, TilePlace};
use gpp::kernels::versions::{self, ALL, SIGMA};

#[test]
fn lists_are_complete_and_without_duplicates() {
    let ids: HashSet<_> = ALL.iter().map(|v| v.id()).collect();
    let kernels = || ALL.iter().flat_map(|v| v.kernels);
    let entries = || kernels().flat_map(|kernel| kernel.entries);
    let symbols: HashSet<_> = entries().map(|entry| entry.symbol).collect();
    assert_eq!(ids.len(), ALL.len());
    assert_eq!(symbols.len(), entries().count());
    for version in ALL {
        let what = version.version;
        assert!(!what.change.is_empty() && !what.source.is_empty());
        for poles in [Poles::Any, Poles::Real] {
            assert!(version.kernel(poles).poles.admits(poles), "{}", what.id);
        }
        let reads_constant = |kernel: &Kernel| kernel.energies_from == EnergiesFrom::ConstantMemory;
        let needs = version.kernels.iter().any(reads_constant);
        assert_eq!(needs, version.beyond.is_some(), "{}", what.id);
        if let Some(other) = version.beyond {
            assert!(!other.kernels.iter().any(reads_constant), "{}", what.id);
            assert!(std::ptr::eq(version.holding(CONSTANT), *version));
            assert!(std::ptr::eq(version.holding(CONSTANT + 1), other));
        }
    }
    for kernel in kernels() {
        assert_eq!(kernel.threads % 32, 0);
        assert!(kernel.threads <= 512);
        for nw in 1..=3 {
            let entry = kernel.entry(nw).unwrap();
            let summed = match kernel.energies {
                Energies::UpTo(most) if most == entry.energies => nw.min(most as usize),
                _ => entry.energies as usize,
            };
            assert_eq!(kernel.launches(nw).len() * summed, nw, "{}", entry.symbol);
        }
        for entry in kernel.entries {
            let (version, of, found) = versions::find(entry.symbol).unwrap();
            assert_eq!((found.symbol, of.loops), (entry.symbol, kernel.loops));
            let begin = format!("gpp_{}", version.id().to_lowercase().replace([':', '-'], "_"));
            assert!(entry.symbol.starts_with(&begin), "{}", entry.symbol);
        }
    }
    assert!(versions::find("gpp_v").is_none());
}

#[test]
fn dimensions_that_wrap_are_found() {
    for version in ALL {
        let kernel = version.kernel(Poles::Real);
        // As many igp as make 2³² iterations with the blocks of a version that has them.
        let blocks = match kernel.loops {
            Loops::Blocked { band_blocks, ig_blocks } => band_blocks * ig_blocks,
            _ => 1 << 13,
        };
        let ngpown = (1 << 31) / (blocks / 2);
        let (nbands, ncouls, nw) = (10, 100, 2);
        let extents = Dimensions { nbands, ngpown, ncouls, nw, fallback_begins: &[], clusters: 0 };
        let found = kernel.exceeded(&extents).map(|exceeded| exceeded.what);
        let wraps = matches!(kernel.loops, Loops::Blocked { .. });
        assert_eq!(found, wraps.then_some("iterations of the collapsed loops"), "{}", version.id());
        assert_eq!(kernel.exceeded(&Dimensions { ngpown: ngpown - 1, ..extents }), None);
        // For 2730 bands 48 · 32776 igp are fewer than 2³² elements; one more, padded, is too much.
        let padded = |ngpown| Dimensions { nbands: 2730, ngpown, ncouls: 1, ..extents };
        if matches!(kernel.layout, Layout::Planned | Layout::Listed) {
            assert_eq!(kernel.exceeded(&padded(48 * 32776)), None);
            let found = kernel.exceeded(&padded(48 * 32776 + 1)).unwrap();
            assert_eq!(found.what, "elements of aqsm_local");
        }
        let larger = Dimensions { ncouls: 1 << 13, ..extents };
        assert_eq!(kernel.exceeded(&larger).unwrap().what, "elements of wtilde");
    }
    let kernel = SIGMA[0].kernel(Poles::Real);
    let (nbands, ngpown, ncouls) = (1, 1 << 15, 1 << 15);
    let extents = Dimensions { nbands, ngpown, ncouls, nw: 128, fallback_begins: &[], clusters: 9 };
    assert_eq!(kernel.exceeded(&extents), None);
    let found = |extents: Dimensions| kernel.exceeded(&extents).map(|exceeded| exceeded.what);
    // A pair is two halves of 16 bytes; 33 · 2²⁵ units have 128 threads each.
    assert_eq!(found(Dimensions { ngpown: 1 << 16, ..extents }), Some("halves of sorted pairs"));
    let bands = Dimensions { nbands: 128 * 33, clusters: 1 << 25, ngpown: 1, ..extents };
    assert_eq!(found(bands), Some("iterations of the collapsed loops"));
}

#[test]
fn what_a_warp_does_together_stands_once() {
    assert_eq!(NO_KERNELS, None, "there is nothing to look at");
    let text = own().module_of(["gpp_sigma_blocks_real"]);
    let count = |instruction: &str| text.matches(instruction).count();
    // Five steps of a tree for both words of the four sums.
    assert_eq!((count("vote.sync"), count("shfl.sync")), (1, 5 * 2 * 4));
}

#[test]
fn strided_shares_end_where_the_next_index_would_not_fit_32_bits() {
    assert_eq!(Thread::new(0, u32::MAX - 5, 1, 33_553_920).strided(u32::MAX).count(), 1);
}

fn stage<const T: usize, const W: usize, const A: usize, const E: usize>(of: [u32; 4]) {
    let [nbands, ngpown, ncouls, first] = of;
    let (tile, warps) = (T as u32, W as u32);
    let threads = warps * WARP;
    for column in 0..ncouls.div_ceil(WARP) {
        for group in 0..ngpown.div_ceil(tile * warps) {
            let place = |thread: u32| TilePlace {
                ig: column * WARP + thread % WARP,
                igp: (group * warps + thread / WARP) * tile,
            };
            let mut filled = vec![None; StageLayout::<T, W, A>::LENGTH as usize];
            for thread in 0..threads {
                let [aqsn, other] =
                    StageLayout::<T, W, A>::shares(thread, place(thread), ngpown, ncouls, E > 0);
                let more = (A == 2).then(|| StageLayout::<T, W, A>::other_band(aqsn));
                for share in [aqsn, other].into_iter().chain(more) {
                    let element = Some((share.array, share.element(first, nbands)));
                    let slot = &mut filled[share.slot as usize];
                    assert!(slot.is_none() || *slot == element, "two threads, one slot");
                    *slot = element;
                }
            }
            for thread in 0..threads {
                let TilePlace { ig, igp } = place(thread);
                for row in 0..StageLayout::<T, W, A>::BANDS.min(nbands - first) {
                    let n = first + row;
                    let at =
                        |slot: u32| filled[(row * StageLayout::<T, W, A>::BAND + slot) as usize];
                    let aqsn = Some((StagedArray::Aqsn, n * ncouls + ig.min(ncouls - 1)));
                    assert_eq!(at(StageLayout::<T, W, A>::aqsn(thread)), aqsn);
                    for t in 0..T {
                        let element = n * Planned::rows(ngpown) + igp + t as u32;
                        let aqsm = Some((StagedArray::AqsmLocal, element));
                        assert_eq!(at(StageLayout::<T, W, A>::aqsm_local(thread, t)), aqsm);
                    }
                    for pair in 0..E / 2 {
                        let wx = Some((StagedArray::Wx, n * 2 + pair as u32));
                        assert_eq!(at(StageLayout::<T, W, A>::wx(pair)), wx);
                    }
                }
            }
        }
    }
}

#[test]
fn a_block_stages_what_its_threads_read() {
    for [nbands, ngpown, ncouls] in [[1, 1, 1], [9, 27, 70], [40, 49, 33]] {
        for first in [0, nbands / 2, nbands - 1] {
            let of = [nbands, ngpown, ncouls, first];
            stage::<1, 8, 1, 0>(of);
            stage::<2, 8, 1, 0>(of);
            stage::<3, 8, 1, 0>(of);
            stage::<4, 4, 2, 0>(of);
            stage::<2, 8, 2, 0>(of);
            stage::<1, 8, 1, 4>(of);
            stage::<2, 8, 1, 4>(of);
        }
    }
}
