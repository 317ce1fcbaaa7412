//! The variables of a Kustomization, put into what it renders as kustomize-controller does. What is computed here is what people
//! write, `${name}` and a default; a function beyond that is an error by its name, never a guess.

use std::collections::BTreeMap;

/// Why a document was not filled in.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SubstituteFault {
    /// kustomize-controller refuses the document too.
    #[error("${{...}} in it is none that Flux reads")]
    Bad,
    /// Flux knows the function and this program does not.
    #[error("${{{0}...}} uses a function that is not computed here")]
    Function(String),
    /// Flux refuses the name.
    #[error("{0:?} is no name of a variable that Flux takes")]
    Name(String),
}

/// Whether Flux takes a name (fluxcd/pkg `kustomize/kustomize_varsub.go`, `varsubRegex`).
fn is_name(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Fills variables into the text of one object. One that is not defined becomes nothing, and where there is none at all the text
/// stays as it is (fluxcd/pkg `envsubst`, `kustomize/kustomize_varsub.go`).
///
/// # Errors
/// Where Flux refuses it, or it needs what is not computed here.
pub(crate) fn fill(text: &str, variables: &BTreeMap<String, String>) -> Result<String, SubstituteFault> {
    if variables.is_empty() {
        return Ok(text.to_owned());
    }
    if let Some(name) = variables.keys().find(|name| !is_name(name)) {
        return Err(SubstituteFault::Name(name.clone()));
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('$') {
        out.push_str(before);
        rest = if let Some(escaped) = behind.strip_prefix('$') {
            out.push('$');
            escaped
        } else if let Some(inside) = behind.strip_prefix('{') {
            let (value, rest) = variable(inside, variables)?;
            out.push_str(&value);
            rest
        } else {
            out.push('$');
            behind
        };
    }
    out.push_str(rest);
    Ok(out)
}

/// The value of what stands behind `${`, and what follows its brace.
fn variable<'t>(inside: &'t str, variables: &BTreeMap<String, String>) -> Result<(String, &'t str), SubstituteFault> {
    let end = inside.find(|c: char| !c.is_alphanumeric() && c != '_').ok_or(SubstituteFault::Bad)?;
    let (name, behind) = inside.split_at(end);
    if name.is_empty() {
        return Err(if behind.starts_with('#') {
            SubstituteFault::Function(String::new())
        } else {
            SubstituteFault::Bad
        });
    }
    let value = variables.get(name).cloned().unwrap_or_default();
    if let Some(rest) = behind.strip_prefix('}') {
        return Ok((value, rest));
    }
    let default = [":-", ":=", "="].iter().find_map(|word| behind.strip_prefix(*word));
    let Some(default) = default else { return Err(SubstituteFault::Function(name.to_owned())) };
    let (default, rest) = default.split_once('}').ok_or(SubstituteFault::Bad)?;
    if default.contains(['$', '\\', '{']) {
        return Err(SubstituteFault::Function(name.to_owned()));
    }
    Ok((if value.is_empty() { default.to_owned() } else { value }, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(text: &str) -> Result<String, SubstituteFault> {
        let variables = [("name", "demo"), ("empty", ""), ("n_1", "1")];
        fill(text, &variables.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
    }

    #[test]
    fn variables_are_filled_in_as_kustomize_controller_does() {
        for (text, told) in [
            ("a: ${name}", "a: demo"),
            ("a: ${n_1}${name}.", "a: 1demo."),
            ("a: [${unknown}]", "a: []"),
            ("a: ${unknown:-x y}, ${unknown:=z}, ${empty:-e}, ${name:-n}", "a: x y, z, e, demo"),
            ("a: ${empty=x}", "a: x"),
            ("a: $${name} $$ $name 5$", "a: ${name} $ $name 5$"),
        ] {
            assert_eq!(filled(text).as_deref(), Ok(told), "{text}");
        }
    }

    #[test]
    fn what_flux_refuses_or_nobody_computes_is_an_error() {
        for (text, fault) in [
            ("${", SubstituteFault::Bad),
            ("${name", SubstituteFault::Bad),
            ("${-}", SubstituteFault::Bad),
            ("${name:-x", SubstituteFault::Bad),
            ("${name^^}", SubstituteFault::Function("name".to_owned())),
            ("${name:0:2}", SubstituteFault::Function("name".to_owned())),
            ("${name/a/b}", SubstituteFault::Function("name".to_owned())),
            ("${#name}", SubstituteFault::Function(String::new())),
            ("${unknown:-${name}}", SubstituteFault::Function("unknown".to_owned())),
        ] {
            assert_eq!(filled(text), Err(fault), "{text}");
        }
        let wrong = BTreeMap::from([("a-b".to_owned(), String::new())]);
        assert_eq!(fill("a", &wrong), Err(SubstituteFault::Name("a-b".to_owned())));
        assert_eq!(fill("${", &BTreeMap::new()).as_deref(), Ok("${"));
    }
}
