#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| lamina_fuzz::format(data));
