#!/usr/bin/env python3
"""Makes BerkeleyGW's sigma call gpp, with sigma_gpp_algo LIBRARY_ALGO in sigma.inp, or takes the changes back.

    patch.py TREE --library DIR [--shared]    DIR has libgpp_c.a and libgpp_c.so, such as gpp's target/release
    patch.py TREE --revert

Both check all files before they write one. Places are found by a few words at the beginning of a line.
"""

import argparse
import os
import sys
import textwrap
from pathlib import Path

HERE = Path(__file__).resolve().parent
MAKE = """\
# gpp
GPPLIB = {link}

library_gpp.o library_gpp_m.mod: gpp.o $(COMMON)/global_m.mod
mtxel_cor.o mtxel_cor_m.mod sigma_main.o: library_gpp_m.mod
sigma$(FLAVOR).x: gpp.o library_gpp.o
sigma$(FLAVOR).x: LIBS += $(GPPLIB)
"""
STATIC = "-Wl,--gc-sections {library}/libgpp_c.a -lpthread -ldl -lm"
SHARED = "-L{library} -lgpp_c -Wl,-rpath,{library}"
NEW = ["Sigma/gpp.f90", "Sigma/library_gpp.f90", "Sigma/gpp.mk"]
IS_LIBRARY, REFUSED = "sigma_gpp_algo == LIBRARY_ALGO", "LIBRARY_ALGO is for sigma_gpp_algo alone."

# Of each file: whether lines go before or after the one that begins with an anchor, or replace the anchor; how often it
# is there; and the lines.
CHANGES = {
    "Common/algos_common.f90": [
        ("after", "public :: CPU_ALGO", 1, "public :: LIBRARY_ALGO"),
        ("after", "enumerator :: OPENACC_ALGO", 1, "enumerator :: LIBRARY_ALGO"),
        ("before", "case('OPENACC_ALGO')", 1, "case('LIBRARY_ALGO')\n  algo = LIBRARY_ALGO"),
        ("before", "case(OPENACC_ALGO)", 1, "case(LIBRARY_ALGO)\n  algo_str = 'LIBRARY_ALGO'"),
    ],
    "Sigma/algos_sigma.f90": [
        ("after", "public :: CPU_ALGO", 1, "public :: LIBRARY_ALGO"),
        ("instead", "sigma_gpp_algo /= CPU_ALGO", 1, "all(sigma_gpp_algo /= [CPU_ALGO, LIBRARY_ALGO])"),
        ("before", "! Then check if we're using", 1,
         f"if (mtxel_algo == LIBRARY_ALGO) call die('{REFUSED}', only_root_writes=.true.)"),
    ],
    "Sigma/mtxel_cor.f90": [
        ("after", "use algos_sigma_m", 1, "use library_gpp_m"),
        ("instead", "allocated(I_eps_array)", 2, "allocated(I_eps_array) .and. sigma_gpp_algo /= LIBRARY_ALGO"),
        ("after", "select case (sigma_gpp_algo)", 1, "case (LIBRARY_ALGO)\n  call sigma_gpp_library()"),
        ("before", "subroutine sigma_gpp_cpu", 1, textwrap.dedent((HERE / "sigma_gpp_library.inc").read_text())),
    ],
    "Sigma/sigma_main.f90": [
        ("after", "use algos_sigma_m", 1, "use library_gpp_m"),
        ("before", "if (sigma_gpp_algo == OPENACC_ALGO", 1, f"if ({IS_LIBRARY}) call library_gpp_open()"),
        ("after", "do irq_ =", 1, "  call library_gpp_new_q()"),
        ("before", "call show_references()", 1, "call library_gpp_close()"),
    ],
    "Sigma/Makefile": [("after", "include make_deps.mk", 1, "include gpp.mk")],
}


class Unknown(Exception):
    """The tree is not one that these changes are for."""


def changed(text, change, path, revert):
    """The text of a file with one change, or without it."""
    where, anchor, count, new = change
    if where == "instead":
        old, new = (new, anchor) if revert else (anchor, new)
        if text.count(old) != count:
            raise Unknown(f"{path}: needs `{old}` {count} times, found {text.count(old)}")
        return text.replace(old, new)
    lines = text.splitlines(keepends=True)
    hits = [number for number, line in enumerate(lines) if line.lstrip().startswith(anchor)]
    if len(hits) != count:
        raise Unknown(f"{path}: needs {count} lines that begin with `{anchor}`, found {len(hits)}")
    for hit in reversed(hits):
        blanks = lines[hit][: -len(lines[hit].lstrip())]
        block = [f"{blanks}{line}\n" if line else "\n" for line in new.split("\n")]
        begin = hit + 1 if where == "after" else hit - len(block) if revert else hit
        if not revert:
            lines[begin:begin] = block
        elif lines[begin : begin + len(block)] == block:
            del lines[begin : begin + len(block)]
        else:
            raise Unknown(f"{path}: needs the lines of this script {where} `{anchor}`, found others")
    return "".join(lines)


def added(tree, library, shared):
    """The new files."""
    for name in NEW:
        if (tree / name).exists():
            raise Unknown(f"{tree / name} is there: take the changes back with --revert first")
    file = library / ("libgpp_c.so" if shared else "libgpp_c.a")
    if not file.is_file():
        raise Unknown(f"{file} is not there: build it with `cargo build --release -p gpp-c`")
    link = (SHARED if shared else STATIC).format(library=library)
    texts = [(HERE.parents[1] / "capi/fortran/gpp.f90").read_text(), (HERE / "library_gpp.f90").read_text()]
    return dict(zip(NEW, [*texts, MAKE.format(link=link)]))


def write(texts):
    """Writes all files, or none: they are complete next to the old ones before the first is replaced."""
    ready = {path: path.with_name(path.name + ".gpp-new") for path in texts}
    try:
        for path, text in texts.items():
            ready[path].write_text(text)
    except OSError:
        for path in ready.values():
            path.unlink(missing_ok=True)
        raise
    for path, new in ready.items():
        os.replace(new, path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", type=Path)
    parser.add_argument("--library", type=Path, metavar="DIR")
    parser.add_argument("--shared", action="store_true", help="link libgpp_c.so, as a program with -lcuda needs it")
    parser.add_argument("--revert", action="store_true")
    given = parser.parse_args()
    if given.revert == (given.library is not None):
        parser.error("needs either --library DIR or --revert")
    try:
        missing = [name for name in [*CHANGES, *NEW[: 3 * given.revert]] if not (given.tree / name).is_file()]
        if missing:
            raise Unknown(f"{given.tree} has no {missing[0]}")
        texts = {} if given.revert else added(given.tree, given.library.resolve(), given.shared)
        for name, changes in CHANGES.items():
            text = (given.tree / name).read_text()
            for change in reversed(changes) if given.revert else changes:
                text = changed(text, change, given.tree / name, given.revert)
            texts[name] = text
        write({given.tree / name: text for name, text in texts.items()})
        for name in NEW if given.revert else []:
            (given.tree / name).unlink()
    except (Unknown, OSError) as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
