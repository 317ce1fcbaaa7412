//! Who approved what holds, why and until when; or why what somebody approved does not count. Each in one line, to be found by its words.

use std::io::{self, Write};

use super::Paint;
use crate::report::{ApprovalReport, Standing};

/// Writes what is said of approvals.
pub(super) fn write(approvals: &[ApprovalReport], paint: Paint, out: &mut dyn Write) -> io::Result<()> {
    approvals.iter().try_for_each(|approval| one(approval, paint, out))
}

fn one(approval: &ApprovalReport, paint: Paint, out: &mut dyn Write) -> io::Result<()> {
    let by = approval.by.as_ref().map_or_else(String::new, |by| format!(" by {by}"));
    let id = approval.id.as_ref().map_or_else(String::new, |id| format!(" {id}"));
    let message = Some(&approval.message).filter(|message| !message.is_empty());
    if approval.standing != Standing::Counts {
        let why = message.map_or("", String::as_str);
        let name = paint.bold(&format!("approval{id}{by} does not count"));
        return writeln!(out, "{name}  {why} [{}]", approval.place);
    }
    let until = approval.expires.as_deref().unwrap_or_default();
    let once = if approval.once { ", for one install" } else { "" };
    let reason = approval.reason.as_deref().unwrap_or_default();
    let name = paint.added(&format!("approved{by}"));
    writeln!(out, "{name}  {reason} [{}{id}, until {until}{once}]", approval.place)?;
    if !approval.lifts.is_empty() {
        writeln!(out, "  lifts {}", approval.lifts.join(", "))?;
    }
    message.map_or(Ok(()), |message| writeln!(out, "  {message}"))
}
