#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""prometheus.py - read metrics on standard input by the parser of Prometheus' own Python client.

Each sample must be in a family that has a type and a description: the parser turns all others into
untyped families. Prints the number of samples, then each label of a store, unescaped."""

import sys

from prometheus_client.parser import text_string_to_metric_families


def main():
    """Read and judge."""
    families = list(text_string_to_metric_families(sys.stdin.read()))
    samples = [sample for family in families for sample in family.samples]
    for family in families:
        assert family.type in ("gauge", "counter") and family.documentation, family
    assert len({family.name for family in families}) == len(families), "a family in two pieces"
    print(len(samples))
    print("\n".join(sorted({sample.labels["label"] for sample in samples})))


main()
