use super::*;
use crate::bits::little_endian::{put_u32, put_u64};
use crate::bits::monotone::put_monotone;

/// A column of one document and one number that says that it has so many pairs, in a file that has none: ordinals take no bits.
fn without_bits(pair_count: u32) -> Vec<u8> {
    let monotone = |values: &[u64]| {
        let mut bytes = Vec::new();
        put_monotone(&mut bytes, values);
        bytes
    };
    let numbers = [vec![0], vec![0; 8], monotone(&[0])].concat();
    let no_set: &[u8] = &[1, 0, 0, 0, 0];
    let parts = [
        numbers,
        monotone(&[0]),
        monotone(&[0]),
        monotone(&[0, u64::from(pair_count)]),
        Vec::new(),
        monotone(&[0, u64::from(pair_count)]),
        Vec::new(),
        Vec::new(),
        no_set.repeat(3),
    ];
    let mut bytes = Vec::new();
    [1, 1, 1, pair_count, 0].into_iter().for_each(|word| put_u32(&mut bytes, word));
    bytes.extend([0, 0, 1, 0]);
    let mut end = 0;
    for part in &parts {
        end += part.len() as u64;
        put_u64(&mut bytes, end);
    }
    [bytes, parts.concat()].concat()
}

#[test]
fn pairs_that_take_no_bits_are_no_more_than_can_be() {
    let column = Column::open(without_bits(1).into(), 1).expect("it says nothing wrong");
    let mut ordinals = Vec::new();
    column.ordinals_of(0, &mut ordinals);
    assert_eq!((ordinals, column.docs_of(0).collect::<Vec<_>>()), (vec![0], vec![0]));
    for pair_count in [2, 1000, u32::MAX] {
        Column::open(without_bits(pair_count).into(), 1).expect_err("a document has a value once");
    }
}
