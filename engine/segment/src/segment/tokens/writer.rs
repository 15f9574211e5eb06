//! Writes the token column, document by document.

use super::PADDING_BYTES;
use super::codes::TokenCodes;
use crate::bits::bitpack::BitWriter;
use crate::bits::little_endian::put_u32;
use crate::bits::monotone::put_monotone;
use crate::bits::varint::put_varint;
use crate::segment::format::{SectionKind, SectionWriter};
use crate::segment::postings::put_field_list;
use crate::segment::word_pairs::{CountedTerm, WordPairsBuilder};
use crate::segment::{ListThresholds, SegmentError};
use hashbrown::HashMap;
use lamina_text::id::{DocId, FIRST_TERM, FieldId, TermOrdinal};

/// Writes documents to the open tokens section, and the frequent words that they have one after the other.
pub(crate) struct TokensBuilder {
    codes: TokenCodes,
    word_pairs: WordPairsBuilder,
    encoder: Vec<u32>,
    shapes: HashMap<Box<[FieldId]>, u32, foldhash::fast::RandomState>,
    shape_bytes: Vec<u8>,
    shape_offsets: Vec<u64>,
    offsets: Vec<u64>,
    bytes: Vec<u8>,
    token_count: u64,
    fields: Vec<FieldId>,
    last_shape: (Vec<FieldId>, u32),
}

impl TokensBuilder {
    /// `terms`: all of them, in order.
    pub(crate) fn new(
        codes: TokenCodes,
        terms: impl ExactSizeIterator<Item = CountedTerm>,
        doc_count: u32,
        thresholds: &ListThresholds,
    ) -> TokensBuilder {
        let ordinal_count = FIRST_TERM + terms.len() as u32;
        let encoder = codes.encoder(ordinal_count);
        let mut offsets = Vec::with_capacity(doc_count as usize + 1);
        offsets.push(0);
        let by_frequency = codes.most_frequent.iter().copied();
        let word_pairs = WordPairsBuilder::new(by_frequency, terms, doc_count, ordinal_count, thresholds);
        TokensBuilder {
            codes,
            word_pairs,
            encoder,
            shapes: HashMap::default(),
            shape_bytes: Vec::new(),
            shape_offsets: vec![0],
            offsets,
            bytes: Vec::new(),
            token_count: 0,
            fields: Vec::new(),
            last_shape: (Vec::new(), u32::MAX),
        }
    }

    fn shape(&mut self) -> u32 {
        if self.last_shape.1 != u32::MAX && self.last_shape.0 == self.fields {
            return self.last_shape.1;
        }
        let shape = match self.shapes.get(self.fields.as_slice()) {
            Some(&shape) => shape,
            None => {
                let shape = self.shapes.len() as u32;
                self.shapes.insert(self.fields.as_slice().into(), shape);
                put_field_list(&mut self.shape_bytes, &self.fields);
                self.shape_offsets.push(self.shape_bytes.len() as u64);
                shape
            }
        };
        self.last_shape.0.clone_from(&self.fields);
        self.last_shape.1 = shape;
        shape
    }

    /// The next document: its fields, ascending, each with the index in `tokens` where its run ends.
    pub(crate) fn push(
        &mut self,
        file: &mut SectionWriter,
        fields: &[(FieldId, u32)],
        tokens: &[TermOrdinal],
    ) -> Result<(), SegmentError> {
        debug_assert!(fields.is_sorted_by(|a, b| a.0 < b.0));
        debug_assert!(fields.is_sorted_by(|a, b| a.1 < b.1));
        debug_assert_eq!(fields.last().map_or(0, |f| f.1) as usize, tokens.len());
        self.fields.clear();
        self.fields.extend(fields.iter().map(|f| f.0));
        let shape = self.shape();
        let out = &mut self.bytes;
        put_varint(out, u64::from(shape));
        let doc = (self.offsets.len() - 1) as DocId;
        let mut start = 0;
        for &(_, end) in fields {
            put_varint(out, u64::from(end - start));
            self.word_pairs.push(doc, &tokens[start as usize..end as usize]);
            start = end;
        }
        let encoder = self.encoder.as_slice();
        for four in tokens.chunks(4) {
            let classes = four.iter().rev().fold(0, |all, &o| all << 2 | (encoder[o as usize] & 3) as u8);
            out.push(classes);
        }
        let widths = self.codes.widths;
        let mut writer = BitWriter::new(out);
        for &ordinal in tokens {
            let code = encoder[ordinal as usize];
            writer.put(code >> 2, widths[(code & 3) as usize]);
        }
        writer.finish();
        self.token_count += tokens.len() as u64;
        let end = self.offsets[self.offsets.len() - 1] + self.bytes.len() as u64;
        self.offsets.push(end);
        file.write(&self.bytes)?;
        self.bytes.clear();
        Ok(())
    }

    /// Ends the tokens section and writes the sections that belong to it. Answers the number of tokens.
    pub(crate) fn finish(self, file: &mut SectionWriter) -> Result<u64, SegmentError> {
        file.write(&[0; PADDING_BYTES])?;
        file.end();
        let mut section = Vec::new();
        put_monotone(&mut section, &self.offsets);
        file.section(SectionKind::TokenOffsets, 0, &section)?;
        section.clear();
        self.codes.put(&mut section);
        put_u32(&mut section, self.shapes.len() as u32);
        put_monotone(&mut section, &self.shape_offsets);
        section.extend_from_slice(&self.shape_bytes);
        file.section(SectionKind::TokenCodes, 0, &section)?;
        for (kind, section) in self.word_pairs.finish() {
            file.section(kind, 0, &section)?;
        }
        Ok(self.token_count)
    }
}
