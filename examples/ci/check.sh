#!/usr/bin/env bash
# Judges what this branch adds to another one, in any pipeline: check.sh origin/main 'helm template demo ./chart -f values.yaml'
set -euo pipefail
base="$1" render="$2"
code=0
rollgate plan --base-ref "$base" --render "$render" -o human -o markdown=rollgate.md -o html=rollgate.html || code=$?
case "$code" in
  0) echo "allowed" ;;
  3) echo "held: rollgate.md says why" ;;
  4) echo "undecided: rollgate.md says what could not be read" ;;
  *) echo "the check itself failed" ;;
esac
exit "$code"
