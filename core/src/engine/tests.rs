use super::*;
use crate::devices::Upload;

#[test]
fn slabs_of_any_size_give_the_same_bits() {
    let groups: Vec<f64> = (0..37).map(|g| f64::from(g * g - 300) * 0.1 + 1e9).collect();
    let slabs = |size: usize| -> Sums {
        let slabs: Vec<SlabSums> = groups
            .chunks(size)
            .map(|groups| SlabSums {
                values: (0..VALUES)
                    .flat_map(|v| groups.iter().map(move |g| g + v as f64))
                    .collect(),
                groups: groups.len(),
                seconds: 0.0,
                blocks: None,
                upload: Upload::default(),
            })
            .collect();
        ordered_sum(&slabs, 1)
    };
    for size in [1, 2, 3, 7, 36] {
        assert_eq!(slabs(size), slabs(37), "{size}");
    }
}
