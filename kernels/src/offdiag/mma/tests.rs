use super::*;

/// The lane and element of a place, by one of the maps above.
fn holder(of: fn(u32, u32) -> (u32, u32), elements: u32, place: (u32, u32)) -> (usize, usize) {
    let mut found = (0..32).flat_map(|lane| (0..elements).map(move |element| (lane, element)));
    let (lane, element) = found.find(|&(lane, element)| of(lane, element) == place).unwrap();
    (lane as usize, element as usize)
}

#[test]
fn every_element_of_a_product_is_where_the_maps_say() {
    for row in 0..ROWS {
        for k in 0..DEPTH {
            for column in 0..COLUMNS {
                let (mut a, mut b, mut c) = ([[0.0; 32]; 4], [[0.0; 32]; 2], [[0.0; 32]; 4]);
                let (lane, element) = holder(position_a, 4, (row, k));
                a[element][lane] = 3.0;
                let (lane, element) = holder(position_b, 2, (k, column));
                b[element][lane] = 5.0;
                multiply(&mut c, &[a], &[b]);
                let (lane, element) = holder(position_c, 4, (row, column));
                assert_eq!(c[element][lane], 15.0);
                assert_eq!(c.as_flattened().iter().sum::<f64>(), 15.0);
            }
        }
    }
}
