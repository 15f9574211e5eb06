//! Writes the frame of a segment file.

use super::{ALIGNMENT, ENTRY_BYTES, Entry, FOOTER_BYTES, HEADER_BYTES, MAGIC, SectionKind, VERSION};
use crate::bits::little_endian::{put_u16, put_u32, put_u64};
use crate::segment::checked_blocks::BlockSums;
use crate::segment::{FileMeta, SegmentError};
use crate::storage::{Directory, FileWriter};

/// Writes a file section by section, keeping offsets and checksums. Small writes are gathered.
pub struct SectionWriter {
    name: String,
    /// `None`: everything stays in the buffer.
    file: Option<Box<dyn FileWriter>>,
    buffer: Vec<u8>,
    offset: u64,
    file_checksum: crc32fast::Hasher,
    checksum: crc32fast::Hasher,
    entries: Vec<Entry>,
    open: Option<(SectionKind, u16, u64)>,
    /// Checksums of the blocks of the open section, if they have any.
    block_sums: Option<BlockSums>,
}

/// Writes below this size are gathered.
const BUFFER_BYTES: usize = 64 * 1024;

impl SectionWriter {
    pub(crate) fn create(directory: &dyn Directory, name: String) -> Result<SectionWriter, SegmentError> {
        let file = directory.create(&name).map_err(|source| SegmentError::Io { file: name.clone(), source })?;
        let mut writer = SectionWriter { file: Some(file), ..SectionWriter::in_memory(name) };
        let mut header = Vec::with_capacity(HEADER_BYTES);
        header.extend_from_slice(&MAGIC);
        put_u32(&mut header, VERSION);
        put_u32(&mut header, 0);
        writer.put(&header)?;
        Ok(writer)
    }

    /// For sections of the file `name` that are made beside those before them, to be [appended](Self::append).
    pub(crate) fn in_memory(name: String) -> SectionWriter {
        SectionWriter {
            name,
            file: None,
            buffer: Vec::with_capacity(BUFFER_BYTES),
            offset: 0,
            file_checksum: crc32fast::Hasher::new(),
            checksum: crc32fast::Hasher::new(),
            entries: Vec::new(),
            open: None,
            block_sums: None,
        }
    }

    /// Appends sections that were kept in memory.
    pub(crate) fn append(&mut self, sections: &SectionWriter) -> Result<(), SegmentError> {
        assert!(sections.file.is_none(), "whole sections that are in memory");
        assert!(sections.open.is_none(), "whole sections that are in memory");
        for &Entry { kind, param, offset, bytes, .. } in &sections.entries {
            self.section(kind, param, &sections.buffer[offset as usize..(offset + bytes) as usize])?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), SegmentError> {
        if !self.buffer.is_empty() && self.file.is_some() {
            let buffer = std::mem::take(&mut self.buffer);
            self.write_out(&buffer)?;
            self.buffer = buffer;
            self.buffer.clear();
        }
        Ok(())
    }

    fn write_out(&mut self, bytes: &[u8]) -> Result<(), SegmentError> {
        let written = self.file.as_mut().map_or(Ok(()), |file| file.write_all(bytes));
        written.map_err(|source| SegmentError::Io { file: self.name.clone(), source })
    }

    /// Writes to the file and both checksums. The checksum of the file is combined from those of its pieces, so each
    /// byte is summed once.
    fn put(&mut self, bytes: &[u8]) -> Result<(), SegmentError> {
        self.checksum.update(bytes);
        if let Some(sums) = &mut self.block_sums {
            sums.update(bytes);
        }
        self.offset += bytes.len() as u64;
        if self.buffer.len() + bytes.len() > BUFFER_BYTES {
            self.flush()?;
        }
        if bytes.len() >= BUFFER_BYTES && self.file.is_some() {
            self.write_out(bytes)
        } else {
            self.buffer.extend_from_slice(bytes);
            Ok(())
        }
    }

    /// Closes the running checksum piece and answers its value.
    fn take_checksum(&mut self) -> u32 {
        let piece = std::mem::replace(&mut self.checksum, crc32fast::Hasher::new());
        self.file_checksum.combine(&piece);
        piece.finalize()
    }

    /// Starts a section. Exactly one is open at a time.
    pub(crate) fn begin(&mut self, kind: SectionKind, param: u16) -> Result<(), SegmentError> {
        assert!(self.open.is_none(), "sections do not nest");
        let padding = (ALIGNMENT - (self.offset % ALIGNMENT as u64) as usize) % ALIGNMENT;
        self.put(&[0; ALIGNMENT][..padding])?;
        self.take_checksum();
        self.open = Some((kind, param, self.offset));
        Ok(())
    }

    /// Works like [`Self::begin`], for a section whose blocks get checksums. The section ends with
    /// [`Self::end_in_blocks`].
    pub(crate) fn begin_in_blocks(&mut self, kind: SectionKind, param: u16) -> Result<(), SegmentError> {
        self.begin(kind, param)?;
        self.block_sums = Some(BlockSums::default());
        Ok(())
    }

    /// Ends the open section, and writes the checksums of its blocks as the section `sums` of the same parameter.
    pub(crate) fn end_in_blocks(&mut self, sums: SectionKind) -> Result<(), SegmentError> {
        let param = self.open.map_or(0, |(_, param, _)| param);
        let block_sums = self.block_sums.take().expect("the section was begun in blocks");
        self.end();
        self.section(sums, param, &block_sums.finish())
    }

    /// Appends to the open section.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), SegmentError> {
        debug_assert!(self.open.is_some());
        self.put(bytes)
    }

    /// Length of the open section so far.
    pub(crate) fn section_bytes(&self) -> u64 {
        self.open.map_or(0, |(_, _, start)| self.offset - start)
    }

    /// Ends the open section.
    pub(crate) fn end(&mut self) {
        debug_assert!(self.block_sums.is_none(), "the checksums of its blocks are written too");
        let (kind, param, offset) = self.open.take().expect("a section is open");
        let checksum = self.take_checksum();
        self.entries.push(Entry { kind, param, checksum, offset, bytes: self.offset - offset });
    }

    /// A whole section at once.
    pub(crate) fn section(&mut self, kind: SectionKind, param: u16, bytes: &[u8]) -> Result<(), SegmentError> {
        self.begin(kind, param)?;
        self.write(bytes)?;
        self.end();
        Ok(())
    }

    /// Writes the table and the footer and makes the content durable.
    pub(crate) fn finish(mut self) -> Result<FileMeta, SegmentError> {
        assert!(self.open.is_none(), "the last section was ended");
        let padding = (ALIGNMENT - (self.offset % ALIGNMENT as u64) as usize) % ALIGNMENT;
        self.put(&[0; ALIGNMENT][..padding])?;
        let table_offset = self.offset;
        let mut table = Vec::with_capacity(self.entries.len() * ENTRY_BYTES + FOOTER_BYTES);
        for entry in &self.entries {
            put_u16(&mut table, entry.kind as u16);
            put_u16(&mut table, entry.param);
            put_u32(&mut table, entry.checksum);
            put_u64(&mut table, entry.offset);
            put_u64(&mut table, entry.bytes);
        }
        let checksum = crc32fast::hash(&table);
        put_u64(&mut table, table_offset);
        put_u32(&mut table, self.entries.len() as u32);
        put_u32(&mut table, checksum);
        table.extend_from_slice(&MAGIC);
        self.put(&table)?;
        self.take_checksum();
        self.flush()?;
        let synced = self.file.as_mut().map_or(Ok(()), |file| file.sync());
        synced.map_err(|source| SegmentError::Io { file: self.name.clone(), source })?;
        Ok(FileMeta { name: self.name, bytes: self.offset, checksum: self.file_checksum.finalize() })
    }
}
