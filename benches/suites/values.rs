//! Measured: what goes by values instead of words (filters, sorts, facets, distances), and the writing of highlighted
//! hits; in process, per request.
//!
//! Corpus: 200,000 small documents with eight columns of different kinds, made from a counter, so that two runs measure
//! the same thing; one segment. Run: `cargo bench -p lamina-benches --bench values`.

use std::fmt::Write;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use lamina_benches::{add, new_index, set};
use lamina_engine::facet::{Listing, distributions, select_facets};
use lamina_engine::filter::Filter;
use lamina_engine::highlight::{CropSelection, FormatOptions, Formatter, MatchingTerms, Projection, Selection};
use lamina_engine::index::{Index, Snapshot};
use lamina_engine::search::{SearchRequest, search};
use lamina_engine::sort::SortCriterion;
use lamina_engine::text::{TextOptions, Tokenizer};

const DOCUMENTS: u64 = 200_000;

const FILTERS: [(&str, &str); 8] = [
    ("equality", "category = c7"),
    ("equality and broad range", "category = c7 AND price < 5000"),
    ("broad range", "price 1000 TO 8000"),
    ("list of a hundred", "LIST"),
    ("negation", "NOT category = c7 AND stock = true"),
    ("contains", "brand CONTAINS 77"),
    ("circle", "_geoRadius(10, 20, 500000)"),
    ("box over the antimeridian", "_geoBoundingBox([40, -170], [-40, 170])"),
];

const SORTS: [(&str, &str, &str); 4] = [
    ("ascending", "", "price:asc"),
    ("descending, filtered", "category = c7", "price:desc"),
    ("nearest", "", "_geoPoint(10, 20):asc"),
    ("nearest of another region", "_geoRadius(-40, -100, 500000)", "_geoPoint(10, 20):asc"),
];

fn documents() -> Vec<u8> {
    let mut lines = String::new();
    for id in 0..DOCUMENTS {
        // Spreads a counter evenly over many values.
        let mixed = id.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        let (lat, lng) = ((mixed % 18_000) as f64 / 100.0 - 90.0, (mixed / 7 % 36_000) as f64 / 100.0 - 180.0);
        writeln!(
            lines,
            r#"{{"id":{id},"category":"c{}","brand":"Brand {}","price":{},"rating":{},"stock":{},"tags":["t{}","t{}"],"_geo":{{"lat":{lat},"lng":{lng}}}}}"#,
            mixed % 40,
            mixed % 3000,
            mixed % 10_000,
            mixed % 50,
            mixed % 3 > 0,
            mixed % 60,
            mixed / 60 % 60,
        )
        .expect("a String takes everything");
    }
    lines.into_bytes()
}

fn index() -> (tempfile::TempDir, Index) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let index = new_index(folder.path());
    set(
        &index,
        0,
        r#"{"searchableAttributes":["brand"],"sortableAttributes":["price","_geo"],
            "filterableAttributes":["category","brand","price","rating","stock","tags","_geo"]}"#,
    );
    add(&index, 1, &documents());
    index.compact(&false.into()).expect("one segment");
    (folder, index)
}

fn request(filter: &str, sort: &str) -> SearchRequest {
    SearchRequest {
        filter: Filter::parse(filter).expect("a filter"),
        sort: (!sort.is_empty()).then(|| SortCriterion::parse(sort).expect("a sort")).into_iter().collect(),
        ..SearchRequest::default()
    }
}

fn values(c: &mut Criterion) {
    let (_folder, index) = index();
    let snapshot = index.snapshot();

    let mut group = c.benchmark_group("filter");
    let list = (0..100).map(|n| format!("'brand {n}'")).collect::<Vec<_>>().join(", ");
    for (name, filter) in FILTERS {
        let filter = if filter == "LIST" { format!("brand IN [{list}]") } else { filter.to_owned() };
        let request = request(&filter, "");
        group.bench_function(name, |b| b.iter(|| search(&snapshot, &request).expect("a search")));
    }
    let long = (0..20_000).map(|n| n.to_string()).collect::<Vec<_>>().join(",");
    let long = format!("price IN [{long}]");
    group.bench_function("parse a list of 20,000", |b| b.iter(|| Filter::parse(&long).expect("a filter")));
    group.finish();

    let mut group = c.benchmark_group("sort");
    for (name, filter, sort) in SORTS {
        let request = request(filter, sort);
        group.bench_function(name, |b| b.iter(|| search(&snapshot, &request).expect("a search")));
    }
    group.finish();

    facets(c, &snapshot);
}

fn facets(c: &mut Criterion, snapshot: &Snapshot) {
    let names = ["category", "brand", "price", "tags"].map(str::to_owned);
    let fields = select_facets(&names, &snapshot.settings, &snapshot.fields).expect("filterable fields");
    let mut group = c.benchmark_group("facets");
    for filter in ["", "price < 5000", "category = c7", "brand = 'brand 7'"] {
        let found = search(snapshot, &request(filter, "")).expect("a search");
        group.bench_with_input(BenchmarkId::new("four fields", found.total), &found.candidates, |b, candidates| {
            b.iter(|| {
                distributions(
                    snapshot,
                    candidates,
                    &fields,
                    Listing::up_to(snapshot.settings.faceting.max_values_per_facet),
                )
            });
        });
    }
    group.finish();
}

fn highlight(c: &mut Criterion) {
    let films = lamina_benches::films(20);
    let films: Vec<&[u8]> = films.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).collect();
    let mut terms = MatchingTerms::default();
    terms.add_word("young", 0..=0);
    terms.add_word("woman", 1..=1);
    terms.add_prefix("lov", 2..=2);
    let projection = Projection { displayed: Selection::All, retrieved: Selection::All, with_vectors: false };
    let options = FormatOptions {
        highlight: Selection::All,
        crop: CropSelection::new(&["overview"], 20),
        ..FormatOptions::default()
    };
    let formatter = Formatter {
        projection: &projection,
        options: &options,
        terms: &terms,
        tokenizer: &Tokenizer::new(&TextOptions::default()),
        languages: &|_| Vec::new(),
        may_take: &|_| true,
    };
    c.bench_function("highlight and crop 20 films", |b| {
        b.iter(|| films.iter().map(|film| formatter.format(film).expect("a film is JSON")).collect::<Vec<_>>());
    });
}

criterion_group!(benches, values, highlight);
criterion_main!(benches);
