//! Which servers may be asked whether the images that new Machines boot from are still there.

#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The servers of images that may be asked. Nothing is loaded from them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Images {
    /// Each with what its addresses begin with, such as `http://images.example/os/`. Asked only where the environment variable
    /// `ROLLGATE_ALLOW_SOURCES` names `http`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<String>,
    /// A file with the certificates of the authorities that they are known by; those of this machine where none is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca: Option<String>,
    /// Longest time for one answer, such as `5s`; ten seconds where none is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<String>,
}

impl Images {
    /// Whether nothing is said.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// Whether an address is one of those that may be asked. A server is a whole one: `http://images` is not `http://images.other`.
    #[must_use]
    pub fn includes(&self, url: &str) -> bool {
        self.servers.iter().any(|server| {
            let rest = url.strip_prefix(server.as_str());
            rest.is_some_and(|rest| server.ends_with('/') || rest.is_empty() || rest.starts_with('/'))
                // What climbs out of a folder, or hides that it does, is somewhere else.
                && !["/..", "\\", "%2e", "%2f", "%5c"].iter().any(|way| url.to_ascii_lowercase().contains(way))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_stands_on_a_server_that_is_named_may_be_asked() {
        let images =
            Images { servers: vec!["http://images:8080".to_owned(), "https://os/a/".to_owned()], ..Images::default() };
        for (url, is) in [
            ("http://images:8080/x.qcow2", true),
            ("http://images:8080", true),
            ("http://images:80801/x", false),
            ("http://images:8080@other/x", false),
            ("https://images:8080/x", false),
            ("https://os/a/x", true),
            ("https://os/b/x", false),
            ("https://os/a/../b/x", false),
            ("https://os/a/%2E%2e/b/x", false),
        ] {
            assert_eq!(images.includes(url), is, "{url}");
        }
        assert!(!Images::default().includes("http://images:8080/x"));
    }
}
