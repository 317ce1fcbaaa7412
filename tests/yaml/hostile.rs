//! Input made to hurt: a clean error or a right answer, on the small stack of a test thread.

use rollgate::facade::yaml;

fn refused(text: &str) -> String {
    yaml::read(text.as_bytes()).expect_err("refused").to_string()
}

#[test]
fn nesting_is_bounded_as_in_go() {
    let flow = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    let block = |depth: usize| "- ".repeat(depth) + "a";
    let stairs = |depth: usize| (0..depth).map(|column| " ".repeat(column) + "a:\n").collect::<String>();
    for deep in [flow(10_000), block(9_999), stairs(3_000), "{a: ".repeat(5_000) + &"}".repeat(5_000)] {
        let tree = yaml::read(deep.as_bytes()).expect("readable");
        let mut json = Vec::new();
        tree.write_json(&mut json).expect("writable");
        assert!(json.len() > 6_000);
        assert!(tree.to_json().expect_err("too deep for a value").message.contains("nested"));
    }
    for deeper in [flow(10_001), block(20_000), "[".repeat(200_000), "? ".repeat(20_000), "{a: ".repeat(50_000)] {
        assert!(refused(&deeper).contains("nested more than 10000 levels"));
    }
}

#[test]
fn aliases_are_bounded() {
    let level = |level: usize| format!("a{level}: &a{level} [{}]\n", format!("*a{}, ", level - 1).repeat(9));
    let bomb: String = (1..12).map(level).collect();
    assert!(refused(&format!("a0: &a0 lol\n{bomb}")).contains("excessive aliasing"));
    // Within Go's budget, but the text would be 10 GB.
    let long = format!("a: &a {}\nb: [{}]\n", "x".repeat(200_000), "*a, ".repeat(50_000));
    let tree = yaml::read(long.as_bytes()).expect("readable");
    assert!(tree.write_json(&mut Vec::new()).is_err());
    assert!(tree.to_json().is_err());
}

#[test]
fn large_scalars_are_not_copied_more_than_once() {
    let plain = format!("a: {}", "x".repeat(20 << 20));
    assert_eq!(yaml::read(plain.as_bytes()).expect("readable").len(), 3);
    let open = format!("a: \"{}", "x ".repeat(5 << 20));
    assert!(refused(&open).starts_with("1:4:"));
    let broken = [plain.as_bytes(), b"\xFF"].concat();
    assert!(yaml::read(&broken).is_err());
}

#[test]
fn many_keys_and_items_are_read() {
    let keys: String = (0..200_000).map(|key| format!("k{key}: {key}\n")).collect();
    let tree = yaml::read(keys.as_bytes()).expect("readable");
    assert_eq!(tree.to_json().expect("a value").as_object().map(rollgate::facade::tree::Map::len), Some(200_000));
    let flow = format!("[{}]", "a,".repeat(500_000));
    assert_eq!(yaml::read(flow.as_bytes()).expect("readable").len(), 500_001);
    assert_eq!(yaml::debug::lines("---\n".repeat(100_000).as_bytes()).expect("readable").len(), 500_000);
}

#[test]
fn errors_name_the_place() {
    for (text, place) in [
        ("a: 1\nb: [c, {d: e}\n", "2:4"),
        ("é: 1\n\tb: 2\n", "2:1"),
        ("a: *x\n", "1:4"),
        ("a: 1\nb: \"x\n", "2:4"),
        ("k: é\u{7}\n", "1:5"),
        ("a: 1\n...\nb: 2\n", "3:1"),
        ("a: .inf\n", "1:4"),
        ("a: 1\n~: 2\n", "2:1"),
    ] {
        assert!(refused(text).starts_with(&format!("{place}: ")), "{text:?}: {}", refused(text));
    }
    let stream = b"a: 1\n---\nb: 2\n---\nc: @\n";
    let last = yaml::split(stream).expect("a stream")[2].document;
    assert_eq!(yaml::read_json(stream, last).expect_err("refused").line, 5);
    let error = yaml::debug::lines(b"a: 1\n---\nb: 2\n---\nc: @\n").expect_err("refused");
    assert_eq!((error.line, error.column), (5, 4));
    assert_eq!(error.message, "found a character that cannot start any token");
}
