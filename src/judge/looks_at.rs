//! Credentials in a file that also says where the provider looks: another project, region or address is another cloud, in which it does not find
//! what it has made.

use super::subject::Subject;
use super::verdict::Answer;
use crate::compare::Change;
use crate::kinds::Role;
use crate::model::{Effect, RuleId};
use crate::object::{Path, Segment};
use crate::providers::kind;

impl Subject<'_> {
    /// The answer about a place inside of credentials that says where the provider looks.
    pub(super) fn by_looking_elsewhere(&self, change: &Change) -> Option<Answer> {
        // Another form of the same content says nothing else.
        if self.key.known.role != Role::Data || !change.because.is_empty() {
            return None;
        }
        // A file that nobody could take apart may say anything, as that of a snapshot, in which its text is a mark.
        let within = change.within.iter().rev().find(|within| !within.path.is_empty());
        let inside = within.and_then(|within| Path::parse(&within.path).ok());
        let path = inside.as_ref().unwrap_or(&change.path);
        let Some(Segment::Key(word)) = path.segments().last() else { return None };
        let is_replaced = change.before.is_some() && change.after.is_some();
        let referrers = self.stage.referrers(self.key).into_iter().map(|reference| &reference.from);
        let from = referrers
            .chain(self.stage.mentioned_by(self.key))
            .find(|from| kind(from).looks_at.is_some_and(|is_where| is_where(word, is_replaced)))?;
        let because = format!(
            "{word} says where the provider of {from} looks; in another place it does not find what it has made, so Machines may be taken for lost and \
             made again"
        );
        Some(Answer::known(self.stage.rules, Effect::Unknown, RuleId::of("reference/looks-elsewhere")).saying(because))
    }
}
