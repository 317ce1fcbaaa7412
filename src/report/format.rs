//! The formats of a report, by the names that `-o` takes.

use std::io::{self, Write};

use super::{Report, github, gitlab, html, human, json, junit, markdown, sarif};

/// A format of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// For a person at a terminal.
    Human,
    /// For programs: everything.
    Json,
    /// For a comment on a merge request.
    Markdown,
    /// For code scanning.
    Sarif,
    /// For whatever shows tests.
    Junit,
    /// For GitLab's Code Quality.
    Gitlab,
    /// For the log of GitHub Actions.
    Github,
    /// One page for a browser.
    Html,
}

/// What a format may know beside the report.
#[derive(Debug, Clone, Copy)]
pub struct FormatOptions {
    /// How the report for people looks.
    pub page: human::Page,
    /// Most bytes of a comment.
    pub comment: usize,
}

impl Format {
    /// Every format with its name.
    pub const ALL: [(&'static str, Self); 8] = [
        ("human", Self::Human),
        ("json", Self::Json),
        ("markdown", Self::Markdown),
        ("sarif", Self::Sarif),
        ("junit", Self::Junit),
        ("gitlab", Self::Gitlab),
        ("github", Self::Github),
        ("html", Self::Html),
    ];

    /// The format of a name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(own, _)| *own == name).map(|(_, format)| *format)
    }

    /// Writes one report in this format.
    ///
    /// # Errors
    /// When `out` cannot be written.
    pub fn write(self, report: &Report, look: FormatOptions, out: &mut dyn Write) -> io::Result<()> {
        self.write_all(std::slice::from_ref(report), look, out)
    }

    /// Writes the reports of a run in this format.
    ///
    /// # Errors
    /// When `out` cannot be written.
    pub fn write_all(self, reports: &[Report], look: FormatOptions, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::Human => human::write_all(reports, look.page, out),
            Self::Json => json::write(reports, out),
            Self::Markdown => markdown::write_all(reports, look.comment, out),
            Self::Sarif => sarif::write(reports, out),
            Self::Junit => junit::write(reports, out),
            Self::Gitlab => gitlab::write(reports, out),
            Self::Github => github::write(reports, out),
            Self::Html => html::write(reports, out),
        }
    }
}
