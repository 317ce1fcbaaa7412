package main

import (
	"fmt"
	"strings"
	"unicode/utf16"
)

func characters() (out []string) {
	for _, c := range []rune{0, 1, 7, 8, 9, 0xA, 0xB, 0xC, 0xD, 0x1B, 0x1F, 0x7F, 0x80, 0x84, 0x85, 0x86, 0x9F, 0xA0, 0xAD, 0x2028, 0x2029, 0x200B, 0xD7FF, 0xE000, 0xFEFF, 0xFFFD, 0xFFFE, 0xFFFF, 0x10000, 0x1F600, 0x1FFFE, 0x10FFFF} {
		s := string(c)
		out = append(out, "k: a"+s+"b", "# "+s+"\nk: 1", "k: \"a"+s+"b\"", "k: 'a"+s+" b'", "k: |\n  a"+s+"b\n", "k"+s+": 1", "k: 1"+s+"l: 2", "k: a"+s, "[a"+s+"b]", s+"k: 1", "k: 1\n"+s+"l: 2", "a:\n"+s+"  b: 1")
	}
	for _, s := range []string{"a: 1\n", "a: é\nb: 😀\n", "---\na: 1", "", "a: \x00", "a: \u0085b", "a: [b"} {
		little, big := "\xff\xfe", "\xfe\xff"
		for _, unit := range utf16.Encode([]rune(s)) {
			little += string([]byte{byte(unit), byte(unit >> 8)})
			big += string([]byte{byte(unit >> 8), byte(unit)})
		}
		out = append(out, little, big, little+"x")
	}
	out = append(out, "k: a\xffb", "k: \xc3", "k: \xc3\x28", "k: \xe2\x82", "k: \xe2\x28\xa1", "k: \xed\xa0\x80", "k: \xf0\x28\x8c\xbc", "k: \xf4\x90\x80\x80", "k: \xc0\xaf", "k: \xe0\x80\xaf", "# \xff\na: 1", "k: \"\xff\"", "\x80", "\xff\xfea\x00\x00\xd8", "\xff\xfe\x00\xdc", "k: \xf8\x88\x80\x80\x80", "\xef\xbb", "\xef\xbb\xbfk: \xef")
	return append(out, "\ufeffa: 1", "\ufeff# c\na: 1", "\ufeff", "\ufeff\n", " \ufeffa: 1", "a: 1\r\nb: 2\r\n", "a: 1\rb: 2\r", "a: 1\r\nb: 2\r", "a:\r\n  - b\r\n  - c\r\n", "a: 1\r\r\nb: 2", "\r\n", "\r", "a: 1 \r\n# c\r\nb: 2", "a: 1\u0085b: 2", "a: 1\u2028b: 2", "- a\u0085- b", "a:\tb", "\ta: b", "a:\n\tb: c", "a:\n  b: c\n\td: e", "a: b\t\n", "a:\t\n  b", "-\ta", "-\ta: b", "- \ta", "?\ta", "a:\n  - b\n\t- c", " \t\n a: 1", "\t\na: 1", "\t# c\na: 1", "a: 1\n\t\nb: 2", "a: 1\n\t# c\nb: 2", "a:\n\t\n  b: 1", "日本: 語\n", "é: |\n  ü\n", "a: 😀\n", "😀: a\nb: c", "é:\n  - ü\n  - b\n", "- é: 1\n  b: 2", "é: é: é")
}

func structure() []string {
	return []string{"a:\n  b:\n    c: 1\n  d: 2\ne: 3", "a:\n    b: 1\n    c: 2", "a:\n  b: 1\n c: 2", "a:\n  b: 1\n   c: 2", " a: 1\nb: 2", " a: 1\n b: 2", "a: 1\n b: 2", "a:\n- b\n- c\nd: e", "a:\n  - b\n  - c\nd: e", "a:\n - b\n- c", "- a\n - b", "- a\n- b\n-", "-\n  a", "-\n  a: 1\n  b: 2", "-\na", "- - a\n  - b\n- c", "- - - a", "-   - a\n    - b", "- a: 1\n  b: 2\n- c: 3", "- a: 1\n b: 2", "- a:\n  - b\n  - c", "- a:\n    - b\n  c: d", "- a: b\n  c:\n  - d\n  e: f", "a:\n-\n-\n", "a:\n- b: c\n  d: e\n- f", "a: b\n- c", "- a\nb: c", "a\nb: c", "a: 1\nb", "a: 1\nb\nc: 2", "a:\n  b\nc: 2", "a:\n  b\n  c: 2", "a:\n  'b'\n  c: 2", "? a\n: b\nc: d", "?\n  a: 1\n:\n  b", "? - a\n  - b\n: c", "- ? a\n  : b", "?\n- a", "a: ? b", "a: - b", "a:\n  ? b\n  : c", "a:\n  ? b\n  c: d", ":", "?", "-", "a:\n:\n", ": a\n: b", "a: b\n: c", "# c", "# c\n", "\n\n# c\n\n", "a: 1 # c\n# d\nb: 2 # e", "a: # c\n  b: 1", "a: # c\n  - b", "a:\n# c\n  b: 1", "a:\n    # c\n  b: 1", "- # c\n  a", "- a # c\n# d\n- b", "a: 'b' # c\nc: d", "a:\n  b: 1\n\n\n  c: 2\n\n", "a:\n  b: 1\n# c\n  c: 2", "  \n  \na: 1", "a: 1   \nb: 2  ", "a:     1", "a:\n\n\n  1", "a:\n  1\nb:\n  2", "{a: 1}\nb: 2", "[a]\n- b", "a: [b]\n  c", "a: {b: c}\n  d: e", "a: &x\n- b\nc: *x", "a: !!seq\n- b", "a: &x\n  b: 1\nc: *x", "&x\na: 1", "a: &x b\n  c", "-- a", "--a: b", "-: a", "- : a", "-? a", "a:b: c:d", "a: b:c", "a: :b", "a: b :c", "a: ::", "a: b::", "a: http://b:1/c?d=e&f=g#h", "a: b#c #d", "a: \"b\": c", "'a': 'b': 'c'", "a: 'b'\n 'c'", "a:\n  - - b\n    - c\n  - d", "a:\n  -b\n  -c", "a:\n  - b\n  c: d", "a:\n  b: c\n  - d", "a: b\n  c: d", "a: |\n  b\n c: d", "a: |\n  b\nc: d\n", "a: >\n  b\n c", "a:\n  b:\nc:\n", "a:\n  b: \n    c: \n      d:\n", "a: @b", "a: `b", "a: %b", "%b", " %b: c", "a\n%b", "a: b\n%c", "a: *b c", "a: !b", "a: !b\nc: d", "*a", "&a", "&a b", "!a", "!a b", "| a", "|", ">", "a: b\n\n\n", "a:  \n  b", "a: b,c", "a: b]", "a: b}", "a: ,b", "a: }b"}
}

func documents() []string {
	return []string{"", "\n", " ", "---", "---\n", "--- ", "---\na: 1", "--- a", "--- a: 1", "--- {a: 1}", "--- [a]", "--- 'a'", "--- |\n a", "--- # c\na: 1", "---# c\na: 1", "---a", "---\n---\n", "---\na: 1\n---\nb: 2", "a: 1\n---\nb: 2", "a: 1\n---b: 2", "a: 1\n--- b", "a: 1\n...", "a: 1\n...\n", "a: 1\n...\nb: 2", "a: 1\n... # c\n", "a: 1\n...x", "...", "...\na: 1", "---\n...\n", "---\n...\na: 1", "a: 1\n...\n---\nb: 2", "a: 1\n...\n...\n", "%YAML 1.1\n---\na: yes", "%YAML 1.2\n---\na: yes", "%YAML 1.0\n---\na", "%YAML 2.0\n---\na", "%YAML 1.1\n", "%YAML 1.1\na: 1", "%YAML 1.1 # c\n---\na", "%YAML 1.1 x\n---\na", "%YAML\n---\na", "%YAML 1\n---\na", "%YAML 1.\n---\na", "%YAML 1.100\n---\na", "%YAML 01.01\n---\na", "%YAML 1.1\n%YAML 1.1\n---\na", "%FOO bar\n---\na", "% a", "%TAG ! x\n---\na: 1", "%TAG a x\n---\na: 1", "%TAG !a x\n---\na: 1", "%TAG !a!\n---\na: 1", "%TAG !a! x y\n---\na: 1", "%YAML 1.1\n...\n", "a: 1\n%YAML 1.1\n---\nb: 2", "a: 1\n...\n%YAML 1.1\n---\nb: 2", "# c\n---\na: 1", "\n\n---\na: 1", " ---\na: 1", " --- a", "a: ---", "a:\n---\nb: 1", "a: \"b\n---\n\"", "[\n---\n", "\"a\":b", "'a' 'b'", "a: 1\n'b'", "{a: 1} {b: 2}", "{\"a\":1}\n{\"b\":2}", "[1][2]", "a\n...\n\ufeffb", "null", "~", "true", "12", "{\"apiVersion\": \"v1\",\n \"kind\": \"List\",\n \"items\": [{\"a\": 1.0}, {\"b\": 1e3}, {\"c\": \"\\u00e9\"}]}\n", "{\n\t\"a\": {\n\t\t\"b\": [\n\t\t\t1,\n\t\t\t2\n\t\t]\n\t}\n}\n", "{\"a\": \"\\/\"}", "{\"a\": \"\\ud83d\\ude00\"}", "{\"a\":1,\"a\":2}", "{\"a\": 12345678901234567890123, \"b\": -0.0, \"c\": 1E+2}", "apiVersion: v1\nkind: List\nitems:\n- a: 1\n- b: 2\n"}
}

func limits() (out []string) {
	for _, n := range []int{1000, 1018, 1019, 1020, 1021, 1022, 1023, 1024, 1025, 1026, 1030, 1100} {
		a, e := strings.Repeat("a", n), strings.Repeat("é", n)
		out = append(out, a+": 1", e+": 1", "'"+a+"': 1", "{"+a+": 1}", "["+a+": 1]", "["+a+"]: 1", "? "+a+"\n: 1", "{"+e+": 1}", "k: "+a, "- "+a+"\n- "+a+": 1", "{a: b, "+a+"}: 1", "a "+strings.Repeat(" ", n)+": 1", "["+a+", b: 1]")
	}
	for _, n := range []int{10, 100, 1000, 2000} {
		out = append(out, strings.Repeat("[", n)+strings.Repeat("]", n), strings.Repeat("{a: ", n)+"1"+strings.Repeat("}", n), strings.Repeat("- ", n)+"a", strings.Repeat("[", n), strings.Repeat("? ", n)+"a", strings.Repeat("&a [", n))
	}
	out = append(out, nested(60), nested(300), strings.Repeat("[", 10000)+strings.Repeat("]", 10000), strings.Repeat("[", 10001)+strings.Repeat("]", 10001), strings.Repeat("- ", 9999)+"a", strings.Repeat("- ", 10000)+"a", strings.Repeat("- ", 10001)+"a")
	return append(out, "k: "+strings.Repeat("a ", 3000), "k: '"+strings.Repeat("a''", 1000)+"'", "# "+strings.Repeat("c", 5000)+"\na: 1", strings.Repeat("\n", 2000)+"a: 1", "a:"+strings.Repeat(" ", 2000)+"1", strings.Repeat(" ", 2000)+"a: 1\n"+strings.Repeat(" ", 2000)+"b: 2")
}

func nested(n int) string {
	var b strings.Builder
	for i := 0; i < n; i++ {
		fmt.Fprintf(&b, "%sa:\n", strings.Repeat(" ", i))
	}
	return b.String()
}

// emission: how strings are written that must read back as themselves, plain and as rollgate quotes them.
func emission() (out []string) {
	texts := []string{"", " ", "  a", "a  ", "\ta", "a\t", "a\nb", "a\nb\n", "\na", "a\n\n\nb", "a \nb", "\ta\nb", "#a", "a #b", "a: b", "a:", "- a", "-", "? a", "[a]", "{a}", "a, b", "&a", "*a", "!a", "%a", "@a", "`a", "|", ">", "'a'", "\"a\"", "a'b", "a\"b", "a\\b", "a\rb", "a\r\nb", "a\u0085b", "a\u2028b", "a\u2029b", "\ufeffa", "a\ufeff", "a\x00b", "a\x07b", "a\x7fb", "a\u0080b", "a\u009fb", "a\u00a0b", "a\ufffdb", "a\ufffeb", "é", "日本", "😀", "---", "--- a", "...", "<<", "=", strings.Repeat("long words ", 30), strings.Repeat("x", 2000), "{{ .Values.a }}", "$(A)", "a\\nb", "/", "\\/", "<&>"}
	for _, t := range append(texts, strings.Fields(words)...) {
		out = append(out, "k: "+quoted(t), quoted(t)+": v", "["+quoted(t)+"]", "- "+quoted(t))
	}
	return out
}

// quoted is the double-quoted form that rollgate writes.
func quoted(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case r < 0x20 || r >= 0x7F && r <= 0x9F:
			fmt.Fprintf(&b, `\x%02X`, r)
		case r == 0xA0 || r == 0x2028 || r == 0x2029 || r == 0xFEFF || r == 0xFFFE || r == 0xFFFF:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
