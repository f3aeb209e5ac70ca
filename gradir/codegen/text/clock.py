"""The clock that only advances, as LLVM text."""

from __future__ import annotations

import sys

CLOCK = "clock_gettime"
CLOCK_TYPE = "i32 (i32, ptr)"

# Of <time.h>, on Linux and on macOS.
_MONOTONIC = 1 if sys.platform.startswith("linux") else 6


def now_function(name: str, attributes: str = "") -> str:
    """`@name()`: nanoseconds."""
    return f"""
define internal i64 @{name}() {attributes} {{
  %time = alloca [2 x i64], align 8
  call i32 @{CLOCK}(i32 {_MONOTONIC}, ptr %time)
  %seconds = load i64, ptr %time, align 8
  %rest.place = getelementptr i64, ptr %time, i64 1
  %rest = load i64, ptr %rest.place, align 8
  %whole = mul i64 %seconds, 1000000000
  %now = add i64 %whole, %rest
  ret i64 %now
}}"""
