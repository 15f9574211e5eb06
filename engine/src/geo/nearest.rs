//! The documents nearest to a point, or farthest from it, without measuring all of them.

use std::f64::consts::PI;

use lamina_segment::bits::DocSet;
use lamina_segment::segment::Geo;
use lamina_text::filter::Coordinates;
use lamina_text::id::DocId;

use super::distance::{EARTH_RADIUS_M, distance_m};
use super::region::{Circle, Region};

/// Radius of the first look around the point, in metres.
const FIRST_RADIUS_M: f64 = 2_000.0;
/// No two points are farther from each other, in metres; a little more, for rounding.
const HALF_GIRTH_M: f64 = PI * EARTH_RADIUS_M * 1.001;

/// End of the order of distances that is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extreme {
    Nearest,
    Farthest,
}

/// At least `count` documents of `among` that have a point (all of them if there are fewer), with their distance to
/// `point` in metres, the wanted end first, equal distances in document order. No document left out is better than
/// one in the answer. `None` when a circle with more than `looked_at_max` documents would be needed. Cost: the documents
/// of a circle around the point that grows until it holds enough.
pub fn nearest(
    geo: &Geo,
    point: Coordinates,
    extreme: Extreme,
    among: &DocSet,
    count: usize,
    looked_at_max: u32,
) -> Option<Vec<(DocId, f64)>> {
    // What is farthest from a point is nearest to the opposite point.
    let center = match extreme {
        Extreme::Nearest => point,
        Extreme::Farthest => opposite(point),
    };
    let mut radius_m = FIRST_RADIUS_M;
    let found = loop {
        // The longest radius holds every document with a point, also those with unusual degrees.
        let everything = radius_m >= HALF_GIRTH_M;
        let inside = if everything { geo.exists() } else { Circle { center, radius_m }.documents(geo) };
        if inside.len() > looked_at_max {
            return None;
        }
        let inside = inside.and(among);
        if everything || inside.len() as usize >= count {
            break inside;
        }
        radius_m *= 2.0;
    };
    let origin = (point.latitude(), point.longitude());
    let mut measured: Vec<(DocId, f64)> =
        found.iter().filter_map(|doc| Some((doc, distance_m(origin, geo.point(doc)?)))).collect();
    // A stable sort keeps document order among equals.
    match extreme {
        Extreme::Nearest => measured.sort_by(|a, b| a.1.total_cmp(&b.1)),
        Extreme::Farthest => measured.sort_by(|a, b| b.1.total_cmp(&a.1)),
    }
    Some(measured)
}

/// The point of the globe that is farthest from `point`.
pub fn opposite(point: Coordinates) -> Coordinates {
    let longitude = if point.longitude() > 0.0 { point.longitude() - 180.0 } else { point.longitude() + 180.0 };
    Coordinates::new(-point.latitude(), longitude).expect("the opposite of a point of the globe is on the globe")
}

#[cfg(test)]
mod tests {
    use lamina_segment::segment::{SegmentReader, SegmentWriter, SegmentWriterOptions};
    use lamina_segment::storage::MemoryDirectory;
    use lamina_text::id::SegmentId;
    use proptest::prelude::*;

    use super::*;

    /// A segment of documents of which some have a point.
    fn segment(points: &[Option<(f64, f64)>]) -> SegmentReader {
        let mut writer = SegmentWriter::new(SegmentWriterOptions::default());
        for (id, point) in (0u64..).zip(points) {
            writer.begin_document(id, &id.to_string(), b"{}");
            if let &Some((lat, lng)) = point {
                writer.geo(lat, lng);
            }
            writer.end_document();
        }
        let directory = MemoryDirectory::new();
        let meta = writer.finish(&directory, SegmentId(1)).expect("memory takes it");
        SegmentReader::open(&directory, &meta).expect("it is whole")
    }

    /// Spread over the globe, or close to each other: the first circle holds many of these.
    fn point() -> impl Strategy<Value = (f64, f64)> {
        prop_oneof![(-90.0..=90.0, -180.0..=180.0), (-0.05..0.05, -0.05..0.05), (89.9..=90.0, -180.0..=180.0)]
    }

    proptest! {
        #[test]
        fn the_wanted_end_of_all_distances(
            points in proptest::collection::vec(proptest::option::weighted(0.9, point()), 1..120),
            origin in point(),
            // Of ten documents, those whose number divided by ten leaves less.
            among in 1u32..=10,
            count in 1usize..20,
        ) {
            let segment = segment(&points);
            let Some(geo) = segment.geo() else { return Ok(()) };
            let among: DocSet = (0..points.len() as u32).filter(|doc| doc % 10 < among).collect();
            let center = Coordinates::new(origin.0, origin.1).expect("it is on the globe");
            for extreme in [Extreme::Nearest, Extreme::Farthest] {
                let mut all: Vec<(DocId, f64)> =
                    among.iter().filter_map(|doc| Some((doc, distance_m(origin, geo.point(doc)?)))).collect();
                match extreme {
                    Extreme::Nearest => all.sort_by(|a, b| a.1.total_cmp(&b.1)),
                    Extreme::Farthest => all.sort_by(|a, b| b.1.total_cmp(&a.1)),
                }
                let found = nearest(geo, center, extreme, &among, count, u32::MAX).expect("any circle may be looked at");
                prop_assert!(found.len() >= count.min(all.len()), "{} of {}", found.len(), all.len());
                prop_assert_eq!(&found[..], &all[..found.len()]);
                let first = nearest(geo, center, extreme, &among, count, 0);
                prop_assert!(first.is_none(), "every circle that is wide enough holds a document");
            }
        }
    }
}
