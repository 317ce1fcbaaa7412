//! Sources of late values that are no objects: files and variables of this machine, web servers and programs. The last two only where
//! the environment allows them: a policy may come with the very change that is judged, and must not make this machine do things.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Stdio;

use tokio::io::AsyncReadExt as _;

use super::sources::{at_path, blank, each, keys_beside, tidy};
use super::web::{Address, PATIENCE};
use crate::policy::{HttpSource, Policy, Source, SourceKind, duration};
use crate::tree::Value;
use crate::world::{Gap, SourceReading};
use crate::yaml;

/// Most bytes of a value; a value is a line, not a document.
const MOST_BYTES: u64 = 64 * 1024;
/// Most bytes of a document that holds one.
pub(super) const MOST_DOCUMENT: u64 = 1024 * 1024;
/// The variable that names the kinds of sources which act: `http`, `exec`.
const ALLOWED: &str = "ROLLGATE_ALLOW_SOURCES";

/// Reads the sources of the late values with these names that are no objects. Relative files start from `folder`, that of the policy.
pub(crate) async fn local(
    policy: &Policy,
    names: &BTreeSet<String>,
    folder: &Path,
    env: &BTreeMap<String, String>,
) -> Vec<SourceReading> {
    let mut list = Vec::new();
    for (value, place, from) in each(policy, names) {
        let text = match from.kind() {
            SourceKind::File(file) => read_file(&folder.join(file), most(from)),
            SourceKind::Env(name) => Ok(env.get(name).cloned()),
            SourceKind::Http(http) => match allowed(env, "http") {
                Ok(()) => get(http, folder, most(from)).await,
                Err(why) => Err(why),
            },
            SourceKind::Exec(words) => match allowed(env, "exec") {
                Ok(()) => run(words, folder, most(from)).await,
                Err(why) => Err(why),
            },
            // Objects are read with the cluster, and a template is made of what was read.
            SourceKind::Object(_) | SourceKind::Template(_) => continue,
        };
        let mut reading = blank(value, place, from, None);
        match text.and_then(|text| text.map_or(Ok(Picked::default()), |text| pick(&text, from.path.as_deref()))) {
            Ok(Picked { found, keys }) => {
                reading.found = tidy(found);
                reading.gap = keys.map(Gap::KeyMissing);
            }
            Err(why) => reading.unread = Some(why),
        }
        list.push(reading);
    }
    list
}

/// Where a value is picked out of a document, that may be larger than a value.
const fn most(from: &Source) -> u64 {
    if from.path.is_some() { MOST_DOCUMENT } else { MOST_BYTES }
}

/// What was picked out of a text; the keys that are there where the wanted one is not.
#[derive(Default)]
struct Picked {
    found: Option<String>,
    keys: Option<Vec<String>>,
}

/// Picks a value out of a text: the whole of it, a JSONPath in YAML or JSON, or a variable of `KEY=VALUE` lines.
fn pick(text: &str, path: Option<&str>) -> Result<Picked, String> {
    let Some(path) = path else { return Ok(Picked { found: Some(text.to_owned()), keys: None }) };
    let (found, keys) = if path.starts_with('$') {
        let span = yaml::Span { start: 0, end: text.len() };
        let tree: Value = yaml::read_json(text.as_bytes(), span)
            .map_err(|error| format!("line {}: it is neither YAML nor JSON", error.line))?;
        (at_path(&tree, path)?.map(|(text, _)| text), keys_beside(&tree, path))
    } else {
        let variables = variables(text);
        (variables.get(path).cloned(), variables.into_keys().take(12).collect())
    };
    let keys = found.is_none().then_some(keys);
    Ok(Picked { found, keys })
}

/// The variables of `KEY=VALUE` lines, with or without `export` and quotes.
fn variables(text: &str) -> BTreeMap<String, String> {
    let lines = text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
    let pairs = lines.filter_map(|line| line.strip_prefix("export ").unwrap_or(line).split_once('='));
    pairs.map(|(name, value)| (name.trim().to_owned(), unquoted(value.trim()).to_owned())).collect()
}

fn unquoted(text: &str) -> &str {
    let inner = |mark: char| text.strip_prefix(mark)?.strip_suffix(mark);
    inner('"').or_else(|| inner('\'')).unwrap_or_else(|| text.split(" #").next().unwrap_or_default().trim_end())
}

/// Whether the environment allows sources of a kind.
///
/// # Errors
/// What to say where it does not.
pub(crate) fn allowed(env: &BTreeMap<String, String>, kind: &str) -> Result<(), String> {
    let named = env.get(ALLOWED).is_some_and(|text| text.split(',').any(|one| one.trim() == kind));
    if named {
        Ok(())
    } else {
        Err(format!("sources of this kind are not allowed here; set {ALLOWED}={kind} where the program runs"))
    }
}

/// The text of a file; `None` where there is no such file.
pub(super) fn read_file(file: &Path, most: u64) -> Result<Option<String>, String> {
    use std::io::Read as _;
    let data = match std::fs::metadata(file) {
        Ok(data) => data,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    // A pipe or a device might never end.
    if !data.is_file() {
        return Err("it is no file".to_owned());
    }
    let mut bytes = Vec::new();
    let file = std::fs::File::open(file).map_err(|error| error.to_string())?;
    file.take(most + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    text(bytes, most).map(Some)
}

/// Bytes as text, unless there are too many of them.
pub(super) fn text(bytes: Vec<u8>, most: u64) -> Result<String, String> {
    if bytes.len() as u64 > most {
        return Err(format!("it has more than {most} bytes, the most that is read"));
    }
    String::from_utf8(bytes).map_err(|_| "it is not text".to_owned())
}

/// What a program prints; `None` where that is nothing. Its errors stay its own.
async fn run(argv: &[String], folder: &Path, most: u64) -> Result<Option<String>, String> {
    let (program, arguments) = argv.split_first().ok_or_else(|| "no program is named".to_owned())?;
    let mut command = tokio::process::Command::new(program);
    command.args(arguments).current_dir(folder).kill_on_drop(true);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|error| format!("it cannot be run: {error}"))?;
    let output = child.stdout.take().ok_or_else(|| "it has no output".to_owned())?;
    let work = async {
        let mut bytes = Vec::new();
        output.take(most + 1).read_to_end(&mut bytes).await.map_err(|error| error.to_string())?;
        let text = text(bytes, most)?;
        let status = child.wait().await.map_err(|error| error.to_string())?;
        if status.success() { Ok(text) } else { Err(format!("it ended with {status}")) }
    };
    let text = tokio::time::timeout(PATIENCE, work).await;
    let text = text.map_err(|_| format!("it did not end within {} seconds", PATIENCE.as_secs()))??;
    Ok(Some(text).filter(|text| !text.trim().is_empty()))
}

/// The answer of a web server to GET; `None` where it says that there is nothing (404).
async fn get(http: &HttpSource, folder: &Path, most: u64) -> Result<Option<String>, String> {
    let limit = http.timeout.as_deref().and_then(|text| duration(text).ok()).unwrap_or(PATIENCE);
    Address { url: &http.url, ca: http.ca.as_deref(), folder, limit }.get(most).await
}

#[cfg(test)]
mod tests;
