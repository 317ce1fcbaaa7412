package walker

import (
	"fmt"
	"sort"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// Op is one step of a JSON patch.
type Op struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// MarshalJSON leaves the value out where the operation takes none.
func (o Op) MarshalJSON() ([]byte, error) {
	if o.Op == "remove" {
		return encode(struct {
			Op   string `json:"op"`
			Path string `json:"path"`
		}{o.Op, o.Path}), nil
	}
	type full Op
	return encode(full(o)), nil
}

// Case is one mutation: what it is called and the patch on the base object.
type Case struct {
	ID    string
	Patch []Op
}

// Set, Remove and Many build the cases that a provider adds to the walk. A path is a JSON pointer.
func Set(pointer string, value any) Op { return Op{"add", pointer, value} }

// Remove takes a field away.
func Remove(pointer string) Op { return Op{Op: "remove", Path: pointer} }

// Many is a case of several steps.
func Many(id string, ops ...Op) Case { return Case{ID: "pair:" + id, Patch: ops} }

type mutator struct {
	generator *generator
	// deep tries every absent leaf alone, not only absent fields with all their content.
	deep  bool
	cases []Case
	seen  map[string]bool
}

func escape(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}

func (m *mutator) add(pointer, what string, ops ...Op) {
	id := strings.TrimPrefix(pointer, "/") + ":" + what
	key := string(encode(ops))
	if m.seen[key] {
		return
	}
	m.seen[key] = true
	m.cases = append(m.cases, Case{ID: id, Patch: ops})
}

func (m *mutator) set(pointer, what string, value any) {
	m.add(pointer, what, Op{"replace", pointer, value})
}

// walk tries every change of a present value.
func (m *mutator) walk(schema *apiextensionsv1.JSONSchemaProps, path []string, pointer string, value any) {
	hint, _ := m.generator.hints.find(path)
	if hint.Never {
		return
	}
	m.add(pointer, "remove", Op{Op: "remove", Path: pointer})
	m.set(pointer, "null", nil)
	m.defaults(schema, hint, pointer, value)
	switch typed := value.(type) {
	case map[string]any:
		m.whole(hint, pointer, value)
		m.object(schema, path, pointer, typed)
	case []any:
		m.whole(hint, pointer, value)
		m.list(schema, path, pointer, typed)
	default:
		m.scalar(schema, path, pointer, value)
	}
}

// whole tries the hinted values of a map or list.
func (m *mutator) whole(hint Hint, pointer string, value any) {
	for i, other := range hint.Values {
		if !same(other, value) {
			m.set(pointer, numbered("change", i), other)
		}
	}
}

func (m *mutator) defaults(schema *apiextensionsv1.JSONSchemaProps, hint Hint, pointer string, value any) {
	if schema.Default != nil {
		if byDefault := copyValue(schema.Default); !same(byDefault, value) {
			m.set(pointer, "default", byDefault)
		}
	}
	if hint.Default != nil && !same(hint.Default, value) {
		m.set(pointer, "default", hint.Default)
	}
}

func (m *mutator) scalar(schema *apiextensionsv1.JSONSchemaProps, path []string, pointer string, value any) {
	for i, alternative := range m.generator.alternatives(schema, path, value) {
		m.set(pointer, numbered("change", i), alternative)
	}
	if zero := zeroOf(schema); zero != nil && !same(zero, value) {
		m.set(pointer, "zero", zero)
	}
}

func numbered(what string, i int) string {
	if i == 0 {
		return what
	}
	return what + strconv.Itoa(i+1)
}

func zeroOf(schema *apiextensionsv1.JSONSchemaProps) any {
	switch schema.Type {
	case "string":
		return ""
	case "integer", "number":
		return int64(0)
	case "boolean":
		return false
	case "array":
		return []any{}
	case "object":
		return map[string]any{}
	}
	if schema.XIntOrString {
		return int64(0)
	}
	return nil
}

func (m *mutator) object(schema *apiextensionsv1.JSONSchemaProps, path []string, pointer string, value map[string]any) {
	if len(value) > 0 {
		m.set(pointer, "zero", map[string]any{})
	}
	if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
		m.entries(schema.AdditionalProperties.Schema, path, pointer, value)
		return
	}
	for _, name := range properties(schema) {
		property := schema.Properties[name]
		childPath, childPointer := child(path, name), pointer+"/"+escape(name)
		if present, ok := value[name]; ok {
			m.walk(&property, childPath, childPointer, present)
		} else {
			m.absent(&property, childPath, childPointer)
		}
	}
}

// entries walks a map with free keys.
func (m *mutator) entries(schema *apiextensionsv1.JSONSchemaProps, path []string, pointer string, value map[string]any) {
	names := make([]string, 0, len(value))
	for name := range value {
		names = append(names, name)
	}
	sort.Strings(names)
	for i, name := range names {
		if i < 2 {
			m.walk(schema, child(path, "*"), pointer+"/"+escape(name), value[name])
		}
	}
	if fresh, ok := m.generator.value(schema, child(path, "*"), len(names)); ok {
		m.add(pointer, "add-key", Op{"add", pointer + "/key-new", fresh})
	}
}

// absent tries a field that the object lacks: whole, empty, and each of its leaves alone.
func (m *mutator) absent(schema *apiextensionsv1.JSONSchemaProps, path []string, pointer string) {
	hint, _ := m.generator.hints.find(path)
	if hint.Never {
		return
	}
	all := &generator{hints: m.generator.hints, all: true}
	if value, ok := all.value(schema, path, 0); ok {
		m.add(pointer, "add", Op{"add", pointer, value})
	}
	if hint.Default != nil {
		m.add(pointer, "add-default", Op{"add", pointer, hint.Default})
	}
	if zero := zeroOf(schema); zero != nil {
		m.add(pointer, "add-zero", Op{"add", pointer, zero})
	}
	if m.deep {
		m.leaves(all, schema, path, pointer, pointer, func(value any) any { return value })
	}
}

// leaves adds each leaf below an absent field alone, with the parents that it needs.
func (m *mutator) leaves(all *generator, schema *apiextensionsv1.JSONSchemaProps, path []string, root, pointer string, wrap func(any) any) {
	if hint, _ := all.hints.find(path); hint.Never || len(hint.Values) > 0 && pointer != root {
		if !hint.Never {
			m.add(pointer, "add-leaf", Op{"add", root, wrap(copyValue(hint.Values[0]))})
		}
		return
	}
	if schema.Type == "object" && len(schema.Properties) > 0 {
		for _, name := range properties(schema) {
			property := schema.Properties[name]
			inner := func(value any) any { return wrap(map[string]any{name: value}) }
			m.leaves(all, &property, child(path, name), root, pointer+"/"+escape(name), inner)
		}
		return
	}
	if pointer == root {
		return
	}
	if value, ok := all.value(schema, path, 0); ok {
		m.add(pointer, "add-leaf", Op{"add", root, wrap(value)})
	}
	if zero := zeroOf(schema); zero != nil {
		m.add(pointer, "add-leaf-zero", Op{"add", root, wrap(zero)})
	}
	if hint, _ := all.hints.find(path); hint.Default != nil {
		m.add(pointer, "add-leaf-default", Op{"add", root, wrap(hint.Default)})
	} else if schema.Default != nil {
		m.add(pointer, "add-leaf-default", Op{"add", root, wrap(copyValue(schema.Default))})
	}
}

func (m *mutator) list(schema *apiextensionsv1.JSONSchemaProps, path []string, pointer string, value []any) {
	if len(value) > 0 {
		m.set(pointer, "zero", []any{})
	}
	if schema.Items == nil || schema.Items.Schema == nil {
		return
	}
	if len(value) > 1 {
		reversed := make([]any, len(value))
		for i := range value {
			reversed[len(value)-1-i] = value[i]
		}
		m.set(pointer, "reorder", reversed)
		m.add(pointer, "remove-last", Op{Op: "remove", Path: fmt.Sprintf("%s/%d", pointer, len(value)-1)})
		m.add(pointer, "remove-first", Op{Op: "remove", Path: pointer + "/0"})
	}
	if fresh, ok := m.generator.value(schema.Items.Schema, each(path), len(value)); ok {
		m.add(pointer, "append", Op{"add", pointer + "/-", fresh})
		m.add(pointer, "prepend", Op{"add", pointer + "/0", fresh})
	}
	if len(value) > 0 {
		m.add(pointer, "repeat", Op{"add", pointer + "/-", copyValue(value[0])})
		m.item(schema.Items.Schema, each(path), pointer+"/0", value[0])
	}
	if len(value) > 1 && m.deep {
		m.item(schema.Items.Schema, each(path), pointer+"/1", value[1])
	}
}

// item walks inside a list item; removing the item is tried by the list.
func (m *mutator) item(schema *apiextensionsv1.JSONSchemaProps, path []string, pointer string, value any) {
	switch typed := value.(type) {
	case map[string]any:
		m.object(schema, path, pointer, typed)
	case []any:
		m.list(schema, path, pointer, typed)
	default:
		m.scalar(schema, path, pointer, value)
	}
}

func same(a, b any) bool { return string(encode(a)) == string(encode(b)) }
