#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# libcrabtree: its calls (library.c), and the installed files.

# shellcheck source=tests/tap.sh
. "$2/tap.sh"
calls=208
suite $((calls + 27))
"$out/tests/library"
number=$calls

map=$2/../libcrabtree/libcrabtree.map
nm -D --defined-only "$out/libcrabtree.so" | sed -n 's/.* T \([^@]*\).*/\1/p' | sort > exported
sed -n 's/^\t\(crabtree_.*\);$/\1/p' "$map" | sort > listed
sed -n 's/^[a-z].*[ *]\(crabtree_[a-z_]*\)(.*/\1/p' "$2"/../libcrabtree/crabtree{,_blob,_names,_scan}.h |
	sort > declared
same "the shared object exports the names that the version script lists" listed exported
same "and the header declares the same" listed declared
t "versions are attached" 0 'crabtree_open@@LIBCRABTREE_0' '' nm -D "$out/libcrabtree.so"
t "soname" 0 'SONAME.*\[libcrabtree.so.0\]' '' readelf -d "$out/libcrabtree.so"

truth "install" make -s -C "$2/.." install OUT="$out" DESTDIR="$tmp/root" PREFIX=/usr
make -n -C "$2/.." install OUT="$out" > steps
truth "which refreshes the cache of the dynamic linker" grep -q ' ldconfig ' steps
make -n -C "$2/.." install OUT="$out" DESTDIR=/root > steps
truth "but not that of another root" sh -c '! grep ldconfig steps'
cp -r root root3
package=$(echo root3/usr/lib/python*/*/crabtree)
mkdir "$package/__pycache__"
touch "$package/__pycache__/store.pyc" root3/etc/crabtree.d/mine.conf root3/usr/bin/other
truth "uninstall" make -s -C "$2/.." uninstall OUT="$out" DESTDIR="$tmp/root3" PREFIX=/usr
find root3 ! -type d -o -name 'crabtree*' | sort > out
printf 'root3/%s\n' etc/crabtree.d etc/crabtree.d/mine.conf usr/bin/other > want
same "removes all that install made, and nothing else" want out
truth "also where nothing is left" make -s -C "$2/.." uninstall OUT="$out" DESTDIR="$tmp/root3" PREFIX=/usr
# shellcheck disable=SC2016	# for make
show=$(printf 'show:\n\t@echo IMAGE=$(IMAGE)')
for machine in x86_64-linux-gnu:1 aarch64-linux-gnu:1 arm-linux-gnueabihf:0 x86_64-linux-gnux32:0; do
	printf '#!/bin/sh\necho %s\n' "${machine%:*}" > cc
	chmod +x cc
	t "images on ${machine%:*}: ${machine#*:}" 0 "^IMAGE=${machine#*:}\$" '' make -s -C "$2/.." CC="$PWD/cc" \
		--eval "$show" show
done
mkdir bin
printf '#!/bin/sh\nexit 127\n' > bin/python3
chmod +x bin/python3
PATH=$PWD/bin:$PATH run make -s -C "$2/.." install OUT="$out" DESTDIR="$tmp/root2" PREFIX=/usr
truth "without python3 there is no package for it, and no file elsewhere" \
	[ "$(echo root2/*)" = "root2/etc root2/lib root2/usr" ]
for file in bin/crabctl include/crabtree.h include/crabtree_blob.h include/crabtree_names.h include/linux/crabtree.h \
	include/linux/crabtree_blob.h include/linux/crabtree_observe.h include/linux/crabtree_store.h include/crabtree_scan.h lib/libcrabtree.a \
	lib/libcrabtree.so lib/libcrabtree.so.0 lib/libcrabtree-image.so.0 lib/pkgconfig/libcrabtree.pc \
	share/man/man1/crabctl.1 share/man/man3/libcrabtree.3 \
	share/man/man1/crabctl-doctor.1 share/man/man3/crabtree_open.3 \
	share/man/man4/crabtree.4 share/man/man7/crabtree.7 \
	share/bash-completion/completions/crabctl share/zsh/site-functions/_crabctl lib/sysusers.d/crabtree.conf; do
	[ -e "root/usr/$file" ] || echo "$file"
done > missing
truth "everything is installed" [ ! -s missing ]

truth "the service of regions needs the file system that crabctl is on" \
	grep -qx 'RequiresMountsFor=/usr/bin' root/lib/systemd/system/crabtree-regions.service

for verb in $("$crabctl" --help | sed -n '/^Verbs:/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
	page=root/usr/share/man/man1/crabctl-$verb.1
	grep -q "^\.Cm $verb" "$page" && grep -A 1 '^\.Sh DESCRIPTION' "$page" | grep -q '^[A-Z]' || echo "$verb"
done > missing
truth "each verb has a manual page with its arguments" [ ! -s missing ]

for page in root/usr/share/man/man?/*; do
	awk '/^\.Bl/ { open++ } /^\.El/ { open-- } /^\.Sh/ && open { exit } END { exit open != 0 }' "$page" ||
		echo "$page"
done > open
truth "each list in a manual page has an end" [ ! -s open ]

cat > user.c << 'END'
#include <crabtree.h>
#include <stdio.h>
int main(int argc, char **argv)
{
	struct crabtree *ct;
	return puts(crabtree_strerror(crabtree_open(&ct, argc > 1 ? argv[1] : "/dev/null", 0))) < 0;
}
END
read -ra flags < <(PKG_CONFIG_LIBDIR=root/usr/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=root \
	pkg-config --cflags --libs libcrabtree)
# pkg-config omits paths that it considers system paths
truth "a program builds by pkg-config" \
	cc -Wall -Wextra -Werror -Iroot/usr/include -o user user.c -Lroot/usr/lib "${flags[@]}"
LD_LIBRARY_PATH=root/usr/lib t "and runs with the shared object" 0 'not a crabtree device' '' ./user
"$crabctl" --image image format --size 64K > /dev/null
LD_LIBRARY_PATH=root/usr/lib t "it opens an image" 0 '^Success$' '' ./user file:image
cc -Iroot/usr/include -o user-static user.c root/usr/lib/libcrabtree.a
t "a program with the installed static library opens devices only" 0 \
	'^image files need libcrabtree-image$' '' ./user-static file:image
rm root/usr/lib/libcrabtree-image.so.*
LD_LIBRARY_PATH=root/usr/lib t "but not without the library of the engines" 0 \
	'^image files need libcrabtree-image$' '' ./user file:image
truth "which exports no function of an engine" \
	sh -c "! nm -D --defined-only '$out/libcrabtree-image.so.0' | grep ' crab_'"
truth "the header is C++ as well" c++ -Wall -Wextra -Werror -Iroot/usr/include -x c++ \
	-fsyntax-only -include crabtree.h /dev/null
truth "the shared object drags no engine in" \
	sh -c "! nm '$out/libcrabtree.so' | grep -q crab_store"
