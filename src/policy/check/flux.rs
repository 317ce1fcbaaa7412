//! What a policy says of Flux: who is gated, and what is published.

use super::super::read::PolicyFault;
use super::super::{Flux, Selector};
use super::{fault, is_name};
use crate::object::Path;

pub(super) fn flux(at: &Path, told: &Flux) -> Vec<Result<(), PolicyFault>> {
    let gate = at.key("gate");
    let selectors = told.gate.iter().enumerate();
    let mut found: Vec<_> = selectors
        .map(|(place, text)| Selector::parse(text).map(drop).or_else(|why| fault(&gate.index(place), why)))
        .collect();
    let list = at.key("values");
    for (place, values) in told.values.iter().enumerate() {
        let at = list.index(place);
        for (field, name) in [("namespace", &values.namespace), ("name", &values.name), ("template", &values.template)]
        {
            if !is_name(name) {
                found.push(fault(&at.key(field), format!("{name:?} is no name of an object")));
            }
        }
        if values.key.is_empty() {
            found.push(fault(&at.key("key"), "the key is empty"));
        }
        if !values.secret && values.name == values.template {
            found.push(fault(&at.key("template"), "the template would be written over; give it another name"));
        }
        let is_twice = |other: &super::super::FluxValues| {
            (&other.namespace, &other.name, other.secret, &other.key)
                == (&values.namespace, &values.name, values.secret, &values.key)
        };
        if told.values[..place].iter().any(is_twice) {
            found.push(fault(&at.key("name"), "an entry above writes the same key of the same object"));
        }
    }
    found
}
