package main

import (
	"encoding"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta1"
)

type object = map[string]any

// write puts one CRD per kind and the webhook configurations into a folder. JSON is YAML too.
func write(folder string) error {
	var mutating, validating []any
	for kind, sample := range kinds {
		plural := strings.ToLower(kind) + "s"
		spec, _ := reflect.TypeOf(sample).FieldByName("Spec")
		crd := object{
			"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
			"metadata": object{"name": plural + "." + infrav1.GroupVersion.Group},
			"spec": object{
				"group": infrav1.GroupVersion.Group, "scope": "Namespaced",
				"names": object{"kind": kind, "plural": plural},
				"versions": []any{object{
					"name": infrav1.GroupVersion.Version, "served": true, "storage": true,
					"subresources": object{"status": object{}},
					"schema": object{"openAPIV3Schema": object{"type": "object", "properties": object{
						"apiVersion": object{"type": "string"}, "kind": object{"type": "string"}, "metadata": object{"type": "object"},
						"spec": schemaOf(spec.Type), "status": object{"type": "object", "x-kubernetes-preserve-unknown-fields": true},
					}}},
				}},
			},
		}
		if err := save(filepath.Join(folder, "crds", plural+".yaml"), crd); err != nil {
			return err
		}
		mutating = append(mutating, webhook("mutate", kind, plural))
		validating = append(validating, webhook("validate", kind, plural))
	}
	return save(filepath.Join(folder, "webhooks.yaml"),
		object{"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration", "webhooks": mutating},
		object{"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration", "webhooks": validating})
}

func webhook(verb, kind, plural string) any {
	group, version := infrav1.GroupVersion.Group, infrav1.GroupVersion.Version
	path := "/" + verb + "-" + strings.ReplaceAll(group, ".", "-") + "-" + version + "-" + strings.ToLower(kind)
	return object{
		"name": verb + "." + plural, "clientConfig": object{"service": object{"name": "webhook", "namespace": "system", "path": path}},
		"rules": []any{object{"apiGroups": []string{group}, "apiVersions": []string{version}, "resources": []string{plural}, "operations": []string{"CREATE", "UPDATE"}}},
	}
}

func save(path string, documents ...object) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	var content []byte
	for _, document := range documents {
		raw, err := json.MarshalIndent(document, "", " ")
		if err != nil {
			return err
		}
		content = append(append(content, "---\n"...), append(raw, '\n')...)
	}
	return os.WriteFile(path, content, 0o644)
}

var (
	textual = reflect.TypeOf((*encoding.TextMarshaler)(nil)).Elem()
	encoded = reflect.TypeOf((*json.Marshaler)(nil)).Elem()
)

func schemaOf(t reflect.Type) object {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t.PkgPath() == "k8s.io/apimachinery/pkg/apis/meta/v1" && t.Name() == "Time":
		return object{"type": "string", "format": "date-time"}
	case t.Implements(textual) || t.Implements(encoded):
		return object{"type": "string"}
	}
	switch t.Kind() {
	case reflect.Struct:
		properties := object{}
		fields(t, properties)
		return object{"type": "object", "properties": properties}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": schemaOf(t.Elem())}
	case reflect.Slice:
		return object{"type": "array", "items": schemaOf(t.Elem())}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Int, reflect.Int32, reflect.Int64:
		return object{"type": "integer"}
	}
	return object{"type": "string"}
}

func fields(t reflect.Type, properties object) {
	for i := 0; i < t.NumField(); i++ {
		field := t.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" && (field.Anonymous || strings.Contains(options, "inline")) {
			fields(field.Type, properties)
			continue
		}
		if name == "" || name == "-" {
			continue
		}
		properties[name] = schemaOf(field.Type)
	}
}
