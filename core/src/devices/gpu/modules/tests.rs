use std::thread;

use super::*;
use crate::error::Error;

#[test]
fn a_table_is_filled_where_it_has_other_energies() {
    let (table, filled) = (Arc::new(Table::default()), std::cell::Cell::new(0));
    let hold = |wx: &[f64]| {
        let held = table.holding(wx, || {
            filled.set(filled.get() + 1);
            Ok(())
        });
        assert_eq!(held.unwrap().0.state().wx[..], *wx);
    };
    for wx in [&[1.0, 2.0][..], &[1.0, 2.0], &[1.0], &[1.0, 2.0]] {
        hold(wx);
    }
    assert_eq!(filled.get(), 3);
    assert!(table.holding(&[3.0], || Err(Error::NoGpu { why: "lost".into() })).is_err());
    hold(&[1.0, 2.0]);
    assert_eq!(filled.get(), 4);
}

#[test]
fn a_table_that_is_held_is_not_filled() {
    let (table, done) = (Arc::new(Table::default()), || Ok(()));
    let (one, same) = (table.holding(&[1.0], done), table.holding(&[1.0], done));
    thread::scope(|scope| {
        let other = scope.spawn(|| table.holding(&[2.0], done).map(drop));
        thread::sleep(std::time::Duration::from_millis(20));
        assert_eq!(table.state().wx, [1.0]);
        drop(one);
        assert_eq!(table.state().wx, [1.0]);
        drop(same);
        other.join().unwrap().unwrap();
    });
    assert_eq!(table.state().wx, [2.0]);
}
