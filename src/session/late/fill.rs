//! Values templates filled in, in rounds: what a template asks for is settled, until it asks for nothing more.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::anyhow;

use super::{LateValues, apart};
use crate::exit::Exit;
use crate::late::template::{Rendered, Scope};
use crate::late::{self, Settled};
use crate::object::StreamText;
use crate::policy::Policy;
use crate::session::{Observer, Stop};
use crate::verdict;

/// One text of values.
#[derive(Debug)]
pub(crate) struct Input {
    /// How a person calls it.
    pub name: String,
    /// Its text.
    pub text: String,
    /// Whether it is a template.
    pub template: bool,
}

/// What became of several texts.
#[derive(Debug)]
pub(crate) enum Filled {
    /// They are whole, with the late values in them.
    Texts(Vec<String>, Vec<Settled>),
    /// A late value is not known, or may not be what it is: how it ends.
    Waits(Exit),
}

impl LateValues<'_> {
    /// Fills texts in. `said` hears of each round of late values, with what a person should know of them.
    ///
    /// # Errors
    /// When a template is wrong, or what late values come from cannot be reached.
    pub(crate) fn fill<O: Observer>(
        &mut self,
        inputs: &[Input],
        observer: &mut O,
        mut said: impl FnMut(&Self, &mut [Settled], &mut O),
    ) -> Result<Filled, Stop> {
        let mut settled = BTreeMap::new();
        loop {
            match self.render(inputs, &settled)? {
                Ok(texts) => return Ok(Filled::Texts(texts, settled.into_values().collect())),
                Err(names) => {
                    let mut found = self.settle(&names, observer)?;
                    let reasons: Vec<_> = found.iter().filter_map(|one| one.reason.clone()).collect();
                    let exit = verdict::exit(verdict::decide(&reasons));
                    said(self, &mut found, observer);
                    if exit != Exit::Allow {
                        return Ok(Filled::Waits(exit));
                    }
                    settled.extend(found.into_iter().map(|one| (one.name.clone(), one)));
                }
            }
        }
    }

    /// The text of each, or the late values that have to be known first.
    fn render(
        &self,
        inputs: &[Input],
        settled: &BTreeMap<String, Settled>,
    ) -> Result<Result<Vec<String>, BTreeSet<String>>, Stop> {
        let values = settled.iter().filter_map(|(name, one)| Some((name.clone(), one.value.clone()?))).collect();
        let seen = Scope::new(self.policy, values, self.variables());
        let mut texts = Vec::new();
        let mut needs = BTreeSet::new();
        for input in inputs {
            if !input.template {
                texts.push(input.text.clone());
                continue;
            }
            match apart::render(&input.name, &input.text, &seen, self.deadline())? {
                Rendered::Text(text) => texts.push(text),
                Rendered::Needs(names) => needs.extend(names),
            }
        }
        Ok(if needs.is_empty() { Ok(texts) } else { Err(needs) })
    }
}

/// Refuses values with a placeholder in them, which make the chart render it: the very thing that late values are there against.
///
/// # Errors
/// With the name of the late value and the line.
pub(crate) fn whole(text: &str, policy: &Policy) -> Result<(), Stop> {
    match late::standing(&StreamText::from(text.as_bytes().to_vec()), policy) {
        None => Ok(()),
        Some((name, line)) => Err(Stop::undecided(anyhow!(
            "line {line} of the values still holds a placeholder of late value {name}; write {{{{ late({name:?}) }}}} there"
        ))),
    }
}
