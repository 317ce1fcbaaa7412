//! A command that a reason names, before it is known how the run was called.
//! Kept as words, so that whoever knows can put policy, namespace and context into it.

/// A command of this program, as words. Which policy, namespace and context it is for is known to whoever was called with them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call(Vec<String>);

impl Call {
    /// A command with a reason that a person has to write.
    #[must_use]
    pub fn of<'w>(words: impl IntoIterator<Item = &'w str>) -> Self {
        Self(words.into_iter().map(str::to_owned).collect())
    }

    /// The command as a shell reads it, with options before its reason.
    #[must_use]
    pub fn line(&self, options: &[(&str, &str)]) -> String {
        let words = self.0.iter().map(String::as_str);
        let options = options.iter().flat_map(|(option, value)| [*option, *value]);
        let said: Vec<String> = words.chain(options).map(quoted).collect();
        format!("rollgate {} --reason TEXT", said.join(" "))
    }
}

impl std::fmt::Display for Call {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.line(&[]))
    }
}

/// A word as a shell reads it.
#[must_use]
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_what_a_shell_reads() {
        let call = Call::of(["pin", "set", "vip", "it's $(mine); now"]);
        assert_eq!(call.to_string(), r"rollgate pin set vip 'it'\''s $(mine); now' --reason TEXT");
        let line = call.line(&[("--policy", "my policy.yaml"), ("-n", "edge")]);
        assert!(line.ends_with("now' --policy 'my policy.yaml' -n edge --reason TEXT"), "{line}");
    }
}
