use super::*;

#[test]
fn bands_are_counted_from_one() {
    assert_eq!("16".parse(), Ok(Bands { first: 0, count: 16 }));
    assert_eq!("3:3".parse(), Ok(Bands { first: 2, count: 1 }));
    assert_eq!("5:12".parse(), Ok(Bands { first: 4, count: 8 }));
    for wrong in ["", "0", "0:4", "5:4", "1:", ":2", "1:2:3", "-1", "8193", "1:9999", "x"] {
        assert!(wrong.parse::<Bands>().is_err(), "{wrong}");
    }
}

#[test]
fn eigenvalues_have_the_trace_and_the_square_of_the_matrix() {
    for bands in [1, 2, 3, 8, 33] {
        let mut sums = Sums::zero(bands, 2);
        for (at, (sx, ch)) in sums.sx.iter_mut().zip(&mut sums.ch).enumerate() {
            let at = at as f64;
            *sx = Complex64::new((1.3 * at).sin(), (0.7 * at).cos());
            *ch = Complex64::new((2.1 * at).cos(), at.sin() * 3.0);
        }
        let matrix = hermitian(&sums);
        let Qsgw { eigenvalues, .. } = qsgw(&sums, vec![0.0; bands]);
        let at = |l: usize, m: usize| matrix[l + bands * m];
        for (l, m) in (0..bands).flat_map(|l| (0..bands).map(move |m| (l, m))) {
            assert_eq!(at(l, m), at(m, l).conj());
            let sigma = |l, m, plane| sums.sx[sums.at(l, m, plane)] + sums.ch[sums.at(l, m, plane)];
            let of_both = [sigma(l, m, 0), sigma(l, m, 1)].iter().sum::<Complex64>() / 4.0;
            let crossed = [sigma(m, l, 0), sigma(m, l, 1)].iter().sum::<Complex64>() / 4.0;
            let error = (at(l, m) - of_both - crossed.conj()).norm();
            assert!(error <= 1e-14, "{l} {m}: {error}");
        }
        let trace: f64 = (0..bands).map(|l| at(l, l).re).sum();
        let square: f64 = matrix.iter().map(|z| z.norm_sqr()).sum();
        let sum: f64 = eigenvalues.iter().sum();
        let of_squares: f64 = eigenvalues.iter().map(|x| x * x).sum();
        let scale = 1e-13 * square.max(1.0) * bands as f64;
        assert!((sum - trace).abs() <= scale, "{bands}: {sum} {trace}");
        assert!((of_squares - square).abs() <= scale, "{bands}: {of_squares} {square}");
        assert!(eigenvalues.is_sorted() && eigenvalues.len() == bands);
    }
}

#[test]
fn what_is_no_number_has_no_eigenvalues() {
    let mut sums = Sums::zero(2, 2);
    sums.sx[1].im = f64::NAN;
    assert!(qsgw(&sums, vec![0.0; 2]).eigenvalues.iter().all(|x| x.is_nan()));
}
