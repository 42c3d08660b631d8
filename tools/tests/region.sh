#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# crabctl region: the commands that it sends, and the lines of /etc/crabtree.d. The module's side is
# in selftests/device/control.c.

# shellcheck source=tests/tap.sh
. "$2/tap.sh" || exit 1
here=$2
suite 71
c()
{
	"$out/tests/crabctl-fakedev" region "$@"
}
export FAKE_ROOT=$PWD/root FAKE_LOG=$PWD/log
class=root/sys/class/crabtree
mkdir -p root/run/crabtree "$class"/crab{0,1,2} conf

t "add prints the device" 0 '^crab0$' '' c add ram=64K
echo CRABTREE_GROUP=plc > root/run/crabtree/crab0	# of a region that had the number before
run c add ram=64K
result "a region that is added has no settings of an earlier one" "$(ls root/run/crabtree)"
truth "an event makes udev forget them" grep -q change "$class/crab0/uevent"
rm "$class/crab0/uevent"
sed -i '$d' log
t "and sends the region as it is" 0 '^add ram=64K$' '' cat log
touch root/run/crabtree/crab1
t "remove" 0 '' '' c remove crab1
truth "sends the name" grep -qx 'remove crab1' log
result "and the settings of the device are gone" "$(ls root/run/crabtree)"
ln -s /dev/null store
t "remove of a link names the node" 0 '' '' c remove --force ./store
truth "and passes the force on" grep -qx 'remove null force' log
FAKE_REFUSE=64K t "the module's reason is shown" 3 '' '^crabctl: ram=64K: refused by the module$' c add ram=64K
t "a message cannot command the terminal" 3 '' '^crabctl: ram=.x1b.2J: refused by the module$' \
	env FAKE_REFUSE=ram "$out/tests/crabctl-fakedev" region add $'ram=\e[2J'
# reasons REASON PATTERN REGION: the reason of the module, as it begins there, and the message
reasons()
{
	FAKE_REFUSE=$3 FAKE_REASON=$1 t "a reason that begins so: ${1%% *}" 3 '' "^crabctl: $2\$" c add "$3"
}
reasons 'pmem=/dev/pmem0: no DAX' 'pmem=/dev/pmem0,64M,16M: no DAX' pmem=/dev/pmem0,64M,16M
reasons 'phys:0x1000,0x2000: too low: 1' 'region=0x1000,8K: too low: 1' region=0x1000,8K
reasons 'pmem=/a b: no DAX' 'pmem=/a b: no DAX' 'pmem=/a b'
reasons 'no memory: 5 KiB' 'ram=64K: no memory: 5 KiB' ram=64K
reasons '/dev/crabtree-control: no' 'ram=64K: /dev/crabtree-control: no' ram=64K
FAKE_REFUSE=crab9 FAKE_REASON='crab9: no such device' t "nor is a device named twice" 3 '' \
	'^crabctl: /dev/crab9: no such device$' c remove /dev/crab9
t "without the module" 3 '' 'is crabtree.ko loaded' "$crabctl" region add ram=64K
t "no action" 2 '' 'want add REGION' c
t "an action that does not exist" 2 '' 'want add REGION' c move crab0
t "add without a region" 2 '' 'want add REGION' c add
t "remove of two" 2 '' 'want add REGION' c remove crab0 crab1
t "a wait of a day" 2 '' 'wait 86400: 0 to 3600 seconds' c load --wait 86400
for words in "add ram=64K" "remove crab0" "load conf"; do
	# shellcheck disable=SC2086	# two words
	t "${words% *} --json" 2 '' "-j: region ${words% *} prints no JSON" c $words --json
done
t "list" 0 '' 'no crabtree devices' c list

: > log
cat > conf/10-good.conf <<-'END'
	# a comment, and an empty line

	region=0x60000000,64K label=retain mode=0660	# the first
	ram=64K,cache readonly=1 group=root
	pmem=/dev/null label="two words"
END
cat > conf/20-bad.conf <<-'END'
	reserve=crab colour=red
	label=x
	ram=64K ram=128K
	ram=64K mode=rw
	ram=64K mode=1777
	ram=64K group=nobody-of-this-name
	ram=64K readonly=yes
	ram
	ram=64K label=
	ram=64K label=a label=b
	ram=64K label=0123456789012345678901234567890123456789
	reserve=crab
END
echo "ram=1G" | tee conf/ignored.txt conf/.hidden.conf > /dev/null
echo unformatted > "$class/crab0/state"
echo ready > "$class/crab1/state"
echo ready > "$class/crab2/state"
echo "two words" > "$class/crab2/label"
for device in crab0 crab1 crab2; do
	echo "region of $device" > "$class/$device/region"
done

# bad LINE WORDS: the line was refused for this reason
bad()
{
	truth "line $1: $2" grep -qF "20-bad.conf:$1: $2" err.load
}
t "load: the bad lines make it fail" 1 - - c load conf
cp err err.load
cp out out.load
truth "a region that is not formatted, and the remedy" grep -q '10-good.conf:3: .*has no store: crabctl -d /dev/crab0 format --label "retain"' err.load
truth "each good line is added, also after bad ones" [ "$(cut -d: -f1 out.load | tr '\n' ' ')" = "crab0 crab1 crab2 crab3 " ]
truth "readonly becomes an option" grep -qx 'add ram=64K,cache,readonly' log
truth "only *.conf is read" [ "$(grep -c '^add' log)" = 4 ]
bad 1 'colour=red: no such key'
bad 2 'no region'
bad 3 'ram=128K: a second region'
bad 4 'mode=rw: not a mode'
bad 5 'mode=1777: not a mode'
bad 6 'group=nobody-of-this-name: no such group'
bad 7 'readonly=yes: neither 0 nor 1'
bad 8 'ram: not KEY=VALUE'
bad 9 'label=: a value is missing'
bad 10 'label=b: given twice'
bad 11 'label=0123456789012345678901234567890123456789: too long'
truth "and no other line" [ "$(grep -c 20-bad.conf: err.load)" = 11 ]
truth "mode is left for udev" grep -qx CRABTREE_MODE=0660 root/run/crabtree/crab0
truth "and group" grep -qx CRABTREE_GROUP=root root/run/crabtree/crab1
truth "an event makes udev read them" grep -q change "$class/crab1/uevent"

: > log
t "a second load adds nothing" 0 'already added' - c load conf/10-good.conf
truth "and sends nothing" [ ! -s log ]
echo "another region" > "$class/crab1/region"
t "the number has become that of another region: the line is added again" 0 '^crab0: ram=64K,cache,readonly$' - \
	c load conf/10-good.conf
truth "and no other line" [ "$(cat log)" = "add ram=64K,cache,readonly" ]
truth "a late removal leaves the settings of a new device of the same name" \
	grep -q '^ACTION=="remove", TEST!="/sys/class/crabtree/%k", RUN+=' "$here/../udev/60-crabtree.rules"
echo other > "$class/crab0/label"
echo ready > "$class/crab0/state"
echo "ram=96K label=retain" > other.conf
t "a store of another label" 1 '' 'other.conf:1: ram=96K: its store has the label "other", not "retain"' c load other.conf
truth "is not served" grep -qx 'remove crab0' log
: > log
echo rejected > "$class/crab0/state"
echo "not a crabtree store" > "$class/crab0/reason"
echo "ram=96K label=retain" > other.conf
rm -f root/run/crabtree/*
t "content that is rejected: the cause" 1 '^crab0: ram=96K' \
	'other.conf:1: ram=96K: no store "retain" here: not a crabtree store' c load other.conf
truth "the region stays" [ "$(grep -c remove log)" = 0 ]
: > log
echo unformatted > "$class/crab0/state"
rm -f root/run/crabtree/*
echo "ram=96K,readonly label=retain" > other.conf
t "a region without a store, which is read-only: no remedy that fails" 0 '^crab0: ram=96K,readonly' \
	'other.conf:1: ram=96K,readonly has no store, and none can be made: it is read-only$' c load other.conf
: > log
rm -f root/run/crabtree/*
printf 'ram=80K label=one\n' > first.conf
printf '\xef\xbb\xbfram=72K\nram=80K label=two\n' > second.conf
t "two lines with one region" 1 '^ram=72K$' '^crabctl: second.conf:2: ram=80K: an earlier line has this region$' \
	c load --dry-run first.conf second.conf
: > log
mkdir 'a[1]'
echo ram=64K mode=0777 > 'a[1]/a.conf'
t "a directory whose name is a pattern" 0 '^ram=64K$' '' c load --dry-run --wait 3600 'a[1]'
mkdir noread
chmod 0 noread
cp "$crabctl" other	# root may read all
chmod a+rx .
as=$([ "$(id -u)" != 0 ] || echo setpriv --reuid 65534 --clear-groups)
# shellcheck disable=SC2086	# words, or none
t "a directory that may not be read" 1 '' 'noread: open: Permission denied' $as ./other region load --dry-run noread
echo ram= > novalue
t "a region without a value" 1 '' 'novalue:1: ram=: a value is missing' c load --dry-run novalue
t "--dry-run: the causes" 1 '^reserve=crab$' ':1: colour=red' c load --dry-run conf
truth "sends nothing" [ ! -s log ]
# An attach writes to the region, so that a readonly= that is overlooked does harm
{
	echo 'ram=1M # "a quote in a comment'
	printf 'ram=1M label="plc data readonly=1\n'
	printf 'ram=1M\0 readonly=1\n'
} > odd.conf
t "a quote that is not closed" 1 '^ram=1M$' 'odd.conf:2: label=plc data readonly=1: a quote is not closed' \
	c load --dry-run odd.conf
cp err err.load
truth "neither line is obeyed in part" [ "$(wc -l < out)" = 1 ]
truth "a zero byte" grep -q 'odd.conf:3: not text: it holds a zero byte' err.load
printf 'ram=1M \033[2J=1\n' > escape.conf
t "a line cannot command the terminal" 1 '' '^crabctl: escape.conf:1: .x1b.2J=1: no such key$' \
	c load --dry-run escape.conf
t "a file that is not there" 1 '' 'none.conf: open: No such file' c load none.conf
printf "\nram=64K\n" > r.conf
FAKE_REFUSE=64K t "a refusal of the module names file and line" 1 '' 'r.conf:2: ram=64K: refused by the module' \
	c load r.conf
printf 'ram=64K\n' > long
truncate -s 64M long
echo "pmem=$PWD/late" > late.conf
: > log
(sleep 0.4; echo appears >> log; : > late) &
run c load --wait 60 late.conf
wait
truth "--wait: the path of pmem= appears before the region is added" \
	[ "$(cat log)" = "appears
add pmem=$PWD/late" ]
t "load: a line for which there is no memory" 1 '^ram=64K$' 'long:2: a line of 256 KiB or more' \
	sh -c "ulimit -v 65536; '$out/tests/crabctl-fakedev' region load --dry-run long"
