#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# crabctl metrics, judged by Prometheus' own promtool.

# shellcheck source=tests/tap.sh
. "$2/tap.sh" || exit 1
fetch=$2/../../selftests/vm/fetch
suite 3
"$fetch" promtool >&2
promtool=${CRABTREE_CACHE:-$HOME/.cache/crabtree}/tool/promtool/usr/bin/promtool

judge_metrics()
{
	"$promtool" check metrics < samples
}

export FAKE_ROOT=$PWD/root FAKE_IMAGE=$PWD/i.img FAKE_OPEN=1
mkdir -p root/dev root/sys/class/crabtree/crab0
touch root/dev/crab0
echo ready > root/sys/class/crabtree/crab0/state
truncate -s 64K i.img
"$crabctl" --image i.img format --label 'a"b\c' > /dev/null
"$out/tests/crabctl-fakedev" metrics > samples
truth "metrics of a device" [ "$(grep -c '^crabtree_' samples)" -gt 20 ]
t "promtool finds no fault" 0 '' '' judge_metrics
sed -i 's/^# HELP crabtree_records .*//' samples
t "it finds a metric without a description" 3 - - judge_metrics
