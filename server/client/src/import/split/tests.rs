//! Every format, cut at every place.

use std::io::BufReader;

use lamina_engine::document::{DocumentBytesMax, PayloadFormat, normalize_payload};
use proptest::prelude::*;

use super::*;

const SMALL: usize = 30;

fn limits(batch_bytes: usize) -> Limits {
    Limits { batch_bytes, document_bytes: 1000 }
}

/// The bodies of `text`, which is read in pieces of `buffer` bytes, with their places, and how it ended.
fn cut(format: Format, text: &[u8], buffer: usize, limits: Limits) -> (Vec<(String, Place)>, Result<(), ImportError>) {
    let reader = BufReader::with_capacity(buffer, io::Cursor::new(text.to_vec()));
    let source = Source { name: "input".into(), format, delimiter: b',', reader: Box::new(reader) };
    let mut batches = Vec::new();
    let result = split(source, limits, |batch| {
        batches.push((String::from_utf8(batch.body.to_vec()).unwrap(), batch.place));
        true
    });
    (batches, result)
}

/// `expected`: each body, how many documents it has, and its first and last line.
#[track_caller]
fn check(format: Format, text: &str, batch_bytes: usize, expected: &[(&str, u64, u64, u64)]) {
    for buffer in [1, 3, 7, 1 << 16] {
        let (batches, result) = cut(format, text.as_bytes(), buffer, limits(batch_bytes));
        result.unwrap();
        let sent: Vec<_> = batches
            .iter()
            .map(|(body, place)| (body.as_str(), place.document_count, place.first_line, place.last_line))
            .collect();
        assert_eq!(sent, expected, "buffer of {buffer}");
        let mut next = 1;
        for (_, place) in &batches {
            assert_eq!(place.first_document, next);
            next += place.document_count;
        }
    }
}

/// Checks the batches sent before a fault of the input, and the error message for it.
#[track_caller]
fn refused(format: Format, text: &str, sent: &[&str], message: &str) {
    for buffer in [1, 5, 1 << 16] {
        let (batches, result) = cut(format, text.as_bytes(), buffer, limits(SMALL));
        assert_eq!(batches.iter().map(|(body, _)| body.as_str()).collect::<Vec<_>>(), sent, "buffer of {buffer}");
        assert_eq!(result.unwrap_err().to_string(), message, "buffer of {buffer}");
    }
}

#[test]
fn lines_are_kept_whole() {
    let text = "\n{\"id\":1}\n\n{\"id\":2}\r\n  \n{\"id\":3}";
    check(Format::Ndjson, text, 1000, &[("{\"id\":1}\n\n{\"id\":2}\r\n  \n{\"id\":3}\n", 3, 2, 6)]);
    check(Format::Ndjson, text, 24, &[("{\"id\":1}\n\n{\"id\":2}\r\n  \n", 2, 2, 4), ("{\"id\":3}\n", 1, 6, 6)]);
    let single = [("{\"id\":1}\n\n", 1, 2, 2), ("{\"id\":2}\r\n  \n", 1, 4, 4), ("{\"id\":3}\n", 1, 6, 6)];
    check(Format::Ndjson, text, 1, &single);
    check(Format::Ndjson, "", 10, &[]);
    check(Format::Ndjson, " \n\n", 10, &[]);
}

#[test]
fn documents_on_one_line_are_counted_each() {
    let text = "{\"id\":1}{\"id\":2} {\"of\":\"}{\"}\n{\"id\":4}\n";
    check(Format::Ndjson, text, 1000, &[(text, 4, 1, 2)]);
    let single =
        [("{\"id\":1}", 1, 1, 1), ("{\"id\":2}", 1, 1, 1), (" {\"of\":\"}{\"}\n", 1, 1, 1), ("{\"id\":4}\n", 1, 2, 2)];
    check(Format::Ndjson, text, 1, &single);
    // Braces in texts part nothing, and a broken line is one.
    for line in ["{\"of\":\"a} {b\"}\n", "{\"id\":1}{\"id\":\n", "{\"id\":1}{\"id\":2} 5\n"] {
        check(Format::Ndjson, line, 1, &[(line, 1, 1, 1)]);
    }
}

#[test]
fn documents_of_several_lines_are_kept_whole() {
    for document in [
        "{\n\"id\":1\n}\n",
        "  {\n  \"id\": 1,\n\n  \"of\": {\n    \"x\": [\n      {\n      },\n      {\"y\":1}\n]}\n  }\n",
        "{\"of\":\n{\"x\":1}\n}\n",
        "{\"of\":[\n{}\n,\n{}\n]}\n",
        "{\"of\":[{}\n,{},\n{}],\"id\"\n:\n1}\n",
    ] {
        let last = document.lines().count() as u64;
        let text = [document, document].concat();
        check(Format::Ndjson, &text, 1, &[(document, 1, 1, last), (document, 1, last + 1, last * 2)]);
    }
}

#[test]
fn what_is_no_object_is_taken_line_by_line() {
    for lines in
        [["one\n", "two\n"], ["[{\"id\":1},\n", "{\"id\":2}]\n"], ["{\"id\":1}\n", "x\n"], ["{\"id\":1\n", "{}\n"]]
    {
        check(Format::Ndjson, &lines.concat(), 1, &[(lines[0], 1, 1, 1), (lines[1], 1, 2, 2)]);
    }
}

#[test]
fn an_array_becomes_its_elements() {
    let text = " [ {\"a\":\"}]\\\"{\", \"b\":[{},[]]} ,\n{\"c\":\n1}]\n";
    check(Format::Json, text, 1000, &[("{\"a\":\"}]\\\"{\", \"b\":[{},[]]}  \n{\"c\":\n1} \n", 2, 1, 3)]);
    check(Format::Json, text, 5, &[("{\"a\":\"}]\\\"{\", \"b\":[{},[]]}", 1, 1, 1), ("{\"c\":\n1}", 1, 2, 3)]);
    check(Format::Json, "{\"id\":1}", 5, &[("{\"id\":1}", 1, 1, 1)]);
    check(Format::Json, "{\"id\":1}{\"id\":2}\n", 50, &[("{\"id\":1}{\"id\":2}\n", 2, 1, 1)]);
    check(Format::Json, " []", 5, &[]);
    let (batches, _) = cut(Format::Json, b"[{\"id\":1},{\"id\":2}]", 100, limits(5));
    assert_eq!(batches.iter().map(|(_, place)| place.column).collect::<Vec<_>>(), [2, 11]);
}

#[test]
fn a_broken_array_is_reported_behind_what_is_right() {
    let one = "{\"id\":1}";
    let refused =
        |text: &str, sent: &[&str], message: &str| refused(Format::Json, text, sent, &format!("input: {message}"));
    let end = "found the end of the input";
    refused(
        "",
        &[],
        &format!("expected an array of JSON objects, or a JSON object at line 1 column 1, before any document, {end}"),
    );
    refused("\n [", &[], &format!("expected a JSON object or `]` at line 2 column 3, before any document, {end}"));
    refused("[{\"id\":1}", &[one], &format!("expected `,` or `]` at line 1 column 10, after document 1, {end}"));
    refused(
        "[{\"id\":1},\n",
        &["{\"id\":1} \n"],
        &format!("expected a JSON object at line 2 column 1, after document 1, {end}"),
    );
    refused(
        "[{\"id\":1},]",
        &["{\"id\":1} "],
        "expected a JSON object at line 1 column 11, after document 1, found `]`",
    );
    refused(
        "[{\"id\":1} {}]",
        &["{\"id\":1} "],
        "expected `,` or `]` at line 1 column 11, after document 1, found `{`",
    );
    refused("[[{\"id\":1}]]", &[], "expected a JSON object or `]` at line 1 column 2, before any document, found `[`");
    refused("[1]", &[], "expected a JSON object or `]` at line 1 column 2, before any document, found `1`");
    refused("[,{}]", &[], "expected a JSON object or `]` at line 1 column 2, before any document, found `,`");
    refused("[]]", &[], "expected the end of the input at line 1 column 3, before any document, found `]`");
    refused(
        "[{\"id\":1}][]",
        &["{\"id\":1} "],
        "expected the end of the input at line 1 column 11, after document 1, found `[`",
    );
    let message =
        "expected another JSON object or the end of the input at line 1 column 9, after document 1, found `,`";
    refused("{\"id\":1},{}", &[one], message);
    refused(
        "[{\"id\":1}, {\"id",
        &["{\"id\":1}  "],
        "the JSON text ends inside document 2, which starts at line 1 column 12",
    );
}

#[test]
fn rows_carry_their_header_and_quoted_newlines() {
    let text = "\nid,text\n1,\"a\nb \"\"c\"\"\"\n\n2,d";
    check(Format::Csv, text, 1000, &[("id,text\n1,\"a\nb \"\"c\"\"\"\n\n2,d", 2, 3, 6)]);
    check(Format::Csv, text, 1, &[("id,text\n1,\"a\nb \"\"c\"\"\"\n", 1, 3, 4), ("id,text\n2,d", 1, 6, 6)]);
    check(Format::Csv, "id,text\n", 10, &[]);
    check(Format::Csv, "id\r\n1\r\n  \r\n2\r\n", 1000, &[("id\r\n1\r\n\r\n2\r\n", 2, 2, 4)]);
    check(Format::Csv, "id\r1\r2", 1, &[("id\r\n1\r", 1, 1, 1), ("id\r\n2", 1, 1, 1)]);
}

#[test]
fn only_a_quote_at_the_start_of_a_cell_holds_a_row_together() {
    let text = "id,a\n1,27 \" wide\n2, \"x\n3,\"y\n\"\n4,\"z\"\"\nz\"\n";
    let single = [("1,27 \" wide\n", 2, 2), ("2, \"x\n", 3, 3), ("3,\"y\n\"\n", 4, 5), ("4,\"z\"\"\nz\"\n", 6, 7)];
    let bodies = single.map(|(row, first, last)| (format!("id,a\n{row}"), first, last));
    let expected: Vec<_> = bodies.iter().map(|(body, first, last)| (body.as_str(), 1, *first, *last)).collect();
    check(Format::Csv, text, 1, &expected);
}

#[test]
fn a_document_without_end_is_given_up() {
    let long = "x".repeat(2000);
    let refused = |format, text: &str, sent: &[&str], place: &str, hint: &str| {
        let size = "1 KB. ";
        let message =
            format!("input: {place}, is larger than {size}{hint}. For documents of that size, give a larger ");
        refused(
            format,
            text,
            sent,
            &(message + "--batch-bytes here and a larger --http-payload-size-limit to the server"),
        );
    };
    let hint = "Each document needs its own line";
    refused(Format::Ndjson, &long, &[], "document 1, from line 1 on", hint);
    refused(Format::Ndjson, &format!("{{}}\n\n{{{long}\n"), &["{}\n\n"], "document 2, from line 3 on", hint);
    refused(Format::Ndjson, &"{\"id\":1},\n".repeat(200), &[], "document 1, from line 1 on", hint);
    let hint = "A string or a brace in it may not be closed";
    refused(Format::Json, &format!("[{{}},\n{{\"{long}"), &["{} \n"], "document 2, from line 2 on", hint);
    refused(Format::Json, &format!("[{{}},\n{{\"{long}\"}}]"), &["{} \n"], "document 2, from line 2 on", hint);
    let hint = "A quote at the start of one of its cells may have no other at the end";
    refused(Format::Csv, &format!("id\n1\n\"2\n{long}"), &["id\n1\n"], "document 2, from line 3 on", hint);
    refused(Format::Csv, &format!("id\n1\n2{long}\n"), &["id\n1\n"], "document 2, from line 3 on", hint);
}

#[test]
fn an_unreadable_rest_leaves_what_came_before() {
    struct Cut(io::Cursor<&'static [u8]>);
    impl io::Read for Cut {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            match self.0.read(buffer)? {
                0 => Err(io::Error::other("unplugged")),
                count => Ok(count),
            }
        }
    }
    for format in [Format::Ndjson, Format::Json] {
        let reader = Box::new(BufReader::new(Cut(io::Cursor::new(b"{\"id\":1}\n{\"id\":2}\n{\"id"))));
        let mut count = 0;
        let result = split(Source { name: "input".into(), format, delimiter: b',', reader }, limits(1000), |batch| {
            count += batch.place.document_count;
            true
        });
        assert_eq!(result.unwrap_err().to_string(), "input: unplugged");
        // Whether the last line is whole could not be seen.
        assert_eq!(count, if format == Format::Json { 2 } else { 1 });
    }
}

/// The documents of a CSV up to the first that is wrong, as the server reads them.
fn read_by_server(body: &[u8], delimiter: u8) -> (String, bool) {
    let mut documents = Vec::new();
    let result =
        normalize_payload(PayloadFormat::Csv { delimiter }, body, &mut documents, &mut DocumentBytesMax(usize::MAX));
    (String::from_utf8(documents).unwrap(), result.is_ok())
}

proptest! {
    /// However rows are cut, the server reads the same documents from the pieces as from the whole.
    #[test]
    fn rows_are_cut_where_the_server_cuts_them(
        rows in prop::collection::vec(prop::collection::vec(prop_oneof!["[\",x\n\r]{0,3}", "\"[,x\n\r]{0,3}\"", "x?"], 1..3), 0..8),
        delimiter in prop::sample::select(b",;x".to_vec()),
        buffer in 1..10usize,
        batch_bytes in 1..40usize,
    ) {
        let delimiter_text = char::from(delimiter).to_string();
        let rows: Vec<String> = rows.iter().map(|row| row.join(&delimiter_text)).collect();
        let text = format!("a{delimiter_text}b\n{}", rows.join("\n"));
        let (whole, is_right) = read_by_server(text.as_bytes(), delimiter);
        let reader = Box::new(BufReader::with_capacity(buffer, io::Cursor::new(text.clone().into_bytes())));
        let source = Source { name: "input".into(), format: Format::Csv, delimiter, reader };
        let (mut pieces, mut all_right) = (String::new(), true);
        split(source, limits(batch_bytes), |batch| {
            let (documents, is_right) = read_by_server(&batch.body, delimiter);
            pieces += &documents;
            all_right = is_right;
            assert!(!is_right || documents.lines().count() as u64 == batch.place.document_count);
            is_right
        }).unwrap();
        prop_assert_eq!((pieces, all_right), (whole, is_right), "{:?}", text);
    }
}

#[test]
fn a_broken_line_keeps_none_of_its_neighbours() {
    // Each of these seems to go on in the next line.
    for broken in ["{\"id\":2,\"a\":", "{\"id\":2,\"a\":\"b\",", "{\"id\":2,\"a\":["] {
        let text = format!("{{\"id\":1}}\n{broken}\n{{\"id\":3}}\n\n{{\"id\":4}}\n");
        let broken = format!("{broken}\n");
        let expected = [
            ("{\"id\":1}\n", 1, 1, 1),
            (broken.as_str(), 1, 2, 2),
            ("{\"id\":3}\n", 1, 3, 3),
            ("{\"id\":4}\n", 1, 5, 5),
        ];
        check(Format::Ndjson, &text, 1, &expected);
    }
    // A document over several lines that is right, and one whose lines are no documents.
    for whole in ["{\"id\":2,\"a\":\n{\"b\":1}\n}\n", "{\"id\":2,\"a\":[\n{\"b\":1},\n{\"b\":}\n]}\n"] {
        check(Format::Ndjson, whole, 1, &[(whole, 1, 1, line_breaks(whole.as_bytes()))]);
    }
}

#[test]
fn parts_of_batches_have_their_own_places() {
    for (format, header, separator) in [(Format::Ndjson, "", ""), (Format::Csv, "id,a\n", "")] {
        let rows: Vec<String> = (0..5)
            .map(|id| match format {
                Format::Csv => format!("{id},\"x\ny\"\n{separator}"),
                _ => format!("{{\"id\":{id},\n\"a\":1}}\n\n"),
            })
            .collect();
        let text = format!("{header}{}", rows.concat());
        let mut batches = Vec::new();
        let source = Source {
            name: "input".into(),
            format,
            delimiter: b',',
            reader: Box::new(io::Cursor::new(text.into_bytes())),
        };
        split(source, limits(1000), |batch| {
            batches.push(batch);
            true
        })
        .unwrap();
        let whole = batches.pop().unwrap();
        let lines = if format == Format::Csv { 2 } else { 3 };
        let check = |batch: &Batch, first: u64, count: u64| {
            let rows = &rows[first as usize..(first + count) as usize];
            assert_eq!(std::str::from_utf8(&batch.body).unwrap(), format!("{header}{}", rows.concat()));
            let line = whole.place.first_line + first * lines;
            let place = Place {
                first_document: first + 1,
                document_count: count,
                first_line: line,
                last_line: line + (count - 1) * lines + 1,
                ..whole.place.clone()
            };
            assert_eq!(batch.place, place);
        };
        check(&whole, 0, 5);
        let (first, second) = whole.halves().unwrap();
        check(&first, 0, 2);
        check(&second, 2, 3);
        let (third, rest) = second.halves().unwrap();
        check(&third, 2, 1);
        assert!(third.halves().is_none());
        check(&rest, 3, 2);
        check(&whole.documents_of_file(2, 3).unwrap(), 1, 3);
        check(&second.documents_of_file(4, 1).unwrap(), 3, 1);
        assert!(second.documents_of_file(2, 1).is_none());
        assert!(second.documents_of_file(5, 2).is_none());
    }
}
