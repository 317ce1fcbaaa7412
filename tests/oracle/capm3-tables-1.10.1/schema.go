package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta1"
	"sigs.k8s.io/controller-tools/pkg/crd"
	"sigs.k8s.io/controller-tools/pkg/genall"
)

type object = map[string]any

// write puts the CRDs and the webhook configurations into a folder. JSON is YAML too.
func write(folder string) error {
	if err := crds(filepath.Join(folder, "crds")); err != nil {
		return err
	}
	var mutating, validating []any
	for _, kind := range kinds {
		plural := strings.ToLower(kind) + "s"
		mutating = append(mutating, webhook("mutate", kind, plural))
		validating = append(validating, webhook("validate", kind, plural))
	}
	return save(filepath.Join(folder, "webhooks.yaml"),
		object{"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration", "webhooks": mutating},
		object{"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration", "webhooks": validating})
}

// crds makes the CRDs from the Go types and the markers in their comments, with the generator that
// the provider itself uses.
func crds(folder string) error {
	var generator genall.Generator = crd.Generator{}
	run, err := (&genall.Generators{&generator}).ForRoots("github.com/metal3-io/cluster-api-provider-metal3/api/v1beta1")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	run.OutputRules = genall.OutputRules{Default: genall.OutputToDirectory(folder)}
	if failed := run.Run(); failed {
		return errors.New("the CRDs could not be made")
	}
	return nil
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
