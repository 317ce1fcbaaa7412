#!/bin/sh
# Records the oracles named as arguments (folders of this one), or all of them, into testdata/oracle.
# Needs Go and the module proxy; GOTOOLCHAIN stays local and module checksums are verified.
set -eu
cd "$(dirname "$0")"
target="$(cd ../.. && pwd)/testdata/oracle"
export GOTOOLCHAIN=local CGO_ENABLED=0
binary="$(mktemp -d)/oracle"
trap 'rm -rf "$(dirname "$binary")"' EXIT
mkdir -p "$target"
[ $# -gt 0 ] || set -- *-[0-9]*
for module; do
    module="${module%/}"
    case "$module" in
        cluster-api-*) sources="walker,walker/capi,$module" ;;
        caprke2-*) sources="walker,walker/capi,walker/rke2,$module" ;;
        *) sources="walker,walker/infra,$module" ;;
    esac
    echo "$module"
    (cd "$module" && go build -buildvcs=false -o "$binary" . && "$binary" \
        -sources "$sources" \
        -out "$target/${module%-*}@v${module##*-}.jsonl.gz")
done
