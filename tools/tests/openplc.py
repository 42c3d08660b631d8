# SPDX-License-Identifier: GPL-2.0
"""Test of the plugin for the OpenPLC runtime: openplc.py PLUGIN. Its store is an image that comes later."""

import ctypes
import os
import re
import subprocess
import sys

IMAGE = "retain.img"
PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../Documentation/admin-guide/openplc.rst")
CRABCTL = os.environ["CRABCTL"]


def ok(good, name):
    """One test."""
    print("ok" if good else "not ok", "-", name, flush=True)


def scan(number, size):
    """The retained variables of a scan."""
    return number.to_bytes(4, "little") * (size // 4) + b"x" * (size % 4)


def least():
    """The size of the smallest region, as the page documents it."""
    with open(PAGE, encoding="utf-8") as f:
        return re.search(r"in a region of at least (\d+) MiB", f.read()).group(1) + "M"


class Runtime:
    """The calls of the runtime on its plugin."""

    def __init__(self, plugin):
        self.plugin = ctypes.CDLL(plugin)
        self.started = self.plugin.init(None)

    def save(self, blob):
        """After a scan."""
        return self.plugin.retain_save(blob, ctypes.c_uint16(len(blob)))

    def load(self, room=65535):
        """At the start: the blob, or the failure."""
        out, size = ctypes.create_string_buffer(room + 1), ctypes.c_uint16(7)
        err = self.plugin.retain_load(out, ctypes.c_uint16(room), ctypes.byref(size))
        return err or out.raw[:size.value]


def taken_away(runtime):
    """The region is removed with force, and its number becomes that of the same region, or of another one."""
    runtime.save(scan(1, 54))
    with open("gone", "w", encoding="utf-8"):
        ok(runtime.save(scan(2, 54)) == -1, "the region was taken away: the save fails")
    ok(runtime.save(scan(3, 54)) == 0 and runtime.load() == scan(3, 54), "it is there again: the next one does not")
    subprocess.run([CRABCTL, "--image", "other.img", "format", f"--size={least()}", "--names"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([CRABCTL, "--image", "other.img", "set", "openplc/retain", "other"], check=True)
    with open("gone", "w", encoding="utf-8"):
        runtime.save(scan(4, 54))
    os.replace("other.img", IMAGE)
    ok(runtime.save(scan(5, 54)) == -1 and runtime.load() == b"other", "another store keeps its value")
    ok(runtime.save(scan(6, 54)) == 0, "... until it was loaded")


def main():
    """All tests."""
    os.environ["CRABTREE_DEVICE"] = "file:" + IMAGE
    runtime = Runtime(sys.argv[1])
    ok(runtime.started, "without a store the plugin reports a failure")
    ok(runtime.save(scan(1, 54)) == -1 and runtime.load() == -1, "... and so do save and load")
    subprocess.run([CRABCTL, "--image", IMAGE, "format", f"--size={least()}", "--names"], check=True, stdout=subprocess.DEVNULL)
    ok(runtime.load() == b"", "the store has come: nothing was saved yet")
    ok(runtime.save(scan(1, 54)) == 0 and runtime.load() == scan(1, 54), "54 bytes")
    ok(all(runtime.save(scan(number, 65535)) == 0 for number in range(200)), "200 scans of 65535 bytes in the smallest region")
    ok(runtime.load() == scan(199, 65535), "the last one is there")
    ok(runtime.load(65534) == -1, "a program with fewer variables does not get a part")
    runtime.plugin.cleanup()
    ok(runtime.load() == scan(199, 65535), "after a restart it is there")
    ok(runtime.plugin.retain_clear() == 0 and runtime.load() == b"", "a cold reset")
    ok(runtime.plugin.retain_clear() == 0, "a second one")
    ok(runtime.save(b"") == 0 and runtime.load() == b"", "no byte")
    runtime.save(scan(7, 54))
    runtime.plugin.cleanup()
    with subprocess.Popen([CRABCTL, "--image", IMAGE, "top"], stdout=subprocess.PIPE) as other:
        other.stdout.readline()
        ok(runtime.load() == -1, "another program has the store: the load fails")
        other.kill()
    ok(runtime.save(scan(0, 54)) == -1, "a save without a load does not replace the value")
    ok(runtime.load() == scan(7, 54) and runtime.save(scan(8, 54)) == 0, "after a load it does")
    ok(runtime.load(53) == -1 and runtime.save(scan(0, 53)) == -1, "a load without room is none")
    ok(runtime.plugin.retain_clear() == 0 and runtime.save(scan(9, 53)) == 0, "after a cold reset it does")
    taken_away(runtime)
    runtime.plugin.cleanup()


main()
