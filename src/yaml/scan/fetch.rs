//! Decides what the next token is (`yaml_parser_fetch_next_token` and the small fetchers around it).

use super::keys::{Held, Key};
use super::{Kind, MAX_DEPTH, Scan, Scanner, Style, Token};
use crate::yaml::error::Problem;

const NO_COLON: &str = "could not find the expected ':' of a key";

impl Scanner<'_> {
    /// Fetches until the head of the queue cannot become a key any more.
    pub(super) fn fetch_more(&mut self) -> Scan {
        loop {
            if !self.tokens.is_empty() {
                // At the end of the text every line is over, so no open key can still find its colon.
                let line_start = if self.ended { usize::MAX } else { self.line_start };
                match self.keys.head(self.parsed, self.src, self.pos, line_start) {
                    Held::Free => break,
                    Held::Possible => {}
                    Held::Broken(start) => return Err(Problem::new(start, NO_COLON)),
                }
            }
            if self.ended {
                break;
            }
            self.fetch_next()?;
        }
        self.available = true;
        Ok(())
    }

    fn fetch_next(&mut self) -> Scan {
        self.skip_to_token();
        if self.flow_level == 0 {
            let column = self.column();
            self.unroll(column);
        }
        if self.is_end() {
            return self.fetch_stream_end();
        }
        let first = self.at(0);
        if self.pos == self.line_start {
            if first == b'%' {
                return self.fetch_directive();
            }
            if self.document_indicator() {
                let kind = if first == b'-' { Kind::DocumentStart } else { Kind::DocumentEnd };
                return self.fetch_document_indicator(kind);
            }
        }
        let flow = self.flow_level > 0;
        match first {
            b'[' => self.fetch_flow_start(Kind::FlowSequenceStart),
            b'{' => self.fetch_flow_start(Kind::FlowMappingStart),
            b']' => self.fetch_flow_end(Kind::FlowSequenceEnd),
            b'}' => self.fetch_flow_end(Kind::FlowMappingEnd),
            b',' => self.fetch_flow_entry(),
            b'-' if self.is_blankz(1) => self.fetch_block_entry(),
            b'?' if flow || self.is_blankz(1) => self.fetch_key(),
            b':' if flow || self.is_blankz(1) => self.fetch_value(),
            b'*' | b'&' => self.fetch_anchor(),
            b'!' => self.fetch_tag(),
            b'|' if !flow => self.fetch_block_scalar(Style::Literal),
            b'>' if !flow => self.fetch_block_scalar(Style::Folded),
            b'\'' => self.fetch_flow_scalar(Style::Single),
            b'"' => self.fetch_flow_scalar(Style::Double),
            _ if self.starts_plain(first) => self.fetch_plain(),
            b'\t' => Err(Problem::new(self.pos, "found a tab where a token must start; indent with spaces")),
            _ => Err(Problem::new(self.pos, "found a character that cannot start any token")),
        }
    }

    fn starts_plain(&self, first: u8) -> bool {
        match first {
            b'-' => !matches!(self.at(1), b' ' | b'\t'),
            b'?' | b':' => self.flow_level == 0 && !self.is_blankz(1),
            b',' | b'[' | b']' | b'{' | b'}' | b'#' | b'&' | b'*' | b'!' | b'|' | b'>' | b'\'' | b'"' | b'%' | b'@'
            | b'`' => false,
            _ => !self.is_blankz(0),
        }
    }

    /// True at `---` or `...` followed by a blank, a line break or the end.
    pub(super) fn document_indicator(&self) -> bool {
        matches!([self.at(0), self.at(1), self.at(2)], [b'-', b'-', b'-'] | [b'.', b'.', b'.']) && self.is_blankz(3)
    }

    /// Steps over blanks, comments and line breaks.
    fn skip_to_token(&mut self) {
        loop {
            let tabs = self.flow_level > 0 || !self.key_allowed;
            while self.at(0) == b' ' || tabs && self.at(0) == b'\t' {
                self.pos += 1;
            }
            if self.at(0) == b'#' {
                self.skip_to_break();
            }
            if !self.is_break(0) {
                return;
            }
            self.skip_line();
            if self.flow_level == 0 {
                self.key_allowed = true;
            }
        }
    }

    pub(super) fn save_key(&mut self) -> Scan {
        if self.key_allowed {
            let column = if self.flow_level == 0 { self.column() } else { 0 };
            let required = self.flow_level == 0 && self.indent == column;
            let key = Key { possible: true, required, number: self.next_number(), pos: self.pos, column };
            self.remove_key()?;
            self.keys.save(key);
        }
        Ok(())
    }

    pub(super) fn remove_key(&mut self) -> Scan {
        let key = self.keys.top();
        if key.possible {
            if key.required {
                return Err(Problem::new(key.pos, NO_COLON));
            }
            self.keys.forget();
        }
        Ok(())
    }

    /// Opens a block collection at `column` where the indentation grows; `number` is the token it goes before.
    fn roll(&mut self, column: isize, number: Option<usize>, kind: Kind, at: usize) -> Scan {
        if self.flow_level > 0 || self.indent >= column {
            return Ok(());
        }
        self.indents.push(self.indent);
        self.indent = column;
        if self.indents.len() > MAX_DEPTH {
            return Err(Problem::new(at, format!("nested more than {MAX_DEPTH} levels deep")));
        }
        let token = Token { kind, start: at, end: at };
        match number {
            Some(number) => self.insert(number, token),
            None => self.tokens.push_back(token),
        }
        Ok(())
    }

    /// Closes the block collections that are indented deeper than `column`.
    fn unroll(&mut self, column: isize) {
        if self.flow_level > 0 {
            return;
        }
        while self.indent > column {
            self.push(Kind::BlockEnd, self.pos);
            self.indent = self.indents.pop().unwrap_or(-1);
        }
    }

    fn fetch_stream_end(&mut self) -> Scan {
        self.unroll(-1);
        self.remove_key()?;
        self.key_allowed = false;
        self.ended = true;
        self.push(Kind::StreamEnd, self.pos);
        Ok(())
    }

    fn fetch_directive(&mut self) -> Scan {
        self.unroll(-1);
        self.remove_key()?;
        self.key_allowed = false;
        self.scan_directive()
    }

    fn fetch_document_indicator(&mut self, kind: Kind) -> Scan {
        self.unroll(-1);
        self.remove_key()?;
        self.key_allowed = false;
        self.push_mark(kind, 3);
        Ok(())
    }

    fn push_mark(&mut self, kind: Kind, len: usize) {
        let start = self.pos;
        self.pos += len;
        self.push(kind, start);
    }

    fn fetch_flow_start(&mut self, kind: Kind) -> Scan {
        self.save_key()?;
        self.keys.open(self.next_number(), self.pos);
        self.flow_level += 1;
        if self.flow_level > MAX_DEPTH {
            return Err(Problem::new(self.pos, format!("nested more than {MAX_DEPTH} levels deep")));
        }
        self.key_allowed = true;
        self.push_mark(kind, 1);
        Ok(())
    }

    fn fetch_flow_end(&mut self, kind: Kind) -> Scan {
        self.remove_key()?;
        if self.flow_level > 0 {
            self.flow_level -= 1;
            self.keys.close();
        }
        self.key_allowed = false;
        self.push_mark(kind, 1);
        Ok(())
    }

    fn fetch_flow_entry(&mut self) -> Scan {
        self.remove_key()?;
        self.key_allowed = true;
        self.push_mark(Kind::FlowEntry, 1);
        Ok(())
    }

    fn fetch_block_entry(&mut self) -> Scan {
        if self.flow_level == 0 {
            if !self.key_allowed {
                return Err(Problem::new(self.pos, "a block sequence entry is not allowed here"));
            }
            let column = self.column();
            self.roll(column, None, Kind::BlockSequenceStart, self.pos)?;
        }
        self.remove_key()?;
        self.key_allowed = true;
        self.push_mark(Kind::BlockEntry, 1);
        Ok(())
    }

    fn fetch_key(&mut self) -> Scan {
        if self.flow_level == 0 {
            if !self.key_allowed {
                return Err(Problem::new(self.pos, "a mapping key is not allowed here"));
            }
            let column = self.column();
            self.roll(column, None, Kind::BlockMappingStart, self.pos)?;
        }
        self.remove_key()?;
        self.key_allowed = self.flow_level == 0;
        self.push_mark(Kind::Key, 1);
        Ok(())
    }

    fn fetch_value(&mut self) -> Scan {
        let simple =
            self.keys.top_valid(self.src, self.pos, self.line_start).map_err(|start| Problem::new(start, NO_COLON))?;
        if simple {
            let key = self.keys.top();
            self.insert(key.number, Token { kind: Kind::Key, start: key.pos, end: key.pos });
            self.roll(key.column, Some(key.number), Kind::BlockMappingStart, key.pos)?;
            self.keys.forget();
            self.key_allowed = false;
        } else {
            if self.flow_level == 0 {
                if !self.key_allowed {
                    return Err(Problem::new(
                        self.pos,
                        "a mapping value is not allowed here: is the text before the ':' quoted wrongly?",
                    ));
                }
                let column = self.column();
                self.roll(column, None, Kind::BlockMappingStart, self.pos)?;
            }
            self.key_allowed = self.flow_level == 0;
        }
        self.push_mark(Kind::Value, 1);
        Ok(())
    }
}
