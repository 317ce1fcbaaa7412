package main

import (
	"fmt"
	"math/rand"
	"strings"
)

func pick(dice *rand.Rand, of ...string) string { return of[dice.Intn(len(of))] }

// generate makes a stream: documents that may be lists or hooks, with separators and line ends of every sort, and sometimes
// bytes changed anywhere.
func generate(dice *rand.Rand) string {
	var out strings.Builder
	if dice.Intn(8) == 0 {
		out.WriteString(pick(dice, "\uFEFF", "\n", " \n", "# c\n", "\r\n", "\t\n"))
	}
	if dice.Intn(3) > 0 {
		out.WriteString(separator(dice))
	}
	documents := 1 + dice.Intn(4)
	for i := 0; i < documents; i++ {
		if i > 0 {
			out.WriteString(separator(dice))
		}
		out.WriteString(document(dice, i))
	}
	if dice.Intn(6) == 0 {
		out.WriteString(separator(dice))
	}
	text := out.String()
	if dice.Intn(3) == 0 {
		text = ends(dice, text)
	}
	if dice.Intn(5) == 0 {
		text = mutated(dice, text)
	}
	return text
}

func separator(dice *rand.Rand) string {
	if dice.Intn(6) > 0 {
		return "---\n"
	}
	return pick(dice, "---\n---\n", "--- \n", "---\t\n", "--- # c\n", "---# c\n", "---\r\n", "---\u00a0\n", "---\u2028\n", "---\u0085\n",
		"---  #\r\n", "--- #\rx: 1\n", "\n---\n", "\r---\n", "\u0085---\n", "\u2028---\n", "\u2029---\n", "---\n\uFEFF", "---\n# c\n", "---x\n",
		" ---\n", "...\n", "...\n---\n", "---\n...\n---\n", "--- |\n", "---")
}

// ends gives lines other ends.
func ends(dice *rand.Rand, text string) string {
	switch dice.Intn(5) {
	case 0:
		return strings.ReplaceAll(text, "\n", "\r\n")
	case 1:
		return strings.TrimRight(text, "\n")
	case 2:
		lines := strings.SplitAfter(text, "\n")
		at := dice.Intn(len(lines))
		lines[at] = strings.TrimSuffix(lines[at], "\n") + pick(dice, "\r\r\n", "\r", "\u0085", "\u2028", "\r\n", "\n\n")
		return strings.Join(lines, "")
	case 3:
		return text + pick(dice, "\n\n", " ", "\r", "\x00", "---", "\n---")
	default:
		return strings.ReplaceAll(text, "\n", "\r\r\n")
	}
}

// mutated changes a few bytes.
func mutated(dice *rand.Rand, text string) string {
	bytes := []byte(text)
	for i := 0; i < 1+dice.Intn(3) && len(bytes) > 0; i++ {
		at := dice.Intn(len(bytes))
		switch dice.Intn(3) {
		case 0:
			bytes = append(bytes[:at], bytes[at+1:]...)
		case 1:
			const signs = "\n\r\t -:#'\"{}[],&*!|>%@?~ax0\\"
			bytes[at] = signs[dice.Intn(len(signs))]
		default:
			end := at + dice.Intn(len(bytes)-at)
			if end-at > 40 {
				end = at + 40
			}
			bytes = append(bytes[:end], append(append([]byte{}, bytes[at:end]...), bytes[end:]...)...)
		}
	}
	return string(bytes)
}

func document(dice *rand.Rand, number int) string {
	switch dice.Intn(16) {
	case 0:
		return pick(dice, "", "# only words\n", "null\n", "~\n", "{}\n", "[]\n", "text\n", "---\n")
	case 1:
		return jsonDocument(dice, number) + pick(dice, "\n", "", " ", "\n"+jsonDocument(dice, number+1)+"\n", jsonDocument(dice, number+1))
	case 2, 3, 4, 5:
		return list(dice, number)
	default:
		return plainObject(dice, number, "")
	}
}

func kind(dice *rand.Rand) (api, kind string) {
	pairs := [][2]string{{"v1", "ConfigMap"}, {"v1", "Secret"}, {"cluster.x-k8s.io/v1beta1", "Cluster"}, {"cluster.x-k8s.io/v1beta2", "MachineDeployment"},
		{"controlplane.cluster.x-k8s.io/v1beta1", "KubeadmControlPlane"}, {"apps/v1", "Deployment"}, {"v1", "Namespace"}}
	pair := pairs[dice.Intn(len(pairs))]
	return pair[0], pair[1]
}

// key writes a key in one of its spellings.
func key(dice *rand.Rand, name string) string {
	switch dice.Intn(14) {
	case 0:
		return `"` + name + `"`
	case 1:
		return "'" + name + "'"
	case 2:
		at := dice.Intn(len(name))
		return fmt.Sprintf(`"%s\x%02x%s"`, name[:at], name[at], name[at+1:])
	case 3:
		at := dice.Intn(len(name))
		return fmt.Sprintf(`"%s\u%04x%s"`, name[:at], name[at], name[at+1:])
	case 4:
		return "? " + name + "\n"
	default:
		return name
	}
}

// hook makes the line of annotations that says that something is one.
func hook(dice *rand.Rand, indent string) string {
	name := key(dice, "helm.sh/hook")
	if strings.HasPrefix(name, "?") {
		name = "helm.sh/hook"
	}
	event := pick(dice, "pre-upgrade", "post-upgrade", "pre-install,pre-upgrade", "test", " Pre-Upgrade ", "crd-install", `""`, "", "true", "1", "pre-upgrade,x", "pre-delete")
	metadata := indent + "  annotations:\n" + indent + "    " + name + ": " + event + "\n"
	if dice.Intn(3) == 0 {
		metadata += indent + "    helm.sh/hook-delete-policy: " + pick(dice, "before-hook-creation", "hook-succeeded", `""`) + "\n"
	}
	return metadata
}

func plainObject(dice *rand.Rand, number int, indent string) string {
	api, name := kind(dice)
	var out strings.Builder
	line := func(format string, words ...any) { out.WriteString(indent + fmt.Sprintf(format, words...) + "\n") }
	if dice.Intn(60) > 0 {
		line("%s: %s", strings.TrimSuffix(plain(dice, "apiVersion"), "\n"), api)
	}
	if dice.Intn(60) > 0 {
		line("%s: %s", plain(dice, "kind"), pick(dice, name, name, name, name, "'"+name+"'", strings.ToLower(name), name+"List"))
	}
	line("%s:", pick(dice, "metadata", "metadata", "metadata", "metadata", `"metadata"`, pick(dice, "metadata", "metadata", "metadata", "Metadata")))
	if dice.Intn(60) > 0 {
		line("  name: %s", pick(dice, fmt.Sprintf("o%d", number), fmt.Sprintf("o%d", number), `"o\x31"`, "'q'"))
	}
	if dice.Intn(2) == 0 {
		line("  namespace: %s", pick(dice, "n", "'n'", `""`))
	}
	if dice.Intn(4) == 0 {
		out.WriteString(hook(dice, indent))
	}
	if dice.Intn(30) == 0 {
		line("Metadata:")
		out.WriteString(hook(dice, indent))
	}
	if dice.Intn(3) == 0 {
		out.WriteString(data(dice, indent))
	}
	if dice.Intn(12) == 0 {
		items := key(dice, "items")
		out.WriteString(indent + strings.ReplaceAll(items, "\n", "\n"+indent) + ":" + pick(dice, "", " null", " []", " ~", " !!null x", " [{metadata: {name: in}}]", " [{metadata: {name: in}}]", pick(dice, " {}", " x", " [a]", " [{}]", " [null]")) + "\n")
	}
	if dice.Intn(20) == 0 {
		line("%s", pick(dice, "Items: []", "itemS: {}", "spec: {items: []}", "x: &a items", "<<: {items: []}", "!!binary aXRlbXM=: []", "%s"))
	}
	return out.String()
}

func plain(dice *rand.Rand, name string) string {
	if dice.Intn(10) == 0 {
		return pick(dice, `"`+name+`"`, "'"+name+"'")
	}
	return name
}

func data(dice *rand.Rand, indent string) string {
	head := indent + "data:\n" + indent + "  v: "
	switch dice.Intn(7) {
	case 0:
		return head + pick(dice, "|", "|-", "|+", ">", ">-", ">+") + "\n" + indent + "    one\n" + indent + "    two\n" + pick(dice, "", "\n", "\n\n")
	case 1:
		return head + "\"one\n" + indent + "    --- two\"\n"
	case 2:
		return head + "\"one\n--- two\"\n"
	case 3:
		return head + "'it''s --- here'\n"
	case 4:
		return head + "|\n" + indent + "    a: 1\n" + indent + "    ---\n" + indent + "    b: 2\n"
	default:
		return head + pick(dice, "text", "on", "0777", `"a\tb"`, "5") + "\n"
	}
}

// list makes a document that carries others.
func list(dice *rand.Rand, number int) string {
	var out strings.Builder
	api, name := "v1", "List"
	switch dice.Intn(5) {
	case 0:
		api, name = kind(dice)
		name += "List"
	case 1:
		api, name = kind(dice)
	}
	fmt.Fprintf(&out, "apiVersion: %s\nkind: %s\n", api, name)
	if dice.Intn(3) == 0 {
		out.WriteString("metadata:\n  name: l\n")
		if dice.Intn(2) == 0 {
			out.WriteString(hook(dice, ""))
		}
	}
	out.WriteString(key(dice, "items") + ":\n")
	for i := 0; i < dice.Intn(4); i++ {
		switch dice.Intn(24) {
		case 0:
			out.WriteString(pick(dice, "- null\n", "- text\n", "- {}\n", "- []\n", "- 5\n"))
		case 1:
			out.WriteString("- apiVersion: v1\n  kind: List\n  items: " + pick(dice, "[]", "null", "{}", "[{apiVersion: v1, kind: ConfigMap, metadata: {name: deep}}]") + "\n")
		case 2:
			fmt.Fprintf(&out, "- metadata: {name: i%d}\n", i)
		default:
			text := plainObject(dice, number*10+i, "  ")
			out.WriteString("- " + strings.TrimPrefix(text, "  "))
		}
	}
	return out.String()
}

func jsonDocument(dice *rand.Rand, number int) string {
	api, name := kind(dice)
	object := fmt.Sprintf(`{"apiVersion": "%s", "kind": "%s", "metadata": {"name": "j%d"}}`, api, name, number)
	switch dice.Intn(5) {
	case 0:
		return fmt.Sprintf(`{"apiVersion": "v1", "kind": "List", "items": [%s, %s]}`, object, object)
	case 1:
		return strings.Replace(object, "{", "{\n  ", 1)
	case 2:
		return strings.TrimSuffix(object, "}") + pick(dice, `, "items": null}`, `, "it\u0065ms": []}`, `, "Items": []}`, `, "data": {"v": "a\/b"}}`, `,}`, `, "data": {"v": 1e3}}`)
	default:
		return object
	}
}

// fixed are the streams of which every one was, or could be, a way past the gate.
func fixed() []string {
	cluster := "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata: {name: a, namespace: n}\n"
	carried := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\nitems:\n- apiVersion: cluster.x-k8s.io/v1beta1\n  kind: Cluster\n  metadata: {name: a}\n"
	hooked := "- apiVersion: cluster.x-k8s.io/v1beta1\n  kind: Cluster\n  metadata:\n    name: a\n    annotations:\n      helm.sh/hook: pre-upgrade\n"
	return []string{
		"", "\n", "# c\n", "---\n", "null\n", "{}\n", cluster, cluster + "items:\n", cluster + "items: null\n", cluster + "items: []\n",
		cluster + "\"items\": []\n", cluster + "\"it\\x65ms\": []\n", cluster + "'items': ~\n", cluster + "? items\n: []\n", cluster + "Items: []\n",
		cluster + "items: {}\n", cluster + "items: x\n", cluster + "spec: {items: []}\n", carried,
		"apiVersion: v1\nkind: List\nitems:\n" + hooked,
		"apiVersion: v1\nkind: ConfigMapList\nitems:\n" + hooked,
		"apiVersion: v1\nkind: List\nmetadata: {annotations: {helm.sh/hook: pre-upgrade}}\nitems:\n" + strings.Replace(hooked, "helm.sh/hook", "other", 1),
		"apiVersion: v1\nkind: List\nitems:\n- " + strings.ReplaceAll(strings.TrimSuffix(strings.ReplaceAll(carried, "\n", "\n  "), "  "), "kind: ConfigMap", "kind: List"),
		"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  annotations:\n    \"helm.sh/\\x68ook\": pre-upgrade\n",
		"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  annotations:\n    !!binary aGVsbS5zaC9ob29r: pre-upgrade\n",
		"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  annotations:\n    ? \"helm.sh/\\\n      hook\"\n    : pre-upgrade\n",
		"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\nMetadata:\n  annotations:\n    helm.sh/hook: pre-upgrade\n",
		"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\nmetadatA:\n  annotation\u017f:\n    helm.sh/hook: pre-upgrade\n",
	}
}
