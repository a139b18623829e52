#!/usr/bin/env python3
"""Write a C++ header that holds Lua scripts: embed-lua.py HEADER SCRIPT.lua...

A line "-- include: FILE.lua" stands for that file beside the script.

enter.lua becomes store::redis::enter_script. The SHA-1 is the name by which Redis knows a script,
so it is taken over exactly the bytes that the program sends.
"""

import hashlib
import pathlib
import re
import sys

HEAD = """\
// Made from the .lua files beside the store's code by tools/embed-lua.py.
#pragma once

#include <string_view>

namespace store::redis {

struct Script {
    std::string_view text;
    std::string_view sha1;
};
"""

ENTRY = """
inline constexpr Script {name}_script{{
    R"{mark}({text}){mark}",
    "{sha1}",
}};
"""

TAIL = """
}  // namespace store::redis
"""


def whole(path: pathlib.Path) -> bytes:
    return re.sub(
        rb"^-- include: (\S+)\n",
        lambda found: whole(path.with_name(found[1].decode())),
        path.read_bytes(),
        flags=re.MULTILINE,
    )


def embed(path: pathlib.Path) -> str:
    data = whole(path)
    if b"\r" in data or b"\0" in data:
        # A compiler may change the one and the string ends at the other: the SHA-1 would be wrong.
        sys.exit(f"{path}: has a carriage return or a NUL")
    text = data.decode()
    mark = "lua"
    while f'){mark}"' in text:
        mark += "_"
    name = path.stem.replace("-", "_")
    return ENTRY.format(name=name, mark=mark, text=text, sha1=hashlib.sha1(data).hexdigest())


def main() -> None:
    header, *scripts = map(pathlib.Path, sys.argv[1:])
    entries = "".join(embed(script) for script in scripts)
    header.write_text(HEAD + entries + TAIL, encoding="utf-8")


if __name__ == "__main__":
    main()
