#!/bin/sh
# The library shows its C ABI and nothing else: it must not meddle with the process that it lives in.
# exports_test.sh NM LIBRARY HEADER
set -eu
exported=$("$1" -D --defined-only "$2" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort)
declared=$(sed -n 's/^SPDLD_API .*[ *]\(spdld_[a-z_]*\)(.*/\1/p' "$3" | sort)
if [ -z "$declared" ] || [ "$exported" != "$declared" ]; then
  printf 'exported:\n%s\ndeclared in spdld.h:\n%s\n' "$exported" "$declared" >&2
  exit 1
fi
