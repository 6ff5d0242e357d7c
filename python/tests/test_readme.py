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
