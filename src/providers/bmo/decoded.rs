//! What Go's decoder takes for the types that hosts carry as JSON in an annotation, where a field that it does not know is refused.
//! Read beside `apis/metal3.io/v1alpha1/{baremetalhost,hardwaredata}_types.go` of baremetal-operator 0.10 to 0.14: all fields of these
//! versions together, so that one of a newer version counts as known in an older one.

use std::sync::LazyLock;

use crate::tree::Value;

/// The hardware of a host, in the form of [`fits`].
const HARDWARE: &str = r#"{
    "systemVendor": {"manufacturer": "text", "productName": "text", "serialNumber": "text"},
    "firmware": {"bios": {"date": "text", "vendor": "text", "version": "text"}},
    "ramMebibytes": "integer",
    "nics": [{"name": "text", "model": "text", "mac": "text", "ip": "text", "speedGbps": "integer", "vlanId": "integer", "pxe": "bool",
        "vlans": [{"id": "integer", "name": "text"}], "pciAddress": "text",
        "lldp": {"switchID": "text", "portID": "text", "switchSystemName": "text"}}],
    "storage": [{"name": "text", "alternateNames": ["text"], "rotational": "bool", "type": "text", "sizeBytes": "integer",
        "vendor": "text", "model": "text", "serialNumber": "text", "wwn": "text", "wwnVendorExtension": "text",
        "wwnWithExtension": "text", "hctl": "text"}],
    "cpu": {"arch": "text", "model": "text", "clockMegahertz": "number", "flags": ["text"], "count": "integer"},
    "hostname": "text"
}"#;

/// The status of a host, whose hardware, hints and images come from elsewhere by a name that begins with `@`.
const STATUS: &str = r#"{
    "operationalStatus": "text", "errorType": "text", "lastUpdated": "time", "hardwareProfile": "text", "hardware": "@hardware",
    "provisioning": {"state": "text", "ID": "text", "image": "@image", "rootDeviceHints": "@hints", "bootMode": "text",
        "raid": {
            "hardwareRAIDVolumes": [{"sizeGibibytes": "integer", "level": "text", "name": "text", "rotational": "bool",
                "numberOfPhysicalDisks": "integer", "controller": "text", "physicalDisks": ["text"]}],
            "softwareRAIDVolumes": [{"rootVolume": "bool", "sizeGibibytes": "integer", "level": "text", "physicalDisks": ["@hints"]}]},
        "firmware": {"virtualizationEnabled": "bool", "simultaneousMultithreadingEnabled": "bool", "sriovEnabled": "bool"},
        "customDeploy": {"method": "text"}},
    "goodCredentials": "@credentials", "triedCredentials": "@credentials",
    "errorMessage": "text", "poweredOn": "bool", "errorCount": "integer", "provisioningFailCount": "integer",
    "lastAttemptedImage": "@image",
    "operationHistory": {"register": "@times", "inspect": "@times", "provision": "@times", "deprovision": "@times"},
    "conditions": [{"type": "text", "status": "text", "observedGeneration": "integer", "lastTransitionTime": "time", "reason": "text",
        "message": "text"}]
}"#;

/// What has a name of its own in a status.
const PARTS: &str = r#"{
    "image": {"url": "text", "checksum": "text", "checksumType": "text", "format": "text", "ociAuthSecretName": "text"},
    "hints": {"deviceName": "text", "hctl": "text", "model": "text", "vendor": "text", "serialNumber": "text",
        "minSizeGigabytes": "integer", "wwn": "text", "wwnWithExtension": "text", "wwnVendorExtension": "text", "rotational": "bool"},
    "credentials": {"credentials": {"name": "text", "namespace": "text"}, "credentialsVersion": "text"},
    "times": {"start": "time", "end": "time"}
}"#;

/// The forms, read once.
static FORMS: LazyLock<Option<Forms>> = LazyLock::new(|| {
    let read = |text: &str| serde_json::from_str::<Value>(text).ok();
    Some(Forms { hardware: read(HARDWARE)?, status: read(STATUS)?, parts: read(PARTS)? })
});

/// The forms of what is decoded.
struct Forms {
    hardware: Value,
    status: Value,
    parts: Value,
}

/// The hardware of a host as its annotation says it; `None` where the decoder refuses it.
pub(super) fn hardware(text: &str) -> Option<Value> {
    let forms = FORMS.as_ref()?;
    first(text).filter(|read| fits(forms, &forms.hardware, read))
}

/// The status of a host as its annotation says it; `None` where the decoder refuses it.
pub(super) fn status(text: &str) -> Option<Value> {
    let forms = FORMS.as_ref()?;
    first(text).filter(|read| fits(forms, &forms.status, read))
}

/// How a host is to be rebooted: fields that Go does not know are let through here, and nothing may follow.
pub(super) fn reboot(text: &str) -> Option<Value> {
    let read: Value = serde_json::from_str(text).ok()?;
    let is =
        |name: &str, fits: fn(&Value) -> bool| field(&read, name).is_none_or(|value| value.is_null() || fits(value));
    let is_fine =
        (read.is_object() && is("mode", Value::is_string) && is("force", Value::is_boolean)) || read.is_null();
    is_fine.then_some(read)
}

/// A field by its name in letters of any size; the last one counts.
pub(super) fn field<'v>(object: &'v Value, name: &str) -> Option<&'v Value> {
    object.as_object()?.iter().rfind(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)
}

/// The first value of a text: the decoder does not look at what comes behind it.
fn first(text: &str) -> Option<Value> {
    serde_json::Deserializer::from_str(text).into_iter::<Value>().next()?.ok()
}

/// Whether Go decodes a value into a form: a map of fields, a list of one form, or a word for a plain value. Null fits everything, and
/// the names of fields may be written in letters of any size, as `encoding/json` has it.
fn fits(forms: &Forms, form: &Value, value: &Value) -> bool {
    match (form, value) {
        (_, Value::Null) => true,
        (Value::Object(fields), Value::Object(map)) => map.iter().all(|(name, value)| {
            let field = fields.iter().find(|(field, _)| field.eq_ignore_ascii_case(name));
            field.is_some_and(|(_, form)| fits(forms, form, value))
        }),
        (Value::Array(of), Value::Array(items)) => {
            of.first().is_some_and(|form| items.iter().all(|item| fits(forms, form, item)))
        }
        (Value::String(word), value) => match (word.as_ref(), value) {
            ("text", Value::String(_)) | ("bool", Value::Bool(_)) => true,
            ("integer", value) => value.as_i64().is_some(),
            ("number", value) => value.as_f64().is_some(),
            ("time", Value::String(text)) => text.parse::<jiff::Timestamp>().is_ok(),
            ("@hardware", value) => fits(forms, &forms.hardware, value),
            (name, value) => {
                let part = name.strip_prefix('@').and_then(|name| forms.parts.get(name));
                part.is_some_and(|form| fits(forms, form, value))
            }
        },
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hardware_has_known_fields_of_their_types() {
        let all = r#"{"systemVendor":{"manufacturer":"QEMU"},"ramMebibytes":4096,"nics":[{"name":"eth0","vlans":[{"id":1}],"pxe":true}],
            "storage":[{"sizeBytes":53687091200,"alternateNames":["/dev/sda"]}],"cpu":{"clockMegahertz":2494.224,"count":4}}"#;
        assert!(hardware(all).is_some() && hardware("{}").is_some() && hardware("null").is_some());
        assert!(hardware(r#"{"HostName":"a"} and more"#).is_some());
        for refused in [
            r#"{"vendor":{}}"#,
            r#"{"nics":[{"mtu":9000}]}"#,
            r#"{"ramMebibytes":"4096"}"#,
            r#"{"cpu":{"count":1.5}}"#,
            r#"{"storage":{}}"#,
            "[]",
            "{",
        ] {
            assert!(hardware(refused).is_none(), "{refused}");
        }
    }

    #[test]
    fn a_status_has_known_fields_of_their_types() {
        let all = r#"{"operationalStatus":"OK","hardware":{"hostname":"a"},"provisioning":{"state":"provisioned","ID":"1",
            "image":{"url":"http://a"},"raid":{"softwareRAIDVolumes":[{"level":"1","physicalDisks":[{"deviceName":"/dev/sda"}]}]}},
            "operationHistory":{"register":{"start":"2026-11-20T10:00:00Z","end":null}},"lastUpdated":"2026-11-20T10:00:00Z"}"#;
        assert!(status(all).is_some());
        for refused in [
            r#"{"hardware":{"host":"a"}}"#,
            r#"{"provisioning":{"raid":{"softwareRAIDVolumes":[{"physicalDisks":["/dev/sda"]}]}}}"#,
            r#"{"lastUpdated":"yesterday"}"#,
            r#"{"operationHistory":{"registered":{}}}"#,
        ] {
            assert!(status(refused).is_none(), "{refused}");
        }
    }
}
