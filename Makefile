# SPDX-License-Identifier: GPL-2.0
#
# The front door. Everything is built below out/, nothing in the source tree;
# kernels and packages are cached in $CRABTREE_CACHE [~/.cache/crabtree].
#
#   make demo	a real arm64 kernel loses power while it writes, and no data
#   make demo-reboot	a Debian 13 machine reboots in three ways, and all records are there; as root
#   make break [AT=FILE:LINE]	leaves a fence out, and shows a power cut that notices it
#   make check	all tests; ends in one line "N passed, N failed"
#   make check-long		the same at length: larger state spaces, more rounds, more power cuts; hours
#   make quick	the checks before each commit, in a minute
#
#   make modules [KERNEL=host]	crabtree.ko for a kernel (selftests/vm/kernel lists them)
#   make modules_install		the same, into /lib/modules
#   make tools			crabctl and libcrabtree
#   make raft-test		hashicorp/raft's own tests, over the Go package
#   make host			L0-L5 in user space, and their tests
#   make crash			every crash state of small stores, and the kill matrix
#   make crash-full		the same at length; an hour of CPU time
#   make verdicts		the claims of the papers, and the power cuts that refute some of them
#   make coverage		lines that the crash tests reach, into the documentation
#   make races			races made on purpose, which the concurrency tests must find
#   make mutants		each clean and fence is left out in turn, and a test must fail
#   make mutants-page		the same, into Documentation/design/crash-matrix.rst
#   make kunit			the KUnit suites in user-mode Linux
#   make selftests		the tests over the device, in virtual machines
#   make litmus		publication and persistence of the code, under the memory models
#   make kcsan			data races: threads that collide, under KCSAN; some minutes
#   make soak [N=1000] [KERNEL=uml]	N power cuts
#   make fuzz [TIME=60]		a minute of fuzzing with corrupted images
#   make counts		lines, fences and instructions per operation, into the documentation
#   make bench		the store against its floor and its peers, into the documentation; about an hour
#   make bench-values	the costs of blobs and commits, into the documentation; some minutes
#   make bench-ycsb	YCSB with LMDB, SQLite and Redis, into the documentation; some minutes
#   make bench-profile	in which functions its operations spend that, into the documentation; some minutes
#   make paper [PAPER=crab|nvtree|fastfair|clfb|nbtree]	a paper's evaluation, into the documentation; about an hour
#   make bench-kernel [KEYS=1000000]	the benchmark's loop in a kernel, next to user space; calls of a device
#   make style | docs		the checks of the sources and of the documentation
#   make html			the documentation with a search, into out/html
#   make newcomer	every command of README.md and of the first manual page, in bare Debians 12 and 13
#   make deb [ARCH=arm64]	Debian packages of the module for DKMS, the tools and the library, into out/deb
#   make deb-test [ARCH=arm64]	installs, upgrades and removes them in bare Debians 12 and 13; some minutes
#   make install | uninstall	crabctl, the library, manual pages, udev rules, into and from /usr/local
#   make clean | distclean
#
# make modules builds for the running kernel, if it has headers. With KERNEL_SRC=BUILD_DIR it builds
# for any other kernel, in out/build/external, and honours ARCH and CROSS_COMPILE; modules_install
# honours INSTALL_MOD_PATH. OPTIONS go to the script of check, bench, paper, newcomer or deb-test.
# Each target installs the packages that it lacks; with KERNEL_SRC, modules installs none.

OUT	:= $(CURDIR)/out
KERNEL	?= host
KDIR	?=
KERNEL_SRC ?= $(KDIR)
EXTERNAL := $(OUT)/build/external
DEPMOD	?= /sbin/depmod
N	?= 1000

.DEFAULT_GOAL := help

help:
	@sed -n '2,/^$$/s/^#\t\{0,1\} \{0,1\}//p' Makefile

setup-%:
	@scripts/setup $*

demo: setup-vm
	@selftests/powercut/demo

demo-reboot: setup-deb setup-newcomer setup-vm
	@scripts/deb
	@scripts/demo-reboot $(OPTIONS)

break: setup-host
	@scripts/crabtree-break $(or $(AT),crabtree_mod/engines/crab/slotted/write.c:crab_slotted_insert)

check:
	@scripts/setup
	@scripts/check $(OPTIONS)

check-long: setup-host setup-vm
	@scripts/crash
	@scripts/coverage
	@$(MAKE) -C tools/host OUT=$(OUT)/host check-long
	@selftests/vm/check long kcsan

quick: setup-tools setup-metrics setup-host setup-counts setup-style setup-docs
	@scripts/check quick

ifneq ($(KERNEL_SRC),)
modules:
	rm -rf $(EXTERNAL)
	mkdir -p $(EXTERNAL)
	cp -Rp Kbuild crabtree_mod uapi $(EXTERNAL)
	$(MAKE) -C $(KERNEL_SRC) M=$(EXTERNAL) modules

modules_install:
	$(MAKE) -C $(KERNEL_SRC) M=$(EXTERNAL) modules_install
else
modules:
	@scripts/setup module $(if $(filter-out host,$(KERNEL)),vm) $(if $(filter %-sid,$(KERNEL)),newcomer)
	@selftests/vm/module $(KERNEL)

# The build directory is that of the kernel which the module was built for. Packaged headers have no
# key to sign with
modules_install: RELEASE = $(firstword $(shell /sbin/modinfo -F vermagic $(OUT)/build/host/crabtree_mod/crabtree.ko))
modules_install: UNSIGNED = $(if $(wildcard /lib/modules/$(RELEASE)/build/certs/signing_key.pem),,CONFIG_MODULE_SIG_ALL=)
modules_install:
	$(if $(RELEASE),,$(error first: make modules))
	$(MAKE) -C /lib/modules/$(RELEASE)/build M=$(OUT)/build/host $(UNSIGNED) modules_install
	$(if $(INSTALL_MOD_PATH),,$(DEPMOD) -a $(RELEASE))
endif

tools: setup-tools
	$(MAKE) -C tools OUT=$(OUT)/tools

raft-test: tools setup-languages setup-raft
	@tools/go/raft-test $(OUT)/tools

host: setup-host
	$(MAKE) -C tools/host OUT=$(OUT)/host check

crash: setup-host
	@scripts/crash

crash-full: setup-host
	@scripts/crash --full

verdicts: setup-host
	@scripts/verdicts $(OPTIONS)

coverage: setup-host
	@scripts/coverage --write

races mutants mutants-page: setup-host
	@$(MAKE) -s -C tools/host OUT=$(OUT)/host $@

kunit: setup-vm
	@scripts/check kunit

selftests: setup-host setup-counts setup-vm setup-dkms
	@scripts/check selftests

kcsan: setup-vm
	@selftests/vm/check kcsan

litmus: setup-litmus
	@scripts/check litmus

soak: setup-vm
	@selftests/powercut/soak --kernel $(if $(filter-out host,$(KERNEL)),$(KERNEL),uml) --cuts $(N)

fuzz: setup-fuzz
	@scripts/fuzz --time $(or $(TIME),60)

counts: setup-host setup-counts setup-vm
	@scripts/counts

bench: setup-host setup-counts setup-bench setup-plots
	@scripts/bench $(OPTIONS)

bench-values: setup-host setup-counts setup-bench
	@scripts/bench-values

bench-ycsb: setup-host setup-counts setup-ycsb
	@scripts/bench-ycsb

bench-profile: setup-host setup-counts setup-bench setup-profile
	@scripts/bench-profile

bench-kernel: setup-host setup-counts setup-bench setup-vm
	@scripts/bench-kernel --keys $(or $(KEYS),1000000)

paper: setup-host setup-counts setup-bench setup-plots
	@scripts/paper $(or $(PAPER),crab) $(OPTIONS)

style: setup-style
	@scripts/check style

docs: setup-docs
	@scripts/check docs

html: setup-docs
	@scripts/html

newcomer: setup-newcomer setup-vm
	@scripts/newcomer $(OPTIONS)

deb: setup-deb $(if $(ARCH),setup-newcomer)
	@scripts/deb $(ARCH)

deb-test: setup-deb setup-newcomer setup-vm $(if $(ARCH),setup-emulation)
	@scripts/deb $(ARCH)
	@scripts/deb-test $(if $(ARCH),--arch $(ARCH)) $(OPTIONS)

install uninstall: tools
	$(MAKE) -C tools OUT=$(OUT)/tools $@

clean:
	rm -rf $(OUT)

distclean: clean
	rm -rf $${CRABTREE_CACHE:-$$HOME/.cache/crabtree}

.PHONY: help demo demo-reboot break check check-long quick modules modules_install tools raft-test host crash crash-full verdicts coverage races mutants mutants-page kunit selftests kcsan litmus soak fuzz counts bench bench-values bench-ycsb bench-profile bench-kernel paper style docs html newcomer deb deb-test install uninstall clean distclean
