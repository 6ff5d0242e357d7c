#!/usr/bin/env python3
"""Runs BerkeleyGW's own test cases with its loops and with gpp, and compares what sigma writes.

    compare.py TREE [--launch 'mpirun -n 2'] [--add 'exact_static_ch 1'] [CASE.test ...]

TREE is patched (patch.py) and built. A case is run up to its last step of sigma; programs that are not in TREE/bin are
left out and named. --launch goes before sigma, --add adds a line to sigma.inp. OMP_NUM_THREADS and GPP_DEVICE are
passed on, and GPP_SIGMA_ALONE, with which sigma_hp.log is not compared. Exits with 1 if a number differs by more than
--tolerance (0), or a run fails.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

CASES = ["Si-EPM/Si", "Si-EPM/Si_cplx_spin", "GaAs-EPM/GaAs", "GaAs-EPM/GaAs_spinor", "Si-Wire-EPM/Si_wire"]
FILES = ["eqp0.dat", "eqp1.dat"] + ["sigma_hp.log"] * (not os.environ.get("GPP_SIGMA_ALONE"))
OWN, LIBRARY = "CPU_ALGO", "LIBRARY_ALGO"


def run(command, folder, output="/dev/null"):
    """Whether a shell command succeeds."""
    with open(folder / output, "w") as file:
        return subprocess.run(command, shell=True, cwd=folder, stdout=file, stderr=subprocess.STDOUT).returncode == 0


def is_plasmon_pole(keywords):
    found = re.search(r"^\s*frequency_dependence\s+(\S+)", keywords, re.M)
    return found is None or found[1] in ("1", "3")


def difference(one, other):
    """The largest between numbers of two texts; infinite if anything else differs."""
    pairs = [text.split() for text in (one, other)]
    largest = 0.0 if len(pairs[0]) == len(pairs[1]) else float("inf")
    for a, b in zip(*pairs):
        try:
            largest = max(largest, abs(float(a) - float(b)))
        except ValueError:
            largest = largest if a == b else float("inf")
    return largest


class Case:
    """A test case of the tree, run in a folder."""

    def __init__(self, tree, file, folder, given):
        complex_flavour = "CPLX" in (tree / "flavor.mk").read_text()
        text = file.read_text()
        if complex_flavour:
            text = text.replace("(real)", "(complex)").replace(".real.x", ".cplx.x")
        self.steps = re.findall(r"^(Executable|Arguments|Input|Output|Copy|Command|Unpack)\s*:\s*(.*?)\s*$", text, re.M)
        self.programs, self.source, self.folder, self.given = tree / "bin", file.parent, folder, given
        self.bad = self.compared = 0

    def run(self):
        programs = [value if key == "Executable" else "" for key, value in self.steps]
        last = max((number for number, name in enumerate(programs) if name.startswith("sigma.")), default=0)
        missing = {name for name in programs[:last] if name and not (self.programs / name).is_file()}
        if missing:
            print("  left out, not in bin:", *sorted(missing))
        program = output = None
        for key, value in self.steps[: last + 4]:
            words = value.split()
            if key == "Executable":
                program = self.programs / value
            elif key == "Output":
                output = value
            elif key == "Copy":
                shutil.copy(self.source / words[0], self.folder / words[-1])
            elif key == "Unpack":
                run(f"tar xf {self.source / value}", self.folder)
            elif key == "Command":
                run(f"TESTDIR={self.source} WORKDIR={self.folder}; {value}", self.folder)
            elif key == "Arguments":
                if program.is_file():
                    run(f"{program} {value}", self.folder)
            else:
                self.input(program, output, words)

    def input(self, program, output, words):
        """A step with an input file: NAME, NAME NEWNAME, NAME PIPE, NAME PIPE NOCOPY or NONE."""
        if words[0] != "NONE" and "NOCOPY" not in words:
            shutil.copy(self.source / words[0], self.folder / (words[0] if "PIPE" in words else words[-1]))
        if not program.is_file():
            return
        if program.name.startswith("sigma."):
            keywords = self.folder / "sigma.inp"
            if is_plasmon_pole(keywords.read_text()):
                with keywords.open("a") as file:
                    file.writelines(f"{line}\n" for line in self.given.add)
                self.compare(program, output)
        else:
            run(f"{program} < {words[0]}" if "PIPE" in words else str(program), self.folder, output)

    def compare(self, program, name):
        """Runs sigma by both algorithms, the last in the case's folder."""
        self.compared += 1
        texts = {}
        for algorithm in LIBRARY, OWN:
            folder = self.folder if algorithm == OWN else self.folder.with_name(f"library-{self.compared}")
            if algorithm == LIBRARY:
                shutil.copytree(self.folder, folder, symlinks=True)
            with (folder / "sigma.inp").open("a") as file:
                file.write(f"sigma_gpp_algo {algorithm}\n")
            good = run(f"{self.given.launch} {program}", folder, "sigma.out")
            printed = (folder / "sigma.out").read_text()
            if not good or f"sigma_gpp : {algorithm}" not in printed:
                print(f"  {name}: sigma with {algorithm} failed; it printed\n{printed[-2000:]}")
                self.bad += 1
                return
            texts[algorithm] = [(folder / file).read_text() for file in FILES]
        for file, *pair in zip(FILES, texts[LIBRARY], texts[OWN]):
            apart = difference(*pair)
            print(f"  {name}: {file} " + ("identical" if pair[0] == pair[1] else f"differs by up to {apart:.1e}"))
            self.bad += not apart <= self.given.tolerance


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", type=Path)
    parser.add_argument("cases", nargs="*", type=Path, metavar="CASE.test")
    parser.add_argument("--launch", default="")
    parser.add_argument("--add", action="append", default=[])
    parser.add_argument("--tolerance", type=float, default=0.0)
    given = parser.parse_args()
    tree = given.tree.resolve()
    compared = bad = 0
    for file in given.cases or [tree / "testsuite" / f"{name}.test" for name in CASES]:
        print(file.stem)
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "case").mkdir()
            case = Case(tree, file.resolve(), Path(folder) / "case", given)
            case.run()
        compared, bad = compared + case.compared, bad + case.bad
    print(f"{compared} runs compared, {bad} differences or failures")
    sys.exit(bad > 0 or compared == 0)


if __name__ == "__main__":
    main()
