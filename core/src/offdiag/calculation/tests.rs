use gpp_cpu::stop::NEVER;

use super::*;

fn deal(parts: usize, homes: Homes, workers: usize) -> Deal<'static> {
    Deal::new((0..parts).collect(), homes, &vec![AHEAD; workers], &|_| (), &NEVER)
}

#[test]
fn parts_are_dealt_a_few_ahead_and_taken_in_their_order() {
    let deal = deal(12, shared_out([1.0; 12].into_iter(), 2, false), 2);
    let zero = || Sums::zero(1, 1);
    // Worker 0 sums part 0 for long. The other one has its own parts, then one of worker 0's.
    assert_eq!(deal.next(0, true), Next::Part(0));
    for part in [1, 3, 5, 7] {
        assert_eq!(deal.next(1, false), Next::Part(part));
        deal.give(1, part, zero());
    }
    assert_eq!(deal.next(1, false), Next::Later);
    for part in [2, 4, 6] {
        assert_eq!(deal.next(1, true), Next::Part(part));
        deal.give(1, part, zero());
    }
    assert_eq!(deal.next(1, false), Next::Later);
    deal.give(0, 0, zero());
    for part in 8..12 {
        assert!(deal.take().is_some());
        assert_eq!(deal.next(part % 2, true), Next::Part(part));
    }
    assert_eq!((deal.next(0, true), deal.next(1, false)), (Next::Nothing, Next::Nothing));
    deal.leave();
    deal.leave();
    assert!((4..8).all(|_| deal.take().is_some()) && deal.take().is_none());
    let homes = [0, 1, 1, 1, 1, 1, 1, 1, 0, 1, 0, 1].map(|worker| Home { worker, stays: true });
    assert_eq!(deal.homes(), homes);
}

#[test]
fn parts_stay_where_they_were() {
    let homes = [1, 0, 0, 0].map(|worker| Home { worker, stays: true });
    let deal = deal(4, homes.to_vec(), 2);
    assert_eq!(deal.next(0, true), Next::Part(1));
    assert_eq!(deal.next(0, true), Next::Part(2));
    assert_eq!(deal.next(1, true), Next::Part(0));
    assert_eq!(deal.next(1, true), Next::Nothing);
    assert_eq!(deal.next(0, true), Next::Part(3));
}

#[test]
fn workers_have_as_many_operations() {
    let workers = |operations: &[f64], workers| {
        let homes = shared_out(operations.iter().copied(), workers, true);
        homes.into_iter().map(|home| home.worker).collect::<Vec<_>>()
    };
    assert_eq!(workers(&[2.0, 2.0, 2.0, 1.0, 1.0, 1.0, 1.0], 2), [0, 1, 0, 1, 1, 0, 1]);
    assert_eq!(workers(&[1.0; 3], 1), [0; 3]);
}

#[test]
fn nothing_is_dealt_after_a_stop() {
    let stop = Stop::new();
    stop.ask(2);
    let homes = shared_out([1.0; 2].into_iter(), 1, false);
    let deal = Deal::new(vec![0, 1], homes, &[1], &|_| (), &stop);
    assert_eq!(deal.next(0, true), Next::Nothing);
    deal.leave();
    assert!(deal.take().is_none());
}
