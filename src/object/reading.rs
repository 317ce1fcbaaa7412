//! The tree of an object: read once, when somebody asks for it, and shared with other sides of the object wherever they say the same.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use super::{Body, LoadError, Object};
use crate::tree::Value;
use crate::yaml;

/// What the tree of an object reads as in other words, once somebody has asked for it.
#[derive(Clone, Default)]
pub(super) struct Form(Arc<OnceLock<Value>>);

impl std::fmt::Debug for Form {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Form").field(&self.0.get().is_some()).finish()
    }
}

/// The tree of a text, once somebody has asked for it.
#[derive(Clone, Default)]
pub(super) struct Read(OnceLock<Value>);

impl Read {
    /// Whether somebody has.
    pub(super) fn is_read(&self) -> bool {
        self.0.get().is_some()
    }
}

impl std::fmt::Debug for Read {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Read").field(&self.0.get().is_some()).finish()
    }
}

impl Object {
    /// The whole content as a tree; read once where the body is text.
    ///
    /// # Errors
    /// When the text is not what Kubernetes reads.
    pub fn value(&self) -> Result<Cow<'_, Value>, LoadError> {
        self.tree(None)
    }

    /// The whole content as a tree that shares every part with another side of the object that is equal there, where nobody has read it
    /// before. Of what both texts say in one and the same words, one is read.
    ///
    /// # Errors
    /// When the text is not what Kubernetes reads.
    pub fn value_beside(&self, other: &Self) -> Result<Cow<'_, Value>, LoadError> {
        let unread = |object: &Self| object.metadata.is_some() && object.read.0.get().is_none();
        if let (Body::Text(bytes, span), Body::Text(others, place)) = (&self.body, &other.body)
            && unread(self)
            && unread(other)
            && let Ok(tree) = yaml::read_at(place.of(others), place.start, other.line)
            && let Ok(value) = tree.to_json()
        {
            let there = other.read.0.get_or_init(|| value);
            let twin = yaml::Twin::of(&tree, there);
            let mut value = yaml::read_beside(span.of(bytes), span.start, self.line, twin)?;
            value.share(there);
            return Ok(Cow::Borrowed(self.read.0.get_or_init(|| value)));
        }
        self.tree(other.value().ok().as_deref())
    }

    /// The whole content as a tree, for one look: what nobody has read before is not kept either.
    ///
    /// # Errors
    /// When the text is not what Kubernetes reads.
    pub fn glance(&self) -> Result<Cow<'_, Value>, LoadError> {
        match (&self.body, self.read.0.get()) {
            (Body::Text(bytes, span), None) => {
                Ok(Cow::Owned(yaml::read_at(span.of(bytes), span.start, self.line)?.to_json()?))
            }
            _ => self.tree(None),
        }
    }

    /// Takes over the tree of another object with the same text, where that can be read and nobody has read this one.
    pub(crate) fn read_as(&self, other: &Self) {
        if let (Body::Text(..), None, Ok(value)) = (&self.body, self.read.0.get(), other.value()) {
            self.read.0.get_or_init(|| value.into_owned());
        }
    }

    /// This object, kept from one judgement to the next in the place of what it was before, with which it shares what did not change. Its
    /// copies share what [`Self::form`] makes of it.
    #[must_use]
    #[cfg(feature = "serve")]
    pub(crate) fn kept(mut self, before: Option<&Self>) -> Self {
        if let (Body::Value(value), Some(Body::Value(before))) = (&mut self.body, before.map(|before| &before.body)) {
            value.share(before);
        }
        Self { form: Some(Form::default()), ..self }
    }

    /// This object with another content, in which nothing is left of what it was.
    #[must_use]
    pub(crate) fn with_tree(self, value: Value) -> Self {
        Self {
            body: Body::Value(value),
            read: Read::default(),
            escapes: OnceLock::new(),
            names_data: OnceLock::new(),
            form: None,
            is_plain: false,
            ..self
        }
    }

    /// Whether it is kept so.
    #[must_use]
    pub(crate) fn is_kept(&self) -> bool {
        self.form.is_some()
    }

    /// What the content reads as in other words, which depend on nothing else; made once where the object is kept.
    ///
    /// # Errors
    /// When the text is not what Kubernetes reads.
    pub(crate) fn form(&self, make: impl FnOnce(&Value) -> Value) -> Result<Value, LoadError> {
        match &self.form {
            None => Ok(make(&*self.value()?)),
            Some(Form(known)) => {
                let value = self.value()?;
                Ok(known.get_or_init(|| make(&value)).clone())
            }
        }
    }

    fn tree(&self, beside: Option<&Value>) -> Result<Cow<'_, Value>, LoadError> {
        let (bytes, span) = match &self.body {
            Body::Value(value) => return Ok(Cow::Borrowed(value)),
            Body::Text(bytes, span) => (bytes, span),
        };
        if let Some(read) = self.read.0.get() {
            return Ok(Cow::Borrowed(read));
        }
        let mut value = yaml::read_at(span.of(bytes), span.start, self.line)?.to_json()?;
        if let Some(other) = beside {
            value.share(other);
        }
        Ok(Cow::Borrowed(self.read.0.get_or_init(|| value)))
    }
}
