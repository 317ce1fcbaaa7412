package walker

import (
	"encoding/json"
	"fmt"
	"regexp"
	"sort"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// Hint says which values a field takes where its schema does not say enough. The first value is
// the one of the base, list items take one each, and every value is tried as a change.
type Hint struct {
	Values []any
	// Skip leaves the field out of full bases; it is still tried as an addition.
	Skip bool
	// Never keeps the walk away from the field altogether.
	Never bool
	// Default is a value that the software behind the field takes for granted.
	Default any
}

// Hints are keyed by the end of a field's dotted path without list indexes; the longest matching
// key wins. `spec.version` matches `spec.version` and `spec.template.spec.version`.
type Hints map[string]Hint

// Values makes a Hint of values.
func Values(values ...any) Hint { return Hint{Values: plain(values)} }

// Defaulted is Values with the value that is meant when the field is absent.
func Defaulted(byDefault any, values ...any) Hint {
	return Hint{Values: plain(values), Default: plain([]any{byDefault})[0]}
}

func plain(values []any) []any {
	result := make([]any, len(values))
	for i, value := range values {
		var decoded any
		raw := encode(value)
		if err := utiljson.Unmarshal(raw, &decoded); err != nil {
			panic(err)
		}
		result[i] = decoded
	}
	return result
}

func (h Hints) find(path []string) (Hint, bool) {
	names := make([]string, len(path))
	for i, name := range path {
		names[i] = strings.TrimSuffix(name, items)
	}
	if last := len(path) - 1; last >= 0 {
		names[last] = path[last]
	}
	for start := range names {
		if hint, ok := h[strings.Join(names[start:], ".")]; ok {
			return hint, true
		}
	}
	return Hint{}, false
}

// items marks a path that means the items of a list and not the list: `files[]`. Fields of items
// are found without the mark: `files.path`.
const items = "[]"

func each(path []string) []string {
	return append(append([]string{}, path[:len(path)-1]...), path[len(path)-1]+items)
}

// merge gives both; the second wins.
func merge(a, b Hints) Hints {
	result := Hints{}
	for key, hint := range a {
		result[key] = hint
	}
	for key, hint := range b {
		result[key] = hint
	}
	return result
}

type generator struct {
	hints Hints
	// all ignores Hint.Skip.
	all bool
}

func child(path []string, name string) []string {
	return append(append([]string{}, path...), name)
}

// value makes a valid value of a schema; index is the position in the nearest list, and makes
// items differ. ok is false where nothing can be made.
func (g *generator) value(schema *apiextensionsv1.JSONSchemaProps, path []string, index int) (any, bool) {
	if hint, found := g.hints.find(path); found {
		if hint.Never || hint.Skip && !g.all {
			return nil, false
		}
		if len(hint.Values) > 0 {
			return copyValue(hint.Values[index%len(hint.Values)]), true
		}
	}
	switch {
	case schema.XIntOrString:
		return int64(1 + index), true
	case schema.Type == "object":
		return g.object(schema, path, index)
	case schema.Type == "array":
		return g.list(schema, path)
	case schema.Type == "string":
		return text(schema, path, index), true
	case schema.Type == "integer":
		return number(schema, path, index), true
	case schema.Type == "number":
		return float64(index) + 1.5, true
	case schema.Type == "boolean":
		return true, true
	case schema.XPreserveUnknownFields != nil:
		return fmt.Sprintf("any-%s", suffix(index)), true
	}
	return nil, false
}

func (g *generator) object(schema *apiextensionsv1.JSONSchemaProps, path []string, index int) (any, bool) {
	result := map[string]any{}
	for _, name := range properties(schema) {
		property := schema.Properties[name]
		if value, ok := g.value(&property, child(path, name), index); ok {
			result[name] = value
		}
	}
	if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
		for i := 0; i < 2; i++ {
			if value, ok := g.value(schema.AdditionalProperties.Schema, child(path, "*"), i); ok {
				result["key-"+suffix(i)] = value
			}
		}
	}
	if len(result) == 0 {
		if schema.XPreserveUnknownFields != nil && *schema.XPreserveUnknownFields {
			return map[string]any{"any": "a"}, true
		}
		return nil, false
	}
	return result, true
}

func (g *generator) list(schema *apiextensionsv1.JSONSchemaProps, path []string) (any, bool) {
	if schema.Items == nil || schema.Items.Schema == nil {
		return nil, false
	}
	length := 2
	if schema.MaxItems != nil && *schema.MaxItems < 2 {
		length = int(*schema.MaxItems)
	}
	var result []any
	for i := 0; i < length; i++ {
		if value, ok := g.value(schema.Items.Schema, each(path), i); ok {
			result = append(result, value)
		}
	}
	return result, len(result) > 0
}

func properties(schema *apiextensionsv1.JSONSchemaProps) []string {
	names := make([]string, 0, len(schema.Properties))
	for name := range schema.Properties {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

func suffix(index int) string { return string(rune('a' + index%26)) }

var (
	duration = regexp.MustCompile(`(?i)(timeout|period|ttl|interval|duration|delay|backoff)$`)
	lower    = regexp.MustCompile(`[^a-z0-9]+`)
)

func text(schema *apiextensionsv1.JSONSchemaProps, path []string, index int) any {
	if values := enum(schema); len(values) > 0 {
		return values[index%len(values)]
	}
	name := strings.TrimSuffix(path[len(path)-1], items)
	switch {
	case schema.Format == "date-time":
		return fmt.Sprintf("2025-06-0%dT00:00:00Z", 1+index%9)
	case schema.Format == "cidr":
		return fmt.Sprintf("10.%d.0.0/16", index+1)
	case schema.Format == "duration" || duration.MatchString(name):
		return fmt.Sprintf("%dm0s", 10+index)
	case schema.Format == "byte":
		return []string{"YQ==", "Yg==", "Yw==", "ZA=="}[index%4]
	case schema.Format == "ip" || schema.Format == "ipv4":
		return fmt.Sprintf("10.0.0.%d", index+1)
	case schema.Format == "uri":
		return "https://example.com/" + suffix(index)
	}
	word := lower.ReplaceAllString(strings.ToLower(name), "")
	if word == "" {
		word = "value"
	}
	result := word + "-" + suffix(index)
	if schema.MaxLength != nil && int64(len(result)) > *schema.MaxLength {
		result = result[len(result)-int(*schema.MaxLength):]
	}
	return result
}

func enum(schema *apiextensionsv1.JSONSchemaProps) []any {
	var values []any
	for _, raw := range schema.Enum {
		var value any
		if err := utiljson.Unmarshal(raw.Raw, &value); err == nil && value != "" {
			values = append(values, value)
		}
	}
	return values
}

func number(schema *apiextensionsv1.JSONSchemaProps, path []string, index int) any {
	if values := enum(schema); len(values) > 0 {
		return values[index%len(values)]
	}
	low := int64(1)
	if schema.Minimum != nil && int64(*schema.Minimum) > low {
		low = int64(*schema.Minimum)
	}
	return low + int64(index)
}

// alternatives are valid values that differ from the present one.
func (g *generator) alternatives(schema *apiextensionsv1.JSONSchemaProps, path []string, present any) []any {
	var result []any
	seen := map[string]bool{string(encode(present)): true}
	add := func(value any) {
		key := string(encode(value))
		if !seen[key] {
			seen[key] = true
			result = append(result, value)
		}
	}
	if hint, found := g.hints.find(path); found && len(hint.Values) > 0 {
		for _, value := range hint.Values {
			add(value)
		}
		if len(result) > 0 {
			return result
		}
	}
	switch {
	case schema.XIntOrString:
		if n, ok := present.(int64); ok {
			add(n + 1)
			add(strconv.FormatInt(n, 10))
		}
		add("50%")
		add(int64(0))
	case schema.Type == "boolean":
		flag, _ := present.(bool)
		add(!flag)
	case schema.Type == "integer":
		n, _ := present.(int64)
		if values := enum(schema); len(values) > 0 {
			for _, value := range values {
				add(value)
			}
			break
		}
		if schema.Maximum == nil || float64(n+1) <= *schema.Maximum {
			add(n + 1)
		} else {
			add(n - 1)
		}
	case schema.Type == "string":
		for _, value := range enum(schema) {
			add(value)
		}
		if len(result) == 0 {
			add(text(schema, path, 6))
		}
		if present, ok := present.(string); ok && duration.MatchString(path[len(path)-1]) && strings.HasSuffix(present, "m0s") {
			// The same duration in other words.
			add(strings.TrimSuffix(present, "0s"))
		}
	case schema.Type == "number":
		add(2.25)
	}
	return result
}

func copyValue(value any) any {
	var result any
	raw, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	if err := utiljson.Unmarshal(raw, &result); err != nil {
		panic(err)
	}
	return result
}
