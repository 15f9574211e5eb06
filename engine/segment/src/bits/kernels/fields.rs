//! Groups of fields of several widths, packed without gaps, in which a value is looked for.

/// Keys that are looked at together.
pub const FIELD_KEYS_MAX: usize = 16;
/// Bytes of so many groups, wherever in a byte the first one begins, and a load at the last: 16 groups of 128 bits at most
/// (the last one begins below byte 256), and eight bytes.
pub(super) const FIELD_WINDOW: usize = 256 + 8;

/// Bit masks for the fields that are compared in the groups of one key. All of these fields have the same width.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fields {
    /// The value, in each of the fields.
    pub(super) values: u64,
    /// All bits of the fields.
    pub(super) covered: u64,
    /// The lowest and the highest bit of each.
    pub(super) lowest: u64,
    pub(super) highest: u64,
}

/// By key, how the fields of its groups lie, and what a value is in them.
#[derive(Clone, Debug)]
pub struct FieldTable {
    pub(super) fields: [Fields; 256],
    /// Bits of the whole group.
    pub(super) bits: [u8; 256],
}

impl FieldTable {
    /// `value` in fields of `width` bits, at most 32; `group`: by key where these fields begin, and bits of the whole group,
    /// at most 128. Cost: about a microsecond.
    ///
    /// A field that is zero once the value is taken off borrows from its highest bit when one is subtracted (the zero byte
    /// test of Hacker's Delight 6-1, for fields anywhere). What it borrows further up does not matter, as one zero is
    /// enough.
    pub fn new<I: Iterator<Item = u32>>(value: u32, width: u32, group: impl Fn(u8) -> (I, u8)) -> FieldTable {
        let mut table = FieldTable { fields: [Fields::default(); 256], bits: [0; 256] };
        for key in 0..=u8::MAX {
            let (starts, bits) = group(key);
            let fields = &mut table.fields[usize::from(key)];
            let mut is_wide = false;
            for start in starts {
                // A load at the byte in which the group begins has to cover it, wherever in that byte.
                if width == 0 || start + width + 7 > u64::BITS {
                    is_wide = true;
                } else {
                    fields.lowest |= 1 << start;
                }
            }
            // The fields do not overlap, so a product puts a value into each.
            fields.values = fields.lowest.wrapping_mul(u64::from(value));
            fields.covered = fields.lowest.wrapping_mul((1 << width) - 1);
            fields.highest = fields.lowest << (width.wrapping_sub(1) & 63);
            if is_wide {
                // Whatever is loaded, zero is left of it: the group may hold the value.
                *fields = Fields { values: 0, covered: 0, lowest: 1, highest: 1 };
            }
            table.bits[usize::from(key)] = bits;
        }
        table
    }
}
