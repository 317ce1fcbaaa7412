//! The parser: tokens in, events out, as the state machine of go-yaml v2 (`parserc.go`, v2.4.4) makes them.
//!
//! States wait on an explicit stack, so nesting costs memory and never the call stack.

mod entries;

use crate::yaml::error::Problem;
use crate::yaml::events::{Event, EventKind, Events, Name, Tag};
use crate::yaml::scan::{Kind, Scanner, Style, TagText, TextRef, Token};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    ImplicitDocumentStart,
    DocumentStart,
    DocumentContent,
    DocumentEnd,
    BlockNode,
    FlowNode,
    BlockSequenceFirst,
    BlockSequenceEntry,
    IndentlessSequenceEntry,
    BlockMappingFirst,
    BlockMappingKey,
    BlockMappingValue,
    FlowSequenceFirst,
    FlowSequenceEntry,
    FlowPairKey,
    FlowPairValue,
    FlowPairEnd,
    FlowMappingFirst,
    FlowMappingKey,
    FlowMappingValue,
    FlowMappingEmptyValue,
    End,
}

type Step = Result<Event, Problem>;

/// Anchor and tag that stand before a node.
#[derive(Default)]
struct Properties {
    anchor: Option<Name>,
    tag: Option<(TagText, usize)>,
    end: usize,
}

/// See the module text.
#[derive(Debug)]
pub(crate) struct Parser<'a> {
    scanner: Scanner<'a>,
    state: State,
    states: Vec<State>,
    handles: Vec<TagText>,
    /// Where the open flow collections begin.
    brackets: Vec<usize>,
    position: usize,
}

impl Events for Parser<'_> {
    fn next_event(&mut self) -> Step {
        match self.state {
            State::ImplicitDocumentStart => self.document_start(true),
            State::DocumentStart => self.document_start(false),
            State::DocumentContent => self.document_content(),
            State::DocumentEnd => self.document_end(),
            State::BlockNode => self.node(true, false),
            State::FlowNode => self.node(false, false),
            State::BlockSequenceFirst => self.first(Self::block_sequence_entry),
            State::BlockSequenceEntry => self.block_sequence_entry(false),
            State::IndentlessSequenceEntry => self.indentless_sequence_entry(),
            State::BlockMappingFirst => self.first(Self::block_mapping_key),
            State::BlockMappingKey => self.block_mapping_key(false),
            State::BlockMappingValue => self.block_mapping_value(),
            State::FlowSequenceFirst => self.first_in_flow(Self::flow_sequence_entry),
            State::FlowSequenceEntry => self.flow_sequence_entry(false),
            State::FlowPairKey => self.flow_pair_key(),
            State::FlowPairValue => self.flow_pair_value(),
            State::FlowPairEnd => self.flow_pair_end(),
            State::FlowMappingFirst => self.first_in_flow(Self::flow_mapping_key),
            State::FlowMappingKey => self.flow_mapping_key(false),
            State::FlowMappingValue => self.flow_mapping_value(false),
            State::FlowMappingEmptyValue => self.flow_mapping_value(true),
            State::End => Ok(event(EventKind::StreamEnd, self.position, self.position)),
        }
    }

    fn source(&self) -> &[u8] {
        self.scanner.source()
    }

    fn text(&self, text: TextRef) -> &[u8] {
        self.scanner.text(text)
    }

    fn take_decoded(&mut self) -> Vec<u8> {
        self.scanner.take_decoded()
    }

    fn position(&self) -> usize {
        self.position
    }
}

fn event(kind: EventKind, start: usize, end: usize) -> Event {
    Event { kind, anchor: None, start, end }
}

impl<'a> Parser<'a> {
    pub(crate) fn new(scanner: Scanner<'a>) -> Self {
        Self {
            scanner,
            state: State::ImplicitDocumentStart,
            states: Vec::new(),
            handles: Vec::new(),
            brackets: Vec::new(),
            position: 0,
        }
    }

    fn peek(&mut self) -> Result<&Token, Problem> {
        self.scanner.peek()
    }

    fn take(&mut self) -> Result<Token, Problem> {
        let token = self.scanner.take()?;
        self.position = self.position.max(token.end);
        Ok(token)
    }

    fn pop(&mut self) {
        self.state = self.states.pop().unwrap_or(State::End);
    }

    /// Takes the token that opened a collection and goes on with its first entry.
    fn first(&mut self, entry: fn(&mut Self, bool) -> Step) -> Step {
        self.take()?;
        entry(self, true)
    }

    fn first_in_flow(&mut self, entry: fn(&mut Self, bool) -> Step) -> Step {
        let bracket = self.peek()?.start;
        self.brackets.push(bracket);
        self.first(entry)
    }

    fn empty(&self, at: usize) -> Event {
        let text = TextRef { start: at, len: 0, decoded: false };
        event(EventKind::Scalar { style: Style::Plain, text, tag: Tag::None }, at, at)
    }

    fn document_start(&mut self, implicit: bool) -> Step {
        if !implicit {
            while self.peek()?.kind == Kind::DocumentEnd {
                self.take()?;
            }
        }
        let token = self.peek()?;
        let start = token.start;
        let explicit = matches!(token.kind, Kind::Version { .. } | Kind::TagDirective(_) | Kind::DocumentStart);
        if token.kind == Kind::StreamEnd {
            self.state = State::End;
            self.take()?;
            return Ok(event(EventKind::StreamEnd, start, start));
        }
        self.directives()?;
        self.states.push(State::DocumentEnd);
        if implicit && !explicit {
            self.state = State::BlockNode;
            return Ok(event(EventKind::DocumentStart, start, start));
        }
        let token = self.peek()?;
        if token.kind != Kind::DocumentStart {
            return Err(Problem::new(token.start, "a document must start with '---' here"));
        }
        self.state = State::DocumentContent;
        let token = self.take()?;
        Ok(event(EventKind::DocumentStart, start, token.end))
    }

    fn directives(&mut self) -> Result<(), Problem> {
        let mut version = false;
        loop {
            match self.peek()?.kind {
                Kind::Version { major, minor } => {
                    let token = self.take()?;
                    if version {
                        return Err(Problem::new(token.start, "found a second %YAML directive"));
                    }
                    if (major, minor) != (1, 1) {
                        return Err(Problem::new(token.start, "only %YAML 1.1 is read"));
                    }
                    version = true;
                }
                Kind::TagDirective(_) => {
                    let token = self.take()?;
                    if let Kind::TagDirective(tag) = token.kind {
                        if self.handles.iter().any(|known| known.handle == tag.handle) {
                            return Err(Problem::new(token.start, "found a second %TAG directive for the same handle"));
                        }
                        self.handles.push(*tag);
                    }
                }
                _ => break,
            }
        }
        self.default_handles();
        Ok(())
    }

    fn default_handles(&mut self) {
        for (handle, prefix) in [("!", "!"), ("!!", "tag:yaml.org,2002:")] {
            if !self.handles.iter().any(|known| known.handle == handle.as_bytes()) {
                self.handles.push(TagText { handle: handle.into(), suffix: prefix.into() });
            }
        }
    }

    /// The scanner, for readers that go by lines and use it for single scalars.
    pub(crate) fn scanner(&mut self) -> &mut Scanner<'a> {
        &mut self.scanner
    }

    /// Goes to a flow collection inside of a block collection at column `indent`: the next events are its own, then the stream ends.
    pub(crate) fn flow_at(&mut self, line_start: usize, pos: usize, indent: usize) {
        self.scanner.jump(line_start, pos, Some(indent));
        self.default_handles();
        self.states.clear();
        self.states.push(State::End);
        self.state = State::FlowNode;
    }

    fn document_content(&mut self) -> Step {
        let token = self.peek()?;
        let start = token.start;
        match token.kind {
            Kind::Version { .. }
            | Kind::TagDirective(_)
            | Kind::DocumentStart
            | Kind::DocumentEnd
            | Kind::StreamEnd => {
                self.pop();
                Ok(self.empty(start))
            }
            _ => self.node(true, false),
        }
    }

    fn document_end(&mut self) -> Step {
        let token = self.peek()?;
        let start = token.start;
        if token.kind == Kind::DocumentEnd {
            self.take()?;
        }
        self.handles.clear();
        self.state = State::DocumentStart;
        Ok(event(EventKind::DocumentEnd, start, start))
    }

    fn properties(&mut self) -> Result<Properties, Problem> {
        let mut found = Properties::default();
        loop {
            match self.peek()?.kind {
                Kind::Anchor if found.anchor.is_none() => {
                    let token = self.take()?;
                    found.anchor = Some((token.start + 1, token.end));
                    found.end = token.end;
                }
                Kind::Tag(_) if found.tag.is_none() => {
                    let token = self.take()?;
                    found.end = token.end;
                    if let Kind::Tag(tag) = token.kind {
                        found.tag = Some((*tag, token.start));
                    }
                }
                _ => return Ok(found),
            }
        }
    }

    fn resolve_tag(&self, tag: Option<(TagText, usize)>) -> Result<(Tag, bool), Problem> {
        let Some((text, start)) = tag else { return Ok((Tag::None, false)) };
        let full = if text.handle.is_empty() {
            text.suffix
        } else {
            let known = self.handles.iter().find(|known| known.handle == text.handle);
            let mut full = known.map(|known| known.suffix.clone()).unwrap_or_default();
            full.extend_from_slice(if known.is_some() { &text.suffix } else { &[] });
            if full.is_empty() {
                return Err(Problem::new(start, "the handle of this tag is not defined"));
            }
            full
        };
        Ok((Tag::of(&full), !full.is_empty()))
    }

    /// A node with its anchor and tag; `block` allows block collections, `indentless` a sequence at its parent's indentation.
    fn node(&mut self, block: bool, indentless: bool) -> Step {
        let token = self.peek()?;
        if token.kind == Kind::Alias {
            let token = self.take()?;
            self.pop();
            return Ok(event(EventKind::Alias((token.start + 1, token.end)), token.start, token.end));
        }
        let properties = self.properties()?;
        let (tag, tagged) = self.resolve_tag(properties.tag)?;
        let anchor = properties.anchor;
        let token = self.peek()?;
        let (start, end) = (token.start, token.end);
        let open = |kind| Ok(Event { kind, anchor, start, end });
        match token.kind {
            Kind::BlockEntry if indentless => {
                self.state = State::IndentlessSequenceEntry;
                open(EventKind::SequenceStart { flow: false })
            }
            Kind::Scalar(style, text) => {
                self.take()?;
                self.pop();
                open(EventKind::Scalar { style, text, tag })
            }
            Kind::FlowSequenceStart => {
                self.state = State::FlowSequenceFirst;
                open(EventKind::SequenceStart { flow: true })
            }
            Kind::FlowMappingStart => {
                self.state = State::FlowMappingFirst;
                open(EventKind::MappingStart { flow: true })
            }
            Kind::BlockSequenceStart if block => {
                self.state = State::BlockSequenceFirst;
                open(EventKind::SequenceStart { flow: false })
            }
            Kind::BlockMappingStart if block => {
                self.state = State::BlockMappingFirst;
                open(EventKind::MappingStart { flow: false })
            }
            _ if anchor.is_some() || tagged => {
                self.pop();
                let text = TextRef { start: properties.end, len: 0, decoded: false };
                let kind = EventKind::Scalar { style: Style::Plain, text, tag };
                Ok(Event { kind, anchor, start: properties.end, end: properties.end })
            }
            _ => Err(Problem::new(start, "a value is expected here")),
        }
    }
}
