#!/bin/sh
# Prints what the tests of a provider ask its webhooks, as lines of `<provider>.jsonl`: capture.sh MODULE@VERSION PACKAGE...
# A module that lies in the provider's own tree comes with `-with FOLDER=MODULE@VERSION` before its name.
set -eu
here="$(cd "$(dirname "$0")" && pwd -P)"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
module() { (cd "$work" && go mod download -json "$1" | sed -n 's/.*"Dir": "\(.*\)",*/\1/p'); }
(cd "$here/capture" && go build -buildvcs=false -o "$work/capture" .)
with=""
if [ "$1" = -with ]; then with="$2"; shift 2; fi
cp -r "$(module "$1")" "$work/tree"
chmod -R u+w "$work/tree"
if [ -n "$with" ]; then cp -r "$(module "${with#*=}")" "$work/tree/${with%%=*}"; chmod -R u+w "$work/tree"; fi
name="${1%@*}"
shift
"$work/capture" wrap "$work/tree" "$name" "$@"
cd "$work/tree"
WITNESS="$work/asked" go test -count=1 $(printf './%s ' "$@") >&2 || echo "some tests failed; what they asked before counts" >&2
"$work/capture" lines "$work/asked"
