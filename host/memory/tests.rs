use super::*;

#[test]
fn the_largest_that_fits_is_found() {
    for most in 1..20 {
        for fitting in 1..25 {
            assert_eq!(largest(most, |n| n <= fitting), most.min(fitting));
        }
    }
}

fn share(groups: usize, terms: f64, workers: usize) -> Share {
    Share { groups, terms, workers, waves: None }
}

#[test]
fn workers_have_about_the_same_to_do() {
    for groups in [1, 2, 7, 9, 87, 208, 415, 1000] {
        for workers in [1, 2, 3, 4, 5, 8] {
            for most in [1, 3, 10, 1000] {
                // So much that what a slab costs is nothing.
                let size = share(groups, 1e12, workers).at_most(most);
                assert!((1..=most).contains(&size), "{groups} {workers} {most}: {size}");
                let busiest = groups.div_ceil(size).div_ceil(workers) * size;
                let ideal = groups.div_ceil(workers);
                assert!(
                    busiest <= ideal + ideal / 16 + 1,
                    "{groups} groups on {workers}: {busiest} of {ideal}"
                );
            }
        }
    }
}

#[test]
fn slabs_are_worth_their_cost() {
    // si510's groups of 16 on four devices, si214's, and the demo's, which are soon done.
    let slabs = |groups: usize, terms: f64, workers| {
        groups.div_ceil(share(groups, terms / groups as f64, workers).unbounded())
    };
    assert!((20..=60).contains(&slabs(208, 3.3e11, 4)));
    assert!((8..=20).contains(&slabs(87, 2.45e10, 4)));
    assert_eq!((slabs(9, 3e7, 1), slabs(9, 3e7, 3)), (1, 3));
}

#[test]
fn slabs_fill_the_devices() {
    // v13 on an H200.
    let waves = Waves { blocks: 830, places: 264 };
    assert!((waves.filled(4) - 13.0 * 264.0 / 830.0).abs() < 1e-12, "{}", waves.filled(4));
    for workers in [1, 2, 4] {
        let of = Share { waves: Some(waves), ..share(208, 3.3e11 / 208.0, workers) };
        let size = of.unbounded();
        let (slabs, part) = (208usize.div_ceil(size), size as f64 / waves.filled(size));
        assert!(slabs >= 2 * workers && part > 0.99, "{workers}: {size} groups, {part} filled");
        assert!(slabs.is_multiple_of(workers), "{workers}: {slabs} slabs");
        // Where that does not find room, it is the best of those that do.
        assert!((1..=5).contains(&of.at_most(5)), "{workers}");
    }
}
