#!/bin/sh
# Records the oracles named as arguments (folders of this one), or all of them, into testdata/oracle.
# Needs Go and the module proxy; GOTOOLCHAIN stays local and module checksums are verified.
set -eu
cd "$(dirname "$0")"
here="$(pwd -P)"
target="$(cd ../.. && pwd)/testdata/oracle"
export GOTOOLCHAIN=local CGO_ENABLED=0
binary="$(mktemp -d)/oracle"
trap 'rm -rf "$(dirname "$binary")"' EXIT
mkdir -p "$target"
[ $# -gt 0 ] || set -- *-[0-9]*
for module; do
    module="${module%/}"
    cd "$here/$module"
    # The folders below this one whose sources are in the program: its packages and their modules.
    sources="$(go list -deps -f '{{.Dir}}{{with .Module}}{{"\n"}}{{.Dir}}{{end}}' . | sed -n "s|^$here/||p" | sort -u | paste -sd, -)"
    echo "$module ($sources)"
    go build -buildvcs=false -o "$binary" .
    "$binary" -sources "$sources" -out "$target/${module%-*}@v${module##*-}.jsonl.gz"
done
