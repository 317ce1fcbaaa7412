//! Entries of block and flow collections (the `yaml_parser_parse_*_entry`, `_key` and `_value` functions).

use super::{Parser, State, Step, event};
use crate::yaml::error::Problem;
use crate::yaml::events::EventKind;
use crate::yaml::scan::Kind;

impl Parser<'_> {
    /// Reads a node and comes back to `then`.
    fn child(&mut self, then: State, block: bool, indentless: bool) -> Step {
        self.states.push(then);
        self.node(block, indentless)
    }

    /// Reports a missing node and goes on with `then`.
    fn missing(&mut self, then: State, at: usize) -> Step {
        self.state = then;
        Ok(self.empty(at))
    }

    /// Takes the closing token of a collection.
    fn close(&mut self, kind: EventKind) -> Step {
        let token = self.take()?;
        self.pop();
        Ok(event(kind, token.start, token.end))
    }

    pub(super) fn block_sequence_entry(&mut self, _first: bool) -> Step {
        let token = self.peek()?;
        match token.kind {
            Kind::BlockEntry => {
                let mark = token.end;
                self.take()?;
                if matches!(self.peek()?.kind, Kind::BlockEntry | Kind::BlockEnd) {
                    self.missing(State::BlockSequenceEntry, mark)
                } else {
                    self.child(State::BlockSequenceEntry, true, false)
                }
            }
            Kind::BlockEnd => self.close(EventKind::SequenceEnd),
            _ => Err(Problem::new(token.start, "a '-' is expected here: is the indentation right?")),
        }
    }

    pub(super) fn indentless_sequence_entry(&mut self) -> Step {
        let token = self.peek()?;
        let (start, mark) = (token.start, token.end);
        if token.kind != Kind::BlockEntry {
            self.pop();
            return Ok(event(EventKind::SequenceEnd, start, start));
        }
        self.take()?;
        if matches!(self.peek()?.kind, Kind::BlockEntry | Kind::Key | Kind::Value | Kind::BlockEnd) {
            self.missing(State::IndentlessSequenceEntry, mark)
        } else {
            self.child(State::IndentlessSequenceEntry, true, false)
        }
    }

    pub(super) fn block_mapping_key(&mut self, _first: bool) -> Step {
        let token = self.peek()?;
        match token.kind {
            Kind::Key => {
                let mark = token.end;
                self.take()?;
                if matches!(self.peek()?.kind, Kind::Key | Kind::Value | Kind::BlockEnd) {
                    self.missing(State::BlockMappingValue, mark)
                } else {
                    self.child(State::BlockMappingValue, true, true)
                }
            }
            Kind::BlockEnd => self.close(EventKind::MappingEnd),
            _ => Err(Problem::new(token.start, "a key is expected here: is the indentation right?")),
        }
    }

    pub(super) fn block_mapping_value(&mut self) -> Step {
        let token = self.peek()?;
        let (start, mark) = (token.start, token.end);
        if token.kind != Kind::Value {
            return self.missing(State::BlockMappingKey, start);
        }
        self.take()?;
        if matches!(self.peek()?.kind, Kind::Key | Kind::Value | Kind::BlockEnd) {
            self.missing(State::BlockMappingKey, mark)
        } else {
            self.child(State::BlockMappingKey, true, true)
        }
    }

    /// Steps over the comma between two entries; the error is that there is none.
    fn comma(&mut self, first: bool, close: &Kind) -> Result<(), Problem> {
        if first {
            return Ok(());
        }
        let token = self.peek()?;
        if token.kind == Kind::FlowEntry {
            self.take()?;
            return Ok(());
        }
        let bracket = if *close == Kind::FlowSequenceEnd { ']' } else { '}' };
        let open = self.brackets.last().copied();
        let token = self.peek()?;
        if let (Kind::StreamEnd, Some(open)) = (&token.kind, open) {
            return Err(Problem::new(open, format!("the '{bracket}' that closes this is missing")));
        }
        Err(Problem::new(token.start, format!("a ',' or '{bracket}' is expected here")))
    }

    pub(super) fn flow_sequence_entry(&mut self, first: bool) -> Step {
        if self.peek()?.kind != Kind::FlowSequenceEnd {
            self.comma(first, &Kind::FlowSequenceEnd)?;
            let token = self.peek()?;
            if token.kind == Kind::Key {
                let token = self.take()?;
                self.state = State::FlowPairKey;
                return Ok(event(EventKind::MappingStart { flow: true }, token.start, token.end));
            }
            if token.kind != Kind::FlowSequenceEnd {
                return self.child(State::FlowSequenceEntry, false, false);
            }
        }
        self.brackets.pop();
        self.close(EventKind::SequenceEnd)
    }

    pub(super) fn flow_pair_key(&mut self) -> Step {
        let token = self.peek()?;
        if matches!(token.kind, Kind::Value | Kind::FlowEntry | Kind::FlowSequenceEnd) {
            // Go steps over this token too, whatever it is, so that a pair with an empty key is never read in full.
            let mark = self.take()?.end;
            return self.missing(State::FlowPairValue, mark);
        }
        self.child(State::FlowPairValue, false, false)
    }

    pub(super) fn flow_pair_value(&mut self) -> Step {
        if self.peek()?.kind == Kind::Value {
            self.take()?;
            if !matches!(self.peek()?.kind, Kind::FlowEntry | Kind::FlowSequenceEnd) {
                return self.child(State::FlowPairEnd, false, false);
            }
        }
        let mark = self.peek()?.start;
        self.missing(State::FlowPairEnd, mark)
    }

    pub(super) fn flow_pair_end(&mut self) -> Step {
        let start = self.peek()?.start;
        self.state = State::FlowSequenceEntry;
        Ok(event(EventKind::MappingEnd, start, start))
    }

    pub(super) fn flow_mapping_key(&mut self, first: bool) -> Step {
        if self.peek()?.kind != Kind::FlowMappingEnd {
            self.comma(first, &Kind::FlowMappingEnd)?;
            let token = self.peek()?;
            if token.kind == Kind::Key {
                self.take()?;
                let token = self.peek()?;
                if matches!(token.kind, Kind::Value | Kind::FlowEntry | Kind::FlowMappingEnd) {
                    let mark = token.start;
                    return self.missing(State::FlowMappingValue, mark);
                }
                return self.child(State::FlowMappingValue, false, false);
            }
            if token.kind != Kind::FlowMappingEnd {
                return self.child(State::FlowMappingEmptyValue, false, false);
            }
        }
        self.brackets.pop();
        self.close(EventKind::MappingEnd)
    }

    pub(super) fn flow_mapping_value(&mut self, empty: bool) -> Step {
        if !empty && self.peek()?.kind == Kind::Value {
            self.take()?;
            if !matches!(self.peek()?.kind, Kind::FlowEntry | Kind::FlowMappingEnd) {
                return self.child(State::FlowMappingKey, false, false);
            }
        }
        let mark = self.peek()?.start;
        self.missing(State::FlowMappingKey, mark)
    }
}
