package walker

import (
	"sort"
	"strconv"
	"strings"
)

// Differences lists the paths at which two objects differ: the topmost one where a field is on one
// side only, the leaf where both have one. metadata.generation and status do not count.
func Differences(before, after map[string]any) []string {
	var paths []string
	differ(before, after, "", &paths)
	var kept []string
	for _, path := range paths {
		if path == "metadata.generation" || path == "metadata.managedFields" || path == "status" || strings.HasPrefix(path, "status.") {
			continue
		}
		kept = append(kept, path)
	}
	sort.Strings(kept)
	return kept
}

func differ(before, after any, path string, paths *[]string) {
	switch a := before.(type) {
	case map[string]any:
		b, ok := after.(map[string]any)
		if !ok {
			break
		}
		for name, value := range a {
			if other, ok := b[name]; ok {
				differ(value, other, join(path, name), paths)
			} else {
				*paths = append(*paths, join(path, name))
			}
		}
		for name := range b {
			if _, ok := a[name]; !ok {
				*paths = append(*paths, join(path, name))
			}
		}
		return
	case []any:
		b, ok := after.([]any)
		if !ok {
			break
		}
		for i := 0; i < len(a) || i < len(b); i++ {
			at := path + "[" + strconv.Itoa(i) + "]"
			if i < len(a) && i < len(b) {
				differ(a[i], b[i], at, paths)
			} else {
				*paths = append(*paths, at)
			}
		}
		return
	}
	if !same(before, after) {
		*paths = append(*paths, path)
	}
}

func join(path, name string) string {
	if strings.ContainsAny(name, "./[]\"") {
		return path + `["` + name + `"]`
	}
	if path == "" {
		return name
	}
	return path + "." + name
}
