//! Pieces: the slabs, or parts of slabs, that workers begin one at a time.
//!
//! Where slabs are uploaded anew, no kernel hides the upload of the first one. So a worker's first slab is
//! cut in two: the smaller part is uploaded soon, and its kernels hide the upload of the rest.

use std::ops::Range;

use crate::devices::{SlabSums, Worker};

/// A slab's first part is one of this many parts, in whole groups. Where the upload takes a third of the
/// kernels' time, the first part's kernels hide the rest of it. On an H200 si510's upload takes a quarter.
const FIRST: usize = 4;

/// The part of the upload of a worker's first slab that no kernel hides, for slabs of so many groups.
pub fn unhidden(groups: usize) -> f64 {
    match groups / FIRST {
        0 => 1.0,
        first => first as f64 / groups as f64,
    }
}

/// A slab or a part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The slab's number.
    pub slab: usize,
    /// The igp of the slab.
    pub whole: Range<usize>,
    /// The igp of this part.
    pub igp: Range<usize>,
}

impl Piece {
    /// All of a slab.
    pub fn whole(slab: usize, whole: Range<usize>) -> Piece {
        Piece { slab, igp: whole.clone(), whole }
    }

    /// Cuts this piece in two at a multiple of `group` igp; one piece where there are too few groups.
    fn cut(self, group: usize) -> Vec<Piece> {
        let first = self.whole.len() / group / FIRST * group;
        if first == 0 {
            return vec![self];
        }
        let at = self.whole.start + first;
        let part = |igp| Piece { igp, ..self.clone() };
        vec![part(self.whole.start..at), part(at..self.whole.end)]
    }
}

/// The slabs of a run that are cut.
pub struct Cut {
    slabs: Vec<usize>,
    /// `igp` of a group.
    group: usize,
}

impl Cut {
    /// The slabs that workers begin with and that are cut. Cutting helps where there are several slabs, sums
    /// of groups, and uploads under kernels.
    pub fn of(
        slabs: &[usize],
        workers: &[Box<dyn Worker + '_>],
        group: Option<usize>,
    ) -> Option<Cut> {
        let has_use = slabs.len() > 1 && workers.iter().all(|worker| worker.depth() > 1);
        let first = slabs.iter().copied().take(workers.len());
        group.filter(|_| has_use).map(|group| Cut { slabs: first.collect(), group })
    }

    /// The piece with which a slab is begun.
    pub fn pieces(&self, slab: Piece) -> Vec<Piece> {
        if self.slabs.contains(&slab.slab) { slab.cut(self.group) } else { vec![slab] }
    }
}

/// Sums of pieces whose slabs are not complete yet.
#[derive(Default)]
pub struct Pieces(Vec<(Piece, SlabSums)>);

impl Pieces {
    /// Adds a piece. Returns the sums of its slab once that is complete.
    ///
    /// # Panics
    /// Never: a slab that is whole has a piece.
    pub fn add(&mut self, piece: Piece, sums: SlabSums) -> Option<SlabSums> {
        let (slab, all) = (piece.slab, piece.whole.len());
        self.0.push((piece, sums));
        let of_slab = |piece: &Piece| piece.slab == slab;
        let there = self.0.iter().filter(|(piece, _)| of_slab(piece));
        if there.map(|(piece, _)| piece.igp.len()).sum::<usize>() < all {
            return None;
        }
        let mut whole: Vec<_> = self.0.extract_if(.., |(piece, _)| of_slab(piece)).collect();
        whole.sort_by_key(|(piece, _)| piece.igp.start);
        Some(SlabSums::side_by_side(whole.into_iter().map(|(_, sums)| sums)).expect("a piece"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::devices::Upload;

    #[test]
    fn a_slab_is_cut_between_groups() {
        let cut = |whole: Range<usize>, group| {
            let pieces = Piece::whole(3, whole.clone()).cut(group);
            assert!(pieces.iter().all(|piece| (piece.slab, &piece.whole) == (3, &whole)));
            pieces.into_iter().map(|piece| piece.igp).collect::<Vec<_>>()
        };
        assert_eq!(cut(208..416, 16), [208..256, 256..416]);
        // The last group of a problem may be smaller.
        assert_eq!(cut(16..83, 16), [16..32, 32..83]);
        assert_eq!(cut(0..63, 16), vec![Range { start: 0, end: 63 }]);
        assert_eq!(cut(5..9, 1), [5..6, 6..9]);
        assert_eq!((unhidden(13), unhidden(3)), (3.0 / 13.0, 1.0));
    }

    #[test]
    fn sums_of_pieces_are_those_of_their_slab() {
        let sums = |groups: Range<u32>| SlabSums {
            values: (0..4)
                .flat_map(|value| groups.clone().map(move |group| f64::from(100 * value + group)))
                .collect(),
            groups: groups.len(),
            seconds: groups.len() as f64,
            blocks: Some(groups.len() as u32),
            upload: Upload { bytes: groups.len() as u64, seconds: 0.5 },
        };
        let two = |slab, begin| Piece::whole(slab, begin..begin + 8).cut(2);
        let (one, other) = (two(0, 0), two(1, 8));
        let mut pieces = Pieces::default();
        assert_eq!(pieces.add(one[1].clone(), sums(1..4)), None);
        assert_eq!(pieces.add(other[0].clone(), sums(4..5)), None);
        let whole = pieces.add(one[0].clone(), sums(0..1)).unwrap();
        let upload = Upload { bytes: 4, seconds: 1.0 };
        assert_eq!(whole, SlabSums { blocks: Some(3), upload, ..sums(0..4) });
        assert!(pieces.add(other[1].clone(), sums(5..8)).is_some());
        let alone = Piece::whole(2, 16..24);
        assert_eq!(pieces.add(alone, sums(0..4)), Some(sums(0..4)));
    }
}
