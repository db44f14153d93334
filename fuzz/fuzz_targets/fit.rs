#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let _ = study::fit::MeasuredCurve::from_csv(&text);
    let _ = study::fit::load_of_fio("load.json", &text);
});
