package main

import (
	"fmt"
	"math/rand"
	"sort"

	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/runtime"
)

// generator makes random objects that fit a schema: a few fields each, with values from a small set, so that two objects
// meet in the same places.
type generator struct{ *rand.Rand }

// object makes a whole object.
func (g *generator) object(s *server) map[string]any {
	object := g.part(s)
	metadata := object["metadata"].(map[string]any)
	metadata["labels"] = g.marks()
	spec := object["spec"].(map[string]any)
	shape := s.shape.Properties["spec"]
	for i := 0; i < 4+g.Intn(8); i++ {
		g.set(spec, &shape, 0)
	}
	return object
}

// part makes an object with very few fields.
func (g *generator) part(s *server) map[string]any {
	spec := map[string]any{}
	shape := s.shape.Properties["spec"]
	for i := 0; i < 1+g.Intn(2); i++ {
		g.set(spec, &shape, 0)
	}
	return map[string]any{
		"apiVersion": s.gvk.GroupVersion().String(), "kind": s.gvk.Kind,
		"metadata": map[string]any{"name": "x", "namespace": "n"}, "spec": spec,
	}
}

func (g *generator) marks() map[string]any {
	marks := map[string]any{}
	for i := g.Intn(3); i > 0; i-- {
		marks[g.word()] = g.word()
	}
	return marks
}

// changed makes a copy with some fields set anew and some taken away.
func (g *generator) changed(s *server, object map[string]any) map[string]any {
	object = runtime.DeepCopyJSON(object)
	spec, ok := object["spec"].(map[string]any)
	if !ok {
		spec = map[string]any{}
		object["spec"] = spec
	}
	shape := s.shape.Properties["spec"]
	for i := 1 + g.Intn(4); i > 0; i-- {
		switch g.Intn(3) {
		case 0:
			g.drop(spec, &shape)
		default:
			g.set(spec, &shape, 0)
		}
	}
	if g.Intn(4) == 0 {
		object["metadata"].(map[string]any)["labels"] = g.marks()
	}
	return object
}

func (g *generator) word() string { return string(rune('a' + g.Intn(4))) }

func keys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for key := range m {
		out = append(out, key)
	}
	sort.Strings(out)
	return out
}

// set sets one random field below a map.
func (g *generator) set(into map[string]any, shape *structural.Structural, depth int) {
	names := keys(shape.Properties)
	if len(names) == 0 {
		return
	}
	name := names[g.Intn(len(names))]
	below := shape.Properties[name]
	if inner, ok := into[name].(map[string]any); ok && len(below.Properties) > 0 && g.Intn(5) > 0 {
		g.set(inner, &below, depth+1)
		return
	}
	if items, ok := into[name].([]any); ok && len(items) > 0 && g.Intn(4) > 0 {
		into[name] = g.changedList(items, &below, depth)
		return
	}
	into[name] = g.value(&below, depth+1)
}

// changedList changes one item of a list, adds one, or puts them in another order.
func (g *generator) changedList(items []any, shape *structural.Structural, depth int) []any {
	items = append([]any{}, items...)
	switch at := g.Intn(len(items)); g.Intn(4) {
	case 0:
		items = append(items[:at:at], items[at+1:]...)
	case 1:
		g.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
	case 2:
		if inner, ok := items[at].(map[string]any); ok {
			g.set(inner, shape.Items, depth+1)
			break
		}
		items[at] = g.value(shape.Items, depth+1)
	default:
		items = append(items, g.value(shape.Items, depth+1))
	}
	return g.distinct(items, shape)
}

// drop takes one random field away.
func (g *generator) drop(from map[string]any, shape *structural.Structural) {
	names := keys(from)
	if len(names) == 0 {
		return
	}
	name := names[g.Intn(len(names))]
	below, known := shape.Properties[name]
	if inner, ok := from[name].(map[string]any); ok && known && len(inner) > 0 && g.Intn(4) > 0 {
		g.drop(inner, &below)
		return
	}
	delete(from, name)
}

// distinct drops items that stand for the same place of a list that is merged by item.
func (g *generator) distinct(items []any, shape *structural.Structural) []any {
	if shape.XListType == nil || *shape.XListType == "atomic" {
		return items
	}
	seen := map[string]bool{}
	out := []any{}
	for _, item := range items {
		id := string(text(item))
		if *shape.XListType == "map" {
			id = ""
			entry, ok := item.(map[string]any)
			if !ok {
				continue
			}
			for _, key := range shape.XListMapKeys {
				value, there := entry[key]
				if !there {
					value = g.value(ptr(shape.Items.Properties[key]), 9)
					entry[key] = value
				}
				id += fmt.Sprint(value, "/")
			}
		}
		if !seen[id] {
			seen[id] = true
			out = append(out, item)
		}
	}
	return out
}

func ptr[T any](value T) *T { return &value }

// value makes a random value.
func (g *generator) value(shape *structural.Structural, depth int) any {
	if shape == nil || shape.XIntOrString {
		return int64(g.Intn(3))
	}
	switch shape.Type {
	case "string":
		return g.word()
	case "integer", "number":
		return int64(g.Intn(4))
	case "boolean":
		return g.Intn(2) == 0
	case "array":
		items := []any{}
		for i := g.Intn(4); i > 0; i-- {
			items = append(items, g.value(shape.Items, depth+1))
		}
		return g.distinct(items, shape)
	case "object":
		out := map[string]any{}
		if shape.AdditionalProperties != nil && shape.AdditionalProperties.Structural != nil {
			for i := g.Intn(3); i > 0; i-- {
				out[g.word()] = g.value(shape.AdditionalProperties.Structural, depth+1)
			}
			return out
		}
		for i := 1 + g.Intn(3); i > 0 && depth < 8; i-- {
			g.set(out, shape, depth)
		}
		return out
	default:
		return g.word()
	}
}
