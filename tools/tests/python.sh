#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The Python package on the shared library: its structures, its calls and its installation.

# shellcheck source=tests/tap.sh
. "$2/tap.sh" || exit 1
tests=$2
calls=165
suite $((calls + 4))
export PYTHONDONTWRITEBYTECODE=1 LD_LIBRARY_PATH=$out PYTHONPATH=$tests/../python
for part in store cases variables; do
	/usr/bin/python3 "$tests/$part.py" | sed -nE 's/^((not )?ok) [0-9]+ /\1 - /; /^(not ok|ok|#)/p'
done
number=$calls

run /usr/bin/python3 "$tests/structures.py"
cp out structures.c
truth "the structures are those of the headers" \
	cc -fsyntax-only -I"$tests/../libcrabtree" -I"$tests/../../uapi" structures.c
truth "install" make -s -C "$tests/.." install OUT="$out" DESTDIR="$tmp/root" PREFIX=/usr \
	PYTHONDIR=/usr/lib/python3/dist-packages
t "without PYTHONDIR the package follows PREFIX" 0 "-t $tmp/other/opt/lib/python3\\.[0-9]+/[a-z]+-packages/crabtree " - \
	make -n -C "$tests/.." install OUT="$out" DESTDIR="$tmp/other" PREFIX=/opt
export LD_LIBRARY_PATH=root/usr/lib PYTHONPATH=root/usr/lib/python3/dist-packages
t "the installed package works" 0 '^42$' '' /usr/bin/python3 -c 'import crabtree
with crabtree.create("try.img", 1 << 20) as store:
    store[0x10] = 42
    print(store[0x10])'
