use num_complex::Complex64;

use super::*;
use crate::problem::CheckedPairs;

/// Of so many columns, of which only these are not masked: without a row, or without a Coulomb interaction.
fn header(given: usize, summed: &[usize]) -> Header {
    let rows = (0..given).map(|k| match (summed.contains(&k), k % 2) {
        (true, _) => 1,
        (false, 0) => 0,
        _ => 2,
    });
    Header {
        gvec_ng: given,
        ncoul: 2,
        epsmpi_ngpown_max: given,
        ngpown: given,
        ncouls: 2,
        inv_igp_index: (1..=given as i32).collect(),
        indinv: rows.collect(),
        vcoul: vec![1.0, 0.0],
        ..Header::default()
    }
    .without_masked()
}

#[test]
fn masked_columns_are_left_out() {
    let header = header(6, &[1, 2, 5]);
    assert_eq!((header.ngpown, header.all_ngpown()), (3, 6));
    assert_eq!([0, 1, 2].map(|igp| header.column(igp)), [1, 2, 5]);
    assert!(header.rows().all(|row| row == Some(0)));
    let all: Vec<_> = (0..12).map(|at| Complex64::new(f64::from(at) + 1.0, 0.0)).collect();
    let pairs = CheckedPairs::new(&header, all.clone(), all.clone()).unwrap();
    let kept: Vec<f64> = pairs.wtilde.iter().map(|z| z.re).collect();
    assert_eq!(kept, [3.0, 4.0, 5.0, 6.0, 11.0, 12.0]);
    // SAFETY: it is there to the end of this test.
    let lent = unsafe { ComplexMatrix::kept(&all) };
    let lent = CheckedPairs::new(&header, lent, all).unwrap();
    assert_eq!((lent.wtilde, lent.eps), (pairs.wtilde, pairs.eps));
}

#[test]
fn without_masked_columns_nothing_changes_and_one_always_stays() {
    assert_eq!(header(3, &[0, 1, 2]).unmasked, None);
    let all_masked = header(4, &[]);
    assert_eq!((all_masked.ngpown, all_masked.column(0)), (1, 0));
}

#[test]
fn a_sample_is_spread_over_the_columns_with_terms() {
    let whole = header(20, &[1, 2, 5, 6, 9, 12, 13, 16, 18]);
    let cases = [(1, &[9][..]), (3, &[2, 9, 16]), (9, &[1, 2, 5, 6, 9, 12, 13, 16, 18])];
    for (count, columns) in cases {
        let some = whole.clone().sampled(count);
        assert_eq!((some.ngpown, some.whole_ngpown(), some.all_ngpown()), (count, 9, 20));
        assert!((0..count).map(|igp| some.column(igp)).eq(columns.iter().copied()));
        assert!(some.rows().all(|row| row == Some(0)));
    }
}

#[test]
fn a_wrong_number_is_named_by_its_own_column_and_a_masked_one_may_hold_any() {
    let mut wtilde = vec![Complex64::ONE; 12];
    wtilde[6].re = f64::NAN;
    let make = |wtilde: &Vec<_>, summed: &[usize]| {
        CheckedPairs::new(&header(6, summed), wtilde.clone(), vec![Complex64::ONE; 12])
    };
    assert!(make(&wtilde, &[1, 2, 5]).is_ok());
    let text = make(&wtilde, &[1, 3, 5]).unwrap_err().to_string();
    assert!(text.ends_with(" at (1,4); real and imaginary part must be finite and at most 1e75"));
    let length = CheckedPairs::new(&header(6, &[1]), wtilde[..2].to_vec(), vec![]);
    assert!(length.unwrap_err().to_string().ends_with(" needs 12 elements, has 2"));
}

#[test]
fn bands_nearer_to_the_fermi_energy_than_tol_are_half_occupied() {
    let (wfnkq_ekq, peinf_indext_dist) = (vec![0.25, 0.5, -0.5, 0.0], vec![1, 2, 3, 4]);
    let header =
        Header { nbands: 4, nvband: 3, tol: 0.5, wfnkq_ekq, peinf_indext_dist, ..header(1, &[0]) };
    assert_eq!(header.occ(), [0.5, 1.0, 1.0, 0.0]);
}
