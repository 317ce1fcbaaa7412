//! Literal and folded block scalars (`yaml_parser_scan_block_scalar`).

use super::{Kind, Scan, Scanner, Style, TextRef};
use crate::yaml::error::Problem;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Chomp {
    Strip,
    Clip,
    Keep,
}

impl Scanner<'_> {
    pub(super) fn fetch_block_scalar(&mut self, style: Style) -> Scan {
        self.remove_key()?;
        self.key_allowed = true;
        let start = self.pos;
        let (chomp, increment) = self.block_header()?;
        let mut end = self.pos;
        let mut indent = if increment > 0 { self.indent.max(0) + increment } else { 0 };
        let buffer_start = self.decoded.len();
        let mut out = std::mem::take(&mut self.decoded);
        let result = self.block_lines(style, chomp, &mut indent, &mut out, &mut end);
        self.decoded = out;
        result?;
        let text = TextRef { start: buffer_start, len: self.decoded.len() - buffer_start, decoded: true };
        self.tokens.push_back(super::Token { kind: Kind::Scalar(style, text), start, end });
        Ok(())
    }

    /// Reads `|` or `>`, the indicators after it and the rest of the line.
    fn block_header(&mut self) -> Scan<(Chomp, isize)> {
        self.pos += 1;
        let mut chomp = None;
        let mut increment = 0;
        for _ in 0..2 {
            match self.at(0) {
                b'+' if chomp.is_none() => chomp = Some(Chomp::Keep),
                b'-' if chomp.is_none() => chomp = Some(Chomp::Strip),
                b'0' if increment == 0 => {
                    return Err(Problem::new(self.pos, "the indentation indicator of a block scalar cannot be 0"));
                }
                digit @ b'1'..=b'9' if increment == 0 => increment = isize::from(digit - b'0'),
                _ => break,
            }
            self.pos += 1;
        }
        while matches!(self.at(0), b' ' | b'\t') {
            self.pos += 1;
        }
        if self.at(0) == b'#' {
            self.skip_to_break();
        }
        if !self.is_breakz() {
            return Err(Problem::new(self.pos, "a comment or a line break must follow the header of a block scalar"));
        }
        self.skip_line();
        Ok((chomp.unwrap_or(Chomp::Clip), increment))
    }

    fn block_lines(
        &mut self,
        style: Style,
        chomp: Chomp,
        indent: &mut isize,
        out: &mut Vec<u8>,
        end: &mut usize,
    ) -> Scan {
        let mut leading_break = Vec::new();
        let mut trailing = Vec::new();
        let mut leading_blank = false;
        self.block_breaks(indent, &mut trailing, end)?;
        while self.block_column() == *indent && !self.is_end() {
            let blank = matches!(self.at(0), b' ' | b'\t');
            if style == Style::Folded && !leading_blank && !blank && leading_break.first() == Some(&b'\n') {
                if trailing.is_empty() {
                    out.push(b' ');
                }
            } else {
                out.extend_from_slice(&leading_break);
            }
            leading_break.clear();
            out.append(&mut trailing);
            leading_blank = blank;
            let line = self.pos;
            self.skip_to_break();
            out.extend_from_slice(&self.src[line..self.pos]);
            self.read_line(&mut leading_break);
            self.block_breaks(indent, &mut trailing, end)?;
        }
        if chomp != Chomp::Strip {
            out.append(&mut leading_break);
        }
        if chomp == Chomp::Keep {
            out.append(&mut trailing);
        }
        Ok(())
    }

    /// Column inside a block scalar, where only spaces are stepped over before it is asked for.
    fn block_column(&self) -> isize {
        isize::try_from(self.pos - self.line_start).unwrap_or(isize::MAX)
    }

    /// Steps over indentation and empty lines, and finds the indentation from the first line when it is not given.
    fn block_breaks(&mut self, indent: &mut isize, breaks: &mut Vec<u8>, end: &mut usize) -> Scan {
        *end = self.pos;
        let mut deepest = 0;
        loop {
            while (*indent == 0 || self.block_column() < *indent) && self.at(0) == b' ' {
                self.pos += 1;
            }
            deepest = deepest.max(self.block_column());
            if (*indent == 0 || self.block_column() < *indent) && self.at(0) == b'\t' {
                return Err(Problem::new(
                    self.pos,
                    "found a tab character where a block scalar expects an indentation space",
                ));
            }
            if !self.is_break(0) {
                break;
            }
            self.read_line(breaks);
            *end = self.pos;
        }
        if *indent == 0 {
            *indent = deepest.max(self.indent + 1).max(1);
        }
        Ok(())
    }
}
