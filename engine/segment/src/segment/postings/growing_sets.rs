//! The field sets of words while the fields of their documents come in.

use super::writer::FieldSetTable;
use hashbrown::HashMap;
use lamina_text::id::FieldId;

/// Sets that grow by one field at a time. Each is the set before it and one more field, so a word that is in all of the
/// thousands of fields of a document costs one node for each of them, and not all fields again for each.
#[derive(Debug, Default)]
pub(crate) struct GrowingSets {
    /// By code.
    nodes: Vec<Node>,
    /// The code of a set plus one field that is larger than all of its fields.
    longer: HashMap<(u32, FieldId), u32, foldhash::fast::RandomState>,
}

#[derive(Debug)]
struct Node {
    /// Number of postings that have this set.
    count: u64,
    /// The set without its last field.
    before: u32,
    last: FieldId,
}

/// The sets that postings have.
pub(crate) struct GrownSets {
    /// By code: that in the table, which is ordered by falling frequency. 0 where no posting has the set.
    pub codes: Vec<u32>,
    pub table: FieldSetTable,
    pub section: Vec<u8>,
}

impl GrowingSets {
    /// The empty set.
    pub(crate) const NONE: u32 = u32::MAX;

    /// Code of the set `code` with `field`, larger than its fields, added. One look-up.
    #[inline]
    pub(crate) fn extend(&mut self, code: u32, field: FieldId) -> u32 {
        if let Some(&longer) = self.longer.get(&(code, field)) {
            return longer;
        }
        debug_assert!(self.nodes.get(code as usize).is_none_or(|node| node.last < field));
        let longer = self.nodes.len() as u32;
        self.nodes.push(Node { count: 0, before: code, last: field });
        self.longer.insert((code, field), longer);
        longer
    }

    /// One more posting has the set.
    #[inline]
    pub(crate) fn count(&mut self, code: u32) {
        self.nodes[code as usize].count += 1;
    }

    /// One posting less has the set.
    #[inline]
    pub(crate) fn discount(&mut self, code: u32) {
        self.nodes[code as usize].count -= 1;
    }

    /// Cost: the fields of the sets that postings have, which are no more than the words of the documents.
    pub(crate) fn finish(self) -> GrownSets {
        let (mut table, mut counts) = (FieldSetTable::default(), Vec::new());
        let mut codes = vec![0; self.nodes.len()];
        let mut fields = Vec::new();
        let used = |(node, _): &(&Node, &mut u32)| node.count > 0;
        for (node, code) in self.nodes.iter().zip(&mut codes).filter(used) {
            fields.clear();
            let sets = std::iter::successors(Some(node), |node| self.nodes.get(node.before as usize));
            fields.extend(sets.map(|node| node.last));
            fields.reverse();
            *code = table.code(&fields);
            counts.push(node.count);
        }
        let (renumbered, section) = table.finish(&counts);
        for (_, code) in self.nodes.iter().zip(&mut codes).filter(used) {
            *code = renumbered[*code as usize];
        }
        GrownSets { codes, table: table.renumbered(&counts), section }
    }
}

#[cfg(test)]
mod tests {
    use super::super::field_sets::FieldSets;
    use super::*;

    #[test]
    fn sets_that_postings_have_are_numbered_by_frequency() {
        let mut sets = GrowingSets::default();
        let one = sets.extend(GrowingSets::NONE, 3);
        let two = sets.extend(one, 7);
        let three = sets.extend(two, 300);
        let other = sets.extend(GrowingSets::NONE, 7);
        assert_eq!([sets.extend(one, 7), sets.extend(GrowingSets::NONE, 3)], [two, one]);
        sets.count(one);
        sets.discount(one);
        sets.count(three);
        (0..2).for_each(|_| sets.count(other));
        let GrownSets { codes, section, .. } = sets.finish();
        assert_eq!((codes[three as usize], codes[other as usize]), (1, 0));
        let read = FieldSets::open(&section).unwrap();
        assert_eq!(read.len(), 2);
        assert_eq!((read.fields(0), read.fields(1)), (&[7][..], &[3, 7, 300][..]));
        assert_eq!((read.posting_count(0), read.posting_count(1)), (2, 1));
    }

    #[test]
    fn no_words_have_no_sets() {
        let mut sets = GrowingSets::default();
        sets.extend(GrowingSets::NONE, 1);
        let GrownSets { codes, section, .. } = sets.finish();
        assert_eq!(codes, [0]);
        assert!(FieldSets::open(&section).unwrap().is_empty());
    }

    #[test]
    fn a_word_in_all_fields_of_a_document_takes_little() {
        let mut sets = GrowingSets::default();
        let all = (0..FieldId::MAX).fold(GrowingSets::NONE, |code, field| sets.extend(code, field));
        sets.count(all);
        assert_eq!(sets.nodes.len(), usize::from(FieldId::MAX));
        let section = sets.finish().section;
        assert!(section.len() < 2 * usize::from(FieldId::MAX), "{} bytes", section.len());
    }
}
