use super::*;

#[test]
fn a_long_log_is_cut() {
    assert_eq!(shortened("one\ntwo\n\n"), "one\ntwo");
    let lines: Vec<String> = (0..LOG_LINES + 3).map(|line| line.to_string()).collect();
    let expected = format!("{}\n(3 more lines)", lines[..LOG_LINES].join("\n"));
    assert_eq!(shortened(&lines.join("\n")), expected);
}
