"""The README's example runs."""

import pathlib
import re

import gpp

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_the_readme_s_example_runs():
    block = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL).group(1)
    names = {"gpp": gpp}
    exec(block, names)
    assert names["sigma"].shape == names["found"].asx.shape and abs(names["sigma"]).min() > 0
    asx, ach = names["found"].asx[0], names["found"].ach[0]
    assert f"{asx:.4e} {ach:.4e}" == "-4.9609e+03+8.7722e+01j 3.0930e+03+5.3842e+02j"
