#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The Go package on the shared library: its format, its tests and its example. Nothing is downloaded.

# shellcheck source=tests/tap.sh
. "$2/tap.sh" || exit 1
top=$(cd "$2/../.." && pwd)
suite 5
export PATH=/usr/bin:$PATH GOCACHE=$out/go GOPROXY=off GOTOOLCHAIN=local GOFLAGS=-mod=mod
export CGO_CFLAGS="-O1 -I$top/tools/libcrabtree -I$top/uapi" CGO_LDFLAGS=-L$out LD_LIBRARY_PATH=$out

cd "$top/tools/go" || exit 1
t "the sources have the format of gofmt" 0 '' '' gofmt -l .
t "the package passes its tests" 0 '^ok' '' go test .
run go run ./examples/first "$tmp/g.img"
cp "$tmp/out" "$tmp/shown"
printf '%s\n' '42 <nil>' '16 42' > "$tmp/want"
same "the example runs" "$tmp/want" "$tmp/shown"
run go run ./examples/names "$tmp/n.img"
cp "$tmp/out" "$tmp/shown"
printf '%s\n' '13 u32 <nil>' 'line1/state text 7' > "$tmp/want"
same "so does that of names" "$tmp/want" "$tmp/shown"
truth "the documentation has the verbs" sh -c "go doc Store | grep Batch"
