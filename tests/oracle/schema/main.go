// Command schema writes the compact table of object schemas that rollgate carries: fields, types, defaults, and how lists
// and maps are merged, read from the CustomResourceDefinitions that the providers publish in their Go modules.
//
// Usage: go run . FOLDER... > ../../../src/schema/builtin.jsonl
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"sigs.k8s.io/yaml"
)

// definition is what is read of a CustomResourceDefinition.
type definition struct {
	Kind string `json:"kind"`
	Spec struct {
		Group string `json:"group"`
		Scope string `json:"scope"`
		Names struct {
			Kind string `json:"kind"`
		} `json:"names"`
		Versions []struct {
			Name   string `json:"name"`
			Served bool   `json:"served"`
			Schema struct {
				Schema schema `json:"openAPIV3Schema"`
			} `json:"schema"`
		} `json:"versions"`
	} `json:"spec"`
}

// schema is what is read of a structural schema.
type schema struct {
	Type        string             `json:"type"`
	Format      string             `json:"format"`
	Properties  map[string]*schema `json:"properties"`
	Additional  json.RawMessage    `json:"additionalProperties"`
	Items       *schema            `json:"items"`
	Default     json.RawMessage    `json:"default"`
	Nullable    bool               `json:"nullable"`
	IntOrString bool               `json:"x-kubernetes-int-or-string"`
	Pattern     string             `json:"pattern"`
	Preserve    bool               `json:"x-kubernetes-preserve-unknown-fields"`
	Embedded    bool               `json:"x-kubernetes-embedded-resource"`
	ListType    string             `json:"x-kubernetes-list-type"`
	ListKeys    []string           `json:"x-kubernetes-list-map-keys"`
	MapType     string             `json:"x-kubernetes-map-type"`
	MinItems    int                `json:"minItems"`
	MinKeys     int                `json:"minProperties"`
}

// node is one place of the compact table. Exactly one of F (fields), M (map of), L (list of) and T (type) is there.
type node struct {
	F map[string]*node `json:"f,omitempty"`
	M *node            `json:"m,omitempty"`
	L *node            `json:"l,omitempty"`
	T string           `json:"t,omitempty"`
	// K holds the keys of a list whose items are merged by key.
	K []string `json:"k,omitempty"`
	// S marks a list that is a set.
	S bool `json:"s,omitempty"`
	// A marks fields that are written as a whole.
	A bool `json:"a,omitempty"`
	// U marks fields that may have names that are not listed.
	U bool `json:"u,omitempty"`
	// N marks a place where null is a value.
	N bool `json:"n,omitempty"`
	// R marks a list or a map that must not be empty.
	R bool            `json:"r,omitempty"`
	D json.RawMessage `json:"d,omitempty"`
}

func compact(s *schema) *node {
	if s == nil {
		return &node{T: "any"}
	}
	n := &node{D: s.Default, N: s.Nullable, R: s.MinItems > 0 || s.MinKeys > 0}
	var additional *schema
	if len(s.Additional) > 0 && s.Additional[0] == '{' {
		additional = &schema{}
		if err := json.Unmarshal(s.Additional, additional); err != nil {
			fail(err)
		}
	}
	switch {
	case s.IntOrString && strings.Contains(s.Pattern, "[numkMGTPE]") || s.IntOrString && strings.Contains(s.Pattern, "KMGTPE"):
		n.T = "quantity"
	case s.IntOrString:
		n.T = "int-or-string"
	case additional != nil:
		n.M = compact(additional)
		n.A = s.MapType == "atomic"
	case s.Type == "array":
		n.L = compact(s.Items)
		n.S = s.ListType == "set"
		if s.ListType == "map" {
			n.K = s.ListKeys
		}
	case len(s.Properties) > 0:
		n.F = map[string]*node{}
		for name, property := range s.Properties {
			n.F[name] = compact(property)
		}
		n.A = s.MapType == "atomic"
		n.U = s.Preserve
		if s.Embedded {
			for _, name := range []string{"apiVersion", "kind", "metadata"} {
				if n.F[name] == nil {
					n.F[name] = &node{T: "any"}
				}
			}
		}
	case s.Type == "object" && !s.Preserve && !s.Embedded && len(s.Additional) == 0:
		n.F = map[string]*node{}
		n.A = s.MapType == "atomic"
	case s.Type == "string" && (s.Format == "date-time" || s.Format == "duration"):
		n.T = s.Format
	case s.Type == "" || s.Type == "object" || s.Preserve:
		n.T = "any"
	default:
		n.T = s.Type
	}
	if n.F != nil && len(n.F) == 0 {
		// An object without listed fields keeps none of them.
		n.F = nil
		n.T = "empty"
	}
	return n
}

// line is one kind in one version.
type line struct {
	Group   string `json:"group"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
	Cluster bool   `json:"cluster,omitempty"`
	Spec    *node  `json:"spec"`
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "schema:", err)
	os.Exit(1)
}

func main() {
	var lines []line
	for _, root := range os.Args[1:] {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".yaml") {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			var crd definition
			if err := yaml.Unmarshal(text, &crd); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			if crd.Kind != "CustomResourceDefinition" {
				return nil
			}
			for _, version := range crd.Spec.Versions {
				spec, there := version.Schema.Schema.Properties["spec"]
				if !version.Served || !there {
					continue
				}
				lines = append(lines, line{
					Group: crd.Spec.Group, Version: version.Name, Kind: crd.Spec.Names.Kind,
					Cluster: crd.Spec.Scope == "Cluster", Spec: compact(spec),
				})
			}
			return nil
		})
		if err != nil {
			fail(err)
		}
	}
	// What a later folder says about a kind and version takes the place of what an earlier one says.
	last := map[string]line{}
	for _, l := range lines {
		last[l.Group+"/"+l.Kind+"/"+l.Version] = l
	}
	lines = lines[:0]
	for _, l := range last {
		lines = append(lines, l)
	}
	sort.Slice(lines, func(i, j int) bool {
		a, b := lines[i], lines[j]
		return a.Group+"/"+a.Kind+"/"+a.Version < b.Group+"/"+b.Kind+"/"+b.Version
	})
	out := bufio.NewWriter(os.Stdout)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for _, l := range lines {
		if err := encoder.Encode(l); err != nil {
			fail(err)
		}
	}
	if err := out.Flush(); err != nil {
		fail(err)
	}
}
