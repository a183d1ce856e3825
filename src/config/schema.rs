//! The JSON schema of the file, from the rows that read it.

use super::key::{About, Takes};
use super::value::RESOURCES;
use serde_json::{Map, Value, json};

/// Go's spelling of a duration, or the agent's.
const DURATION: &str = "^(0|([0-9]+\\.?[0-9]*|\\.[0-9]+)(ns|us|µs|μs|ms|s|m|h|secs|mins|hrs|days|weeks))+$";
/// A Kubernetes quantity.
const SIZE: &str = "^\\+?([0-9]+\\.?[0-9]*|\\.[0-9]+)(m|[kMGTPE]|[KMGTPE]i|[eE][-+]?[0-9]+)?$";

/// A schema of draft 2020-12, indented, with a newline at its end.
pub fn schema() -> String {
    let mut root = object(&super::keys());
    root.insert("$schema".into(), json!("https://json-schema.org/draft/2020-12/schema"));
    root.insert("title".into(), json!("minion supervise --config"));
    format!("{:#}\n", Value::Object(root))
}

fn object(keys: &[&About]) -> Map<String, Value> {
    let mut object = Map::new();
    object.insert("type".into(), json!("object"));
    object.insert("additionalProperties".into(), json!(false));
    let properties: Map<String, Value> = keys.iter().map(|about| (about.name.into(), property(about))).collect();
    object.insert("properties".into(), properties.into());
    let required: Vec<&str> = keys.iter().filter(|about| about.required).map(|about| about.name).collect();
    if !required.is_empty() {
        object.insert("required".into(), json!(required));
    }
    let ways: Vec<Value> =
        keys.iter().filter(|about| about.way).map(|about| json!({ "required": [about.name] })).collect();
    if !ways.is_empty() {
        object.insert("oneOf".into(), ways.into());
    }
    object
}

fn property(about: &About) -> Value {
    let text = || json!({ "type": "string" });
    let integer = |least: i64, most: i64| json!({ "type": "integer", "minimum": least, "maximum": most });
    let either = |one: Value, other: Value| json!({ "anyOf": [one, other] });
    let mut value = match about.takes {
        Takes::Text(_) => text(),
        Takes::Choice(words) => json!({ "enum": words }),
        Takes::Integer(least, most) => integer(least, most),
        Takes::Switch => json!({ "type": "boolean" }),
        Takes::Duration => json!({ "type": "string", "pattern": DURATION }),
        Takes::Size => either(json!({ "type": "string", "pattern": SIZE }), integer(0, i64::MAX)),
        Takes::Signal => either(text(), integer(1, 64)),
        Takes::Account => either(text(), integer(0, i64::from(u32::MAX - 1))),
        Takes::Words => json!({ "type": "array", "items": text() }),
        Takes::Command => json!({ "type": "array", "items": text(), "minItems": 1 }),
        Takes::Variables => json!({ "type": "object", "additionalProperties": text() }),
        Takes::Limits => {
            let limits = RESOURCES.map(|(name, _)| (name.to_owned(), either(text(), integer(0, i64::MAX))));
            json!({ "type": "object", "properties": Map::from_iter(limits), "additionalProperties": false })
        }
        Takes::Table(keys) => object(&keys()).into(),
        Takes::Tables(keys) => json!({ "type": "array", "items": object(&keys()) }),
    };
    if let Some(value) = value.as_object_mut() {
        let default = if about.default.is_empty() { String::new() } else { format!(" Default: {}.", about.default) };
        value.insert("description".into(), json!(format!("{}{default}", about.help)));
    }
    value
}
