//! What indexing will wait for is begun while documents still arrive.

use std::io::{self, Read};

use lamina_engine::text::{dictionary_heap_bytes, holds_chinese, read_chinese_dictionary};

/// Passes a payload on. At the first Chinese character the dictionary of Chinese words is read, on a thread of its own: a
/// connection leaves half of a core idle, and indexing none.
pub(super) struct DictionaryAhead<R> {
    inner: R,
    /// Read before, or being read.
    is_read: bool,
}

impl<R> DictionaryAhead<R> {
    pub(super) fn new(inner: R) -> DictionaryAhead<R> {
        DictionaryAhead { inner, is_read: dictionary_heap_bytes() > 0 }
    }

    pub(super) fn get_ref(&self) -> &R {
        &self.inner
    }
}

impl<R: Read> Read for DictionaryAhead<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        if !self.is_read && holds_chinese(&buffer[..count]) {
            self.is_read = true;
            let thread = std::thread::Builder::new().name("dictionary".to_owned());
            if let Err(error) = thread.spawn(read_chinese_dictionary) {
                tracing::debug!(%error, "the dictionary is read by the first text that needs it");
            }
        }
        Ok(count)
    }
}
