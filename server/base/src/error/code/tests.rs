use super::*;

#[test]
fn codes_are_unique_and_found_by_their_text() {
    for &code in Code::ALL {
        assert_eq!(Code::parse(code.as_str()), Some(code));
    }
    assert_eq!(Code::parse("nope"), None);
}

#[test]
fn statuses_other_than_400_are_those_of_the_protocol_and_ours() {
    let of = |status: u16| {
        let mut names: Vec<_> =
            Code::ALL.iter().filter(|code| code.status() == status).map(|code| code.as_str()).collect();
        names.sort_unstable();
        names.join(" ")
    };
    assert_eq!(of(401), "missing_authorization_header missing_master_key");
    assert_eq!(of(403), "foreign_origin invalid_api_key remote_invalid_api_key");
    assert_eq!(
        of(404),
        "alias_not_found api_key_not_found batch_not_found chat_not_found document_not_found dump_not_found \
         dynamic_search_rule_not_found experiment_not_found generation_not_found index_not_found manual_page_not_found point_in_time_not_found \
         render_document_not_found task_file_not_found task_not_found webhook_not_found"
    );
    assert_eq!(
        of(409),
        "alias_already_exists api_key_already_exists dump_already_processing experiment_conflict generation_not_reached \
         index_already_exists index_mark_mismatch"
    );
    assert_eq!(
        of(412),
        "import_task_already_received import_task_unknown_remote network_version_mismatch \
         receive_import_finished_unknown_remote"
    );
    assert_eq!(of(413), "payload_too_large");
    assert_eq!(of(415), "invalid_content_type missing_content_type unsupported_media_type");
    assert_eq!(of(421), "replica_takes_no_writes");
    assert_eq!(of(422), "io_error no_space_left_on_device too_many_open_files");
    assert_eq!(of(429), "too_many_points_in_time");
    assert_eq!(of(451), "requires_enterprise_edition");
    assert_eq!(
        of(500),
        "database_size_limit_reached dump_process_failed index_creation_failed internal invalid_state \
         invalid_store_file unretrievable_document"
    );
    assert_eq!(
        of(502),
        "remote_bad_response remote_could_not_send_request remote_remote_error remote_timeout \
         s3_snapshot_server_error"
    );
    assert_eq!(
        of(503),
        "import_task_without_network_task index_not_here_yet store_not_reached too_many_search_requests \
         too_many_write_requests"
    );
}

#[test]
fn types_follow_the_protocol() {
    assert_eq!(Code::InvalidApiKey.error_type(), ErrorType::Auth);
    assert_eq!(Code::NotFoundSimilarId.status(), 400);
    assert_eq!(Code::UnretrievableDocument.error_type(), ErrorType::Internal);
    assert_eq!(Code::UnretrievableDocument.status(), 500);
    assert_eq!(Code::TooManySearchRequests.error_type(), ErrorType::System);
    assert_eq!(Code::IndexNotFound.error_type(), ErrorType::InvalidRequest);
}

/// The page that links lead to says the same as the table, in the same order.
#[test]
fn every_code_is_documented() {
    let page = include_str!("../../../../../docs/reference/errors.md");
    let documented: Vec<(&str, &str)> =
        page.split("\n### ").skip(1).map(|section| section.split_once("\n\n").expect("a heading, then text")).collect();
    let mut in_table = Code::ALL.iter();
    for (heading, text) in documented {
        let code = in_table.next().expect("no heading without a code");
        assert_eq!(heading, code.as_str());
        let error_type = serde_json::to_value(code.error_type()).unwrap();
        let start = format!("{}, `{}`. ", code.status(), error_type.as_str().unwrap());
        assert!(text.starts_with(&start), "{heading}: {text}");
    }
    assert_eq!(in_table.next(), None);
}
