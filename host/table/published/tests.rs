use super::*;

#[test]
fn every_published_row_is_read() {
    assert_eq!(paper().len(), 9);
    assert_eq!(paper()[8].tflops("si510"), Some(3.638));
    assert_eq!(talk().len(), 9);
    assert_eq!(blog().len(), 5);
    assert_eq!(blog()[3].arithmetic_intensity, Some(6.3));
}

#[test]
fn what_is_told_is_of_versions() {
    for (journey, without) in [("talk", vec!["talk:bgw"]), ("blog", vec![])] {
        let told: Vec<String> = told(journey).into_iter().map(|told| told.version).collect();
        let ids = crate::catalogue::journey(journey).unwrap().ids();
        let expected: Vec<&str> = ids.into_iter().filter(|id| !without.contains(id)).collect();
        assert_eq!(told, expected);
    }
    assert!(told("paper").is_empty());
}
