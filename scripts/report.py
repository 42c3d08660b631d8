# SPDX-License-Identifier: GPL-2.0
"""Shared by the measurements: how a run is saved, which tree and machine it measured, and how it becomes
tables and plots of a page."""

import json
import os
import platform
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
OUT = os.path.join(ROOT, "out")
# Engines and layouts that only make paper measures: one survives no cut, the other needs caches that persist
BARE = (("clfb", "bare"), ("nbtree", "eadr"))


def size(leaf):
    """A leaf size, for people."""
    return f"{leaf} B" if leaf < 1024 else f"{leaf // 1024} KiB"


def num(value, form="{:.0f}"):
    """A cell."""
    return "–" if value is None else form.format(value)


def grouped(number):
    """A large number: 1 000 000."""
    return f"{number:,}".replace(",", " ")


def percent(value):
    """A cell with a sign: plus is more."""
    return "–" if value is None else f"{value:+.1f} %".replace("-", "−")


def table(head, rows):
    """A csv-table; of no rows, a note."""
    if not rows:
        return "Not recorded.\n"
    lines = [".. csv-table::", "   :header-rows: 1", ""]
    lines += ["   " + ", ".join(f'"{cell}"' for cell in row) for row in [head, *rows]]
    return "\n".join(lines) + "\n"


def verdict(value, bound):
    """Reached or not."""
    return "reached" if value <= bound else "not reached"


def machine():
    """The kind of machine."""
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        names = [line.split(":", 1)[1].strip() for line in f if line.startswith("model name")]
    return " ".join(filter(None, [platform.machine(), f"({names[0]})" if names else ""]))


def tree():
    """Which tree this is."""
    done = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return done.stdout.strip() or "unknown"


def load(path):
    """A file of JSON, or {}."""
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as f:
        return json.load(f)


def save(path, said):
    """The reverse."""
    with open(path, "w", encoding="utf-8") as f:
        json.dump(said, f, indent=1)


def build(*targets, fences=True):
    """Make the programs of tools/bench; where they are. Without @fences a fence is no instruction."""
    place = os.path.join(OUT, "bench" if fences else "bench-nofence")
    subprocess.run(["make", "--no-print-directory", "-C", os.path.join(ROOT, "tools/bench"),
                    f"OUT={place}", f"FENCES={int(fences)}", *[os.path.join(place, t) for t in targets]], check=True)
    return place


class Plots:
    """The plots of a page; the same run writes the same files."""

    def __init__(self, directory):
        import matplotlib  # pylint: disable=import-outside-toplevel
        matplotlib.use("svg")
        matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "crabtree",
                                    "font.size": 8, "axes.spines.top": False,
                                    "axes.spines.right": False})
        from matplotlib import pyplot  # pylint: disable=import-outside-toplevel
        self.pyplot = pyplot
        self.dir = os.path.join(ROOT, "Documentation", directory)
        os.makedirs(self.dir, exist_ok=True)

    def bars(self, axis, groups, series, title):
        """@series: name -> one value a group."""
        width = 0.8 / len(series)
        for i, (name, values) in enumerate(series.items()):
            axis.bar([x + (i - len(series) / 2 + 0.5) * width for x in range(len(groups))],
                     [v or 0 for v in values], width, label=name)
        axis.set_xticks(range(len(groups)), groups)
        axis.set_title(title)

    def save(self, name, panels):
        """@panels: groups, series and title of each."""
        figure, axes = self.pyplot.subplots(1, len(panels), figsize=(3.2 * len(panels), 2.6),
                                            squeeze=False)
        for axis, panel in zip(axes[0], panels):
            self.bars(axis, *panel)
        handles, labels = axes[0][0].get_legend_handles_labels()
        if len(labels) > 1:
            figure.legend(handles, labels, loc="upper center", ncols=4, fontsize=7,
                          frameon=False, bbox_to_anchor=(0.5, 0.02))
        figure.tight_layout()
        figure.savefig(os.path.join(self.dir, f"{name}.svg"), bbox_inches="tight",
                       metadata={"Date": None, "Creator": None})
        self.pyplot.close(figure)
