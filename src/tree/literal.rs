//! `json!`: a tree as JSON is written in the source, made in place. A tree in it is a count, and is not read again.

use serde::Serialize;

use super::{List, Map, Text, Value};

/// A tree from JSON as it is written in the source: `json!({"spec": {"replicas": 3}})`. Expressions in it are anything that
/// serialises.
macro_rules! json {
    (null) => { $crate::tree::Value::Null };
    ([ $($items:tt)* ]) => {{
        #[expect(clippy::allow_attributes, reason = "an empty list changes nothing.")]
        #[allow(unused_mut, reason = "an empty list changes nothing.")]
        let mut list: ::std::vec::Vec<$crate::tree::Value> = ::std::vec::Vec::new();
        $crate::tree::literal::json_items!(list $($items)*);
        $crate::tree::Value::Array(list.into())
    }};
    ({ $($entries:tt)* }) => {{
        #[expect(clippy::allow_attributes, reason = "an empty map changes nothing.")]
        #[allow(unused_mut, reason = "an empty map changes nothing.")]
        let mut map = $crate::tree::Map::new();
        $crate::tree::literal::json_entries!(map () $($entries)*);
        $crate::tree::Value::Object(map)
    }};
    ($value:expr) => {{
        #[expect(clippy::allow_attributes, reason = "which of the two counts depends on the type.")]
        #[allow(unused_imports, reason = "which of the two counts depends on the type.")]
        use $crate::tree::literal::{Serialised as _, Tree as _};
        (&$crate::tree::literal::Leaf(&$value)).tree()
    }};
}

/// The items of a list.
macro_rules! json_items {
    ($list:ident) => {};
    ($list:ident null $(, $($rest:tt)*)?) => {
        $list.push($crate::tree::literal::json!(null));
        $( $crate::tree::literal::json_items!($list $($rest)*); )?
    };
    ($list:ident [ $($inner:tt)* ] $(, $($rest:tt)*)?) => {
        $list.push($crate::tree::literal::json!([ $($inner)* ]));
        $( $crate::tree::literal::json_items!($list $($rest)*); )?
    };
    ($list:ident { $($inner:tt)* } $(, $($rest:tt)*)?) => {
        $list.push($crate::tree::literal::json!({ $($inner)* }));
        $( $crate::tree::literal::json_items!($list $($rest)*); )?
    };
    ($list:ident $value:expr $(, $($rest:tt)*)?) => {
        $list.push($crate::tree::literal::json!($value));
        $( $crate::tree::literal::json_items!($list $($rest)*); )?
    };
}

/// The entries of a map; the words of a key are gathered up to its colon.
macro_rules! json_entries {
    ($map:ident ()) => {};
    ($map:ident ($($key:tt)+) : null $(, $($rest:tt)*)?) => {
        $map.insert($($key)+, $crate::tree::literal::json!(null));
        $( $crate::tree::literal::json_entries!($map () $($rest)*); )?
    };
    ($map:ident ($($key:tt)+) : [ $($inner:tt)* ] $(, $($rest:tt)*)?) => {
        $map.insert($($key)+, $crate::tree::literal::json!([ $($inner)* ]));
        $( $crate::tree::literal::json_entries!($map () $($rest)*); )?
    };
    ($map:ident ($($key:tt)+) : { $($inner:tt)* } $(, $($rest:tt)*)?) => {
        $map.insert($($key)+, $crate::tree::literal::json!({ $($inner)* }));
        $( $crate::tree::literal::json_entries!($map () $($rest)*); )?
    };
    ($map:ident ($($key:tt)+) : $value:expr $(, $($rest:tt)*)?) => {
        $map.insert($($key)+, $crate::tree::literal::json!($value));
        $( $crate::tree::literal::json_entries!($map () $($rest)*); )?
    };
    ($map:ident ($($key:tt)*) $next:tt $($rest:tt)*) => {
        $crate::tree::literal::json_entries!($map ($($key)* $next) $($rest)*);
    };
}

pub(crate) use {json, json_entries, json_items};

/// An expression of `json!`.
#[derive(Debug)]
pub(crate) struct Leaf<'v, T: ?Sized>(pub &'v T);

/// What is a tree already, or a text.
pub(crate) trait Tree {
    /// The tree.
    fn tree(&self) -> Value;
}

macro_rules! trees {
    ($($kind:ty: $leaf:ident => $tree:expr),*) => {$(
        impl Tree for Leaf<'_, $kind> {
            fn tree(&self) -> Value {
                let $leaf = self.0;
                $tree
            }
        }
    )*};
}

trees!(
    Value: value => value.clone(),
    &Value: value => (*value).clone(),
    &&Value: value => (**value).clone(),
    Option<Value>: value => value.clone().unwrap_or_default(),
    Option<&Value>: value => value.cloned().unwrap_or_default(),
    &Option<Value>: value => (*value).clone().unwrap_or_default(),
    Map: map => Value::Object(map.clone()),
    &Map: map => Value::Object((*map).clone()),
    List: list => Value::Array(list.clone()),
    Vec<Value>: list => Value::Array(list.clone().into()),
    &Vec<Value>: list => Value::Array((*list).clone().into()),
    &[Value]: list => Value::Array(list.to_vec().into()),
    &str: text => Value::from(*text),
    String: text => Value::from(text.as_str()),
    &String: text => Value::from(text.as_str()),
    Text: text => Value::from(text),
    &Text: text => Value::from(*text),
    bool: value => Value::Bool(*value)
);

/// Everything else that serialises.
pub(crate) trait Serialised {
    /// The tree.
    fn tree(&self) -> Value;
}

impl<T: Serialize + ?Sized> Serialised for &Leaf<'_, T> {
    /// # Panics
    /// Where it cannot stand in JSON: a map with keys that are no texts.
    fn tree(&self) -> Value {
        super::to_value(self.0).expect("a value that can stand in JSON")
    }
}
