#!/bin/sh
# Writes testdata/objects/streams.jsonl.gz: what Helm 3, Helm 4 and kubectl make of seeded streams. More of them, to be played once:
#   tests/oracle/objects/record.sh 7 200000 >FILE && ROLLGATE_STREAMS=FILE cargo test --test yaml -- --ignored streams::bulk
set -eu
cd "$(dirname "$0")"
export GOTOOLCHAIN=local CGO_ENABLED=0
if [ $# -eq 2 ]; then
    exec go run -trimpath . -seed "$1" -streams "$2"
fi
mkdir -p ../../../testdata/objects
go run -trimpath . -seed 1 -streams 2500 | gzip -9n >../../../testdata/objects/streams.jsonl.gz
