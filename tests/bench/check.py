#!/usr/bin/env python3
"""Run the bench in its shortest form, and look at what it writes: check.py BENCH

The figures mean nothing here: only that they are there, in the JSON and in a picture that is XML.
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

SHORT = ["--rounds", "2", "--warm-up", "0", "--waiters", "1,3", "--only", "redis", "file:",
         "flock", "poller"]
START = ["/ms/median", "/ms/p10", "/ms/p90"]
HANDOVER = ["/ms/median", "/ms/p99", "/runs", "/overlaps", "/waiter_kib"]


def has_figure(entry: dict, path: str) -> bool:
    for name in path[1:].split("/"):
        entry = entry.get(name, {})
    return isinstance(entry, (int, float))


def missing_in(figures: dict) -> list[str]:
    missing = [name for name in ("machine", "versions", "aims") if not figures.get(name)]
    parts = [(figures["start"]["tools"], START)]
    parts += [(size["tools"], HANDOVER) for size in figures["handover"]]
    for tools, paths in parts:
        for tool in ("redis", "file:", "flock", "poller"):
            missing += [tool + path for path in paths if not has_figure(tools[tool], path)]
    redis = figures["handover"][-1]["tools"]["redis"]
    missing += [path for path in ("/commands/requests", "/commands/all")
                if not has_figure(redis, path)]
    return missing


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder, "figures.json")
        svg = pathlib.Path(folder, "figures.svg")
        table = subprocess.run([sys.argv[1], *SHORT, "--json", out, "--svg", svg], check=True,
                               stdout=subprocess.PIPE, text=True).stdout
        missing = missing_in(json.loads(out.read_text(encoding="utf-8")))
        root = xml.etree.ElementTree.parse(svg).getroot()
    if not root.tag.endswith("svg"):
        missing.append("svg")
    if "hand-over" not in table:
        missing.append("table")
    print(table, *(f"missing: {what}" for what in missing), sep="\n")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
