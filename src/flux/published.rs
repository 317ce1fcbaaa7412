//! Values in the object that a HelmRelease names in `valuesFrom`. As long as it is missing, helm-controller does nothing with the
//! release (`internal/reconcile/helmrelease` of helm-controller 1.4: ValuesError before any action of Helm); as soon as it is there, it
//! is told by a label.

use std::collections::BTreeMap;

use crate::store::Kept;
use crate::store::cluster::OURS;

/// The values of one object, a text a key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Published(BTreeMap<String, String>);

/// Why values cannot be published in an object.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PublishError {
    /// Somebody else made it.
    #[error(
        "{place} is not one that rollgate wrote (it has no label {}={}), so it is left as it is; give another --name, or delete it first",
        OURS.0,
        OURS.1
    )]
    Foreign {
        /// The object.
        place: String,
    },
    /// It says something else under a late value that has no pin.
    #[error(
        "{place} was published with another value of {name}, of which no pin is known: helm-controller would write the new one \
         into the cluster; restore the pin with rollgate pin set {name} VALUE, or pass --replace"
    )]
    Moved {
        /// The object.
        place: String,
        /// The late value.
        name: String,
    },
    /// A key of it is no text.
    #[error("{place}: key {key}: {why}")]
    Unreadable {
        /// The object.
        place: String,
        /// The key.
        key: String,
        /// Why not.
        why: String,
    },
}

/// What becomes of an object by publishing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Became {
    /// It was not there.
    Created,
    /// It said something else.
    Changed,
    /// It says the same as before.
    Unchanged,
}

impl Published {
    /// Puts a text under a key. `fresh` are the late values that were pinned for the first time, by name; where the key held a text
    /// without one of them, that one has moved.
    ///
    /// # Errors
    /// When a late value has moved.
    pub(crate) fn put(
        &mut self,
        place: &str,
        (key, text): (&str, &str),
        fresh: &[(String, String)],
    ) -> Result<Became, PublishError> {
        let became = match self.0.get(key) {
            None => Became::Created,
            Some(before) if before == text => Became::Unchanged,
            Some(before) => {
                let moved = fresh.iter().find(|(_, value)| !before.contains(value.as_str()));
                if let Some((name, _)) = moved {
                    return Err(PublishError::Moved { place: place.to_owned(), name: name.clone() });
                }
                Became::Changed
            }
        };
        self.0.insert(key.to_owned(), text.to_owned());
        Ok(became)
    }
}

impl Kept for Published {
    const NOUN: &'static str = "values";
    // helm-controller looks again at once when such an object changes, not at the next interval.
    const LABELS: &'static [(&'static str, &'static str)] = &[("reconcile.fluxcd.io/watch", "Enabled")];

    type Fault = PublishError;

    fn parse(file: &str, _: &[u8]) -> Result<Self, PublishError> {
        Err(Self::unreadable(file, "", &"values are published in the cluster, not in files"))
    }

    fn render(&self, file: &str, _: &[u8]) -> Result<String, PublishError> {
        Err(Self::unreadable(file, "", &"values are published in the cluster, not in files"))
    }

    fn of_data(_: &str, data: &BTreeMap<String, String>) -> Result<Self, PublishError> {
        Ok(Self(data.clone()))
    }

    fn data(&self) -> BTreeMap<String, String> {
        self.0.clone()
    }

    fn takes(place: &str, labels: &BTreeMap<String, String>) -> Result<(), PublishError> {
        match labels.get(OURS.0).is_some_and(|by| by == OURS.1) {
            true => Ok(()),
            false => Err(PublishError::Foreign { place: place.to_owned() }),
        }
    }

    fn unreadable(place: &str, key: &str, error: &dyn std::fmt::Display) -> PublishError {
        PublishError::Unreadable { place: place.to_owned(), key: key.to_owned(), why: error.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_nobody_pinned_does_not_move_by_itself() {
        let mut values = Published::default();
        let vip = |value: &str| vec![("vip".to_owned(), value.to_owned())];
        let mut put = |text: &str, fresh: &[(String, String)]| {
            values.put("ConfigMap t/late", ("values.yaml", text), fresh).map_err(|error| error.to_string())
        };
        assert_eq!(put("vip: 10.0.3.7\n", &vip("10.0.3.7")), Ok(Became::Created));
        assert_eq!(put("vip: 10.0.3.7\n", &[]), Ok(Became::Unchanged));
        // The pin is lost, the value is the same, and the template says more.
        assert_eq!(put("vip: 10.0.3.7\nmore: 1\n", &vip("10.0.3.7")), Ok(Became::Changed));
        let error = put("vip: 10.0.9.9\nmore: 1\n", &vip("10.0.9.9")).expect_err("it has moved");
        assert!(error.starts_with("ConfigMap t/late was published with another value of vip"), "{error}");
        // What is pinned, or follows its source by the policy's word, is none of this.
        assert_eq!(put("vip: 10.0.9.9\nmore: 1\n", &[]), Ok(Became::Changed));
    }

    #[test]
    fn an_object_of_somebody_else_is_left_alone() {
        let labels = |by: &str| BTreeMap::from([(OURS.0.to_owned(), by.to_owned())]);
        assert!(Published::takes("ConfigMap t/late", &labels("rollgate")).is_ok());
        for labels in [labels("Helm"), BTreeMap::new()] {
            let error = Published::takes("ConfigMap t/late", &labels).expect_err("not ours").to_string();
            assert!(error.contains("give another --name"), "{error}");
        }
    }
}
