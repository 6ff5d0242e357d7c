"""examples/silicon on its coarsest grid: what symmetry and the literature say of it."""

import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

SILICON = pathlib.Path(__file__).parents[2] / "examples" / "silicon"


@pytest.fixture(scope="module")
def told():
    coarse = ["--quick", "--grid", "2", "--beside", "tiny", "--device", "cpu"]
    script = [sys.executable, "-B", str(SILICON / "silicon.py"), *coarse]
    return subprocess.run(script, check=True, capture_output=True, encoding="utf-8").stdout


@pytest.fixture(scope="module")
def modules():
    sys.path.insert(0, str(SILICON))
    import crystal
    import screening

    yield crystal, screening
    sys.path.remove(str(SILICON))


def test_bands_are_those_of_cohen_and_bergstresser(told):
    found = re.findall(r"^  \S+ → \S+ +(\d\.\d\d) +(\d\.\d)$", told, re.M)
    assert len(found) == 7
    assert all(abs(float(here) - float(theirs)) < 0.2 for here, theirs in found)


def test_degenerate_states_have_one_self_energy(told):
    spreads = re.findall(r"^  \S+ .* 0\.\d{3} +(\d\.?\d*e[+-]\d+)$", told, re.M)
    assert len(spreads) == 8
    assert all(float(spread) < 1e-9 for spread in spreads)


def test_a_turned_dielectric_matrix_is_that_of_the_turned_q(modules):
    crystal, screening = modules
    grid, moved = crystal.Grid(2), crystal.moved_grids(2)
    _, stars = crystal.irreducible(grid)
    turned = [(at, star) for at, star in stars.items() if at != star[0]]
    assert turned
    for at, (first, r, t, shift) in turned:
        gs, inverses, _ = screening.inverses(grid, moved, [first, at], 2.0, 5.0)
        g = gs[0] @ r.T + shift
        phase = crystal.phases(g, t)
        place = {tuple(one): number for number, one in enumerate(gs[1])}
        to = [place[tuple(one)] for one in g]
        expected = inverses[1][np.ix_(to, to)]
        assert np.max(abs(phase[:, None] * inverses[0] * phase - expected)) < 1e-9


def test_the_mean_of_v_is_converged_and_near_that_of_a_sphere(modules):
    crystal, screening = modules
    head = np.zeros((1, 3))
    mean = screening.averaged_coulomb(np.zeros(3), head, 4)[0]
    finer = screening.averaged_coulomb(np.zeros(3), head, 4, fine=12)[0]
    assert abs(mean / finer - 1) < 2e-3
    # A sphere of the cell's volume is the shape with the largest mean.
    radius = (6 * np.pi**2 / (crystal.VOLUME * 4**3)) ** (1 / 3)
    assert 0.98 < mean / (24 * np.pi / radius**2) < 1
