#!/bin/sh
# Writes testdata/topology/templates.jsonl.gz: what Go makes of templates in the patches of a class.
set -eu
cd "$(dirname "$0")"
mkdir -p ../../../testdata/topology
GOTOOLCHAIN=local CGO_ENABLED=0 go run -buildvcs=false . | gzip -n -9 >../../../testdata/topology/templates.jsonl.gz
