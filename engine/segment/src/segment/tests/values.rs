//! Columns, points and shapes of a segment, against the documents it was written from.

use super::*;

pub(super) fn check_column(column: &Column, field: FieldId, docs: &[&Doc]) {
    let mut numbers: Vec<f64> = Vec::new();
    let mut strings: BTreeMap<String, String> = BTreeMap::new();
    for doc in docs {
        for value in values_of(doc, field) {
            match value {
                Value::Number(number) => numbers.push(number + 0.0),
                Value::Text(text) if !text.is_empty() => drop(strings.entry(text.to_lowercase()).or_insert(text)),
                _ => {}
            }
        }
    }
    numbers.sort_by(f64::total_cmp);
    numbers.dedup();
    let strings: Vec<(String, String)> = strings.into_iter().collect();
    assert_eq!(column.number_count() as usize, numbers.len());
    assert_eq!(column.value_count() as usize, numbers.len() + strings.len());
    for (ordinal, &number) in numbers.iter().enumerate() {
        assert_eq!(column.number(ordinal as u32).to_bits(), number.to_bits());
        assert_eq!(column.find_number(number), Ok(ordinal as u32));
    }
    for (rank, (string, original)) in strings.iter().enumerate() {
        let ordinal = (numbers.len() + rank) as u32;
        assert_eq!(column.string(ordinal), string);
        assert_eq!(column.original(ordinal).to_lowercase(), original.to_lowercase());
        assert_eq!(column.find_string(string), Ok(ordinal));
    }
    assert_eq!(column.find_string("\u{10ffff}"), Err(column.value_count()));
    assert_eq!(column.find_number(f64::INFINITY), Err(column.number_count()));
    check_documents(column, field, docs);
}

fn values_of(doc: &Doc, field: FieldId) -> Vec<Value> {
    doc.values.iter().filter(|v| v.0 == field).map(|v| v.1.clone()).collect()
}

/// Checks the values of documents in both directions.
fn check_documents(column: &Column, field: FieldId, docs: &[&Doc]) {
    let ordinal_of = |value: &Value| match value {
        Value::Number(number) => Some(column.find_number(*number).unwrap()),
        Value::Text(text) if !text.is_empty() => Some(column.find_string(&text.to_lowercase()).unwrap()),
        _ => None,
    };
    let mut by_value: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    let (mut null, mut empty, mut exists, mut blank, mut ordinals) = (vec![], vec![], vec![], vec![], vec![]);
    for (number, doc) in docs.iter().enumerate() {
        let number = number as u32;
        let values = values_of(doc, field);
        let expected: BTreeSet<u32> = values.iter().filter_map(ordinal_of).collect();
        column.ordinals_of(number, &mut ordinals);
        assert_eq!(ordinals, expected.iter().copied().collect::<Vec<_>>());
        assert_eq!(column.first(number), expected.first().copied());
        assert_eq!(column.last(number), expected.last().copied());
        expected.into_iter().for_each(|ordinal| by_value.entry(ordinal).or_default().push(number));
        null.extend(values.contains(&Value::Null).then_some(number));
        empty.extend(values.contains(&Value::Empty).then_some(number));
        exists.extend((!values.is_empty()).then_some(number));
        blank.extend(values.contains(&Value::Text(String::new())).then_some(number));
    }
    assert_eq!(column.null(), DocSet::from_sorted(null));
    assert_eq!(column.empty(), DocSet::from_sorted(empty));
    assert_eq!(column.exists(), DocSet::from_sorted(exists));
    assert_eq!(column.blank(), DocSet::from_sorted(blank));
    for (&ordinal, docs) in &by_value {
        assert_eq!(&column.docs_of(ordinal).collect::<Vec<_>>(), docs);
        assert_eq!(column.doc_freq(ordinal) as usize, docs.len());
    }
    let count = column.value_count();
    for range in [0..count, 0..count / 2, count / 3..count, count / 2..count / 2, count..count + 5] {
        let expected: BTreeSet<u32> =
            by_value.range(range.clone()).flat_map(|(_, docs)| docs.iter().copied()).collect();
        assert_eq!(column.docs_in(range), expected.into_iter().collect());
    }
}

pub(super) fn check_points(segment: &SegmentReader, docs: &[&Doc]) {
    let Some(geo) = segment.geo() else {
        return assert!(docs.iter().all(|doc| doc.point.is_none()));
    };
    for (number, doc) in docs.iter().enumerate() {
        assert_eq!(geo.point(number as u32), doc.point);
    }
    let inside = |lat: f64, lng: f64| (-10.0..=30.0).contains(&lat) && (0.0..=40.0).contains(&lng);
    let relate = |b: &GeoBox| {
        if b.lat_max < -10.0 || b.lat_min > 30.0 || b.lng_max < 0.0 || b.lng_min > 40.0 {
            BoxRelation::Outside
        } else if b.lat_min >= -10.0 && b.lat_max <= 30.0 && b.lng_min >= 0.0 && b.lng_max <= 40.0 {
            BoxRelation::Inside
        } else {
            BoxRelation::Crossing
        }
    };
    let wanted = |doc: &Doc| doc.point.is_some_and(|(lat, lng)| inside(lat, lng));
    let expected: DocSet = (0..docs.len() as u32).filter(|&doc| wanted(docs[doc as usize])).collect();
    assert_eq!(geo.search(relate, inside), expected);
    let mut seen = BTreeSet::new();
    geo.nearest(
        |b| (b.lat_min.max(0.0) - b.lat_max.min(0.0)).max(0.0),
        |doc, _, _| {
            seen.insert(doc);
            f64::INFINITY
        },
    );
    assert_eq!(seen.len() as u32, geo.len());
}

pub(super) fn check_shapes(segment: &SegmentReader, docs: &[&Doc]) {
    let Some(shapes) = segment.shapes() else {
        return assert!(docs.iter().all(|doc| doc.point.is_none()));
    };
    let north_of_ten = |b: &GeoBox| match () {
        () if b.lat_max < 10.0 => BoxRelation::Outside,
        () if b.lat_min >= 10.0 => BoxRelation::Inside,
        () => BoxRelation::Crossing,
    };
    let reaches = |shape: &Shape| shape.positions().any(|position| position.y >= 10.0);
    let wanted = |doc: &Doc| doc.shape().is_some_and(|shape| reaches(&shape));
    let expected: DocSet = (0..docs.len() as u32).filter(|&doc| wanted(docs[doc as usize])).collect();
    assert_eq!(shapes.search(north_of_ten, reaches), expected);
    assert_eq!(shapes.len(), docs.iter().filter(|doc| doc.point.is_some()).count());
}
