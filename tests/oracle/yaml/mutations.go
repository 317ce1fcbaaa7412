package main

import "math/rand/v2"

const everyday = `apiVersion: v1
kind: ConfigMap
metadata:
  name: x
  labels: {a: b, "c": 'd'}
  finalizers:
  - f.x/y # c
data:
  s: |
    #!/bin/sh
    echo hi

  q: "a\tb"
  n: 5
  e:
list:
- a
- b: c
  'd': "e"
-   - x
    - y: z
`

const unusual = `x: &x {a: 1, b: [2,
   3]}
? y
: <<: *x
  p: plain
    more
t: >-
  folded
  text

    more
z: [*x, !!str 12, "q\
   r", 'it''s']
`

var pieces = []string{"a", "key: ", "- ", "? ", ": ", ":", "-", "[", "]", "{", "}", ", ", "#", " # c", "\n", "\n  ", "\n    ", "\n- ", "\n\t", " ", "\t", "'", "\"", "''", "\\n", "\\", "|", "|-\n", ">\n", "|2", "&a ", "*a", "*x", "!!str ", "!!int ", "! ", "<<: ", "~", "yes", "0777", ".inf", "1e3", "\r\n", "\r", "\u0085", "\u2028", "é", "---", "...", "a: 1\n", "- a\n", "{a: b}", "[a, b]", "a: |\n  x\n", "'q'", "\"q\": ", "::1", "word "}

// found are texts that once read differently here and in Go.
var found = []string{
	"- - - -  - b\n  - c\n- d: e\n  f: [1, 2 \n  \t3]\n", "k: [a\n\tb]", "- k: [a\n  \tb]", "  k: [a\n \tb]", "  k: {a: b\n \tc}", "k: [a\n \tb]",
	"a:\n  resources: \n    {}\nb: 1\n", "a:\n  'x'\nb: 1\n", "a:\n  x\n  y\nb: 1\n", "a:\n  |\n  x\nb: 1\n", "- a:\n    [b]\n", "a:\n  b\n   c: d\n",
}

// mutations cuts, repeats and fills two documents at random places, the same on every run.
func mutations() []string {
	random := rand.New(rand.NewPCG(1, 2))
	out := append([]string{}, found...)
	for len(out) < 1500 {
		text := []rune(everyday)
		if random.IntN(2) == 0 {
			text = []rune(unusual)
		}
		for n := 1 + random.IntN(3); n > 0; n-- {
			at := random.IntN(len(text) + 1)
			end := min(len(text), at+[]int{0, 0, 1, 2, 6}[random.IntN(5)])
			piece := []rune(pieces[random.IntN(len(pieces))])
			text = append(append(append([]rune{}, text[:at]...), piece...), text[end:]...)
		}
		out = append(out, string(text))
	}
	return out
}
