use super::*;

/// Whether a polygon that turns one way holds a place.
fn holds(area: &[Place], at: Place) -> bool {
    let turn = |i: usize| {
        let (a, b) = (area[i], area[(i + 1) % area.len()]);
        (b.0 - a.0) * (at.1 - a.1) - (b.1 - a.1) * (at.0 - a.0)
    };
    area.len() > 2 && (0..area.len()).all(|i| turn(i) >= -1e-9)
}

#[test]
fn a_pointer_meets_one_dot_where_several_are() {
    let places = [(10.0, 10.0), (11.0, 10.0), (10.5, 12.0), (10.0, 10.0), (80.0, 80.0)];
    let places = [&places[..], &[(10.1, 10.0), (90.0, 9.0), (90.0, 9.0), (90.1, 9.0)]].concat();
    let hits: Vec<_> = (0..places.len()).map(|index| hit(index, &places)).collect();
    for (index, area) in hits.iter().enumerate() {
        let of = |part: fn(&Place) -> f64| area.iter().map(part).sum::<f64>() / area.len() as f64;
        let middle = (of(|at| at.0), of(|at| at.1));
        for (other, area) in hits.iter().enumerate() {
            assert_eq!(holds(area, middle), other == index, "{index} {other}");
        }
    }
    for x in 0..40 {
        let at = (f64::from(x) + 0.237, 9.31 + f64::from(x % 3));
        assert!(hits.iter().filter(|area| holds(area, at)).count() <= 1, "{at:?}");
    }
    assert!(!holds(&hits[0], (80.0, 80.0)) && holds(&hits[4], (80.0, 90.0)));
}

#[test]
fn colours_are_read_on_white_and_on_black() {
    let linear = |part: u8| {
        let part = f64::from(part) / 255.0;
        if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
    };
    for [r, g, b] in COLORS {
        let light = 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
        // Contrast of graphics by WCAG 2.
        assert!(1.05 / (light + 0.05) >= 3.0 && (light + 0.05) / 0.06 >= 3.0, "{r} {g} {b}");
    }
}

const FRAME: Area = Area { left: 0.0, top: 0.0, right: 800.0, bottom: 500.0 };

#[test]
fn names_of_close_dots_do_not_meet() {
    let dots: Vec<Place> =
        (0..30).map(|at| (300.0 + f64::from(at % 5), 200.0 + f64::from(at))).collect();
    let mut labels = Labels::new(FRAME, dots.iter().copied(), []);
    for &dot in &dots {
        labels.place(&[dot], (60.0, 15.0)).unwrap();
    }
    for (at, name) in labels.names.iter().enumerate() {
        assert!(!labels.names[..at].iter().any(|other| other.meets(name)), "{at}");
        assert!(!labels.dots.iter().any(|dot| dot.meets(name)), "{at}");
        assert!(FRAME.holds(name), "{at}");
    }
    assert!(labels.leaders.len() > 10);
}

#[test]
fn a_dot_alone_has_its_name_beside_it() {
    let mut labels = Labels::new(FRAME, [(50.0, 50.0)], []);
    let placed = labels.place(&[(50.0, 50.0)], (20.0, 15.0)).unwrap();
    assert_eq!(placed.leader, None);
    assert!(distance((50.0, 50.0), placed.area.nearest((50.0, 50.0))) <= BESIDE);
}

#[test]
fn a_name_is_rather_off_a_line_and_there_may_be_no_place() {
    let line = [(0.0, 60.0), (800.0, 60.0)];
    let mut labels = Labels::new(FRAME, [(50.0, 66.0)], [line]);
    let placed = labels.place(&[(50.0, 66.0)], (20.0, 15.0)).unwrap();
    assert!(!placed.area.crossed(line));
    assert_eq!(labels.place(&[(50.0, 66.0)], (900.0, 15.0)), None);
}

#[test]
fn lines_cross_boxes_or_pass_them() {
    let area = Area::at((10.0, 10.0), (10.0, 10.0));
    assert!(area.crossed([(0.0, 0.0), (30.0, 30.0)]));
    assert!(area.crossed([(0.0, 15.0), (30.0, 15.0)]));
    assert!(!area.crossed([(0.0, 5.0), (30.0, 5.0)]));
    assert!(!area.crossed([(0.0, 0.0), (8.0, 8.0)]));
}
