#!/usr/bin/env python3
"""Sum up a run of `meson test`: count-tests.py BUILD/meson-logs/testlog.json

Prints "N passed, N failed" (and ", N skipped" where there are any). The cases of a doctest program,
one named *-tests, count each; any other test counts as one, and so does a program that is skipped as
a whole, whose reason is printed first. Ends 1 if one failed or none ran. A password in what they
printed is a failure, too.
"""

import json
import pathlib
import re
import sys

SECRET_MARK = "hunter2"  # in every password of the tests: tests/support/secret.hpp
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
SUMMARY = re.compile(
    r"^\[doctest\] test cases:\s*\d+\s*\|\s*(\d+) passed\s*\|\s*(\d+) failed\s*\|\s*(\d+) skipped",
    re.MULTILINE,
)


def count(test: dict) -> tuple[int, int, int]:
    """The numbers of passed, failed and skipped cases of one test."""
    result = test["result"]
    if result == "SKIP":
        return 0, 0, 1
    if not pathlib.Path(test["command"][0]).name.endswith("-tests"):
        return (1, 0, 0) if result == "OK" else (0, 1, 0)
    summaries = SUMMARY.findall(COLOUR.sub("", test.get("stdout") or ""))
    if not summaries:
        # It crashed, ran out of time, or left by another door than the end of main.
        return 0, 1, 0
    passed, failed, skipped = map(int, summaries[-1])
    if result != "OK" and failed == 0:
        failed = 1
    return passed, failed, skipped


def why_skipped(test: dict) -> str:
    """The last line that a skipped test wrote."""
    lines = (test.get("stdout") or "").split("\n")
    return next((line for line in reversed(lines) if line.strip()), "skipped")


def main() -> int:
    passed = failed = skipped = 0
    with open(sys.argv[1], encoding="utf-8") as log:
        for line in log:
            test = json.loads(line)
            if SECRET_MARK in line:
                print(f"{test['name']}: a password shows in what it printed")
                failed += 1
            counts = count(test)
            if test["result"] == "SKIP":
                print(f"{test['name']}: {why_skipped(test)}")
            passed, failed, skipped = map(sum, zip((passed, failed, skipped), counts))
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 0 if passed and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
