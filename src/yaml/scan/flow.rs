//! Plain and quoted scalars (`yaml_parser_scan_plain_scalar`, `yaml_parser_scan_flow_scalar`).
//!
//! Text is taken verbatim from the source in segments; a copy is made only where an escape or a folded line needs one.

use super::{Kind, Scan, Scanner, Style, TextRef};
use crate::yaml::error::Problem;

/// Bytes at which a plain scalar may end: blanks, line breaks, the colon, and in flow context the flow indicators.
const fn stops(flow: bool) -> [bool; 256] {
    let mut table = [false; 256];
    let always = b" \t\n\r:\xC2\xE2\0";
    let in_flow = b",?[]{}";
    let mut at = 0;
    while at < always.len() {
        table[always[at] as usize] = true;
        at += 1;
    }
    at = 0;
    while flow && at < in_flow.len() {
        table[in_flow[at] as usize] = true;
        at += 1;
    }
    table
}

const BLOCK_STOPS: [bool; 256] = stops(false);
const FLOW_STOPS: [bool; 256] = stops(true);

/// Text under construction: finished parts in the scanner's buffer, the rest still verbatim in the source.
struct Parts {
    buffer_start: usize,
    segment: usize,
    copied: bool,
}

impl Parts {
    fn finish(self, scanner: &mut Scanner<'_>, end: usize) -> TextRef {
        if self.copied {
            scanner.decoded.extend_from_slice(&scanner.src[self.segment..end]);
            TextRef { start: self.buffer_start, len: scanner.decoded.len() - self.buffer_start, decoded: true }
        } else {
            TextRef { start: self.segment, len: end - self.segment, decoded: false }
        }
    }

    fn flush(&mut self, scanner: &mut Scanner<'_>, end: usize) {
        scanner.decoded.extend_from_slice(&scanner.src[self.segment..end]);
        self.copied = true;
    }
}

/// Line breaks between two parts of a scalar, before they are folded.
#[derive(Default)]
struct Breaks {
    seen: bool,
    first: Vec<u8>,
    more: Vec<u8>,
}

impl Breaks {
    /// One line feed becomes a space, further ones stay; a first break of LS or PS stays as it is.
    fn fold(&mut self, out: &mut Vec<u8>) {
        if self.first.first() == Some(&b'\n') {
            if self.more.is_empty() {
                out.push(b' ');
            }
        } else {
            out.extend_from_slice(&self.first);
        }
        out.extend_from_slice(&self.more);
        self.first.clear();
        self.more.clear();
        self.seen = false;
    }
}

impl Scanner<'_> {
    fn parts(&self) -> Parts {
        Parts { buffer_start: self.decoded.len(), segment: self.pos, copied: false }
    }

    fn is_blank(&self) -> bool {
        matches!(self.at(0), b' ' | b'\t')
    }

    /// Reads the line break here into `breaks`.
    fn read_break(&mut self, breaks: &mut Breaks) {
        if breaks.seen {
            self.read_line(&mut breaks.more);
        } else {
            self.read_line(&mut breaks.first);
            breaks.seen = true;
        }
    }

    pub(super) fn fetch_plain(&mut self) -> Scan {
        self.save_key()?;
        self.key_allowed = false;
        let start = self.pos;
        let indent = self.indent + 1;
        let mut parts = self.parts();
        let mut breaks = Breaks::default();
        let mut end = self.pos;
        loop {
            if self.pos == self.line_start && self.document_indicator() || self.at(0) == b'#' {
                break;
            }
            self.plain_run(&mut parts, &mut breaks, &mut end);
            if !self.is_blank() && !self.is_break(0) {
                break;
            }
            loop {
                if self.is_blank() {
                    if breaks.seen && self.line_column() < indent && self.at(0) == b'\t' {
                        return Err(Problem::new(self.pos, "found a tab character that violates indentation"));
                    }
                    self.pos += 1;
                } else if self.is_break(0) {
                    self.read_break(&mut breaks);
                } else {
                    break;
                }
            }
            if self.flow_level == 0 && breaks.seen && self.line_column() < indent {
                break;
            }
        }
        if breaks.seen {
            self.key_allowed = true;
        }
        let text = parts.finish(self, end);
        self.tokens.push_back(super::Token { kind: Kind::Scalar(Style::Plain, text), start, end });
        Ok(())
    }

    /// Column where nothing but blanks stands before the current place on its line.
    fn line_column(&self) -> isize {
        isize::try_from(self.pos - self.line_start).unwrap_or(isize::MAX)
    }

    /// Steps over characters up to a blank, a line break or an indicator that ends the scalar.
    fn plain_run(&mut self, parts: &mut Parts, breaks: &mut Breaks, end: &mut usize) {
        let table = if self.flow_level > 0 { &FLOW_STOPS } else { &BLOCK_STOPS };
        let from = self.pos;
        while let Some(byte) = self.src.get(self.pos) {
            if table[usize::from(*byte)] {
                let goes_on = match byte {
                    b':' => !self.is_blankz(1),
                    0xC2 | 0xE2 => !self.is_break(0),
                    _ => false,
                };
                if !goes_on {
                    break;
                }
            }
            self.pos += 1;
        }
        if self.pos > from {
            if breaks.seen {
                parts.flush(self, *end);
                breaks.fold(&mut self.decoded);
                parts.segment = from;
            }
            *end = self.pos;
        }
    }

    pub(super) fn fetch_flow_scalar(&mut self, style: Style) -> Scan {
        self.save_key()?;
        self.key_allowed = false;
        let start = self.pos;
        self.pos += 1;
        let quote = if style == Style::Single { b'\'' } else { b'"' };
        let mut parts = self.parts();
        let mut breaks = Breaks::default();
        loop {
            if self.pos == self.line_start && self.document_indicator() {
                return Err(Problem::new(self.pos, "found a document indicator inside a quoted scalar"));
            }
            if self.is_end() {
                return Err(Problem::new(start, "the quoted scalar that starts here is never closed"));
            }
            self.quoted_run(style, start, &mut parts, &mut breaks)?;
            if self.at(0) == quote {
                break;
            }
            let blanks = self.pos;
            while self.is_blank() || self.is_break(0) {
                if self.is_blank() {
                    self.pos += 1;
                } else {
                    self.read_break(&mut breaks);
                }
            }
            if breaks.seen {
                parts.flush(self, blanks);
                breaks.fold(&mut self.decoded);
                parts.segment = self.pos;
            }
        }
        let text = parts.finish(self, self.pos);
        self.pos += 1;
        self.push(Kind::Scalar(style, text), start);
        Ok(())
    }

    /// Steps over the inside of a quoted scalar up to a blank, a line break or the closing quote, with its escapes.
    fn quoted_run(&mut self, style: Style, start: usize, parts: &mut Parts, breaks: &mut Breaks) -> Scan {
        while !self.is_blankz(0) {
            match (style, self.at(0)) {
                (Style::Single, b'\'') => {
                    if self.at(1) != b'\'' {
                        return Ok(());
                    }
                    parts.flush(self, self.pos);
                    self.decoded.push(b'\'');
                    self.pos += 2;
                    parts.segment = self.pos;
                }
                (Style::Double, b'"') => return Ok(()),
                (Style::Double, b'\\') if self.is_break(1) => {
                    parts.flush(self, self.pos);
                    self.pos += 1;
                    self.skip_line();
                    parts.segment = self.pos;
                    breaks.seen = true;
                    return Ok(());
                }
                (Style::Double, b'\\') => {
                    parts.flush(self, self.pos);
                    self.escape(start)?;
                    parts.segment = self.pos;
                }
                _ => {
                    let rest = self.src.get(self.pos + 1..).unwrap_or_default();
                    self.pos += 1 + rest.iter().take_while(|byte| PLAIN[usize::from(**byte)]).count();
                }
            }
        }
        Ok(())
    }

    /// Decodes the escape sequence here. `\/` is not among Go's.
    fn escape(&mut self, start: usize) -> Scan {
        let code_len = match self.at(1) {
            b'x' => 2,
            b'u' => 4,
            b'U' => 8,
            other => {
                let text = simple_escape(other).ok_or_else(|| {
                    Problem::new(self.pos, "found an unknown escape character in a double-quoted scalar")
                })?;
                match text.as_bytes() {
                    [byte] => self.decoded.push(*byte),
                    bytes => self.decoded.extend_from_slice(bytes),
                }
                self.pos += 2;
                return Ok(());
            }
        };
        let digits = self
            .src
            .get(self.pos + 2..self.pos + 2 + code_len)
            .filter(|digits| digits.iter().all(u8::is_ascii_hexdigit));
        let code = digits
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u32::from_str_radix(digits, 16).ok())
            .ok_or_else(|| Problem::new(self.pos, format!("an escape needs {code_len} hexadecimal digits")))?;
        let character = char::from_u32(code)
            .ok_or_else(|| Problem::new(start, "found an escape that is no Unicode character in a quoted scalar"))?;
        self.decoded.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        self.pos += 2 + code_len;
        Ok(())
    }
}

/// Bytes that are nothing but text in quotes of either sort: ASCII without blanks, quotes and backslashes.
const PLAIN: [bool; 256] = {
    let mut plain = [false; 256];
    let mut byte = 0x21;
    while byte < 0x7f {
        plain[byte] = !matches!(byte, 0x22 | 0x27 | 0x5c);
        byte += 1;
    }
    plain
};

fn simple_escape(byte: u8) -> Option<&'static str> {
    Some(match byte {
        b'0' => "\0",
        b'a' => "\x07",
        b'b' => "\x08",
        b't' | b'\t' => "\t",
        b'n' => "\n",
        b'v' => "\x0B",
        b'f' => "\x0C",
        b'r' => "\r",
        b'e' => "\x1B",
        b' ' => " ",
        b'"' => "\"",
        b'\'' => "'",
        b'\\' => "\\",
        b'N' => "\u{85}",
        b'_' => "\u{A0}",
        b'L' => "\u{2028}",
        b'P' => "\u{2029}",
        _ => return None,
    })
}
