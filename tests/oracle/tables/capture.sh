#!/bin/sh
# Prints what the tests of a provider ask its webhooks, as lines of `<provider>.jsonl`: capture.sh [OPTION]... MODULE@VERSION PACKAGE...
#   -with FOLDER=MODULE@VERSION  a module that lies in the provider's own tree
#   -alone                       starts no API server before the tests: those that need one fail, or ask one that takes everything
#   -skip PATTERN                leaves these tests out
#   -compared                    prints what the comparisons of Machines were given instead
set -eu
here="$(cd "$(dirname "$0")" && pwd -P)"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
module() { (cd "$work" && go mod download -json "$1" | sed -n 's/.*"Dir": "\(.*\)",*/\1/p'); }
(cd "$here/capture" && go build -buildvcs=false -o "$work/capture" .)
with="" alone="" skip="^$" print=lines
while :; do
    case "$1" in
    -with) with="$2"; shift 2 ;;
    -alone) alone=yes; shift ;;
    -skip) skip="$2"; shift 2 ;;
    -compared) print=compared; shift ;;
    *) break ;;
    esac
done
cp -r "$(module "$1")" "$work/tree"
chmod -R u+w "$work/tree"
if [ -n "$with" ]; then cp -r "$(module "${with#*=}")" "$work/tree/${with%%=*}"; chmod -R u+w "$work/tree"; fi
name="${1%@*}"
shift
"$work/capture" wrap "$work/tree" "$name" "$@"
cd "$work/tree"
if [ -n "$alone" ]; then
    for package; do
        suites="$(grep -lE '\b(Before|After)Suite\(|^func TestMain\(' "$package"/*_test.go || true)"
        [ -n "$suites" ] || continue
        if grep -q 'testEnv .*TestEnvironment' $suites; then
            # The tests ask a server that takes everything.
            { sed -n '/^package /p' "$package/suite_test.go"; printf '\nimport (\n"context"\n"%s/witness"\n)\n\nvar testEnv, ctx = &witness.Cluster{}, context.Background()\n' "$name"; } > "$work/suite"
            mv "$work/suite" "$package/suite_test.go"
            continue
        fi
        sed -i -E 's/\b(Before|After)Suite\(/withoutServer(/; s/^func TestMain\(/func withServer(/' $suites
        { sed -n '/^package /p' "$(echo "$suites" | head -n 1)"; echo 'func withoutServer(func()) bool { return true }'; } > "$package/alone_test.go"
    done
fi
WITNESS="$work/asked" go test -count=1 -vet=off -skip "$skip" $(printf './%s ' "$@") >&2 || echo "some tests failed; what they asked before counts" >&2
"$work/capture" "$print" "$work/asked"
