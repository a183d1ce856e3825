//! The schema: it has the keys that the reader has, it takes the examples, and it refuses what the reader refuses.

use super::common::keys::{below, every_key};
use super::{Machine, beside_executor, examples};
use minion::config::{self, About};
use serde_json::{Map, Value, json};
use toml::de::{DeTable, DeValue};

fn schema() -> Value {
    serde_json::from_str(&config::schema()).unwrap()
}

/// As a validator of JSON would see a file.
fn json_of(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => json!(text),
        DeValue::Integer(number) => json!(i64::from_str_radix(number.as_str(), number.radix()).unwrap()),
        DeValue::Float(number) => json!(number.as_str().parse::<f64>().unwrap()),
        DeValue::Boolean(boolean) => json!(boolean),
        DeValue::Datetime(time) => panic!("{time:?}"),
        DeValue::Array(list) => list.iter().map(|value| json_of(value.get_ref())).collect(),
        DeValue::Table(table) => object_of(table),
    }
}

fn object_of(table: &DeTable<'_>) -> Value {
    let entry = |(key, value): (&toml::Spanned<_>, &toml::Spanned<DeValue<'_>>)| {
        let name: &std::borrow::Cow<'_, str> = key.get_ref();
        (name.to_string(), json_of(value.get_ref()))
    };
    table.iter().map(entry).collect::<Map<_, _>>().into()
}

/// Whether the schema takes a value, as far as this schema goes; patterns are for others.
fn takes(schema: &Value, value: &Value) -> bool {
    let rule = |name: &str| schema.get(name);
    let all = |schemas: &Value| schemas.as_array().unwrap().iter().filter(|schema| takes(schema, value)).count();
    let typed = rule("type").is_none_or(|name| match name.as_str().unwrap() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_i64(),
        "boolean" => value.is_boolean(),
        other => panic!("{other}"),
    });
    let in_range = value.as_i64().is_none_or(|number| {
        rule("minimum").is_none_or(|least| number >= least.as_i64().unwrap())
            && rule("maximum").is_none_or(|most| number <= most.as_i64().unwrap())
    });
    typed
        && in_range
        && rule("enum").is_none_or(|words| words.as_array().unwrap().contains(value))
        && rule("anyOf").is_none_or(|schemas| all(schemas) > 0)
        && rule("oneOf").is_none_or(|schemas| all(schemas) == 1)
        && value.as_array().is_none_or(|list| {
            rule("items").is_none_or(|items| list.iter().all(|value| takes(items, value)))
                && rule("minItems").is_none_or(|least| list.len() as u64 >= least.as_u64().unwrap())
        })
        && value.as_object().is_none_or(|object| takes_object(schema, object))
}

fn takes_object(schema: &Value, object: &Map<String, Value>) -> bool {
    let there = |name: &Value| object.contains_key(name.as_str().unwrap());
    schema.get("required").is_none_or(|names| names.as_array().unwrap().iter().all(there))
        && object.iter().all(|(name, value)| {
            match (schema.pointer(&format!("/properties/{name}")), schema.get("additionalProperties")) {
                (None, Some(Value::Bool(allowed))) => *allowed,
                (Some(schema), _) | (None, Some(schema)) => takes(schema, value),
                (None, None) => true,
            }
        })
}

fn schema_takes(text: &str) -> bool {
    takes(&schema(), &object_of(DeTable::parse(text).unwrap().get_ref()))
}

/// What the schema says of a table, by the way to it.
fn table_of<'a>(schema: &'a Value, path: &str) -> &'a Value {
    let names = path.split('.').filter(|name| !name.is_empty());
    names.fold(schema, |table, name| {
        let property = &table["properties"][name];
        property.get("items").unwrap_or(property)
    })
}

fn has_the_keys(schema: &Value, path: &str, keys: &[&About]) {
    let table = table_of(schema, path);
    let mut names: Vec<&str> = keys.iter().map(|about| about.name).collect();
    names.sort_unstable();
    assert_eq!(names, table["properties"].as_object().unwrap().keys().collect::<Vec<_>>(), "{path}");
    assert_eq!(table["additionalProperties"], json!(false), "{path}");
    for about in keys {
        let description = table["properties"][about.name]["description"].as_str().unwrap();
        assert!(description.starts_with(about.help) && about.help.ends_with('.'), "{path} {}", about.name);
        assert!(description.contains(about.default), "{path} {}", about.name);
    }
}

#[test]
fn schema_and_reader_have_the_same_keys() {
    let (schema, keys) = (schema(), every_key());
    has_the_keys(&schema, "", &config::keys());
    for table in keys.iter().filter(|key| !key.is_leaf()) {
        has_the_keys(&schema, &table.path, &below(table.about));
    }
    assert_eq!(keys.iter().filter(|key| key.is_leaf()).count(), 92);
}

#[test]
fn the_schema_takes_the_examples() {
    for (name, text) in examples::files("toml") {
        assert!(schema_takes(&text), "{name}");
    }
}

#[test]
fn schema_and_reader_agree() {
    for (line, taken) in [
        ("nice = 19", true),
        ("nice = 20", false),
        ("x = 1", false),
        ("readiness = { fd = 3 }", true),
        ("readiness = { within = \"1s\" }", false),
        ("readiness = { fd = 3, notify = true }", false),
        ("health = { watchdog = true }", true),
        ("before-start = { timeout = \"1s\" }", false),
        ("start-limit = { starts = 0 }", false),
        ("limits = { nofile = 1, core = \"0:1\" }", true),
        ("limits = { files = 1 }", false),
        ("environment = { A = \"1\" }", true),
        ("environment = { A = 1 }", false),
        ("restart = \"on-failure\"", true),
        ("restart = \"often\"", false),
        ("user = 4294967295", false),
        ("log = { max-size = 1, stall = \"1s\" }", false),
    ] {
        let text = beside_executor(line);
        let refused = Machine::new().load(&text).err().unwrap_or_default();
        assert_eq!((schema_takes(&text), refused.is_empty()), (taken, taken), "{line} {refused:?}");
    }
}
