#!/usr/bin/env python3
"""Draw what the bench measured: plot.py FIGURES.json PICTURE.svg

On the left the hand-over against the number of waiters, both axes logarithmic, a line for each way
to lock; on the right what it costs to wrap a command.
"""

import json
import math
import sys
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 900, 400
LEFT, TOP, BOTTOM = 60, 50, 310  # the lines' field; the bars have the same height
RIGHT, BARS, END = 500, 690, 850
NAMES = {
    "redis": "sandbox-lock, Redis",
    "file:": "sandbox-lock, file:",
    "flock": "flock",
    "poller": "SET NX every 500 ms",
    "etcdctl": "etcdctl lock",
    "consul": "consul lock",
    "true": "the command alone",
}
COLOURS = {
    "redis": "#c0392b",
    "file:": "#e08e0b",
    "flock": "#2c3e50",
    "poller": "#2980b9",
    "etcdctl": "#27ae60",
    "consul": "#8e44ad",
}


def text(x: float, y: float, words: str, anchor: str = "start", colour: str = "#333") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}">{escape(words)}</text>'


def line(x1: float, y1: float, x2: float, y2: float, colour: str = "#ddd") -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"/>'


def name_of(tool: str) -> str:
    return NAMES.get(tool, tool)


def colour_of(tool: str) -> str:
    return COLOURS.get(tool, "#999")


def scale(low: float, high: float, start: float, end: float):
    """Where a value lies between start and end, by its logarithm."""
    span = math.log(high / low) or 1
    return lambda value: start + math.log(value / low) / span * (end - start)


def spread_out(places: list[float], gap: float, most: float) -> list[float]:
    """The places in rising order, moved so that labels there cover neither each other nor what is
    beyond `most`."""
    for i in range(1, len(places)):
        places[i] = max(places[i], places[i - 1] + gap)
    for i in reversed(range(len(places))):
        places[i] = min(places[i], most - (len(places) - 1 - i) * gap)
    return places


def lines(sizes: list[dict]) -> list[str]:
    """A line for each tool: milliseconds of a hand-over against the number of waiters."""
    curves: dict[str, list[tuple[int, float]]] = {}
    for size in sizes:
        for tool, entry in size["tools"].items():
            curves.setdefault(tool, []).append((size["waiters"], max(entry["ms"]["median"], 0.01)))
    times = [ms for curve in curves.values() for _, ms in curve]
    decades = range(math.floor(math.log10(min(times))), math.ceil(math.log10(max(times))) + 1)
    counts = [size["waiters"] for size in sizes]
    x = scale(min(counts), max(counts), LEFT, RIGHT)
    y = scale(10 ** decades[0], 10 ** decades[-1], BOTTOM, TOP)

    parts = [text(LEFT, TOP - 25, "Hand-over, ms (median), by number of waiters")]
    for decade in decades:
        parts += [line(LEFT, y(10**decade), RIGHT, y(10**decade)),
                  text(LEFT - 8, y(10**decade) + 4, f"{10**decade:g}", "end")]
    parts += [text(x(count), BOTTOM + 18, str(count), "middle") for count in counts]
    ends = sorted((y(curve[-1][1]), tool) for tool, curve in curves.items())
    labels = spread_out([end for end, _ in ends], 16, BOTTOM)
    for (_, tool), label in zip(ends, labels):
        points = [(x(count), y(ms)) for count, ms in curves[tool]]
        path = " ".join(f"{px:.1f},{py:.1f}" for px, py in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour_of(tool)}" stroke-width="2"/>')
        parts += [f'<circle cx="{px:.1f}" cy="{py:.1f}" r="3" fill="{colour_of(tool)}"/>' for px, py in points]
        parts.append(text(RIGHT + 10, label + 4, name_of(tool), colour=colour_of(tool)))
    return parts


def bars(tools: dict[str, dict]) -> list[str]:
    """What wrapping a command costs. One that takes far longer is cut off."""
    times = {tool: entry["ms"]["median"] for tool, entry in tools.items()}
    longest = max(ms for tool, ms in times.items() if tool not in ("etcdctl", "consul"))
    step = (BOTTOM - TOP) / len(times)
    parts = [text(BARS, TOP - 25, "Start to end of a command, ms")]
    for i, (tool, ms) in enumerate(times.items()):
        y = TOP + i * step
        width = min(ms / longest, 1.15) * (END - BARS) / 1.15
        parts += [text(BARS, y + 12, name_of(tool)),
                  f'<rect x="{BARS}" y="{y + 17:.1f}" width="{width:.1f}" height="{step - 24:.1f}" '
                  f'fill="{colour_of(tool)}"/>',
                  text(BARS + width + 5, y + 9 + step / 2, f"{ms:.1f}")]
        if ms / longest > 1.15:
            x = BARS + width - 24
            parts += [f'<line x1="{x + dx}" y1="{y + step - 4:.1f}" x2="{x + dx + 8}" y2="{y + 14:.1f}" '
                      'stroke="white" stroke-width="3"/>' for dx in (0, 7)]
    return parts


def picture(figures: dict) -> str:
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
    ]
    if figures.get("handover"):
        parts += lines(figures["handover"])
    if figures.get("start"):
        parts += bars(figures["start"]["tools"])
    parts += [text(LEFT, HEIGHT - 38, figures["machine"]),
              text(LEFT, HEIGHT - 20, ", ".join(figures["versions"])), "</svg>"]
    return "\n".join(parts) + "\n"


def main() -> None:
    with open(sys.argv[1], encoding="utf-8") as file:
        figures = json.load(file)
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.write(picture(figures))


if __name__ == "__main__":
    main()
