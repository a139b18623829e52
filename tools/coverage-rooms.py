#!/usr/bin/env python3
"""Sum up what tests have reached, by room of src/: coverage-rooms.py COVERAGE.json

Reads what `gcovr --json` writes. First come the totals; then, for the rooms whose uncovered lines
tests/COVERAGE.md explains, these lines by file and function.
"""

import bisect
import json
import pathlib
import re
import sys

EXPLAINED = ("guard", "store", "container", "run")
NOT_A_NAME = re.compile(r"^(guard|store|redis|file|container|run)::|\(anonymous namespace\)::")


def room_of(path: str) -> str:
    """The folder below src/; `main` for the files that lie there themselves."""
    parts = pathlib.PurePath(path).parts
    return parts[1] if len(parts) > 2 else "main"


def short(name: str) -> str:
    """A function without its namespaces, its parameters and what is within it."""
    while (shorter := NOT_A_NAME.sub("", name)) != name:
        name = shorter
    return name.split("(")[0].split(" ")[-1]


def ranges(numbers: list[int]) -> str:
    """[3, 4, 5, 9] is `3-5, 9`."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


def uncovered_by_function(file: dict, lines: list[int]) -> dict[str, list[int]]:
    functions = sorted((f["lineno"], short(f["name"])) for f in file["functions"])
    starts = [start for start, _ in functions]
    found: dict[str, list[int]] = {}
    for line in lines:
        at = bisect.bisect_right(starts, line)
        found.setdefault(functions[at - 1][1] if at else "?", []).append(line)
    return found


def main() -> int:
    with open(sys.argv[1], encoding="utf-8") as report:
        files = sorted(json.load(report)["files"], key=lambda file: file["file"])
    totals: dict[str, list[int]] = {}
    details = []
    for file in files:
        lines = {l["line_number"]: l["count"] for l in file["lines"] if not l["gcovr/noncode"]}
        uncovered = sorted(number for number, count in lines.items() if count == 0)
        room = room_of(file["file"])
        for sum_of in (totals.setdefault(room, [0, 0]), totals.setdefault("all", [0, 0])):
            sum_of[0] += len(lines) - len(uncovered)
            sum_of[1] += len(lines)
        if room in EXPLAINED and uncovered:
            details.append(file["file"])
            for name, numbers in uncovered_by_function(file, uncovered).items():
                details.append(f"    {name}: {ranges(numbers)}")
    print("room        lines  reached")
    for room in [*sorted(totals.keys() - {"all"}), "all"]:
        reached, lines_of = totals[room]
        print(f"{room:10} {lines_of:6}   {100 * reached / lines_of:5.1f} %")
    print("\nNot reached (why: tests/COVERAGE.md):", *details, sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
