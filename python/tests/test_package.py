"""What is installed beside the module, types and licences, and what an sdist has."""

import importlib.metadata
import os
import pathlib
import re
import subprocess
import sys
import tarfile

import pytest

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[1]
LICENCES = ["LICENSE-MIT", "LICENSE-APACHE", "NOTICE"]


@pytest.mark.parametrize("what", [["typed.py"], ["-p", "gpp"]])
def test_types_accept_what_the_documentation_accepts(what):
    command = [sys.executable, "-m", "mypy", "--strict", "--warn-unused-ignores", "--cache-dir", os.devnull, *what]
    checked = subprocess.run(command, cwd=HERE, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout


def test_licences_are_installed():
    files = {path.name: path for path in importlib.metadata.files("gpp-gw")}
    assert "py.typed" in files
    for name in LICENCES:
        assert files[name].read_text() == (ROOT / name).read_text()


@pytest.mark.skipif("GPP_SDIST" not in os.environ, reason="scripts/python makes one and names it")
def test_an_sdist_has_what_its_build_reads():
    with tarfile.open(os.environ["GPP_SDIST"]) as sdist:
        there = {name.partition("/")[2] for name in sdist.getnames()}
    included = {
        str((source.parent / name).resolve().relative_to(ROOT))
        for source in (ROOT / "core").rglob("*.rs")
        for name in re.findall(r'(?:include_str!\(|#\[path = )"(.*?)"', source.read_text())
    }
    builds = {
        str(path.relative_to(ROOT))
        for folder in (".cargo", "build")
        for path in (ROOT / folder).rglob("*")
        if path.is_file()
    }
    assert len(included) >= 2 and len(builds) >= 3
    assert {"Cargo.lock", *LICENCES} | builds | included <= there
