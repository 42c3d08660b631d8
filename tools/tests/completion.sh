#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Completion in bash and zsh offers the verbs and options of this crabctl. The functions of the two
# shells that show the offers are replaced by some that print them.

# shellcheck source=tests/tap.sh
. "$2/tap.sh"
suite 49

mkdir bin
ln -s "$crabctl" bin/crabctl
export PATH=$PWD/bin:$PATH
completion=$2/../completion
awk '/^Verbs:/ { on = 1; next } on && !NF { exit } on { print $1 }' < <(crabctl --help) | sort > verbs

# offers_bash WORD...: the offers for the last word, one a line
offers_bash()
{
	bash -c '
		complete() { :; }
		_init_completion() { words=("${line[@]}") cword=$((${#line[@]} - 1)); cur=${line[-1]} prev=${line[-2]}; }
		_filedir() { COMPREPLY=(FILES); }
		. "$1/crabctl"
		shift
		line=("$@") COMPREPLY=()
		_crabctl
		printf "%s\n" "${COMPREPLY[@]}"' offers "$completion" "$@" | sort
}

offers_zsh()
{
	zsh -f -c '
		completion=$1
		shift
		words=("$@") CURRENT=$#
		mine() { [[ $1 == ${words[CURRENT]}* ]] && print -r -- $1 || true }
		_describe() { for offer in ${(P)@[-1]}; do mine ${offer%%:*}; done }
		compadd() { [[ $1 == -S ]] && shift 2; for offer in $@; do mine $offer; done }
		_files() { print FILES }
		. $completion/_crabctl' offers "$completion" "$@" | sort
}

for shell in bash zsh; do
	truth "$shell: the verbs" [ "$(offers_$shell crabctl '')" = "$(cat verbs)" ]
	truth "$shell: a verb" [ "$(offers_$shell crabctl doc)" = doctor ]
	while read -r verb; do
		crabctl "$verb" --help | grep -o -e ' --[a-z-]*' | tr -d ' ' | sort -u > options
		[ -s options ] && [ "$(offers_$shell crabctl "$verb" --)" = "$(cat options)" ] || echo "$verb"
	done < verbs > wrong
	truth "$shell: the options of each verb" [ ! -s wrong ]
	truth "$shell: an option after another" \
		[ "$(offers_$shell crabctl --image x format --force --lab)" = --label ]
	truth "$shell: a file after --image" [ "$(offers_$shell crabctl --image '')" = FILES ]
	for verb in load commit fsck dump snapshot restore diff; do
		truth "$shell: a file after $verb" [ "$(offers_$shell crabctl $verb '')" = FILES ]
	done
	truth "$shell: what region does" [ "$(offers_$shell crabctl region '' | xargs)" = "add list load remove" ]
	truth "$shell: the kinds of a region" \
		[ "$(offers_$shell crabctl region add '' | xargs)" = "pmem= ram= region= reserve=" ]
	truth "$shell: no file as a label" [ -z "$(offers_$shell crabctl format --label '')" ]
	truth "$shell: no pattern of an option" [ -z "$(offers_$shell crabctl put '.*' '' 2>&1; offers_$shell crabctl put '[' '' 2>&1)" ]
	truth "$shell: no verb after a verb" [ -z "$(offers_$shell crabctl put '')" ]
	for option in engine layout leaf-size; do
		truth "$shell: each $option exists" [ "$(offers_$shell crabctl format --$option '')" ]
	done
done
# Nodes by their paths, wherever the shell is
mkdir -p dev/crabtree/by-label
: > dev/crab7
ln -s ../../crab7 dev/crabtree/by-label/plc
export _crabctl_dev=$PWD/dev
truth "bash: a node after -d" [ "$(offers_bash crabctl -d "$PWD/dev/crab7")" = "$PWD/dev/crab7" ]
printf '%s\n' "$PWD/dev/crab7" "$PWD/dev/crabtree/by-label/plc" > nodes
for words in -d --device "region remove"; do
	# shellcheck disable=SC2086	# two words
	truth "zsh: the nodes after $words" [ "$(offers_zsh crabctl $words '')" = "$(cat nodes)" ]
done
# Each engine that bash offers can be made, and zsh offers the same
for engine in $(offers_bash crabctl format --engine ''); do
	truncate -s 1M "$engine.img"
	FAKE_IMAGE=$PWD/$engine.img fake format --engine "$engine" > /dev/null || echo "$engine"
done > wrong
truth "each engine can be made" [ ! -s wrong ]
for option in engine layout leaf-size; do
	truth "both offer the same for --$option" \
		[ "$(offers_bash crabctl format --$option '')" = "$(offers_zsh crabctl format --$option '')" ]
done
truth "and the same types of a value" [ "$(offers_bash crabctl set --type '')" = "$(offers_zsh crabctl set --type '')" ]
