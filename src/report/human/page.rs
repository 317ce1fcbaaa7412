//! How a report for people looks: colours, width, how much of it.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};

use super::wrap;
use crate::model::{Decision, Effect};

/// Width of a page that is no terminal.
pub(crate) const WIDTH: usize = 100;
/// The narrowest page that words are wrapped for.
const NARROWEST: usize = 40;

/// Whether colours are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Paint(pub bool);

/// How a report looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    /// Whether colours are used.
    pub paint: Paint,
    /// Columns.
    pub width: usize,
    /// Whether only the verdict, the reasons and the table are written.
    pub is_summary: bool,
}

impl Page {
    /// The whole report in the usual width.
    #[must_use]
    pub const fn of(paint: Paint) -> Self {
        Self { paint, width: WIDTH, is_summary: false }
    }

    /// Columns that words may use.
    pub(super) fn columns(self) -> usize {
        self.width.max(NARROWEST)
    }

    /// Writes words behind a head that is as wide as `head_width`; further lines are indented.
    pub(in crate::report) fn words(
        self,
        out: &mut dyn Write,
        (head, head_width): (&str, usize),
        text: &str,
        indent: usize,
        paint: impl Fn(&str) -> String,
    ) -> io::Result<()> {
        let mut lines = wrap::lines(text, self.columns(), head_width, indent).into_iter();
        let first = lines.next().unwrap_or_default();
        writeln!(out, "{}", format!("{head}{}", paint(&first)).trim_end())?;
        lines.try_for_each(|line| writeln!(out, "{:indent$}{}", "", paint(&line)))
    }
}

impl Paint {
    fn wrap(self, style: Style, text: &str) -> String {
        if self.0 && !text.is_empty() { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }

    fn coloured(self, colour: AnsiColor, text: &str) -> String {
        self.wrap(Style::new().fg_color(Some(colour.into())), text)
    }

    pub(super) fn decision(self, decision: Decision) -> String {
        let colour = match decision {
            Decision::Allow => AnsiColor::Green,
            Decision::Warn | Decision::Undecided => AnsiColor::Yellow,
            Decision::Hold => AnsiColor::Red,
        };
        self.wrap(Style::new().bold().fg_color(Some(colour.into())), decision.word())
    }

    pub(super) fn effect(self, effect: Effect) -> String {
        let colour = match effect {
            Effect::None | Effect::InPlace => AnsiColor::Green,
            Effect::Scale | Effect::Latent => AnsiColor::Yellow,
            _ => AnsiColor::Red,
        };
        self.coloured(colour, effect.word())
    }

    pub(in crate::report) fn bold(self, text: &str) -> String {
        self.wrap(Style::new().bold(), text)
    }

    pub(in crate::report) fn faint(self, text: &str) -> String {
        self.wrap(Style::new().dimmed(), text)
    }

    pub(in crate::report) fn removed(self, text: &str) -> String {
        self.coloured(AnsiColor::Red, text)
    }

    pub(in crate::report) fn added(self, text: &str) -> String {
        self.coloured(AnsiColor::Green, text)
    }
}
