//! What commands print. A reader that has seen enough (`| head`) is no error.

use std::fmt;
use std::io::{self, Write};

/// Writes `text` to standard output.
///
/// # Errors
/// When it cannot be written, but for a reader that is gone.
pub fn print(text: &str) -> io::Result<()> {
    written(&mut io::stdout().lock(), text.as_bytes())
}

/// Writes a line to standard error. There is nobody to tell when that fails.
pub fn tell(line: fmt::Arguments<'_>) {
    let _ = io::stderr().lock().write_all(format!("{line}\n").as_bytes());
}

fn written(out: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Broken(io::ErrorKind);

    impl Write for Broken {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn only_a_reader_that_is_gone_is_no_error() {
        written(&mut Vec::new(), b"text").unwrap();
        written(&mut Broken(io::ErrorKind::BrokenPipe), b"text").unwrap();
        written(&mut Broken(io::ErrorKind::StorageFull), b"text").unwrap_err();
    }
}
