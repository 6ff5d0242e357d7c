use super::*;

#[test]
fn a_panic_becomes_a_status_and_a_message() {
    // SAFETY: a string, which this thread's next failure ends.
    let message = || unsafe { std::ffi::CStr::from_ptr(stored(Text::Message)) }.to_str().unwrap();
    assert_eq!(call(|| panic!("it fell over {}", 7)), Status::Internal);
    assert_eq!(message(), "internal error: it fell over 7");
    assert_eq!(call(|| Ok(())), Status::Ok);
    assert_eq!(message(), "internal error: it fell over 7");
}
