//! Anchors, aliases, tags and directives (`yaml_parser_scan_anchor`, `_tag`, `_directive`).

use super::{Kind, Scan, Scanner, TagText};
use crate::yaml::error::Problem;

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

impl Scanner<'_> {
    fn skip_blanks(&mut self) {
        while matches!(self.at(0), b' ' | b'\t') {
            self.pos += 1;
        }
    }

    fn word(&mut self) -> usize {
        let start = self.pos;
        while is_word(self.at(0)) {
            self.pos += 1;
        }
        self.pos - start
    }

    pub(super) fn fetch_anchor(&mut self) -> Scan {
        self.save_key()?;
        self.key_allowed = false;
        let start = self.pos;
        let kind = if self.at(0) == b'*' { Kind::Alias } else { Kind::Anchor };
        self.pos += 1;
        let len = self.word();
        let follows = matches!(self.at(0), b'?' | b':' | b',' | b']' | b'}' | b'%' | b'@' | b'`');
        if len == 0 || !(follows || self.is_blankz(0)) {
            return Err(Problem::new(
                self.pos,
                "the name of an anchor or alias may hold only letters, digits, '-' and '_'",
            ));
        }
        self.push(kind, start);
        Ok(())
    }

    pub(super) fn fetch_tag(&mut self) -> Scan {
        self.save_key()?;
        self.key_allowed = false;
        let start = self.pos;
        let tag = if self.at(1) == b'<' {
            self.pos += 2;
            let suffix = self.tag_uri(&[])?;
            if self.at(0) != b'>' {
                return Err(Problem::new(self.pos, "a verbatim tag must end in '>'"));
            }
            self.pos += 1;
            TagText { handle: Vec::new(), suffix }
        } else {
            self.shorthand_tag()?
        };
        if !self.is_blankz(0) {
            return Err(Problem::new(self.pos, "a blank or a line break must follow a tag"));
        }
        self.push(Kind::Tag(Box::new(tag)), start);
        Ok(())
    }

    fn shorthand_tag(&mut self) -> Scan<TagText> {
        let handle = self.tag_handle(false)?;
        if handle.len() > 1 && handle.last() == Some(&b'!') {
            let suffix = self.tag_uri(&[])?;
            return Ok(TagText { handle, suffix });
        }
        let suffix = self.tag_uri(&handle)?;
        // A lone '!' has no handle; it is the tag itself.
        let bang = vec![b'!'];
        Ok(if suffix.is_empty() { TagText { handle: suffix, suffix: bang } } else { TagText { handle: bang, suffix } })
    }

    fn tag_handle(&mut self, directive: bool) -> Scan<Vec<u8>> {
        if self.at(0) != b'!' {
            return Err(Problem::new(self.pos, "a tag handle must start with '!'"));
        }
        let start = self.pos;
        self.pos += 1;
        self.word();
        if self.at(0) == b'!' {
            self.pos += 1;
        } else if directive && self.pos - start != 1 {
            return Err(Problem::new(self.pos, "a tag handle must end in '!'"));
        }
        Ok(self.src[start..self.pos].to_vec())
    }

    /// Reads the URI part of a tag; `head` is what was read of it already, with its '!'.
    fn tag_uri(&mut self, head: &[u8]) -> Scan<Vec<u8>> {
        let mut uri = head.get(1..).unwrap_or_default().to_vec();
        let start = self.pos;
        loop {
            match self.at(0) {
                b'%' => self.uri_escape(&mut uri)?,
                byte if is_word(byte) || b";/?:@&=+$,.!~*'()[]".contains(&byte) => {
                    uri.push(byte);
                    self.pos += 1;
                }
                _ => break,
            }
        }
        if head.is_empty() && self.pos == start {
            return Err(Problem::new(self.pos, "a tag must have a name"));
        }
        Ok(uri)
    }

    /// Decodes one character written as `%XX` octets.
    fn uri_escape(&mut self, uri: &mut Vec<u8>) -> Scan {
        let mut left = 1;
        let mut first = true;
        while left > 0 {
            let octet =
                self.octet().ok_or_else(|| Problem::new(self.pos, "a '%' in a tag needs two hexadecimal digits"))?;
            if first {
                left = match octet {
                    0..=0x7F => 1,
                    0xC0..=0xDF => 2,
                    0xE0..=0xEF => 3,
                    0xF0..=0xF7 => 4,
                    _ => return Err(Problem::new(self.pos, "an escape in a tag starts no UTF-8 character")),
                };
                first = false;
            } else if octet & 0xC0 != 0x80 {
                return Err(Problem::new(self.pos, "an escape in a tag does not continue its UTF-8 character"));
            }
            uri.push(octet);
            self.pos += 3;
            left -= 1;
        }
        Ok(())
    }

    fn octet(&self) -> Option<u8> {
        if self.at(0) != b'%' {
            return None;
        }
        let high = char::from(self.at(1)).to_digit(16)?;
        let low = char::from(self.at(2)).to_digit(16)?;
        u8::try_from(high * 16 + low).ok()
    }

    pub(super) fn scan_directive(&mut self) -> Scan {
        let start = self.pos;
        self.pos += 1;
        let name = self.pos;
        let len = self.word();
        if len == 0 || !self.is_blankz(0) {
            return Err(Problem::new(start, "a directive needs a name"));
        }
        let kind = match &self.src[name..name + len] {
            b"YAML" => self.version()?,
            b"TAG" => self.tag_directive()?,
            _ => return Err(Problem::new(start, "unknown directive")),
        };
        let end = self.pos;
        self.skip_blanks();
        if self.at(0) == b'#' {
            self.skip_to_break();
        }
        if !self.is_breakz() {
            return Err(Problem::new(self.pos, "a comment or a line break must follow a directive"));
        }
        self.skip_line();
        self.tokens.push_back(super::Token { kind, start, end });
        Ok(())
    }

    fn version(&mut self) -> Scan<Kind> {
        self.skip_blanks();
        let major = self.version_number()?;
        if self.at(0) != b'.' {
            return Err(Problem::new(self.pos, "a version has the form 1.1"));
        }
        self.pos += 1;
        let minor = self.version_number()?;
        Ok(Kind::Version { major, minor })
    }

    fn version_number(&mut self) -> Scan<u32> {
        let mut value = 0;
        let mut len = 0;
        while let Some(digit) = char::from(self.at(0)).to_digit(10) {
            len += 1;
            value = value * 10 + digit;
            self.pos += 1;
            if len > 2 {
                return Err(Problem::new(self.pos, "the version number is too long"));
            }
        }
        if len == 0 {
            return Err(Problem::new(self.pos, "a version has the form 1.1"));
        }
        Ok(value)
    }

    fn tag_directive(&mut self) -> Scan<Kind> {
        self.skip_blanks();
        let handle = self.tag_handle(true)?;
        if !matches!(self.at(0), b' ' | b'\t') {
            return Err(Problem::new(self.pos, "a blank must follow the handle of a %TAG directive"));
        }
        self.skip_blanks();
        let suffix = self.tag_uri(&[])?;
        if !self.is_blankz(0) {
            return Err(Problem::new(self.pos, "a blank or a line break must follow the prefix of a %TAG directive"));
        }
        Ok(Kind::TagDirective(Box::new(TagText { handle, suffix })))
    }
}
