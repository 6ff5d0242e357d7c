use super::*;

/// Copies of parts of any length are the padded columns in their order, and picked ones tell what is out of bounds.
#[test]
fn parts_of_padded_columns_are_copied_in_order() {
    let number = |at: usize| Complex64::new(at as f64, -1.0);
    let mut matrix: Vec<_> = (0..15).map(number).collect();
    let zeros = &[Complex64::ZERO; 2];
    let expected = [&matrix[10..], zeros, &matrix[..5], zeros].concat();
    for (place, wrong, are_within) in [
        (0, number(0), true),
        (4, Complex64::new(0.0, 1e51), false),
        (3, Complex64::new(f64::NAN, 0.0), false),
        (12, Complex64::new(-1e-121, 0.0), false),
        (12, Complex64::new(-1e-121, 1.0), true),
        (7, Complex64::new(f64::NAN, 0.0), true),
    ] {
        let before = std::mem::replace(&mut matrix[place], wrong);
        let columns = || LaidElements::Columns(MatrixRows::new(&matrix, 5), vec![2, 0], 7);
        let whole = columns().whole(AQSN.name()).unwrap().into_owned();
        let picked = [vec![0, 1, 2, 3, 4, NO_INDEX, NO_INDEX], vec![2, 0]];
        let picked = LaidElements::Picked(MatrixRef::Spaced(&matrix, 5), picked, [1, 5]);
        let all_laid = [columns(), LaidElements::Made(whole.clone()), picked];
        for length in 1..=14 {
            for (laid, checks) in all_laid.iter().zip([false, false, true]) {
                let mut to = vec![number(99); 14];
                let copied = to.chunks_mut(length).enumerate();
                let all = copied.fold(true, |all, (part, to)| laid.copy(part * length, to) & all);
                assert_eq!(all, are_within || !checks, "{place} {wrong} {length}");
                assert!(to.iter().zip(&whole).all(|(a, b)| a == b || b.re.is_nan()));
            }
        }
        assert!(place != 0 || whole == expected, "{whole:?}");
        matrix[place] = before;
    }
}
