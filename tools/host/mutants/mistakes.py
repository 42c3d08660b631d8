# SPDX-License-Identifier: GPL-2.0
"""All deliberate mistakes (design.py), in the order of their numbers.

shared.py has those in the code that all engines share, locks.py those that leave out a lock there. engines/E/designs.py and engines/E/races.py
have those of the engine E: DESIGNS, RACES, and optionally

  PUBLISHED   rules of the publication that do not hold: claims.py judges them
  HARMLESS    (function, statement, kind of mutant, why it does no harm)
  SUBJECTS    race -> the store of test_tasks (subject.c) that shows it first or most often, and the
              seed that is tried first, a few before one that shows it; the others run in all
              stores of the engine, from seed 1 on
"""

import importlib.util
import os

import locks
import shared

HOST = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def of_engines(file):
    """Engine -> the module engines/ENGINE/FILE.py, where there is one."""
    found = {}
    for engine in sorted(os.listdir(os.path.join(HOST, "engines"))):
        path = os.path.join(HOST, "engines", engine, f"{file}.py")
        if os.path.exists(path):
            spec = importlib.util.spec_from_file_location(f"{engine}_{file}", path)
            found[engine] = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(found[engine])
    return found


_DESIGNS = of_engines("designs")
_RACES = of_engines("races")

DESIGNS = shared.DESIGNS + [design for of in _DESIGNS.values()
                            for design in of.DESIGNS + getattr(of, "PUBLISHED", [])]
HARMLESS = shared.HARMLESS + [entry for of in _DESIGNS.values() for entry in getattr(of, "HARMLESS", [])]
RACES = shared.RACES + locks.RACES + [race for of in _RACES.values() for race in of.RACES]
SUBJECTS = {what: subject for of in (shared, *_RACES.values())
            for what, subject in getattr(of, "SUBJECTS", {}).items()}
ENGINES = {race.what: engine for engine, of in _RACES.items() for race in of.RACES}
