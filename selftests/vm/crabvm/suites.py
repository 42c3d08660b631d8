# SPDX-License-Identifier: GPL-2.0
"""The suites of check: how each one is built, booted and run.

A suite is a command whose result is judged by its exit status and the counts of its last
line.  Suites that boot a machine do so through run; a power cut counts as one test, and so
does the demo.  The file `expected` holds the number of tests that must pass in each suite.
Long suites run only where they, or their groups, are named.
"""

import os

from crabvm.machine import arch_of

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TRACE = os.path.join(HERE, "..", "trace", "trace")
POWERCUT = os.path.join(HERE, "..", "powercut")


class Suite:
    """One suite; BUILD builds its files and returns its command. WEIGHT: about its seconds; PROCESSORS
    of its largest machine."""

    def __init__(self, name, group, build, weight, processors=1, long=False):
        self.name, self.group, self.build, self.weight = name, group, build, weight
        self.processors, self.long = processors, long


def machine(name, kernel, script, *args):
    """A command that runs a guest script in a machine."""
    return [os.path.join(HERE, "run"), "--name", name, "--kernel", kernel,
            "--test", os.path.join(HERE, "guest", script), *args]


def kunit(kernel, *args, tests="1"):
    """The KUnit suites; TESTS "brief": without long ones with the same result on every machine."""
    def build(tool, name, scratch):
        module = tool("module", kernel, f"CRABTREE_KUNIT={tests}")
        return machine(name, kernel, "kunit.sh", "--timeout", "300", "--files",
                       f"{module}/crabtree_mod/crabtree_kunit.ko:/crabtree_kunit.ko", *args)
    return build


def kselftests(directory, tests):
    """The kselftests as run wants them: TESTS, or all. Scripts use programs of other names.

    They are static programs of a megabyte each, which the machine unpacks when it boots.
    """
    names = tests.split()
    if not names or any(name.endswith(".sh") for name in names):
        return [f"{directory}:/device"]
    return [f"{directory}/{name}:/device/{name}"
            for name in sorted({"run_all.sh", "lib.sh", "load", "store", *names})]


def device_files(tool, kernel, tests=""):
    """The module, its two users and the kselftests, as run wants them."""
    module = tool("module", kernel) + "/crabtree_mod"
    programs = tool("programs", arch_of(kernel))
    return ["--files", f"{module}/crabtree.ko:/crabtree.ko",
            f"{module}/sample/crabtree_sample.ko:/crabtree_sample.ko",
            f"{module}/tests/kapi/crabtree_kapi.ko:/crabtree_kapi.ko",
            *kselftests(f"{programs}/device", tests)]


# The class of durability, and the instruction that cleans a line, of a processor or of "max"
CLEANS = {"cortex-a53": "poc dc cvac", "neoverse-n1": "pop dc cvap", "arm64": "podp dc cvadp",
          "amd64": "pop clwb", "uml": ""}


def device(kernel, *args, cpu=None, tests="", pmem=("--pmem", "16M"), stress=1):
    """The kselftests over the loaded module; STRESS: seconds on each store, of the test of that name.

    The memory is small: tests make stores of all of it, and each load of the module reads them.
    """
    def build(tool, name, scratch):
        files = device_files(tool, kernel, tests)
        region = [] if kernel == "uml" else \
            ["--region", os.path.join(scratch, "media"), "--size", "36M", *pmem]
        return machine(name, kernel, "device.sh", *files, *region, "--timeout", SILENCE,
                       "--env", f"TESTS={tests}", f"CRABTREE_STRESS_SECONDS={stress}",
                       f"CLEAN={CLEANS[cpu if cpu in CLEANS else kernel.split('-', maxsplit=1)[0]]}",
                       *(["--cpu", cpu] if cpu else []), *args)
    return build


def reboot(kernel):
    """One store through four boots, cleanly detached or not."""
    def build(tool, name, scratch):
        files = device_files(tool, kernel, "store")
        region = ["--region", os.path.join(scratch, "media"), "--size", "8M"]
        return [machine(f"{name} {boot}", kernel, "reboot.sh", "--smp", "1", "--cpu", "neoverse-n1", *files, *region,
                        "--env", f"BOOT={boot}", f"CRAB_HALT={'reset' if boot == 3 else ''}")
                for boot in range(1, 5)]
    return build


def linked(tool, name, scratch):
    """The module as a part of the kernel; the objects of other configurations."""
    tool("kernel", "uml-linked")
    media = os.path.join(scratch, "media")
    append = f"crabtree.ram=1M crabtree.pmem=/dev/nonsense crabtree.uml={media}"
    return [machine(name, "uml-linked", "linked.sh", "--region", media, "--size", "1M",
                    "--append", append, "--env", f"UML_FILE={media}",
                    "--files", f"{tool('programs', 'amd64')}/device:/device"),
            [os.path.join(HERE, "linked"), "--check"]]


def hibernation(kernel):
    """A machine that hibernates, and its second boot, which becomes the first one again."""
    def build(tool, name, scratch):
        common = ["--smp", "1", "--region", os.path.join(scratch, "media"), "--size", "264M",
                  "--pmem", "256M", *DAX, "--timeout", "300", *device_files(tool, kernel, "store")]
        return [machine(f"{name} {boot}", kernel, "hibernate.sh", *common, *more,
                        "--env", f"BOOT={boot}") for boot, more in ((1, ["--no-end"]), (2, []))]
    return build


def powercuts(program, kernel, cuts, *args, kinds=((),)):
    """Power cuts by a program, once for each of KINDS, which are arguments; each cut is a test, if --counts."""
    def build(tool, name, scratch):
        tool("module", kernel)
        tool("programs", arch_of(kernel))
        command = [os.path.join(POWERCUT, program), "--kernel", kernel, "--cuts", str(cuts), *args]
        return [[*command, *kind] for kind in kinds]
    return build


def planted(program):
    """Mistakes that are planted into the module are found."""
    def build(tool, name, scratch):
        tool("kernel", "uml")
        tool("programs", "amd64")
        return [os.path.join(HERE, program)]
    return build


def secure_boot(kernel):
    """The module under Secure Boot."""
    def build(tool, name, scratch):
        tool("module", kernel)
        tool("programs", arch_of(kernel))
        return [os.path.join(HERE, "secure-boot"), kernel, "--name", name, "--smp", "1"]
    return build


def counts(tool, name, scratch):
    """The counts of the module, compared with the host build."""
    tool("module", "arm64-6.1")
    tool("programs", "arm64")
    return [os.path.join(HERE, "counts")]


def verifier(tool, name, scratch):
    """The test of the power cut's verifier."""
    return [os.path.join(POWERCUT, "selftest"), tool("programs", "amd64") + "/churn"]


def boots(tool, name, scratch):
    """The test of the code that boots the machines."""
    return [os.path.join(HERE, "selftest")]


def traced(kernel, *args):
    """The module, with its stores traced by the emulator."""
    def build(tool, name, scratch):
        tool("module", kernel)
        return [TRACE, *args]
    return build


def kcsan(tool, name, scratch):
    """Threads that collide, watched for data races."""
    return machine(name, "arm64-kcsan", "kcsan.sh", *device_files(tool, "arm64-kcsan"),
                   "--timeout", SILENCE, "--env", f"TESTS={KCSAN_TESTS}", "CRABTREE_STRESS_SECONDS=20")


def kcsan_self_test(tool, name, scratch):
    """Races that are planted are found."""
    tool("kernel", "arm64-kcsan")
    return [os.path.join(HERE, "races")]


def dkms(tool, name, scratch):
    """DKMS on this machine."""
    return [os.path.join(HERE, "dkms")]


# Where each test of the device runs.  An emulated machine with two processors costs twice
# the time of one with one processor, even where the second one idles: the two wait for each
# other whenever the kernel changes a mapping.  A stock arm64 kernel costs a quarter less on a
# Neoverse N1 than on "max", which has every extension of the architecture.
#
# Tests whose subject depends on the architecture run on arm64-6.12 and amd64-6.1.  The other
# kernel of the architecture runs the tests that depend on the kernel: the ABI, and its services
# (loading, regions, devices, events, signals).  Threads run on two processors of arm64-6.12, and
# of the real-time kernels.  The content of images, limits, rights, loads that fail late and
# tuning depend on nothing of these: amd64-6.1 runs them, and user-mode Linux most of them under
# every checker.
ARCH_TESTS = ("abi abi32 operations operations32 blobs names commits values modify range observe bad_input copies signals concurrency linear regions.sh "
              "control providers.sh reload.sh sample.sh kapi.sh events.sh tracing.sh power.sh")
KERNEL_TESTS = ("abi operations observe permissions signals freezing concurrency regions.sh providers.sh reload.sh control "
                "sample.sh kapi.sh events.sh tracing.sh power.sh")
# Tests of stores, which depend on the architecture only: on the other kernel they run in the group long
STORE_TESTS = "blobs names commits values modify range copies linear"
# Tests that depend on the type of the processor, which decides the clean, the fence and the
# 16-byte store.
CPU_TESTS = "operations concurrency sample.sh"
# The same, and those of threads.
THREAD_TESTS = CPU_TESTS + " observe linear"
# Tests that need neither a physical region nor 32-bit programs, under every checker.
UML_TESTS = ("abi operations blobs names commits values modify range observe limits permissions bad_input unfinished copies signals faults faults_values concurrency "
             "linear control removal sample.sh kapi.sh tuning.sh events.sh tracing.sh")
# Tests of threads under every checker, on two processors and with preemption: user-mode Linux
# has neither, and all other tests.
DEBUG_TESTS = "commits concurrency"
SILENCE = "400"     # of the slowest test, with a reserve
DAX = ("--modules", "nd_e820", "nd_pmem", "dm-mod", "--env", "PMEM_DOMAIN=none")
OF_DAX = ("--modules", "of_pmem", "nd_pmem", "dm-mod", "--env", "PMEM_DOMAIN=memory_controller")
# Memory that the host flushes
FLUSHED = ("--virtio-pmem", "16M", "--modules", "virtio_pci", "virtio_pmem")
# In place of reserved memory a DIMM that the firmware describes. The kernel passes a machine check
# on to its driver only on a processor of Intel's
NVDIMM = ("--nvdimm", "16M", "--modules", "nfit", "nd_pmem", "dm-mod", "--monitor",
          "--cpu", "max,vendor=GenuineIntel", "--env", "NVDIMM=1", "PMEM_DOMAIN=cpu_cache")
# Memory that the kernel reserves by name (6.12 and newer)
RESERVE = ("--append", "reserve_mem=1M:4096:crab")
# Tests that depend on PREEMPT_RT: locks, and preemption under them; RT_STRESS on both architectures.
RT_STRESS = "commits concurrency stress"
RT_TESTS = RT_STRESS + " values observe sample.sh"
RESTORED = ((), ("--blobs",))    # snapshots of records, and of blobs
KCSAN_TESTS = "stress commits values observe concurrency linear sample.sh"

SUITES = [
    Suite("kunit-uml", "kunit", kunit("uml", "--leaks"), 15),
    Suite("kunit-arm64", "kunit", kunit("arm64-debug", "--smp", "1", tests="brief"), 20),
    Suite("device-uml", "device", device("uml", "--leaks", tests=UML_TESTS), 60),
    Suite("leaks-uml", "device", planted("leaks"), 35),
    Suite("drain-uml", "device", planted("drain"), 20),
    Suite("loading-uml", "device", device("uml", tests="loading publish"), 5),
    Suite("linked-uml", "device", linked, 20),
    Suite("device-arm64-debug", "device", device("arm64-debug", tests=DEBUG_TESTS), 70, 2),
    Suite("device-arm64-6.1-a53", "device", device("arm64-6.1", "--smp", "1", cpu="cortex-a53", tests=CPU_TESTS), 12),
    Suite("device-arm64-6.1-n1", "device",
          device("arm64-6.1", "--smp", "1", cpu="neoverse-n1", tests=KERNEL_TESTS), 50),
    Suite("device-arm64-6.12-max", "device", device("arm64-6.12", cpu="max", tests=THREAD_TESTS), 40, 2),
    Suite("device-arm64-6.12", "device",
          device("arm64-6.12", *OF_DAX, "--smp", "1", *RESERVE, cpu="neoverse-n1", tests=ARCH_TESTS), 60),
    Suite("device-amd64-6.1", "device", device("amd64-6.1", *DAX, *FLUSHED, "--smp", "1"), 53),
    Suite("device-amd64-6.12", "device",
          device("amd64-6.12", *NVDIMM, *RESERVE, "--smp", "1", pmem=(), tests=KERNEL_TESTS), 50),
    Suite("device-arm64-6.1-rt", "device", device("arm64-6.1-rt", cpu="neoverse-n1", tests=RT_STRESS), 22, 2),
    Suite("device-amd64-6.1-rt", "device", device("amd64-6.1-rt", tests=RT_TESTS), 22, 2),
    Suite("secure-boot-amd64-6.1", "device", secure_boot("amd64-6.1"), 30),
    Suite("counts-arm64-6.1", "device", counts, 11),
    Suite("reboot-arm64-6.1", "power", reboot("arm64-6.1"), 15),
    Suite("hibernate-amd64-6.1", "power", hibernation("amd64-6.1"), 25),
    Suite("powercut-uml", "power", powercuts("soak", "uml", 48, "--counts"), 35),
    Suite("powercut-arm64-6.1", "power", powercuts("soak", "arm64-6.1", 4, "--counts", "--cpu", "neoverse-n1", "--writers", "4"), 40, 2),
    Suite("scans-uml", "power", powercuts("scans", "uml", 12, "--counts"), 6),
    Suite("scans-amd64-6.1", "power", powercuts("scans", "amd64-6.1", 2, "--counts", "--beside"), 15),
    Suite("restores-amd64-6.1", "power", powercuts("restores", "amd64-6.1", 2, "--counts", kinds=RESTORED), 25),
    Suite("demo-amd64-6.12", "power", powercuts("demo", "amd64-6.12", 2, "--brief", "--operations", "2000"), 25, 2),
    Suite("boots", "power", boots, 1),
    Suite("verifier", "power", verifier, 3),
    # Three machines do the same work, and each is cut at another third of the crash points, and so
    # are three with caches that persist; the other two do work of their own and are cut at a third as well
    Suite("trace-arm64-n1", "trace", traced("arm64-6.1", "arm64-n1", "arm64-n1-caches", "--part", "1/3"), 36),
    Suite("trace-arm64-a53", "trace", traced("arm64-6.1", "arm64-a53", "--part", "1/3"), 24),
    Suite("trace-arm64-max", "trace", traced("arm64-6.1", "arm64-max", "arm64-a53-caches", "--part", "2/3"), 48),
    Suite("trace-arm64-race", "trace", traced("arm64-6.1", "arm64-race", "--part", "1/3"), 20, 2),
    Suite("trace-amd64", "trace", traced("amd64-6.1", "amd64", "amd64-caches", "--part", "3/3"), 45),
    Suite("trace-self-test", "trace", traced("arm64-6.1", "--self-test"), 25),
    Suite("dkms", "dkms", dkms, 13),
    # `make check-long`: the same tests on more processors and for longer, and more cuts
    Suite("long-kunit-arm64", "long", kunit("arm64-debug", "--smp", "1"), 110, long=True),
    Suite("long-arm64-debug", "long", device("arm64-debug", tests="observe values signals sample.sh"), 120, 2, long=True),
    Suite("long-arm64-6.1-n1", "long",
          device("arm64-6.1", cpu="neoverse-n1", tests=f"{KERNEL_TESTS} {STORE_TESTS}"), 80, 2, long=True),
    Suite("long-amd64-6.12", "long",
          device("amd64-6.12", *NVDIMM, *RESERVE, pmem=(), tests=f"{KERNEL_TESTS} {STORE_TESTS}"), 100, 2, long=True),
    Suite("long-arm64-6.1-rt", "long", device("arm64-6.1-rt", tests=f"linear {RT_TESTS}", stress=10), 130, 2, long=True),
    Suite("long-amd64-6.1-rt", "long", device("amd64-6.1-rt", tests="linear stress", stress=10), 100, 2, long=True),
    Suite("long-powercut-uml", "long", powercuts("soak", "uml", 384, "--counts"), 300, long=True),
    Suite("long-powercut-arm64-6.1", "long", powercuts("soak", "arm64-6.1", 24, "--counts", "--writers", "4"), 230, 2, long=True),
    Suite("long-restores-amd64-6.1", "long", powercuts("restores", "amd64-6.1", 6, "--counts", kinds=RESTORED), 80, long=True),
    Suite("long-trace-sleeps", "long", traced("amd64-6.1", "amd64", "--sleeps", "--part", "1/3"), 110, long=True),
    Suite("long-trace-arm64", "long", traced("arm64-6.1", "arm64-n1", "arm64-a53", "--operations", "40000"), 90, long=True),
    # The newest kernel needs a root of Debian's unstable suite, to build the module in
    Suite("device-amd64-sid", "sid", device("amd64-sid", *DAX, *RESERVE, tests=KERNEL_TESTS), 60, 2, long=True),
    Suite("kcsan-arm64", "kcsan", kcsan, 150, 2, long=True),
    Suite("kcsan-self-test", "kcsan", kcsan_self_test, 60, 2, long=True),
]
