"""The call in the README returns Σ."""

import pathlib
import re

import gpp

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_the_readme_s_call_runs():
    call = re.search(r"`(gpp\.Calculator\(\)[^`]*)`", (ROOT / "README.md").read_text()).group(1)
    found = eval(call, {"gpp": gpp})
    assert f"{found.asx[0]:.4e} {found.ach[0]:.4e}" == "-4.9609e+03+8.7722e+01j 3.0930e+03+5.3842e+02j"
