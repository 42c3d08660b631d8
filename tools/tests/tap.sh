# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# TAP for the suites here. A suite calls `suite N', then N times one of the test
# functions; tests/run fails a suite that prints fewer lines.
#
# A test runs a command, stores its output in $tmp/out and $tmp/err, and checks
# the exit code and the output.

set -u
out=$1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp" || exit 1
# shellcheck disable=SC2034	# for the suites
crabctl=$out/crabctl
export LC_ALL=C
unset CRABTREE_DEVICE
number=0

suite()
{
	echo "TAP version 14"
	echo "1..$1"
}

# result NAME WRONG: WRONG is empty or the error
result()
{
	number=$((number + 1))
	if [ -z "$2" ]; then
		echo "ok $number - $1"
		return
	fi
	echo "not ok $number - $1"
	echo "# $2"
	sed 's/^/#   out: /' "$tmp/out" 2>/dev/null | head -5
	sed 's/^/#   err: /' "$tmp/err" 2>/dev/null | head -5
}

run()
{
	code=0
	"$@" > "$tmp/out" 2> "$tmp/err" < /dev/null || code=$?
}

# c ARGUMENT...: crabctl, on the image of the suite if it has set one
image=
c()
{
	"$crabctl" ${image:+--image "$image"} "$@"
}

# fake ARGUMENT...: the same on a device that is an image, FAKE_IMAGE (fakedev.c)
fake()
{
	"$out/tests/crabctl-fakedev" -d /dev/zero "$@"
}

# t NAME CODE OUT ERR COMMAND...: OUT and ERR are regular expressions that one
# line must match; empty means that nothing may be printed, - means any output
t()
{
	local name=$1 want=$2 outs=$3 errs=$4

	shift 4
	run "$@"
	result "$name" "$(judge "$want" "$outs" "$errs")"
}

judge()
{
	if [ "$code" != "$1" ]; then
		echo "exit code $code instead of $1"
	else
		judge_text out "$2"
		judge_text err "$3"
	fi
}

judge_text()
{
	case $2 in
	-)	;;
	'')	[ ! -s "$tmp/$1" ] || echo "$1 is not empty" ;;
	*)	grep -Eq -- "$2" "$tmp/$1" || echo "$1 does not match '$2'" ;;
	esac
}

# json NAME EXPRESSION COMMAND...: the output is JSON in strict UTF-8, and a Python
# expression over it (x) is true
json()
{
	json_after 0 "$@"
}

# json_after CODE NAME EXPRESSION COMMAND...: the same after an error
json_after()
{
	local want=$1 name=$2 expression=$3 wrong=

	shift 3
	run "$@"
	if [ "$code" != "$want" ]; then
		wrong="exit code $code"
	elif ! python3 -m json.tool < "$tmp/out" > /dev/null 2> "$tmp/err"; then
		wrong="not JSON"
	elif ! python3 -c 'import json, sys
x = json.load(open(sys.argv[1], encoding="utf-8"))
sys.exit(not eval("(" + sys.argv[2] + ")"))' "$tmp/out" "$expression" 2> "$tmp/err"; then
		wrong="not true: $expression"
	fi
	result "$name" "$wrong"
}

# same NAME FILE FILE
same()
{
	result "$1" "$(cmp "$2" "$3" 2>&1)"
}

# whole CALL END COMMAND...: a command that fakedev.c kills before a call has printed whole lines; END: the last byte
whole()
{
	local killed=0

	FAKE_KILL=$1 "${@:3}" > part || killed=$?
	[ "$killed" = 137 ] && [ -s part ] && [ "$(tail -c 1 part)" = "$2" ]
}

# no_partial NAME: no file remains that was to take the place of another one
no_partial()
{
	result "$1" "$(find . -name '*.partial')"
}

# truth NAME COMMAND...
truth()
{
	local name=$1

	shift
	run "$@"
	result "$name" "$([ "$code" = 0 ] || echo "exit code $code")"
}
