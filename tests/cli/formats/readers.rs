//! Reads each format as its user does, and says what is wrong with a text.

use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

use html5ever::tendril::TendrilSink as _;
use markup5ever_rcdom::{Handle, NodeData, RcDom};
use pulldown_cmark::{Event, Options, Parser, Tag};
use serde_json::{Value, json};

use super::super::root;

type Found = Result<(), String>;

/// Checks a text in a format.
pub(in super::super) fn check(format: &str, text: &str) -> Found {
    if let Some(c) = text.chars().find(|c| rollgate::facade::report::escape::is_risky(*c) && !matches!(c, '\n' | '\t'))
    {
        return Err(format!("{c:?} stands in it"));
    }
    match format {
        "json" => serde_json::from_str::<Value>(text).map(drop).map_err(|error| error.to_string()),
        "markdown" => markdown(text),
        "sarif" => sarif(text),
        "junit" => junit(text).map(drop),
        "gitlab" => gitlab(text),
        "github" => github(text).map(drop),
        "html" => html(text).map(drop),
        "human" => Ok(()),
        _ => Err(format!("nobody here reads {format}")),
    }
}

fn faults(validator: &jsonschema::Validator, tree: &Value) -> Found {
    let faults: Vec<String> = validator.iter_errors(tree).map(|fault| fault.to_string()).take(3).collect();
    if faults.is_empty() { Ok(()) } else { Err(faults.join("; ")) }
}

/// By the schema of the standard, and by what GitHub asks for beyond it.
fn sarif(text: &str) -> Found {
    static SCHEMA: OnceLock<jsonschema::Validator> = OnceLock::new();
    let schema = SCHEMA.get_or_init(|| {
        let bytes = std::fs::read(root().join("testdata/formats/sarif-2.1.0.schema.json")).expect("the schema");
        jsonschema::validator_for(&serde_json::from_slice(&bytes).expect("JSON")).expect("a schema")
    });
    let log: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    faults(schema, &log)?;
    let run = &log["runs"][0];
    let rules = run["tool"]["driver"]["rules"].as_array().ok_or("no rules")?;
    let mut seen = HashSet::new();
    for result in run["results"].as_array().ok_or("no results")? {
        let place = usize::try_from(result["ruleIndex"].as_u64().ok_or("no ruleIndex")?).map_err(|_| "ruleIndex")?;
        if rules.get(place).map(|rule| &rule["id"]) != Some(&result["ruleId"]) {
            return Err(format!("ruleIndex {place} is not {}", result["ruleId"]));
        }
        let uri = &result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
        if uri.as_str().is_none_or(str::is_empty) {
            return Err("a result without a place: code scanning refuses the whole file".to_owned());
        }
        if !seen.insert(result["partialFingerprints"]["rollgate/v1"].clone()) {
            return Err(format!("a fingerprint stands twice: {result}"));
        }
    }
    match rules.iter().find(|rule| rule["help"]["text"].as_str().is_none_or(str::is_empty)) {
        Some(rule) => Err(format!("a rule without help: {rule}")),
        None => Ok(()),
    }
}

/// By the fields that GitLab documents (ci/testing/code_quality, "Code Quality report format").
fn gitlab(text: &str) -> Found {
    let schema = json!({
        "type": "array",
        "items": {
            "type": "object",
            "required": ["description", "check_name", "fingerprint", "severity", "location"],
            "additionalProperties": false,
            "properties": {
                "description": {"type": "string", "minLength": 1},
                "check_name": {"type": "string", "minLength": 1},
                "fingerprint": {"type": "string", "minLength": 1},
                "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
                "location": {
                    "type": "object",
                    "required": ["path", "lines"],
                    "properties": {
                        "path": {"type": "string", "minLength": 1, "not": {"pattern": "^\\./"}},
                        "lines": {
                            "type": "object",
                            "required": ["begin"],
                            "properties": {"begin": {"type": "integer", "minimum": 1}},
                        },
                    },
                },
            },
        },
    });
    let list: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    faults(&jsonschema::validator_for(&schema).expect("a schema"), &list)?;
    let mut seen = HashSet::new();
    match list.as_array().into_iter().flatten().find(|one| !seen.insert(one["fingerprint"].to_string())) {
        Some(twice) => Err(format!("GitLab keeps only the first of a fingerprint: {twice}")),
        None => Ok(()),
    }
}

/// By the reader of quick-junit; the counts of a suite must be those of its cases.
pub(super) fn junit(text: &str) -> Result<quick_junit::Report, String> {
    let report = quick_junit::Report::deserialize_from_str(text).map_err(|error| format!("{error:?}"))?;
    let count = |suite: &quick_junit::TestSuite, wanted: quick_junit::NonSuccessKind| {
        let cases = suite.test_cases.iter();
        cases
            .filter(
                |case| matches!(&case.status, quick_junit::TestCaseStatus::NonSuccess { kind, .. } if *kind == wanted),
            )
            .count()
    };
    let (mut tests, mut failures, mut errors) = (0, 0, 0);
    for suite in &report.test_suites {
        let found = (
            suite.test_cases.len(),
            count(suite, quick_junit::NonSuccessKind::Failure),
            count(suite, quick_junit::NonSuccessKind::Error),
        );
        if found != (suite.tests, suite.failures, suite.errors) {
            return Err(format!(
                "suite {} says {:?}",
                suite.name.as_str(),
                (suite.tests, suite.failures, suite.errors)
            ));
        }
        (tests, failures, errors) = (tests + found.0, failures + found.1, errors + found.2);
    }
    if (tests, failures, errors) != (report.tests, report.failures, report.errors) {
        return Err("the counts of all suites are not those of their cases".to_owned());
    }
    Ok(report)
}

/// One workflow command.
#[derive(Debug)]
pub(in super::super) struct Command {
    /// `error`, `warning` or `notice`.
    pub(super) name: String,
    /// Its properties, decoded.
    pub(super) properties: Vec<(String, String)>,
    /// Its message, decoded.
    pub(in super::super) message: String,
}

/// As the runner reads it, line by line (actions/runner src/Runner.Common/ActionCommand.cs, TryParseV2).
pub(in super::super) fn github(text: &str) -> Result<Vec<Command>, String> {
    let decoded = |text: &str, more: bool| {
        let text = text.replace("%0D", "\r").replace("%0A", "\n");
        let text = if more { text.replace("%3A", ":").replace("%2C", ",") } else { text };
        text.replace("%25", "%")
    };
    let mut list = Vec::new();
    for line in text.lines() {
        let rest = line.strip_prefix("::").ok_or_else(|| format!("no command: {line}"))?;
        let (head, message) = rest.split_once("::").ok_or_else(|| format!("no end of a command: {line}"))?;
        let (name, properties) = head.split_once(' ').unwrap_or((head, ""));
        if !["error", "warning", "notice"].contains(&name) {
            return Err(format!("a command of another kind: {line}"));
        }
        let properties = properties.split(',').map(|one| {
            let (name, value) = one.split_once('=').ok_or_else(|| format!("no property: {line}"))?;
            Ok((name.to_owned(), decoded(value, true)))
        });
        let properties: Vec<(String, String)> = properties.collect::<Result<_, String>>()?;
        if let Some((name, _)) =
            properties.iter().find(|(name, _)| !["file", "line", "col", "title"].contains(&name.as_str()))
        {
            return Err(format!("a property of another kind: {name}"));
        }
        if message.len() > 4096 {
            return Err(format!("a message of {} bytes", message.len()));
        }
        list.push(Command { name: name.to_owned(), properties, message: decoded(message, false) });
    }
    for name in ["error", "warning", "notice"] {
        let count = list.iter().filter(|command| command.name == name).count();
        if count > 10 {
            return Err(format!("{count} annotations of type {name}: a step may have 10"));
        }
    }
    Ok(list)
}

/// By the parser of browsers: no fault, nothing that runs or loads, no link that leaves the page. Gives the text of the page.
pub(super) fn html(text: &str) -> Result<String, String> {
    let page = html5ever::parse_document(RcDom::default(), html5ever::ParseOpts::default()).one(text);
    if let Some(fault) = page.errors.borrow().first() {
        return Err(format!("the parser says: {fault}"));
    }
    let mut seen = Seen::default();
    look(&page.document, &mut seen)?;
    if let Some(target) = seen.targets.iter().find(|target| !seen.ids.contains_key(*target)) {
        return Err(format!("nothing is called {target}"));
    }
    // Who listens to the page goes from part to part by their names.
    let mut names = HashSet::new();
    for label in &seen.labels {
        let mut name = String::new();
        for id in label.split_whitespace() {
            name.push_str(seen.ids.get(id).ok_or_else(|| format!("nothing is called {id}"))?);
            name.push(' ');
        }
        if !names.insert(name.clone()) {
            return Err(format!("two parts are named {name}"));
        }
    }
    Ok(seen.text)
}

/// What stands on a page.
#[derive(Default)]
struct Seen {
    text: String,
    /// The text of each element that has a name to link to.
    ids: HashMap<String, String>,
    targets: Vec<String>,
    labels: Vec<String>,
}

/// The elements that the page is made of.
const ELEMENTS: &str = "html head meta title style body header main footer section h1 h2 h3 h4 p ul ol li span code pre del ins a details \
                        summary div fieldset legend label input dl dt dd";

fn look(node: &Handle, seen: &mut Seen) -> Found {
    let start = seen.text.len();
    let mut own = None;
    match &node.data {
        NodeData::Text { contents } => seen.text.push_str(&contents.borrow()),
        NodeData::Comment { .. } => return Err("a comment".to_owned()),
        NodeData::Element { name, attrs, .. } => {
            let element = &*name.local;
            if !ELEMENTS.split_whitespace().any(|one| one == element) {
                return Err(format!("an element {element}"));
            }
            for attribute in attrs.borrow().iter() {
                let (name, value) = (&*attribute.name.local, attribute.value.to_string());
                match name {
                    "href" => {
                        seen.targets.push(value.strip_prefix('#').ok_or("a link that leaves the page")?.to_owned());
                    }
                    "aria-labelledby" => seen.labels.push(value),
                    "id" => own = Some(value),
                    "class" | "lang" | "charset" | "name" | "content" | "http-equiv" | "type" | "checked" | "open"
                    | "aria-label" => {}
                    _ => return Err(format!("an attribute {name} of {element}")),
                }
            }
        }
        _ => {}
    }
    node.children.borrow().iter().try_for_each(|child| look(child, seen))?;
    let text = seen.text.get(start..).unwrap_or_default().to_owned();
    match own.filter(|id| seen.ids.insert(id.clone(), text).is_some()) {
        Some(twice) => Err(format!("two elements are called {twice}")),
        None => Ok(()),
    }
}

/// By a reader of CommonMark with GitHub's tables: our markup and none of anybody else's.
fn markdown(text: &str) -> Found {
    let markup = [
        "<details>",
        "</details>",
        "<summary>",
        "</summary>",
        "<code>",
        "</code>",
        "<b>",
        "</b>",
        "<br>",
        "<sub>",
        "</sub>",
    ];
    let mut depth = 0;
    let tables =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_GFM | Options::ENABLE_FOOTNOTES;
    for event in Parser::new_ext(text, tables) {
        match event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                return Err(format!("a link to {dest_url}"));
            }
            Event::Start(Tag::FootnoteDefinition(_) | Tag::Strikethrough | Tag::Emphasis) => {
                return Err("markup that is not ours".to_owned());
            }
            Event::Html(html) | Event::InlineHtml(html) => {
                let mut rest: &str = html.trim();
                while let Some(at) = rest.find('<') {
                    let tag = &rest[at..=at + rest[at..].find('>').ok_or_else(|| format!("half a tag: {rest}"))?];
                    depth += i32::from(tag == "<details>") - i32::from(tag == "</details>");
                    let is_marker = tag.starts_with("<!-- rollgate:") && text.starts_with(tag);
                    if !markup.contains(&tag) && !is_marker {
                        return Err(format!("a tag of its own: {tag}"));
                    }
                    rest = &rest[at + tag.len()..];
                }
            }
            _ => {}
        }
    }
    if depth != 0 {
        return Err("details that do not end".to_owned());
    }
    // GitLab runs lines that start with a slash as commands, and notifies whoever is named.
    let (mut fence, mut columns) = (None::<String>, None);
    for line in text.lines() {
        match &fence {
            Some(end) if line == end => fence = None,
            Some(_) if !line.starts_with(['-', '+']) => {
                return Err(format!("a line of a block without its sign: {line}"));
            }
            Some(_) => {}
            None if line.starts_with("```") => fence = Some(line.trim_end_matches("diff").to_owned()),
            None => {
                for sign in ["@", "://", "www.", "##["] {
                    if line.contains(sign) {
                        return Err(format!("{sign} stands in {line}"));
                    }
                }
                if line.trim_start().starts_with('/') {
                    return Err(format!("a command: {line}"));
                }
                let count = line.starts_with('|').then(|| line.matches('|').count());
                if count.is_some() && columns.is_some() && count != columns {
                    return Err(format!("a row with other columns than the one before: {line}"));
                }
                columns = count;
            }
        }
    }
    if fence.is_some() { Err("a block that does not end".to_owned()) } else { Ok(()) }
}
