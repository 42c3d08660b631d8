#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The plugin for the OpenPLC runtime, with the calls that the runtime makes.

# shellcheck source=tests/tap.sh
. "$2/tap.sh" || exit 1
calls=20
suite $((calls + 2))
export PYTHONDONTWRITEBYTECODE=1 LD_LIBRARY_PATH=$out CRABCTL=$crabctl
# A save with a file `gone' is the first one after the loss of the region
cat > gone.c << 'END'
#include <dlfcn.h>
#include <errno.h>
#include <unistd.h>
int crabtree_put_named(void *ct, void *named, unsigned int flags)
{
	int (*put)(void *, void *, unsigned int) = dlsym(RTLD_NEXT, "crabtree_put_named");

	return unlink("gone") ? put(ct, named, flags) : -ENODEV;
}
END
cc -D_GNU_SOURCE -shared -fPIC -o gone.so gone.c
LD_PRELOAD="$PWD/gone.so $out/libcrabtree.so.0" /usr/bin/python3 "$2/openplc.py" "$out/openplc-retain.so" 2> log | sed -nE 's/^((not )?ok) - /\1 - /p'
number=$calls
truth "an error is reported once, not in each scan" [ "$(grep -c "openplc/retain: " log)" -le 9 ]
run nm -D --defined-only "$out/openplc-retain.so"
sed -n 's/.* T \(retain_[a-z]*\|init\|cleanup\)$/\1/p' out | xargs > calls
truth "the symbols of the contract" grep -qx "cleanup init retain_clear retain_load retain_save" calls
