//! Sources of late values that are no objects: files and variables of this machine, web servers and programs. The last two only where
//! the environment allows them: a policy may come with the very change that is judged, and must not make this machine do things.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use futures_util::AsyncReadExt as _;
use tokio::io::AsyncReadExt as _;

use super::sources::{at_path, blank, each, keys_beside, tidy};
use crate::policy::{HttpSource, Policy, Source, duration};
use crate::tree::Value;
use crate::world::{Gap, SourceReading};
use crate::yaml;

/// Most bytes of a value; a value is a line, not a document.
const MOST_BYTES: u64 = 64 * 1024;
/// Most bytes of a document that holds one.
const MOST_DOCUMENT: u64 = 1024 * 1024;
/// Longest time for an answer or an output, where nothing is said.
const PATIENCE: Duration = Duration::from_secs(10);
/// The variable that names the kinds of sources which act: `http`, `exec`.
const ALLOWED: &str = "ROLLGATE_ALLOW_SOURCES";

/// Reads the sources of the late values with these names that are no objects. Relative files start from `folder`, that of the policy.
pub async fn local(
    policy: &Policy,
    names: &BTreeSet<String>,
    folder: &Path,
    env: &BTreeMap<String, String>,
) -> Vec<SourceReading> {
    let mut list = Vec::new();
    for (value, place, from) in each(policy, names) {
        let text = match from {
            Source { file: Some(file), .. } => read_file(&folder.join(file), most(from)),
            Source { env: Some(name), .. } => Ok(env.get(name).cloned()),
            Source { http: Some(http), .. } => match allowed(env, "http") {
                Ok(()) => get(http, folder, most(from)).await,
                Err(why) => Err(why),
            },
            Source { exec, .. } if !exec.is_empty() => match allowed(env, "exec") {
                Ok(()) => run(exec, folder, most(from)).await,
                Err(why) => Err(why),
            },
            _ => continue,
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

fn allowed(env: &BTreeMap<String, String>, kind: &str) -> Result<(), String> {
    let named = env.get(ALLOWED).is_some_and(|text| text.split(',').any(|one| one.trim() == kind));
    if named {
        Ok(())
    } else {
        Err(format!("sources of this kind are not allowed here; set {ALLOWED}={kind} where the program runs"))
    }
}

/// The text of a file; `None` where there is no such file.
fn read_file(file: &Path, most: u64) -> Result<Option<String>, String> {
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
fn text(bytes: Vec<u8>, most: u64) -> Result<String, String> {
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

/// The answer of a web server to GET; `None` where it says that there is nothing (404). Redirections are not followed.
async fn get(http: &HttpSource, folder: &Path, most: u64) -> Result<Option<String>, String> {
    let uri: http::Uri = http.url.parse().map_err(|_| "its address cannot be read".to_owned())?;
    let mut base = http::uri::Parts::default();
    (base.scheme, base.authority) = (uri.scheme().cloned(), uri.authority().cloned());
    base.path_and_query = Some(http::uri::PathAndQuery::from_static("/"));
    let base = http::Uri::from_parts(base).map_err(|_| "its address cannot be read".to_owned())?;
    let mut config = kube::Config::new(base);
    if let Some(file) = &http.ca {
        let pem = read_file(&folder.join(file), MOST_DOCUMENT)?.ok_or_else(|| format!("there is no file {file}"))?;
        config.root_cert = Some(certificates(&pem).ok_or_else(|| format!("{file} holds no certificates in PEM"))?);
    }
    let limit = http.timeout.as_deref().and_then(|text| duration(text).ok()).unwrap_or(PATIENCE);
    let client =
        kube::Client::try_from(config).map_err(|_| "it cannot be asked: its certificates cannot be used".to_owned())?;
    let path = uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
    let request = http::Request::get(path).body(Vec::new()).map_err(|_| "its address cannot be read".to_owned())?;
    let work = async {
        let body = match client.request_stream(request).await {
            Ok(body) => body,
            Err(kube::Error::Api(status)) if status.code == 404 => return Ok(None),
            Err(kube::Error::Api(status)) => return Err(format!("it answers {}", status.code)),
            Err(_) => return Err("it cannot be reached, or its certificate is not trusted".to_owned()),
        };
        let mut bytes = Vec::new();
        std::pin::pin!(body.take(most + 1)).read_to_end(&mut bytes).await.map_err(|error| error.to_string())?;
        text(bytes, most).map(Some)
    };
    let answer = tokio::time::timeout(limit, work).await;
    answer.map_err(|_| format!("it did not answer within {} seconds", limit.as_secs()))?
}

/// The certificates of a PEM file, in DER.
fn certificates(pem: &str) -> Option<Vec<Vec<u8>>> {
    use base64::Engine as _;
    let (begin, end) = ("-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----");
    let blocks = pem.split(begin).skip(1).map(|block| {
        let letters: String = block.split(end).next()?.split_ascii_whitespace().collect();
        base64::engine::general_purpose::STANDARD.decode(letters).ok()
    });
    blocks.collect::<Option<Vec<_>>>().filter(|list| !list.is_empty())
}

#[cfg(test)]
mod tests;
