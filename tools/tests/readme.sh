#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The examples of README.md and of the page of languages, without a change.

# shellcheck source=tests/tap.sh
. "$2/tap.sh" || exit 1
top=$2/../..
suite 20
export PYTHONDONTWRITEBYTECODE=1 PATH=$out:$PATH LD_LIBRARY_PATH=$out PYTHONPATH=$2/../python

truth "the examples are there" /usr/bin/python3 "$2/readme.py" "$top" .
truth "the first page has at most 130 lines" [ "$(wc -l < "$top/README.md")" -le 130 ]
run sh -e terminal.sh
cp out shown
same "the terminal shows its output" terminal.out shown
run sh -e minute.sh
cp out shown
same "the first minute shows its output" minute.out shown
# A command attaches the image, info read-only, so that the counters since attach are others
truncate -s 16M info.img
for command in "format --label=try" "put 1 100" "get 1" info; do
	# shellcheck disable=SC2086	# several words
	FAKE_IMAGE=info.img run "$out/tests/crabctl-fakedev" -d /dev/zero $command
done
for text in info.out out; do
	sed -E '/^reason /d; s/^(device|state|region|uuid|DRAM|attach|since attach|per write) .*/\1/' \
		"$text" > "$text.rows"
done
same "getting started shows each row of info" info.out.rows out.rows
truth "the lines in C are a program" \
	cc -Wall -Wextra -Werror -I"$top/tools/libcrabtree" -I"$top/uapi" -o example example.c -L"$out" -lcrabtree
t "which reads its value" 0 '^43$' '' ./example
t "and Python reads it, too" 0 '^43 \[\(16, 43\)\]$' '' /usr/bin/python3 example.py
rm try.img
t "the page's example in Python" 0 '^\[0, 0, 0\] 1$' '' /usr/bin/python3 page.py
t "its example of names in Python" 0 "^\[\('motor.hours', 'u32'\)\]$" '' /usr/bin/python3 names.py
sed '1,/^$/d' "$top/tools/rust/examples/first.rs" > first.rs
same "the page's example in Rust is that of the crate" first.rs page.rs
sed -n '/^fn run/,/^}/p' "$top/tools/rust/examples/names.rs" > run.rs
same "and its example of names" run.rs names.rs
sed -n '/^package main/,$p' "$top/tools/go/examples/first/main.go" | expand -t 4 > first.go
same "the page's example in Go is that of the package" first.go page.go
sed -n '/^func run/,/^}/p' "$top/tools/go/examples/names/main.go" | expand -t 4 > run.go
same "and its example of names" run.go names.go
t "its example of commits" 0 '^116 0$' '' /usr/bin/python3 bank.py
crabctl --image harmed.img format --size 256K > made
seq 1 700 | awk '{ print 3 * $1, $1 }' | crabctl --image harmed.img load - > made
offset=$(crabctl --image harmed.img tree -j | /usr/bin/python3 -c 'import json, sys; print(json.load(sys.stdin)["list"][3]["offset"])')
printf '!' | dd of=harmed.img bs=1 seek=$((offset + 24)) conv=notrunc 2> made
t "its example of damaged ranges" 0 '^left out: keys [0-9]+ to [0-9]+$' '' /usr/bin/python3 damaged.py file:harmed.img
truth "the manual's example in C is a program" \
	cc -Wall -Wextra -Werror -I"$top/tools/libcrabtree" -I"$top/uapi" -o manual manual.c -L"$out" -lcrabtree
crabctl --image manual.img format --size 1M > made
t "which prints its record" 0 '^1 42$' '' ./manual
module=$top/crabtree_mod/tests/kapi/page.c
sed -n '/^static struct crabtree/,/^}/p' "$module" > event
same "the example of arrival and removal for drivers is that of the test module" event event.c
sed -n '/^static int count_boot/,/^}/p' "$module" > boot
same "and its example of variables" boot boot.c
