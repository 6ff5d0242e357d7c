use super::*;
use std::vec;
use std::vec::Vec;

#[test]
fn rows_and_columns_are_picked_padded_and_transposed() {
    let z = |re: usize| Complex64::new(re as f64, -1.0);
    // Three rows of two columns, one row apart.
    let from: Vec<Complex64> = (0..8).map(z).collect();
    let (rows, columns) = ([2, NONE, 0], [1, 0, 1, NONE]);
    for transposed in [0, 1] {
        let mut to = vec![z(99); 12];
        let arguments = RepackArguments {
            from: from.as_ptr(),
            ld: 4,
            rows: rows.as_ptr(),
            height: 3,
            columns: columns.as_ptr(),
            width: 4,
            transposed,
            to: to.as_mut_ptr(),
        };
        // SAFETY: all is as long as its dimensions say.
        (0..5).for_each(|lane| unsafe { share(Thread::of(0, lane, 1, 5), &arguments) });
        for (r, &row) in rows.iter().enumerate() {
            for (c, &column) in columns.iter().enumerate() {
                let at = if transposed == 0 { c * 3 + r } else { r * 4 + c };
                let is_there = row != NONE && column != NONE;
                let expected = if is_there { z((column * 4 + row) as usize) } else { 0.0.into() };
                assert_eq!(to[at], expected, "{transposed}: {r}, {c}");
            }
        }
    }
}
