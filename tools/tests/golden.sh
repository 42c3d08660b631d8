#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The golden images of the media format, as files: crabctl finds their content, and reading
# changes nothing. tools/host/tests/test_golden.c tests them in detail.

# shellcheck source=tests/tap.sh
. "$2/tap.sh"
golden=$2/../host/golden
images=("$golden"/*.gz "$golden"/commits/*.gz)
blobs=("$golden"/blobs/*.gz)
names=("$golden"/names/*.gz)
suite $((4 * ${#images[@]} + 4 * ${#blobs[@]} + 4 * ${#names[@]}))

for image in "${images[@]}"; do
	name=${image#"$golden/"}
	name=${name%.gz}
	gzip -dc "$image" > g.img
	cp g.img good
	sed 1d "$golden/$name.txt" > records
	run "$crabctl" --image g.img dump
	same "$name: its records" records out
	t "$name: sound" 0 "$(wc -l < records) records: sound" '' "$crabctl" --image g.img check
	same "$name: unchanged" good g.img
	t "$name: can be written to" 0 - '' "$crabctl" --image g.img put 8 8
done

# The text has a checksum of each value in a fourth column
for image in "${blobs[@]}"; do
	name=blobs/$(basename "$image" .gz)
	gzip -dc "$image" > g.img
	cp g.img good
	sed '1d; s/ [^ ]*$//' "$golden/$name.txt" > records
	run "$crabctl" --image g.img ls
	same "$name: its keys, lengths and versions" records out
	t "$name: sound" 0 "$(wc -l < records) records: sound" '' "$crabctl" --image g.img check
	same "$name: unchanged" good g.img
	t "$name: can be written to" 0 - '' "$crabctl" --image g.img set 8 text
done

# The same after the number of the type
for image in "${names[@]}"; do
	name=names/$(basename "$image" .gz)
	gzip -dc "$image" > g.img
	cp g.img good
	sed '1d' "$golden/$name.txt" | cut -d ' ' -f 1,3,4 > records
	run sh -c "'$crabctl' --image g.img ls | cut -d ' ' -f 1,3,4"
	same "$name: its names, lengths and versions" records out
	t "$name: sound" 0 "$(wc -l < records) records: sound" '' "$crabctl" --image g.img check
	same "$name: unchanged" good g.img
	t "$name: can be written to" 0 - '' "$crabctl" --image g.img set plc text
done
