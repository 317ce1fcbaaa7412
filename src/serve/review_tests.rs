//! Questions that are whole, those that are not, and answers.

use super::*;

fn review(request: Value) -> Vec<u8> {
    let mut review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": null});
    review["request"] = request;
    format!("{review}").into_bytes()
}

fn object(name: &str) -> Value {
    json!({"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Cluster", "metadata": {"name": name, "namespace": "n"}})
}

fn request(operation: &str, object: Value, old: Value) -> Value {
    let mut request = json!({
        "uid": "u", "kind": {"group": "cluster.x-k8s.io", "version": "v1beta1", "kind": "Cluster"},
        "resource": {"group": "cluster.x-k8s.io", "version": "v1beta1", "resource": "clusters"},
        "name": "c", "namespace": "n", "operation": operation
    });
    request["object"] = object;
    request["oldObject"] = old;
    request
}

#[test]
fn both_sides_are_read() {
    let read = parse(&review(request("UPDATE", object("c"), object("c")))).expect("a question");
    assert_eq!((read.uid.as_str(), read.operation, read.dry_run), ("u", Operation::Update, false));
    assert_eq!(read.before.expect("a side").key, read.after.expect("a side").key);
    let read = parse(&review(request("DELETE", Value::Null, object("c")))).expect("a question");
    assert!(read.after.is_none() && read.before.is_some());
}

#[test]
fn what_is_not_whole_is_no_question() {
    let whole = || request("UPDATE", object("c"), object("c"));
    let without = |key: &str| {
        let mut request = whole();
        request.as_object_mut().expect("a map").remove(key);
        review(request)
    };
    let cases = [
        b"{".to_vec(),
        b"[]".to_vec(),
        b"null".to_vec(),
        b"{}".to_vec(),
        review(Value::Null),
        without("uid"),
        without("kind"),
        without("operation"),
        without("oldObject"),
        without("object"),
        review(request("CREATE", object("c"), object("c"))),
        review(request("CREATE", Value::Null, Value::Null)),
        review(request("DELETE", object("c"), Value::Null)),
        review(request("PATCH", object("c"), object("c"))),
        review(request("UPDATE", object("c"), object("d"))),
        review(request("UPDATE", json!({"kind": "Cluster"}), object("c"))),
        review(request("UPDATE", json!("text"), object("c"))),
        format!("{}{{}}", String::from_utf8_lossy(&review(whole()))).into_bytes(),
        "[".repeat(100_000).into_bytes(),
    ];
    for case in cases {
        let fault = parse(&case).expect_err(&String::from_utf8_lossy(&case[..case.len().min(200)]));
        assert!(!fault.contains("text"), "{fault}");
    }
    let beta = String::from_utf8(review(whole())).expect("text").replace("k8s.io/v1\"", "k8s.io/v1beta1\"");
    assert!(parse(beta.as_bytes()).is_err(), "another version");
}

#[test]
fn another_object_than_the_request_names_is_no_side_of_it() {
    let mut other = request("UPDATE", object("c"), object("c"));
    other["object"]["metadata"]["namespace"] = json!("elsewhere");
    assert!(parse(&review(other)).is_err());
}

#[test]
fn a_refusal_is_403_and_uses_no_word_that_makes_others_delete() {
    let refusal = "spec.x is IMMUTABLE: Invalid value, field is immutable; Conflict".to_owned();
    let answer = Response { refusal: Some(refusal), ..Response::default() };
    let out: Value = serde_json::from_slice(&print("u", &answer)).expect("JSON");
    assert_eq!(out.pointer("/response/allowed").and_then(Value::as_bool), Some(false));
    assert_eq!(out.pointer("/response/status/code").and_then(Value::as_i64), Some(403));
    let message = out.pointer("/response/status/message").and_then(Value::as_str).expect("a message");
    let lower = message.to_ascii_lowercase();
    for (word, _) in WORDS {
        assert!(!lower.contains(word), "{message}");
    }
    assert_eq!(out.pointer("/response/uid").and_then(Value::as_str), Some("u"));
}

#[test]
fn warnings_are_short_lines() {
    let answer = Response { warnings: vec!["ä\n".repeat(400); 20], ..Response::default() };
    let out: Value = serde_json::from_slice(&print("u", &answer)).expect("JSON");
    let warnings = out.pointer("/response/warnings").and_then(Value::as_array).expect("warnings");
    assert_eq!(warnings.len(), WARNINGS);
    for warning in warnings.iter() {
        let text = warning.as_str().expect("text");
        assert!(text.chars().count() <= WARNING && !text.contains('\n'), "{text}");
    }
    assert_eq!(out.pointer("/response/allowed").and_then(Value::as_bool), Some(true));
}
