use super::*;

#[test]
fn the_largest_that_fits_is_found() {
    for most in 1..20 {
        for fitting in 1..25 {
            assert_eq!(largest(most, |n| n <= fitting), most.min(fitting));
        }
    }
}

#[test]
fn workers_have_two_slabs_at_least_and_about_the_same_to_do() {
    for groups in [1, 2, 7, 9, 87, 208, 415, 1000] {
        for workers in [1, 2, 3, 4, 5, 8] {
            for most in [1, 3, 10, 1000] {
                let size = slab_groups(groups, most, workers);
                assert!((1..=most).contains(&size), "{groups} {workers} {most}: {size}");
                let slabs = groups.div_ceil(size);
                assert!(size == 1 || slabs > workers, "{groups} {workers} {most}: {slabs}");
                let busiest = slabs.div_ceil(workers) * size;
                let surplus = 2 * groups.div_ceil(workers * most).max(2);
                assert!(busiest < groups.div_ceil(workers) + surplus);
            }
        }
    }
    let cases = [(208, 1000, 4), (87, 10, 4), (9, 9, 3)];
    assert_eq!(cases.map(|(groups, most, workers)| slab_groups(groups, most, workers)), [26, 8, 2]);
}
