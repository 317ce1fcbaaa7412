//! Names that a template makes, as the webhooks try them out.
//! Read beside `internal/topology/names/names.go` of Cluster API 1.14 and its callers in the webhooks.

use std::collections::BTreeMap;

use crate::gotemplate::{self, Trouble};
use crate::kinds::labels;
use crate::tree::{Value, json};

/// What stands for the five random signs of a name. Go draws them from letters and digits that read the same in every name.
const RANDOM: &str = "x7k2p";
/// Longest name; a longer one is cut to make room for random signs.
const LONGEST: usize = 63;

/// What is wrong with a template for names; nothing where names come out that an API server takes, or where nobody here can say.
/// `own` is what the template may read beside the cluster: a key and a field, both with a made-up value.
#[must_use]
pub(crate) fn fault(template: &str, own: Option<(&str, &str)>) -> Option<String> {
    let mut values: BTreeMap<String, Value> = BTreeMap::new();
    values.insert("cluster".to_owned(), json!({"name": "cluster"}));
    values.insert("random".to_owned(), json!(RANDOM));
    if let Some((kind, field)) = own {
        values.insert(kind.to_owned(), json!({ field: kind.to_ascii_lowercase() }));
    }
    match gotemplate::name(template, &values, &[]) {
        Ok(mut name) => {
            if name.len() > LONGEST {
                let mut room = LONGEST - RANDOM.len();
                while !name.is_char_boundary(room) {
                    room -= 1;
                }
                name.truncate(room);
                name.push_str(RANDOM);
            }
            (!labels::is_subdomain(&name)).then(|| format!("{name:?} is no name of an object"))
        }
        Err(Trouble::Fails(why)) => Some(format!("the template fails: {why}")),
        Err(Trouble::NotComputed(_)) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_tried_out_as_the_webhooks_do() {
        let of_set = Some(("machineSet", "name"));
        for good in [
            "{{ .cluster.name }}-{{ .random }}",
            "{{ .machineSet.name }}-{{ .random }}",
            "{{ if .cluster.name }}{{ .random }}{{ end }}",
            "{{ printf \"%s-a\" .cluster.name }}-{{ .random }}",
            "a-very-long-prefix-that-takes-all-the-room-there-is-in-a-name-{{ .cluster.name }}-{{ .random }}",
        ] {
            assert_eq!(fault(good, of_set), None, "{good}");
        }
        for bad in [
            "{{ .cluster.name }}-{{ .random }}-",
            "{{ .cluster.name }}-X-{{ .random }}",
            "{{ .cluster.nam }}-{{ .random }}",
            "{{ .machineDeployment.topologyName }}-{{ .random }}",
            "{{ .cluster.name | upper }}-{{ .random }}",
            "{{ .random }}-{{ .cluster.name",
        ] {
            assert!(fault(bad, of_set).is_some(), "{bad}");
        }
    }
}
