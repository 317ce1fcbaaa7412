package main

import (
	"fmt"
	"strings"
)

// category is one file of recordings. Streams are cut into documents before they are read.
type category struct {
	name   string
	stream bool
	cases  []string
}

func categories() []category {
	return []category{
		{"scalars", false, scalars()},
		{"tags", false, tags()},
		{"keys", false, keys()},
		{"anchors", false, anchors()},
		{"blocks", false, blocks()},
		{"flow", false, flow()},
		{"quotes", false, quotes()},
		{"characters", false, characters()},
		{"structure", false, structure()},
		{"documents", false, documents()},
		{"limits", false, limits()},
		{"emission", false, emission()},
		{"manifests", false, manifests()},
		{"mutations", false, mutations()},
		{"streams", true, streams()},
	}
}

// words are separated by blanks; a plain scalar each.
const words = `yes Yes YES yEs no No NO on On ON oN off Off OFF y Y n N true True TRUE tRue false False FALSE
~ null Null NULL nULL None nil = << <
0 00 000 07 08 09 0777 0778 -0777 +0777 0o777 0O17 0o8 0x1F 0X1f 0xg 0x 0b101 0B11 0b2 0b 0o 0b+1 0b-101 -0b11 +0b1 -0x10 +0x1
1_000 1_ 1__0 _1 +1 -1 +-1 - -- + ++1 1,000 0x_1 0_7 0_8 100_ 1_000.5 -_1 +_ 0b1_1 0o1_7 0_o17
1.0 1.10 1e3 1E3 1e+3 1e-3 1e 1e+ 1.e3 1.5.2 .5 5. . .. .e1 .5_0 ._5 .5_ .5e1_0 .5e_1 5_.5 1_0.5 -.5 +.5 -. .5.5
.inf -.inf +.inf .Inf .INF .iNf -.INF .nan .NaN .NAN .Nan inf nan Infinity
1e400 -1e400 1e-400 1e308 1e309 5e-324 2.2250738585072014e-308 1.7976931348623157e308
9007199254740993 9223372036854775807 9223372036854775808 -9223372036854775808 -9223372036854775809 18446744073709551615 18446744073709551616
0xFFFFFFFFFFFFFFFF 0x10000000000000000 -0x8000000000000000 01777777777777777777777 02000000000000000000000 12345678901234567890123 012345678901234567890
1:30 12:34:56 190:20:30 1:60 00:11:22:33:44:55 10:20.5
2001-12-14 2001-12-14T21:59:43Z 2001-12-14t21:59:43.1-05:00 2001-13-14 2001-1-1 20011214
10.0.0.1 10.0.0.1/24 1.2.3 ::1 fe80::1 a:b a::b a#b v1.30.4 1.30 1m 100Mi 1Gi 0.5 500m 1h30m
0.1 1e21 1e20 123456789012345678901.0 1e-6 1e-7 123456789.123 0.000001 0.0000001 -0 -0.0 +0 0.0 0e0 -1.5e-9 3.0 100.0 1e2 1.5e3 12e-1
3.14159265358979 16777217.0 16777216 1e6 123456.5 100000.5 1234567.5 0.0001 0.00001 1e39 3.5e38 1e38 1e-46 33554433.5 0.1e-3
@a a@b %a a% *a !a &a ? : ?a :a a? a: -a --- ... ---a ...a a-b a_b /a ~a a~ (a) $a $(a) ${a} #a a,b ,a a]b a}b é ü日本 a\b \n`

func scalars() (out []string) {
	for _, w := range strings.Fields(words) {
		out = append(out, "k: "+w, w, "- "+w, "k: '"+w+"'", "[a, "+w+"]", "{k: "+w+"}")
	}
	for _, s := range []string{"", " ", "k:", "k: ", "k:\n", "-", "- ", "-\n-\n", "k: a b", "k: a  b", "k: a b ", "k: a # c", "k: a #", "k: a# b", "k: yes no", "k: 1 2", "k: - a", "k: -a", "k: a:", "k: a: b", "k: a\tb", "k:\ta", "k: \ta", "k: a\t# c", "k: a\t"} {
		out = append(out, s)
	}
	return out
}

func tags() (out []string) {
	values := []string{"", "a", "y", "12", "0777", "1.5", "1e3", "~", "null", ".inf", "2001-12-14", "2001-12-14 21:59:43", "2001-12-14T21:59:43.5+01:00", "2001-2-30", "18446744073709551615", "aGVsbG8=", "/+8=", "a GVs", "'12'", "\"y\"", "''", "[a]", "{a: 1}", "<<"}
	for _, tag := range []string{"!!str", "!!int", "!!float", "!!bool", "!!null", "!!timestamp", "!!binary", "!!merge", "!!map", "!!seq", "!!foo", "!foo", "!", "!<tag:yaml.org,2002:int>", "!<!>", "!<x>"} {
		for _, v := range values {
			out = append(out, "k: "+tag+" "+v)
		}
		out = append(out, tag+" y: v", "? "+tag+" 12\n: v", "- "+tag, "["+tag+" 1]", "["+tag+", 1]", "k: "+tag+"\nl: 1", "k: "+tag+" |\n  12\n", tag+" a: b\n"+tag+" c: d")
	}
	return append(out, "k: !a!b c", "%TAG !a! tag:x,1:\n---\nk: !a!b c", "%TAG ! tag:yaml.org,2002:\n---\nk: !int 12", "%TAG !! tag:x,1:\n---\nk: !!int a", "%TAG !a! x\n%TAG !a! y\n---\nk: 1",
		"k: !%41 b", "k: !%zz b", "k: !%C3%A9 b", "k: !%C3 b", "k: !<> b", "k: !<a b", "k: !! b", "k: !a{} b", "k: !a,b c", "k: !a b: c", "k: !!str &a b", "k: &a !!str 12\nl: *a", "k: !!str !!int 1", "!!str", "!!null ", "!!map {a: 1}", "! a: 1", "! <<: {a: 1}", "!!merge <<: {a: 1}", "!!merge '<<': {a: 1}", "! '<<': {a: 1}", "!!str <<: {a: 1}")
}

func keys() (out []string) {
	for _, w := range strings.Fields(words) {
		out = append(out, w+": v")
	}
	return append(out, "1: a\n1: b", "a: 1\na: 2\na: 3", "a: 1\n'a': 2", "\"a\": 1\na: 2", "y: 1\nyes: 2", "a: {b: 1}\na: {c: 2}", "~: 1", "? \n: v", "? ~\n: v", "'~': v", ": v", "'': v", "? a", "? a\n? b", "? a\n: b\n? c\n: d", "? [a]\n: b", "[a]: b", "[]: b", "{}: b", "{a: 1}: b", "[[]]: b", "[a, []]: b", "{a: {}}: b", "? {a: 1}\n: b", "? - a\n: b", "? |\n  a\n: b", "a b: c", "a  b: c", "a : b", "a: b: c", "a:b", "a:b: c", "'a':b", "\"a\":b", "'a': b", "'a' : b", "\"a b\": c", "a\n: b", "a\n  b: c", "'a\n  b': c", "*a : b", "&a b: c\nd: *a", "&a b: c\n*a : d", "&a [b]: c", "x: &a [b]\n*a : c", "x: &a y\n*a : c", "x: &a ~\n*a : c", "a: ~\n~: 1\na: 2", "a: {~: 1}\na: 2", "a: .inf\na: 2", "a: [.nan]\na: 2", "18446744073709551615: a", "1.0: a", "- a: 1\n  b: 2\n- c: 3", "-a: 1", "- -a: 1", "?a: b", ":a: b", "a?: b", "a-: b", "\"a\\nb\": c", "!!binary aGk=: v", "!!binary /+8=: v", "z: 1\na: 2\nM: 3\n_: 4\n\"<\": 5\né: 6")
}

func anchors() []string {
	return []string{"a: &x 1\nb: *x", "a: &x [1, 2]\nb: *x\nc: *x", "a: &x {b: 1}\nc: *x", "a: *x", "a: *x\nb: &x 1", "&x a: *x", "&x\na: *x", "a: &x\n  b: *x", "a: &x [*x]", "a: &x 1\nb: &x 2\nc: *x", "a: &x\nb: *x", "a: &x # c\n  b: 1\nc: *x", "- &x a\n- *x", "[&x a, *x]", "{a: &x b, c: *x}", "{&x a: *x}", "{*x : a}", "a: & b", "a: * b", "a: &x&y b", "a: &x &y b", "a: &x *x", "a: &é b", "a: &x.y b", "a: &x-y_1 b\nc: *x-y_1", "a: *x, b", "a: [*x]", "a: &x b: c", "&x - a", "&x\n- a\n- *x", "&x |\n  a", "a: &x |\n  t\nb: *x", "a: &x 'q'\nb: *x",
		"x: &x {a: 1, b: 2}\ny:\n  b: 3\n  <<: *x", "x: &x {a: 1, b: 2}\ny:\n  <<: *x\n  b: 3", "x: &x {a: 1}\nz: &z {a: 2, c: 3}\ny:\n  <<: [*x, *z]", "x: &x {a: 1}\nz: &z {a: 2, c: 3}\ny:\n  <<: *x\n  <<: *z", "<<: {a: 1}", "<<: [{a: 1}, {a: 2, b: 3}]", "<<:", "<<: a", "<<: [a]", "<<: [[{a: 1}]]", "<<: {}", "<<: []", "'<<': {a: 1}", "\"<<\": 1", "a: <<", "x: &x [1]\n<<: *x", "x: &x a\n<<: *x", "x: &x {<<: {a: 1}, b: 2}\ny: {<<: *x}", "a: &a\n  <<: *a", "a: &a\n  b:\n    <<: *a", "x: &x {k: v}\n? <<\n: *x", "x: &x {a: {b: 1}}\ny:\n  a: {c: 2}\n  <<: *x", "x: &x {a: 1}\ny: {<<: *x, <<: {b: 2}}", "- &b {n: 1}\n- <<: *b\n  m: 2\n- <<: [*b, {m: 3}]\n  n: 4", "x: &x\n  a: 1\ny: &y\n  <<: *x\n  b: 2\nz:\n  <<: *y\n  c: 3", "x: &m <<\n*m : {a: 1}", "<<: {<<: {<<: {a: 1}}}", "x: &x {1: a, y: b}\nz: {<<: *x}", "<<: *nope", "x: &x {a: 1}\ny: {<<: [*x, a]}", "x: &x {a: 1}\ny: {<<: !!map {b: 2}}",
		laughs(3, 5), laughs(5, 9), laughs(9, 9), mergeLaughs(4, 3), mergeLaughs(12, 9), manyAliases(90), manyAliases(2000), manyAliases(150000)}
}

func laughs(levels, width int) string {
	var b strings.Builder
	b.WriteString("a0: &a0 lol\n")
	for i := 1; i <= levels; i++ {
		fmt.Fprintf(&b, "a%d: &a%d [%s]\n", i, i, strings.Repeat(fmt.Sprintf("*a%d, ", i-1), width))
	}
	return b.String()
}

func mergeLaughs(levels, width int) string {
	var b strings.Builder
	b.WriteString("a0: &a0 {k: v}\n")
	for i := 1; i <= levels; i++ {
		fmt.Fprintf(&b, "a%d: &a%d {<<: [%s], k%d: v}\n", i, i, strings.Repeat(fmt.Sprintf("*a%d, ", i-1), width), i)
	}
	return b.String()
}

func manyAliases(n int) string {
	if n > 100000 {
		// Large enough for the share of aliases to be refused, short enough to be committed.
		return "a: &a [" + strings.Repeat("x,", 500) + "]\nb: [" + strings.Repeat("*a,", 900) + "]"
	}
	return "a: &a x\nb: [" + strings.Repeat("*a, ", n) + "]"
}

func blocks() (out []string) {
	heads := []string{"|", ">", "|-", ">-", "|+", ">+", "|1", "|2", ">2", "|2-", "|-2", "|+1", ">1+", "|9", "|0", "|-0", "|12", "|x", "| x", "| # c", "|# c", "|-+", "|\t", "|  "}
	bodies := []string{"\n  a", "\n  a\n", "\n  a\n\n", "\n  a\n\n\nb: 1", "\n\n  a\n  b\n", "\n  a\n   b\n  c\n", "\n   a\n  b\n", "\n  a\n\n  b\n", "\n", "", "\n\n\n", "\n  \n   \n", "\n  a \n  b\t\n", "\n\ta\n", "\n  \ta\n", "\n a\n", "\na\n", "\n  # c\n  a\n", "\n  a\n# c\nb: 1", "\n  a\n  # c\n", "\r\n  a\r\n  b\r\n", "\n  a\n...\n", "\n  --- a\n", "\n  a: b\n  - c\n"}
	for _, h := range heads {
		for i, b := range bodies {
			if i < 8 || h == "|" || h == ">" || h == ">+" || h == "|2" {
				out = append(out, "k: "+h+b)
			}
		}
		out = append(out, h+"\n  a\n", "- "+h+"\n  a\n- b", "- k: "+h+"\n    a\n  l: b", "["+h+"\n a]")
	}
	return append(out, "k: >\n  a\n  b\n\n  c\n\n\n  d\n", "k: >\n  a\n    b\n  c\n", "k: >\n  a\n\n    b\n\n  c\n", "k: >\n\n  a\n", "k: >\n    a\n  b\n", "k: >\n  a\n  \tb\n  c\n", "k: >-\n  a\n   \n  b\n", "a:\n  b: |\n    x\n   y\n", "a:\n  b: |\n    x\n  c: 1\n", "a:\n- |\n  x\n- >\n  y\n", "k: |\n  a\u0085  b\n", "k: |\n  a\u2028  b\n", "k: >\n  a\u2028  b\n  c\n", "k: |\n  é\n  日本\n", "k: |\n  a\n \n  b\n", "k: |\n      a\n    b\n", "--- |\n  a\n", "--- |\na\n", "--- >-\n a\n b\n", "k: !!str |\n  a\n", "k: &a |\n  a\nl: *a\n", "? |\n  a\n: |\n  b\n", "k: |\n  a\n  \n\n   \nl: b", "k: |+\n\n\nl: b", "k: >+\n\n\nl: b", "k: |\n  \"a\\n\" 'b' {c: d} # e\n", "k: |\n"+strings.Repeat(" ", 200)+"a\n")
}

func flow() (out []string) {
	for _, s := range []string{"[]", "{}", "[a]", "[a, b]", "[a,b]", "[a , b ,]", "[,]", "[a,,b]", "[", "]", "{", "}", "[a", "a]", "{a", "{a: b", "[a, [b, [c]]]", "{a: {b: {c: d}}}", "{a}", "{a, b: c}", "{a: }", "{a: , b: }", "{a:1}", "{a:b, c}", "{a :b}", "{a : b}", "{'a':b}", "{\"a\":1}", "{\"a\":[1,2],\"b\":{\"c\":null}}", "{a: b,}", "{,}", "{a: b, , c: d}", "[a: b]", "[a: b, c: d]", "[a: b, c]", "[? a : b]", "[? a]", "[?]", "[? ]", "[: b]", "[a: ]", "['a':b]", "[a :b]", "[{a: b}, [c]]", "[a b, c d]", "[a\nb, c]", "[\n a,\n b\n]", "[\na,\nb\n]", "{\na: b\n}", "{a: b\n, c: d}", "{a\n: b}", "[a\n: b]", "{? a : b}", "{? a}", "{?}", "{? : b}", "{: b}", "{a: - b}", "[- a]", "[-]", "[-a]", "[- ]", "[-, a]", "[a-]", "[a, -b]", "[a # c\n, b]", "[a, # c\n b]", "[a #c]", "[#c\na]", "[a#b]", "[::1]", "[a::b]", "[:a]", "[a:]", "[a:,b]", "[http://x:80/, y]", "{u: http://x:80/}", "[a?b]", "[?a]", "[a?, b]", "[*x]", "[&x a, *x]", "[!!str 1, !!int '2']", "[|\n a]", "[>a]", "['a' 'b']", "[\"a\"\n]", "[a]b", "[a] b", "[a]: b", "[a]#c", "[a] # c", "{a: b}}", "[a]]", "{a: [b}", "[{a: b]", "[\ta\t,\tb\t]", "{\ta:\tb\t}", "[a, 'b\nc']", "[a,\n\n\nb]", "[a\n  b\n  c]", "{a: b\n  c}", "[%a]", "[@a]", "[`a]", "[a, ---, b]", "[\n---\n]", "[\n--- a\n]", "[\n...\n]", "{a: 'b', \"c\": d, e: \"f\"}", "{<<: {a: 1}, b: 2}", "[a, b]\n", "  [a]", "{a: 1, a: 2}", "[true, no, ~, 0o7, 1.0]"} {
		out = append(out, s, "k: "+s, "- "+s, "k:\n  "+s+"\nl: 1", "k:\n"+s)
	}
	return out
}

func quotes() (out []string) {
	for c := rune(0x20); c < 0x7F; c++ {
		out = append(out, "k: \"\\"+string(c)+"41\"", "k: 'a"+string(c)+"b'", "k: a"+string(c)+"b", "k: "+string(c)+"a", "k: a"+string(c)+" b", "["+string(c)+"a]")
	}
	return append(out, `k: "\x4"`, `k: "\x41\u00e9\U0001F600"`, `k: "\ud83d\ude00"`, `k: "\uD800"`, `k: "\U00110000"`, `k: "\U0010FFFF"`, `k: "\u"`, `k: "\u12"`, `k: "\0\a\b\t\n\v\f\r\e\ \"\'\\\N\_\L\P"`, "k: \"\\\t\"", "k: \"a\\\n  b\"", "k: \"a \\\n  b\"", "k: \"a\\\n\n  b\"", "k: \"a\\\n\\  b\"", "k: \"a\n  b\"", "k: \"a\n\n  b\"", "k: \"a  \n  b\"", "k: \"\n  a\n\"", "k: \"a\nb\"", "k: 'a\nb'", "k: 'a\n\n\nb'", "k: 'a ''b'' c'", "k: ''''", "k: ''''''", "k: 'a", "k: \"a", "k: \"a\\", "k: \"a\\\"", "k: 'a' b", "k: \"a\" b", "k: 'a'b", "k: \"a\"#c", "k: 'a'#c", "k: 'a' # c", "k: \"a\"\n  b", "k: 'a'\n'b'", "'a'", "\"a\"", "'a'\n", "\"a\": b", "\"a\":b", "k: \"a\n---\nb\"", "k: \"a\n---b\"", "k: \"a\n...\n\"", "k: 'a\n--- '", "k: \"\ta\t\"", "k: \"a\n\tb\"", "k: 'a\n\tb'", "k: \"a\r\n  b\"", "k: \"a\rb\"", "k: \"a\u0085b\"", "k: \"a\u2028b\"", "k: 'a\u2029 b'", "k: \"\u2028\n a\"", "k: \"\"", "k: ''", "- ''\n- \"\"", "k: \" \"", "k: ' a '", "k: \"# a\"", "k: \": a\"", "k: '- a'", "k: \"#!/bin/sh\\n\\ttab   \\nend  \\n\"", `k: "/\/"`, `k: "\z"`, "k: a\n  b", "k: a\n\n  b", "k: a\n b\n  c", "k: a\nb", "k: a\n  b: c", "k: a\n  # c\n  b", "k: a # c\n  b", "k: a\n  - b", "k: a\n\tb", "k: a\n  \tb", "k: a\n \t b", "a\nb", "a\n\nb\n", "a\n b", "- a\n  b\n- c", "- a\n b", "- a\nb", "k:\n  a\n  b\n", "k:\n a", "k:\na", "k: a\r\n  b\r\n", "k: a\r  b", "k: a\u0085  b", "k: a\u2028  b")
}
