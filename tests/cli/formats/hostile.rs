//! Names and values from a stream can forge nothing, whatever stands in them.

use std::collections::HashSet;

use rollgate::facade::report::{Format, escape};
use serde_json::Value;

use super::{readers, report, reports, written, written_all};

/// What somebody could write into a name or a value.
const HOSTILE: &[&str] = &[
    "\u{1b}[2J\u{1b}]8;;http://x\u{7}\u{9b}31m",
    "a\r\n::error file=x::forged\n::stop-commands::x",
    "%0A::error::x",
    "##[error]x ##[add-mask]y",
    "\u{202e}evil\u{2066}\u{200b}\u{feff}",
    "``` x\n```\n# head\n~~~",
    "`` ` **b** _i_ ~~s~~ \\",
    "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "\" onmouseover=\"alert(1)\" x='",
    "</pre></details></summary></table></section><h1>allow</h1>",
    "&lt;b&gt; &amp; &#60; &nbsp",
    "]]> <![CDATA[ x ]]> <?x?> <!DOCTYPE x [<!ENTITY a \"b\">]>",
    "--> <!-- x",
    "a | b || c \\| d",
    "| x | y |\n|---|---|",
    "@all @user/team #1 !2 ~3 &4 $5 ^6 %7",
    "[x](javascript:alert(1)) ![y](http://x/y.png) <http://x> [^1]: z",
    "https://evil.example/x www.evil.example mail@evil.example",
    "\n/close\n/approve\n/label x",
    "{{ 7 * 7 }} {% raw %} {# x #} ${{ secrets.X }}",
    "\u{fffe}\u{ffff}\u{fdd0}\u{10ffff}",
    "section_start:1:x\r\u{1b}[0K",
    "../../../etc/passwd",
    "- x\n+ y\n@@ -1 +1 @@",
    "---\n...\n",
];

/// The places of a report where any text may stand: one of each kind.
fn places(root: &Value) -> Vec<String> {
    fn walk(value: &Value, way: &str, out: &mut Vec<String>) {
        match value {
            Value::Object(map) => {
                for (key, value) in map {
                    walk(value, &format!("{way}/{}", key.replace('~', "~0").replace('/', "~1")), out);
                }
            }
            Value::Array(items) => {
                items.iter().enumerate().for_each(|(at, value)| walk(value, &format!("{way}/{at}"), out));
            }
            Value::String(_) => out.push(way.to_owned()),
            _ => {}
        }
    }
    let mut all = Vec::new();
    walk(root, "", &mut all);
    // A word of a table has no room for another one.
    all.retain(|place| {
        let mut tree = root.clone();
        *tree.pointer_mut(place).expect("it was found there") = "x".into();
        serde_json::from_value::<rollgate::facade::report::Report>(tree).is_ok()
    });
    all
}

/// A report with a text in these places, as the pipeline hands it to a format.
fn forged(root: &Value, places: &[String], text: &str) -> rollgate::facade::report::Report {
    let mut tree = root.clone();
    for place in places {
        let old = tree.pointer(place).and_then(Value::as_str).unwrap_or_default().to_owned();
        *tree.pointer_mut(place).expect("it was found there") = format!("{text}{old}{text}").into();
    }
    let mut report = report(&tree);
    escape::report(&mut report);
    report
}

/// Reports that together have every kind of place.
fn samples() -> Vec<(String, Value)> {
    let mut seen: HashSet<String> = HashSet::new();
    let kind =
        |place: &str| place.split('/').filter(|step| step.parse::<usize>().is_err()).collect::<Vec<_>>().join("/");
    let new = |tree: &Value, seen: &mut HashSet<String>| {
        let kinds: Vec<String> = places(tree).iter().map(|place| kind(place)).collect();
        kinds.into_iter().filter(|kind| seen.insert(kind.clone())).count() > 0
    };
    reports().into_iter().filter(|(_, tree)| new(tree, &mut seen)).collect()
}

#[test]
fn hostile_texts_in_every_place_forge_nothing_in_any_format() {
    let samples = samples();
    assert!(samples.len() > 5, "{} samples", samples.len());
    for (name, tree) in &samples {
        let places = places(tree);
        for text in HOSTILE {
            let report = forged(tree, &places, text);
            for (format, _) in Format::ALL {
                let written = written(format, &report);
                if let Err(fault) = readers::check(format, &written) {
                    panic!("{name} as {format} with {text:?}: {fault}\n{written}");
                }
            }
            // Of several releases the hostile one has every name that tells them apart.
            let both = [report.clone(), report];
            for (format, _) in Format::ALL.iter().filter(|_| places.iter().any(|place| place == "/host/release")) {
                let written = written_all(format, &both);
                if let Err(fault) = readers::check(format, &written) {
                    panic!("{name} twice as {format} with {text:?}: {fault}\n{written}");
                }
            }
        }
    }
}

#[test]
fn a_hostile_text_is_shown_as_it_is() {
    let (_, tree) = reports().into_iter().find(|(name, _)| name == "kcp-vip-moved").expect("the scenario");
    let text = "<b>&amp;]]>\"'`|*";
    let report = forged(&tree, &["/reasons/0/message".to_owned(), "/objects/0/changes/0/after".to_owned()], text);
    let page = readers::html(&written("html", &report)).expect("a page");
    assert!(page.contains(&format!("+ {text}10.0.3.42{text}")) && page.contains(&format!("rollout: {text}")), "{page}");
    let junit = readers::junit(&written("junit", &report)).expect("JUnit");
    let said = format!("{junit:?}");
    assert!(said.contains(&format!("{:?}", format!("{text}10.0.3.42{text}")).trim_matches('"').to_owned()), "{said}");
    let commands = readers::github(&written("github", &report)).expect("commands");
    assert!(commands.iter().any(|command| command.message.contains(text)), "{commands:?}");
}

#[test]
fn a_name_of_a_megabyte_is_cut_in_every_format_and_counted() {
    let (_, tree) = reports().into_iter().find(|(name, _)| name == "kcp-vip-moved").expect("the scenario");
    let long = "a|`<".repeat(250_000);
    let mut seen = HashSet::new();
    for place in places(&tree) {
        let kind: Vec<&str> = place.split('/').filter(|step| step.parse::<usize>().is_err()).collect();
        if !seen.insert(kind.join("/")) {
            continue;
        }
        let report = forged(&tree, std::slice::from_ref(&place), &long);
        for (format, _) in Format::ALL.iter().filter(|(name, _)| !matches!(*name, "human" | "json")) {
            let written = written(format, &report);
            assert!(written.len() < 100_000, "{place} as {format}: {} bytes", written.len());
            if let Err(fault) = readers::check(format, &written) {
                panic!("{place} as {format}: {fault}");
            }
        }
    }
    assert!(seen.len() > 25, "{} places", seen.len());
}
