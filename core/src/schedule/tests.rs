use std::collections::VecDeque;

use gpp_cpu::work::{NEVER, Stop};

use super::*;

fn queue(homes: &mut Affinity, items: Vec<usize>, ahead: usize, workers: usize) -> WorkQueue<'_> {
    WorkQueue::new(Dispatch { items, homes, ahead, control: Control::none() }, workers)
}

fn homes(items: usize, workers: usize, moves: bool) -> Affinity {
    Affinity { of: (0..items).map(|at| (at < workers).then_some(at)).collect(), moves }
}

/// The items that each worker takes when workers come in this order, again and again.
fn taken(queue: &WorkQueue, turns: &[usize], workers: usize) -> Vec<Vec<usize>> {
    let (mut taken, mut idle) = (vec![Vec::new(); workers], 0);
    for &worker in turns.iter().cycle() {
        match queue.next(worker, false) {
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
fn every_item_is_taken_once_and_stays_at_home() {
    let (mut homes, all) = (homes(9, 3, true), (0..9).collect::<Vec<_>>());
    let first = taken(&queue(&mut homes, all.clone(), usize::MAX, 3), &[0, 1, 0, 2], 3);
    assert_eq!(first, [vec![0, 3, 4, 6, 8], vec![1, 5], vec![2, 7]]);
    // The same in the next run, but that the slower one's items are no longer all its own.
    let second = taken(&queue(&mut homes, all.clone(), usize::MAX, 3), &[0, 1, 2], 3);
    assert_eq!(second, [vec![0, 3, 4, 6], vec![1, 5, 8], vec![2, 7]]);
    homes.moves = false;
    assert_eq!(taken(&queue(&mut homes, all, usize::MAX, 3), &[2], 3)[2], [2, 7]);
}

#[test]
fn only_the_items_of_a_run_are_dealt_a_few_ahead() {
    let mut homes = homes(6, 2, true);
    let some = queue(&mut homes, vec![1, 4, 5], 2, 2);
    assert_eq!([0, 0, 1].map(|worker| some.next(worker, false)), [Some(1), None, Some(0)]);
    some.change(|state| state.returned += 1);
    assert_eq!(some.next(1, true), Some(2));
    assert_eq!((some.next(0, true), some.next(1, true)), (None, None));
    let ended = queue(&mut homes, vec![0, 1, 2], 2, 2);
    ended.end();
    assert_eq!((ended.next(0, true), ended.next(1, true)), (None, None));
}

/// Items of two steps, some of which fail; the sums are the items' numbers.
struct Steps {
    depth: usize,
    fails_at: Option<usize>,
    is_begun: bool,
    in_flight: VecDeque<(usize, bool)>,
}

impl StepPipeline<usize> for Steps {
    fn device(&self) -> &str {
        "a device"
    }

    fn has_room(&self) -> bool {
        self.in_flight.len() < self.depth
    }

    fn begin(&mut self, item: usize, advance: Advance) -> Result<bool> {
        if self.fails_at == Some(item) {
            return Err(Error::threads(format!("item {item}")));
        }
        let is_last = self.is_begun;
        self.is_begun = !is_last;
        self.in_flight.push_back((item, is_last));
        advance(if is_last { 0.5 } else { 0.0 });
        Ok(is_last)
    }

    fn finish(&mut self, _: Advance) -> Result<Option<usize>> {
        let (item, is_last) = self.in_flight.pop_front().unwrap();
        // Items take turns to be slow.
        thread::sleep(std::time::Duration::from_micros(item as u64 * 37 % 5 * 40));
        Ok(is_last.then_some(item))
    }
}

/// The sums in the order in which they come, after nine of which the run is asked to stop, and how it ended.
fn run(
    workers: usize,
    fails_at: Option<usize>,
    ahead: usize,
    stop: &Stop,
) -> (Vec<usize>, Result<Option<i32>>) {
    let new =
        |at| Steps { depth: 1 + at % 3, fails_at, is_begun: false, in_flight: VecDeque::new() };
    let mut workers: Vec<_> = (0..workers).map(new).collect();
    let mut homes = Affinity { of: vec![None; 40], moves: false };
    let items = (0..40).collect();
    let control = Control { advance: &|part| assert!(part <= 1.0), stop };
    let run = Dispatch { items, homes: &mut homes, ahead, control };
    let mut sums = Vec::new();
    let ended = each(workers.iter_mut().collect(), run, &mut |own| {
        sums.push(own);
        if sums.len() == 9 {
            stop.ask(7);
        }
        Ok(())
    });
    (sums, ended)
}

#[test]
fn sums_come_in_the_order_of_items() {
    for (workers, ahead) in [(1, 1), (1, 40), (2, 2), (3, usize::MAX), (5, 7)] {
        let (sums, ended) = run(workers, None, ahead, &NEVER);
        assert!(sums.into_iter().eq(0..40), "{workers} {ahead}");
        assert_eq!(ended.unwrap(), None);
    }
}

#[test]
fn a_worker_that_fails_ends_the_run() {
    for workers in [1, 3] {
        let (sums, ended) = run(workers, Some(20), 6, &NEVER);
        assert!(sums.len() <= 20);
        let error = ended.unwrap_err().to_string();
        assert!(error.contains("item 20") && error.starts_with("a device: ") == (workers > 1));
    }
}

#[test]
fn a_stop_ends_the_run_between_items() {
    for workers in [1, 3] {
        let (sums, ended) = run(workers, None, 6, &Stop::new());
        assert!((9..40).contains(&sums.len()) && sums.iter().copied().eq(0..sums.len()));
        assert_eq!(ended.unwrap(), Some(7));
    }
}
