# SPDX-License-Identifier: GPL-2.0
"""The common part of programs that boot a module with a mistake; scripts/ must be in sys.path."""

import os
import subprocess
import tempfile

import source
from crabvm import boot

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def out(name):
    """The directory of a program's results."""
    return os.path.abspath(os.path.join(os.environ.get("CRABTREE_OUT") or os.path.join(source.ROOT, "out"), name))


def tool(name, *args, **environment):
    """The directory that a script of selftests/vm prints last."""
    text = subprocess.check_output([os.path.join(HERE, name), *args], text=True, env={**os.environ, **environment})
    return text.strip().splitlines()[-1]


def module(kernel, **environment):
    """The path of the module for a kernel."""
    return os.path.join(tool("module", kernel, **environment), "crabtree_mod/crabtree.ko")


def broken_module(kernel, directory, *changes, **environment):
    """The same of a copy with changes, each a (file, text, instead) of another file. Modules with different
    changes can follow each other in one directory."""
    source.broken_copy(directory + ".source", ("Kbuild", "crabtree_mod", "uapi"), *changes[0])
    for path, old, new in changes[1:]:
        text = source.read(source.ROOT, path).replace(old, new)
        source.write_if_changed(os.path.join(directory + ".source", path), text)
    return module(kernel, CRABTREE_SOURCE=directory + ".source", CRABTREE_OUT=directory + ".out", **environment)


def uml_console(log, *args):
    """The console of user-mode Linux after a run."""
    options = boot.parser("").parse_args(["--kernel", "uml", "--timeout", "300", "--log", log, *args])
    with tempfile.TemporaryDirectory(prefix="crabvm-") as scratch:
        return boot.boot(options, scratch)[1]


def uml_device_tests(tests, module, log, *args):
    """The same after tests of a device of that module."""
    return uml_console(log, *args, "--test", os.path.join(HERE, "guest/device.sh"), "--env", f"TESTS={tests}",
                       "--files", f"{module}:/crabtree.ko", f"{tool('programs', 'amd64')}/device:/device")
