//! Shapes as bytes, for segments. The layout is in `segment-format.md`.

use super::{Part, Position, Shape};
use crate::bits::little_endian::{put_u64, read_f64};
use crate::bits::varint::{put_varint, read_varint};

const POINT: u64 = 0;
const LINE: u64 = 1;
const AREA: u64 = 2;

const POSITION_BYTES: usize = 16;
/// Positions that a line has at least; code that measures one relies on the first.
const LINE_POSITIONS_MIN: usize = 2;
/// Positions that a ring has at least.
const RING_POSITIONS_MIN: usize = 3;

impl Shape {
    /// Appends the shape to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, self.parts.len() as u64);
        for part in &self.parts {
            match part {
                Part::Point(point) => {
                    put_varint(out, POINT);
                    put_position(out, *point);
                }
                Part::Line(line) => {
                    put_varint(out, LINE);
                    put_positions(out, line);
                }
                Part::Area(rings) => {
                    put_varint(out, AREA);
                    put_varint(out, rings.len() as u64);
                    rings.iter().for_each(|ring| put_positions(out, ring));
                }
            }
        }
    }

    /// The shape of `bytes`; `None` when they are cut or hold something else.
    pub fn decode(bytes: &[u8]) -> Option<Shape> {
        let mut at = 0;
        let part_count = count(bytes, &mut at, 1)?;
        let mut parts = Vec::with_capacity(part_count);
        for _ in 0..part_count {
            parts.push(match read_varint(bytes, &mut at)? {
                POINT => Part::Point(position(bytes, &mut at)?),
                LINE => Part::Line(positions(bytes, &mut at, LINE_POSITIONS_MIN)?),
                AREA => {
                    let ring_count = count(bytes, &mut at, 1)?;
                    let mut ring = || positions(bytes, &mut at, RING_POSITIONS_MIN);
                    Part::Area((0..ring_count).map(|_| ring()).collect::<Option<_>>()?)
                }
                _ => return None,
            });
        }
        (at == bytes.len() && !parts.is_empty()).then_some(Shape { parts })
    }
}

fn put_position(out: &mut Vec<u8>, position: Position) {
    put_u64(out, position.x.to_bits());
    put_u64(out, position.y.to_bits());
}

fn put_positions(out: &mut Vec<u8>, positions: &[Position]) {
    put_varint(out, positions.len() as u64);
    positions.iter().for_each(|position| put_position(out, *position));
}

/// A number of things of at least `bytes_each` bytes: never more than could follow, so that damage costs no memory.
fn count(bytes: &[u8], at: &mut usize, bytes_each: usize) -> Option<usize> {
    let count = usize::try_from(read_varint(bytes, at)?).ok()?;
    (count <= (bytes.len() - *at) / bytes_each).then_some(count)
}

fn position(bytes: &[u8], at: &mut usize) -> Option<Position> {
    let position = Position { x: read_f64(bytes, *at)?, y: read_f64(bytes, *at + 8)? };
    *at += POSITION_BYTES;
    Some(position)
}

fn positions(bytes: &[u8], at: &mut usize, count_min: usize) -> Option<Vec<Position>> {
    let count = count(bytes, at, POSITION_BYTES).filter(|&count| count >= count_min)?;
    (0..count).map(|_| position(bytes, at)).collect()
}
