use super::*;
use crate::devices::Upload;

/// The slabs that each worker takes when workers come in this order, again and again.
fn taken(deal: &Deal, turns: &[usize], workers: usize) -> Vec<Vec<usize>> {
    let mut taken = vec![Vec::new(); workers];
    let mut idle = 0;
    for &worker in turns.iter().cycle() {
        match deal.next(worker) {
            Some(at) => {
                taken[worker].push(at);
                idle = 0;
            }
            None => idle += 1,
        }
        if idle > turns.len() {
            break;
        }
    }
    taken
}

#[test]
fn every_slab_is_taken_once_and_stays_at_home() {
    let deal = Deal::new(9, 3);
    let all: Vec<usize> = (0..9).collect();
    deal.begin(&all);
    let first = taken(&deal, &[0, 1, 0, 2], 3);
    assert_eq!(first, [vec![0, 3, 4, 6, 8], vec![1, 5], vec![2, 7]]);
    // The same in the next run, but that the slower one's slabs are no longer all its own.
    deal.begin(&all);
    let second = taken(&deal, &[0, 1, 2], 3);
    assert_eq!(second, [vec![0, 3, 4, 6], vec![1, 5, 8], vec![2, 7]]);
}

#[test]
fn only_the_slabs_of_a_run_are_dealt_out() {
    let deal = Deal::new(6, 2);
    deal.begin(&[1, 4, 5]);
    assert_eq!(taken(&deal, &[0], 1), [vec![4, 5]]);
    assert_eq!(deal.next(1), Some(1));
    deal.begin(&[0, 1, 2]);
    deal.end();
    assert_eq!((deal.next(0), deal.next(1)), (None, None));
}

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
