//! What could forge a report is written out: control characters, escape sequences of terminals, signs that turn the direction of a
//! text or hide in it, line ends in what has to be one line, commands to a CI service. A reader sees what was meant, or that there was more.

use std::borrow::Cow;
use std::io;

use serde_json::ser::Formatter;

use super::{DryRunReport, LateValueReport, Report};
use crate::model::{About, Within};
use crate::object::{Key, Location};
use crate::tree::{Map, Value};

/// Whether a character can change how what stands around it looks.
#[must_use]
pub fn is_risky(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// A text as one line.
#[must_use]
pub(crate) fn line(text: &str) -> Cow<'_, str> {
    escaped(text, |_| false)
}

/// A text of several lines.
#[must_use]
pub(crate) fn lines(text: &str) -> Cow<'_, str> {
    escaped(text, |c| c == '\n' || c == '\t')
}

/// Whether a CI service that reads the lines of a log would take a command from here on: `##[error]` and `##vso[task.setvariable]` of
/// Azure Pipelines (the first is GitHub's old form too), `##teamcity[...]`, each anywhere in a line; `::error::` of GitHub at its
/// start, which may be any word, as words are wrapped (actions/runner `src/Runner.Common/ActionCommand.cs`, azure-pipelines-agent
/// `src/Microsoft.VisualStudio.Services.Agent/Command.cs`).
fn is_command(before: Option<char>, rest: &str) -> bool {
    if let Some(rest) = rest.strip_prefix("##") {
        return rest
            .trim_start_matches(|c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
            .starts_with('[');
    }
    rest.strip_prefix("::").is_some_and(|rest| {
        !before.is_some_and(char::is_alphanumeric)
            && rest.starts_with(|c: char| c.is_ascii_alphabetic())
            && rest.as_bytes().windows(2).take_while(|two| two[0] != b'\n').any(|two| two == b"::")
    })
}

/// Each character with its place, and whether it can forge something by itself or begins a command.
fn signs(text: &str) -> impl Iterator<Item = (usize, char, bool)> {
    let commands = text.contains("##") || text.contains("::");
    let mut before = None;
    text.char_indices().map(move |(at, c)| {
        let command = commands && matches!(c, '#' | ':') && is_command(before, &text[at..]);
        before = Some(c);
        (at, c, command || is_risky(c))
    })
}

/// A value as JSON for people: indented, and such signs as escapes of JSON.
#[must_use]
pub(crate) fn json(value: &Value) -> String {
    let mut out = String::new();
    for (_, c, risky) in signs(&format!("{value:#}\n")) {
        if risky && c != '\n' { out.extend(units(c)) } else { out.push(c) }
    }
    out
}

/// A character as JSON escapes it.
fn units(c: char) -> impl Iterator<Item = String> {
    c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect::<Vec<_>>().into_iter()
}

/// Writes JSON with such signs as escapes: what is read from it is the same.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Visible;

impl Formatter for Visible {
    fn write_string_fragment<W: ?Sized + io::Write>(&mut self, out: &mut W, fragment: &str) -> io::Result<()> {
        let mut from = 0;
        if !is_plain(fragment) {
            for (at, c, _) in signs(fragment).filter(|(_, _, risky)| *risky) {
                out.write_all(&fragment.as_bytes()[from..at])?;
                units(c).try_for_each(|unit| out.write_all(unit.as_bytes()))?;
                from = at + c.len_utf8();
            }
        }
        out.write_all(&fragment.as_bytes()[from..])
    }
}

/// Nearly every text is plain, and reports are long.
fn is_plain(text: &str) -> bool {
    is_plain_beside(text, |_| false)
}

/// Bytes of names of Kubernetes, which are most texts of a long report.
const NAMES: [bool; 256] = {
    let mut names = [false; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        names[byte as usize] = byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'/' | b'_');
        byte += 1;
    }
    names
};

/// Texts longer than this are rarely names.
const LONGEST_NAME: usize = 64;

/// Whether a text is shown as it is, where some signs may stay.
fn is_plain_beside(text: &str, stays: fn(char) -> bool) -> bool {
    if text.len() <= LONGEST_NAME && text.bytes().all(|byte| NAMES[usize::from(byte)]) {
        return true;
    }
    let is_shown = |byte: u8| (0x20..0x7f).contains(&byte);
    // Without a branch inside, so that this is vectorised.
    let is_odd = text.bytes().fold(false, |odd, byte| odd | !is_shown(byte));
    let may_stay = |byte: u8| is_shown(byte) || byte.is_ascii() && stays(char::from(byte));
    if is_odd && !text.bytes().all(may_stay) {
        return false;
    }
    memchr::memchr2(b'#', b':', text.as_bytes()).is_none() || !(text.contains("##") || text.contains("::"))
}

fn escaped(text: &str, stays: fn(char) -> bool) -> Cow<'_, str> {
    if is_plain_beside(text, stays) || !signs(text).any(|(_, c, risky)| risky && !stays(c)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for (_, c, risky) in signs(text) {
        match c {
            c if !risky || stays(c) => out.push(c),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c => out.extend([format!("\\u{{{:x}}}", u32::from(c))]),
        }
    }
    Cow::Owned(out)
}

fn in_place(text: &mut String) {
    if let Cow::Owned(clean) = line(text) {
        *text = clean;
    }
}

fn maybe(text: &mut Option<String>) {
    text.iter_mut().for_each(in_place);
}

/// Escapes every name, key, sentence and value of a report. Values keep their line ends: they may be files.
pub fn report(report: &mut Report) {
    [&mut report.api_version, &mut report.kind].into_iter().for_each(in_place);
    for reason in &mut report.reasons {
        in_place(&mut reason.gate);
        in_place(&mut reason.message);
        [&mut reason.remedy, &mut reason.next].into_iter().for_each(maybe);
        reason.or.iter_mut().for_each(in_place);
        reason.object.iter_mut().for_each(key);
        about(&mut reason.about);
    }
    for finding in &mut report.findings {
        key(&mut finding.object);
        [&mut finding.id, &mut finding.message].into_iter().for_each(in_place);
        maybe(&mut finding.gate);
        about(&mut finding.about);
    }
    report.warnings.iter_mut().for_each(in_place);
    maybe(&mut report.digest_key);
    for cluster in &mut report.clusters {
        in_place(&mut cluster.name);
        [&mut cluster.namespace, &mut cluster.uid].into_iter().for_each(maybe);
    }
    for approval in &mut report.approvals {
        [&mut approval.place, &mut approval.message].into_iter().for_each(in_place);
        let texts =
            [&mut approval.id, &mut approval.reason, &mut approval.by, &mut approval.time, &mut approval.expires];
        texts.into_iter().for_each(maybe);
        approval.lifts.iter_mut().for_each(in_place);
    }
    if let Some(glass) = &mut report.break_glass {
        [&mut glass.reason, &mut glass.message].into_iter().for_each(in_place);
        [&mut glass.by, &mut glass.place, &mut glass.id].into_iter().for_each(maybe);
        glass.lifts.iter_mut().for_each(in_place);
    }
    if let Some(upgrade) = &mut report.upgrade {
        upgrade.each_text(in_place);
        upgrade.behaviours.iter_mut().flat_map(|behaviour| &mut behaviour.owners).for_each(key);
    }
    for object in &mut report.objects {
        [&mut object.api_version, &mut object.kind, &mut object.name, &mut object.because]
            .into_iter()
            .for_each(in_place);
        maybe(&mut object.namespace);
        maybe(&mut object.cluster);
        maybe(&mut object.renamed_from);
        in_place(&mut object.rule);
        object.location.iter_mut().for_each(location);
        for change in &mut object.changes {
            [&mut change.path, &mut change.because, &mut change.rule, &mut change.source]
                .into_iter()
                .for_each(in_place);
            change.location.iter_mut().for_each(location);
            maybe(&mut change.key);
            within(&mut change.within);
            [&mut change.before, &mut change.after].into_iter().for_each(|side| side.iter_mut().for_each(value));
        }
    }
    for ignored in &mut report.ignored {
        [&mut ignored.path, &mut ignored.reason].into_iter().for_each(in_place);
    }
    for rollout in &mut report.rollouts {
        key(&mut rollout.owner);
        in_place(&mut rollout.cluster);
        let lists = [&mut rollout.machine_names, &mut rollout.steps, &mut rollout.causes];
        lists.into_iter().for_each(|list| list.iter_mut().for_each(in_place));
        if let Some(course) = &mut rollout.course {
            course.order.iter_mut().chain(&mut course.stops).for_each(in_place);
        }
    }
    for together in &mut report.together {
        in_place(&mut together.cluster);
        maybe(&mut together.namespace);
        together.owners.iter_mut().for_each(key);
        together.waits.iter_mut().for_each(in_place);
    }
    report.server_dry_run.iter_mut().for_each(answers);
    report.late_values.iter_mut().for_each(late_value);
    [&mut report.policy.source, &mut report.live.source].into_iter().for_each(in_place);
    report.live.not_compared_objects.iter_mut().for_each(key);
    report.live.taken.iter_mut().for_each(in_place);
    maybe(&mut report.host.context);
    maybe(&mut report.host.release);
    maybe(&mut report.host.namespace);
    [&mut report.digest, &mut report.policy.digest].into_iter().for_each(in_place);
    for map in [&mut report.providers, &mut report.live.resource_versions] {
        *map = std::mem::take(map).into_iter().map(|(key, text)| (line(&key).into(), line(&text).into())).collect();
    }
}

fn about(about: &mut About) {
    maybe(&mut about.path);
    maybe(&mut about.rule);
    about.machine_names.iter_mut().for_each(in_place);
    about.location.iter_mut().for_each(location);
}

fn location(location: &mut Location) {
    maybe(&mut location.file);
    maybe(&mut location.template);
}

fn late_value(late: &mut LateValueReport) {
    in_place(&mut late.name);
    maybe(&mut late.value);
    maybe(&mut late.source);
    for place in &mut late.filled {
        [&mut place.object, &mut place.path].into_iter().for_each(in_place);
        maybe(&mut place.file);
        maybe(&mut place.encoding);
    }
    for attempt in &mut late.attempts {
        in_place(&mut attempt.source);
        attempt.keys.iter_mut().for_each(in_place);
    }
}

fn answers(report: &mut DryRunReport) {
    for object in &mut report.objects {
        [&mut object.api_version, &mut object.kind, &mut object.name, &mut object.because]
            .into_iter()
            .for_each(in_place);
        maybe(&mut object.namespace);
        for difference in &mut object.differences {
            in_place(&mut difference.path);
            maybe(&mut difference.key);
            within(&mut difference.within);
            [&mut difference.predicted, &mut difference.answered]
                .into_iter()
                .for_each(|side| side.iter_mut().for_each(value));
        }
    }
}

fn key(key: &mut Key) {
    let mut clean = key.identity();
    [&mut clean.group, &mut clean.kind, &mut clean.name].into_iter().for_each(in_place);
    maybe(&mut clean.namespace);
    if clean != **key {
        *key = clean.into();
    }
}

fn within(way: &mut [Within]) {
    way.iter_mut().for_each(|step| [&mut step.decode, &mut step.path].into_iter().for_each(in_place));
}

fn value(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(clean) = lines(text) {
                *text = clean.into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(self::value),
        Value::Object(map) => {
            if map.keys().any(|key| matches!(line(key), Cow::Owned(_))) {
                *map = std::mem::take(map)
                    .into_iter()
                    .map(|(key, value)| (line(&key).into_owned(), value))
                    .collect::<Map>();
            }
            map.values_mut().for_each(self::value);
        }
        _ => {}
    }
}

#[cfg(test)]
#[path = "escape_tests.rs"]
mod tests;
