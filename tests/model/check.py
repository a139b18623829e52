#!/usr/bin/env python3
"""Check the model of the protocol: check.py [NAME...]

slot.pml is searched to the end by spin(1) for each of the checks below, and has to hold; with a
fault seeded it has to fail, and in the way that is told here. Before that the model's scripts
(server.pml) are held to transitions.txt, as the real ones are by scripts.cpp. Prints a line for
each, with states, depth, time and memory; ends 1 if one is not as it has to be, and 77 without spin
or a C compiler. A NAME is that of a check or a fault.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent

# What may happen in each check, in numbers: see slot.pml. A search for progress looks for a run in
# which somebody is never done, though no process that can go on stands still for ever.
CHECKS = {
    "lapse": "FULL=1 RENEWALS=2 LEAVERS=1",
    "loss": "FULL=1 LOSSES=1 LATES=1 RENEWALS=0 LEAVERS=0",
    "crash": "FULL=1 CRASHES=1 RENEWALS=0 LEAVERS=0",
    "break": "FULL=1 BREAKS=1 RENEWALS=1 LEAVERS=0",
    "force": "FULL=1 BREAKS=1 FORCE=1 RENEWALS=1 LEAVERS=0",
    "restart": "FULL=1 RESTARTS=1 RENEWALS=0 LEAVERS=0",
    "unsafe": "FULL=1 LOSSES=1 LATES=1 UNSAFE=1 RENEWALS=0 LEAVERS=0",
    "pair": "CLIENTS=2 FULL=1 LOSSES=1 LATES=1 BREAKS=1 RENEWALS=1 LEAVERS=0",
    "progress": "PROGRESS PRESENCE_ENDS CRASHES=1 RENEWALS=0 LEAVERS=0",
    "messages": "PROGRESS MESSAGES RENEWALS=0 LEAVERS=1",
}

# A fault, the check that finds it, and what spin complains of.
FAULTS = [
    ("RELEASE_WITHOUT_COMPARE", "lapse", "was=="),
    ("RENEWAL_WITHOUT_COMPARE", "break", "was=="),
    ("ENTRY_OVERWRITES", "lapse", "was=="),
    ("NO_QUEUE", "lapse", "overtakes"),
    ("DEADLINE_FROM_ANSWER", "lapse", "runs[1]"),
    ("MARGIN=1", "lapse", "left"),
    ("NEW_TOKEN", "loss", "holder!="),
    ("ORPHANS", "crash", "left"),
    ("BREAK_FREES", "break", "runs[1]"),
    ("BREAK_KEEPS_FENCE", "force", "broken"),
    ("RETURNS_ANY_ENTRY", "unsafe", "runs[late_from]"),
    ("NO_HOLD_BACK", "restart", "runs[1]"),
    ("NO_REST", "restart", "runs[1]"),
    ("FENCE_STARTS_AGAIN", "restart", "last_fence"),
    ("RESTORES_AFTER_DEADLINE", "lapse", "left[me]>0"),
    ("DEAD_KEEP_PLACE", "progress", "acceptance cycle"),
    ("SILENT_RELEASE", "messages", "acceptance cycle"),
    ("SILENT_LEAVE", "messages", "acceptance cycle"),
    ("EARS_LATE", "messages", "acceptance cycle"),
]

# Where the protocol as it is does not hold; README tells what that means.
LIMITS = [
    ("BACK_TOO_LATE", "restart", "runs[1]"),
]


class Table:
    """transitions.txt as a Promela program that tries each case on server.pml."""

    CLIENTS = {"a": 1, "b": 2, "c": 3}
    HOLDERS = {"-": "FREE", "taken": "BROKEN", "other": "OTHER", "list": "NO_LOCK", **CLIENTS}
    TIMES = {"full": "TTL", "part": "1", "endless": "ENDLESS", "": "0"}
    FENCES = {"-": 0, "behind": 3, "now": 5, "ahead": 8, "next": 9}
    CALLS = {
        "renew": "renew({me}, 0, 0)",
        "restore": "renew({me}, 1, {own})",
        "release": "release({me}, {waits}, 0)",
        "return": "release({me}, {waits}, {own})",
        "break": "take_away({whose}, 0)",
        "force": "take_away({whose}, 1)",
        "near": "tell_who_is_near()",
        "count": "count_entry()",
        "status": "look()",
        "tidy": "tidy()",
        "enter": "enter({me}, {waits}, {minds_age}, {back})",
    }

    def __init__(self, text: str):
        lines = [line for line in text.splitlines() if line and not line.startswith("#")]
        self.count = len(lines)
        self.program = "\n".join(
            ["#define MESSAGES", '#include "server.pml"', "init {", "    hour = 5;"]
            + [self.case(line) for line in lines]
            + ["    skip", "}", ""]
        )

    def case(self, line: str) -> str:
        call, outcome = line.split("->")
        script, caller, *words = call.split()
        state = dict(self.field(word) for word in words if self.is_state(word))
        manner = {word for word in words if not self.is_state(word)}
        answer, *changes = outcome.split()
        after = {**state, **dict(map(self.field, changes))}
        action = self.CALLS[script].format(
            me=self.CLIENTS.get(caller, 0),
            whose=self.HOLDERS[caller],
            waits=int("waits" in manner),
            minds_age=int("old" not in manner),
            back=int("back" in manner),
            own=max(1, self.FENCES[state.get("fence", "-")]) - int("passed" in manner),
        )
        conditions = " && ".join(self.answered(script, answer) + self.is_so(after))
        return (
            f"    d_step {{ {self.brought(state, caller, manner)}; {action} }}\n"
            f"    if :: {conditions} :: else -> printf(\"not so: {' '.join(line.split())}\\n\");"
            " assert(false) fi;"
        )

    @staticmethod
    def is_state(word: str) -> bool:
        return "=" in word or word in ("young", "moving")

    @staticmethod
    def field(word: str) -> tuple:
        name, _, value = word.partition("=")
        return name, value or "1"

    def slot(self, state: dict) -> tuple:
        holder, _, left = state.get("slot", "-").partition(":")
        return self.HOLDERS[holder], self.TIMES[left]

    @staticmethod
    def queue(state: dict) -> list:
        queue = state.get("queue", "-")
        return [] if queue == "-" else queue.split(",")

    @staticmethod
    def mark(state: dict) -> str:
        return {"-": "none"}.get(state.get("mark", "-"), state.get("mark", "-")).replace("-", "_")

    def brought(self, state: dict, caller: str, manner: set) -> str:
        """Brings the slot into a state."""
        holder, left = self.slot(state)
        places = {waiter[0]: place for place, waiter in enumerate(self.queue(state), 2)}
        steps = [
            f"slot = {holder}; ttl = {left}; fence = {self.FENCES[state.get('fence', '-')]}",
            f"mark = {self.mark(state)}; is_young = {state.get('young', 0)}",
            f"alone = {state.get('moving', 0)}",
        ]
        for name, number in self.CLIENTS.items():
            waiter = next((w for w in self.queue(state) if w[0] == name), "")
            arrival = places.get(name, int(name == caller and "first" in manner))
            presence = next(iter(re.findall(r"\d", waiter)), 0)
            polls = "p" in waiter or (name == caller and "polls" in manner)
            steps.append(
                f"arrival[{number}] = {arrival}; queued[{number}] = {int(bool(waiter))}; "
                f"presence[{number}] = {presence}; listens[{number}] = {int(not polls)}; "
                f"hears[{number}] = {int('!' not in waiter)}; mail[{number}] = 0"
            )
        return "; ".join(steps)

    def answered(self, script: str, answer: str) -> list:
        if script == "status":
            holder, waiters = answer.split(":")
            return ["answer == done", f"holder == {self.HOLDERS[holder]}", f"waiters == {waiters}"]
        word, holder, place = re.fullmatch(r"(\w+)(?::(\w+))?(?:@(.+))?", answer).groups()
        told = [f"answer == {word}"]
        if holder:
            told.append(f"holder == {self.HOLDERS[holder]}")
        if place:
            told.append(f"place == {'NOWHERE' if place == '-' else place}")
        return told

    def is_so(self, state: dict) -> list:
        holder, left = self.slot(state)
        queue = self.queue(state)
        order = [self.CLIENTS[waiter[0]] for waiter in queue]
        conditions = [
            f"slot == {holder}",
            f"ttl == {left}",
            f"fence == {self.FENCES[state.get('fence', '-')]}",
            f"mark == {self.mark(state)}",
        ]
        conditions += [f"arrival[{x}] < arrival[{y}]" for x, y in zip(order, order[1:])]
        mail = dict(word.split(":") for word in state.get("mail", "").split(",") if word)
        for name, number in self.CLIENTS.items():
            waiter = next((w for w in queue if w[0] == name), "")
            conditions += [
                f"queued[{number}] == {int(bool(waiter))}",
                f"presence[{number}] == {next(iter(re.findall('[0-9]', waiter)), 0)}",
                f"mail[{number}] == {mail.get(name, 0)}",
            ]
        return conditions


def run(command: list, folder: pathlib.Path) -> str:
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    except FileNotFoundError as failure:  # nothing was made by the step before
        return str(failure)
    return done.stdout + done.stderr


def table_holds(folder: pathlib.Path) -> bool:
    table = Table((HERE / "transitions.txt").read_text(encoding="utf-8"))
    (folder / "table.pml").write_text(table.program, encoding="utf-8")
    told = run(["spin", "-T", "table.pml"], folder)
    good = "not so" not in told and "rror" not in told and "1 process created" in told
    print(f"{'table':24} {table.count} cases: {'hold' if good else 'do not hold'}", flush=True)
    if not good:
        print(told)
    return good


def search(compiler: str, options: str, is_short: bool, folder: pathlib.Path) -> str:
    """What the search says. A short one is over before a compiler would be that makes it fast."""
    defines = [f"-D{option}" for option in options.split()]
    for old in ("pan.c", "pan"):
        (folder / old).unlink(missing_ok=True)
    is_progress = "-DPROGRESS" in defines
    kind, how = (["-DNFAIR=3"], ["-a", "-f"]) if is_progress else (["-DSAFETY", "-DNOCLAIM"], [])
    told = run(["spin", "-a", *defines, "slot.pml"], folder)
    flags = ["-O0" if is_short else "-O1", "-w", "-DMEMLIM=2000", *kind]
    told += run([compiler, *flags, "-o", "pan", "pan.c"], folder)
    # Deep enough for all of it: spin tells if it is not.
    return told + run(["./pan", "-m100000", *how], folder)


def figure(pattern: str, told: str) -> str:
    return next(iter(re.findall(pattern, told)), "?")


def sizes(told: str) -> str:
    states = int(figure(r"(\d+) states, stored", told).replace("?", "0"))
    memory = figure(r"([\d.]+)\s+total actual memory", told)
    depth = figure(r"depth reached (\d+)", told)
    seconds = figure(r"elapsed time ([\d.]+)", told)
    return f"{states:>9} states  depth {depth:>5}  {seconds:>5} s  {memory:>7} MB"


def holds(told: str) -> bool:
    """It was searched to the end and nothing found."""
    return "errors: 0" in told and "max search depth too small" not in told and "out of" not in told


def fails(told: str, complaint: str) -> bool:
    errors = [line for line in told.splitlines() if line.startswith("pan:1: ")]
    return any(complaint.replace(" ", "") in line.replace(" ", "") for line in errors)


def main() -> int:
    compiler = next(filter(shutil.which, ("cc", "gcc", "clang")), None)
    if not compiler or not shutil.which("spin"):
        print(f"skipped: there is no {'C compiler' if not compiler else 'spin'} here")
        return 77
    names = sys.argv[1:]
    wanted = [(name, options, None) for name, options in CHECKS.items()]
    wanted += [(fault, CHECKS[check], complaint) for fault, check, complaint in FAULTS + LIMITS]
    good = True
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        for name in ("server.pml", "slot.pml"):
            shutil.copy(HERE / name, folder)
        if not names:
            good = table_holds(folder)
        for name, options, complaint in wanted:
            if names and name not in names:
                continue
            is_fault = complaint is not None
            told = search(compiler, options + (f" {name}" if is_fault else ""), is_fault, folder)
            as_due = fails(told, complaint) if is_fault else holds(told)
            word = {(0, 1): "holds", (0, 0): "DOES NOT HOLD", (1, 1): "found", (1, 0): "NOT FOUND"}
            print(f"{name:24} {sizes(told)}  {word[is_fault, as_due]}", flush=True)
            if not as_due:
                print(told)
            good = good and as_due
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
