//! The `rollgate debug yaml` command: each document as the line of JSON that Kubernetes would make of it.

use crate::yaml::error::Result;
use crate::yaml::read::read_lines;
use crate::yaml::split::split;

/// One line of JSON per document, `null` for an empty one.
///
/// # Errors
/// The first refusal of the stream; callers put the file name in front with [`crate::yaml::Error::with_file`].
pub fn lines(stream: &[u8]) -> Result<String> {
    let mut out = Vec::new();
    for section in split(stream)? {
        let tree = read_lines(section.document.of(stream), section.document.start, section.line)?;
        tree.write_json(&mut out)?;
        out.push(b'\n');
    }
    // Every part is text: scalars are, and what is not was replaced while it was written.
    Ok(String::from_utf8(out).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}
