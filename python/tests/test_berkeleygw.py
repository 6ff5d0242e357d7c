"""examples/berkeleygw: the script that changes a tree of BerkeleyGW and the one that compares, on made-up trees."""

import pathlib
import subprocess
import sys

import pytest

FOLDER = pathlib.Path(__file__).parents[2] / "examples/berkeleygw"
SIGMA = """#!/bin/sh
algorithm=$(sed -n 's/^sigma_gpp_algo //p' sigma.inp)
echo "sigma_gpp : $algorithm"
for file in sigma_hp.log eqp0.dat; do echo "0 1.5" > $file; done
echo "0 2.$(grep -c LIBRARY sigma.inp)" > eqp1.dat
"""


def script(name, *arguments):
    command = [sys.executable, "-B", str(FOLDER / name), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, encoding="utf-8")


def content(tree):
    return {path: path.read_bytes() for path in tree.rglob("*") if path.is_file()}


@pytest.fixture
def tree(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    import patch

    for name, changes in patch.CHANGES.items():
        path = tmp_path / "tree" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"  {anchor} words\n  other\n" * count for _, anchor, count, _ in changes))
    (tmp_path / "libgpp_c.a").touch()
    return tmp_path / "tree"


def test_changes_are_made_once_and_taken_back(tree):
    before = content(tree)
    refused = script("patch.py", tree, "--revert")
    assert refused.returncode == 1 and refused.stderr.endswith("tree has no Sigma/gpp.f90\n")
    assert script("patch.py", tree, "--library", tree.parent).returncode == 0
    after = content(tree)
    assert len(after) == len(before) + 3 and all(after[path] != text for path, text in before.items())
    again = script("patch.py", tree, "--library", tree.parent)
    assert again.returncode == 1 and "Sigma/gpp.f90 is there" in again.stderr
    assert content(tree) == after
    assert script("patch.py", tree, "--revert").returncode == 0
    assert content(tree) == before


def test_an_unknown_tree_stays_as_it_is(tree):
    main = tree / "Sigma/sigma_main.f90"
    main.write_text(main.read_text().replace("do irq_ =", "do iq ="))
    before = content(tree)
    refused = script("patch.py", tree, "--library", tree.parent)
    assert refused.stderr == f"error: {main}: needs 1 lines that begin with `do irq_ =`, found 0\n"
    assert refused.returncode == 1 and content(tree) == before
    refused = script("patch.py", tree, "--library", tree.parent, "--shared")
    assert "libgpp_c.so is not there" in refused.stderr and content(tree) == before
    main.unlink()
    assert "tree has no Sigma/sigma_main.f90" in script("patch.py", tree, "--library", tree.parent).stderr


def test_both_algorithms_are_compared(tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "flavor.mk").write_text("TYPEFLAG =\n")
    (tmp_path / "bin/sigma.real.x").write_text(SIGMA)
    (tmp_path / "bin/sigma.real.x").chmod(0o755)
    (tmp_path / "gpp.inp").write_text("number_bands 8\n")
    (tmp_path / "hf.inp").write_text("frequency_dependence -1\n")
    case = tmp_path / "Small.test"
    step = "Executable : sigma.real.x\nOutput : {0}.out\nInput : {0}.inp sigma.inp\n"
    case.write_text("Executable : epsilon.real.x\nInput : NONE\n" + step.format("hf") + step.format("gpp"))
    found = script("compare.py", tmp_path, case)
    assert found.returncode == 1 and "left out, not in bin: epsilon.real.x" in found.stdout
    assert "gpp.out: eqp1.dat differs by up to 1.0e-01" in found.stdout and "hf" not in found.stdout
    assert found.stdout.count("identical") == 2 and "1 runs compared, 1 differences" in found.stdout
    assert script("compare.py", tmp_path, case, "--tolerance", "0.2").returncode == 0
    (tmp_path / "bin/sigma.real.x").write_text("#!/bin/sh\necho no; exit 1\n")
    failed = script("compare.py", tmp_path, case)
    assert failed.returncode == 1 and "sigma with LIBRARY_ALGO failed; it printed\nno" in failed.stdout
