#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# crabctl metrics, events and top, over the files of a machine and a device answered by fakedev.c.

# shellcheck source=tests/tap.sh
. "$2/tap.sh" || exit 1
here=$2
suite 28
c()
{
	"$out/tests/crabctl-fakedev" "$@"
}
export FAKE_ROOT=$PWD/root FAKE_IMAGE=$PWD/i.img
class=root/sys/class/crabtree
truncate -s 64K i.img
"$crabctl" --image i.img format --label 'a"b\c' > /dev/null

# device NAME ATTRIBUTE=VALUE...
device()
{
	mkdir -p "$class/$1" root/dev
	touch "root/dev/$1"
	for pair in "${@:2}"; do
		echo "${pair#*=}" > "$class/$1/${pair%%=*}"
	done
}
device crab0 state=ready label=x records=5 inserts=7 durability=pop model=word reason=
device crab1 state=rejected durability=pop "reason=both superblocks are damaged"

strict()
{
	python3 "$here/metrics.py" < samples
}
c metrics > samples
t "metrics without permission: the format is strict" 0 '^38$' '' strict
truth "and has the values of sysfs" grep -qx 'crabtree_inserts_total{device="crab0",label="x"} 7' samples
truth "but no lines" bash -c '! grep -q ^crabtree_lines_total samples'
FAKE_OPEN=1 FAKE_INFO="lines=3 inserts=2 attach_ns=1500000" c metrics > samples
t "metrics of INFO: the format is strict" 0 '^50$' '' strict
truth "the label is escaped" grep -Fqx 'crabtree_lines_total{device="crab0",label="a\"b\\c"} 3' samples
truth "the attach took seconds" grep -q '^crabtree_attach_seconds{device="crab0",.*} 0.001500000$' samples
truth "one state is 1" [ "$(grep -c '^crabtree_state.* 1$' samples)" = 2 ]
/usr/bin/python3 "$here/prometheus.py" < samples > parsed
truth "Prometheus' Python client reads the same samples" [ "$(head -n 1 parsed)" = 50 ]
truth "and the label as it was" grep -Fqx 'a"b\c' parsed
json "metrics --json" "len(x) == 2 and x[0]['device'] == 'crab0' and x[1]['state'] == 'rejected'" c metrics -j
json "without permission: no field that sysfs does not have" \
	"x[0]['inserts'] == 7 and not {'lines', 'fences', 'splits', 'counters', 'options'} & set(x[0])" c metrics -j

t "events: the states first" 0 'Z crab0 ready$' '' c events --count 2
cp out first
t "events: none if none is asked for" 0 '' '' timeout 9 "$out/tests/crabctl-fakedev" events --count 0
truth "and no more lines than asked for" [ "$(c events --count 1 | wc -l)" = 1 ]
truth "with the reason" grep -q 'crab1 rejected: both superblocks are damaged$' first
(sleep 0.3; echo readonly > "$class/crab0/state"; echo "damaged at offset 1" > "$class/crab0/reason") &
t "events: a change" 0 'crab0 ready -> read-only: damaged at offset 1$' '' c events --count 3
wait
# The file of a device that is gone cannot be read
(sleep 0.3; : > "$class/crab1/state"; rm -r "$class/crab1"; device crab1 state=rejected reason=) &
t "events: a device that goes and comes back" 0 'crab1 rejected$' '' \
	timeout 9 "$out/tests/crabctl-fakedev" events --count 4
wait
(sleep 0.3; rm -r "$class/crab1") &
t "events: a device that goes" 0 'crab1 rejected -> removed$' '' c events --count 3
wait
(sleep 0.3; device crab2 state=ready reason=; echo ready > "$class/crab0/state") &
c events --count 3 --json > changes
wait
truth "events --json: an object on each line" python3 -c 'import json
rows = [json.loads(line) for line in open("changes")]
assert [(r["device"], r["state"], r.get("from")) for r in rows] == [
	("crab0", "read-only", None), ("crab2", "ready", None), ("crab0", "ready", "read-only")], rows'
t "events ends if its output cannot be written" 3 '' 'standard output: No space left' \
	sh -c "timeout 9 '$out/tests/crabctl-fakedev' events > /dev/full"
devices=("$class"/*)
timeout 60 "$out/tests/crabctl-fakedev" events | head -n ${#devices[@]} > first
ended=${PIPESTATUS[0]}
truth "events ends when its reader does: status $ended" [ "$ended" = 141 ]
t "events takes no argument" 2 '' 'events takes no argument' c events x

unset FAKE_ROOT
export FAKE_INFO="inserts=+100 deletes=+100 lines=+250 fences=+200 searches=+5 leaves_used=3"
t "top: lines and fences of a write" 0 ' 1\.25 +1\.00$' '' c -d /dev/zero top --once --interval 10
t "top: a header" 0 'RECORDS +INSERT/S' '' c -d /dev/zero top --once --interval 10
json "top --json: the counts of the interval" \
	"x['inserts'] == 100 and x['lines'] == 250 and x['seconds'] >= 0.01 and x['leaves_used'] == 3" \
	c -d /dev/zero top --once --interval 10 --json
FAKE_INFO="inserts=+100 lines=+18446744073709551615" json "top: no counts if they began again" \
	"x['inserts'] == 0 and x['lines'] == 0" c -d /dev/zero top --once --interval 10 --json
t "top: an interval of 0" 2 '' '1 to 3600000 ms' c top --interval 0
unset FAKE_INFO
t "top of an image" 0 '^read-only +0 ' '' "$crabctl" --image i.img top --once --interval 1
