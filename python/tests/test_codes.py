"""docs/codes.md: the sums of other GW codes, each written out from the formula of its loop."""

import os
import pathlib
import subprocess
import sys

import gpp
import numpy as np
import pytest

ROOT = pathlib.Path(__file__).parents[2]
PLAIN = dict(eta=0)
NG, NB = 20, 12
ENERGIES = np.sort(np.random.default_rng(3).uniform(-12, 60, NB))
OCCUPATIONS = np.where(ENERGIES < 4, 1.0, 0.0)
OMEGA = np.linspace(-3, 4, 4)
# Those in single precision have other tolerances.
IN_DOUBLE = [version for version in gpp.versions() if version not in ("s1", "s2", "s3", "s4", "cpu:single")]


def random(seed, *shape):
    numbers = np.random.default_rng(seed)
    return numbers.normal(size=shape) + 1j * numbers.normal(size=shape)


def poles(seed):
    numbers = np.random.default_rng(seed)
    return np.abs(numbers.normal(20, 8, (NG, NG))) + 1


def summed(terms, a, b):
    """The sum over bands of Σ_GG′ a(G) term(G,G′) conj(b(G′)), for each energy, and of its absolute values."""
    sums = [sum(a[:, n] @ terms(w, n) @ b[:, n].conj() for n in range(a.shape[1])) for w in range(len(OMEGA))]
    sizes = [sum(abs(a[:, n]) @ abs(terms(w, n)) @ abs(b[:, n]) for n in range(a.shape[1])) for w in range(len(OMEGA))]
    return np.array(sums), np.array(sizes)


def assert_same(found, expected, size, terms):
    """Each term has up to 32 roundings, and as many additions follow as there are terms."""
    assert (abs(found - expected) <= (32 + terms) * np.finfo(float).eps * size).all()


def test_several_poles_a_pair_are_columns_with_the_same_row():
    a, b = random(1, NG, NB), random(2, NG, NB)
    several = [(poles(seed) - 0.05j - 1j * poles(seed + 10) / 10, random(seed, NG, NG)) for seed in range(3)]

    def terms(w, n):
        w, f = OMEGA[w] - ENERGIES[n], OCCUPATIONS[n]
        return sum(0.5 * r * ((1 - f) / (w - pole) + f / (w + pole)) for pole, r in several)

    expected, size = summed(terms, a, b)
    columns = dict(
        wtilde=np.hstack([pole for pole, _ in several]), eps=np.hstack([r / pole for pole, r in several]),
        vcoul=np.ones(NG), igp_to_ig=np.tile(np.arange(NG), 3), e=ENERGIES, occ=OCCUPATIONS, omega=OMEGA, **PLAIN,
    )
    for version in IN_DOUBLE:
        found = gpp.Calculator("cpu", version).sums(aqsn=a, aqsm=b, **columns)
        assert_same(found.sigma, expected, size, 3 * NG * NG * NB)
    states = np.stack([a.T, b.T])
    found = gpp.Calculator("cpu").matrix(a=states, **columns)
    assert_same((found.sx + found.ch)[:, 0, 1], expected, size, 3 * NG * NG * NB)


def test_poles_of_a_run_of_gpaw():
    run = np.load(ROOT / "data/fixtures/gpaw-silicon.npz")
    n, eta = run["n"].T, float(run["eta"])
    bands = dict(e=run["e"], occ=run["f"], omega=run["omega"])

    def assert_right(sigma):
        assert (abs(sigma - run["sigma"]) <= 1e-13 * abs(run["sigma"])).all()

    for wtilde, formula in (run["poles"], PLAIN), (run["poles"] + 1j * eta, dict(eta=eta)):
        call = dict(wtilde=wtilde, eps=run["residues"] / wtilde, vcoul=np.ones(len(n)), igp_to_ig=np.arange(len(n)))
        for version in IN_DOUBLE:
            assert_right(gpp.Calculator("cpu", version).sums(**call, aqsn=n, aqsm=n, **bands, **formula).sigma)
        placed = gpp.Calculator("cpu").place(**call)
        assert_right(placed.sums(n, n, **bands, **formula, sigma_alone=True).sigma)
        found = placed.matrix(n.T[None], **bands, **formula)
        assert_right((found.sx + found.ch)[:, 0, 0])
    for wrong in -0.1, float("nan"):
        with pytest.raises(gpp.Error, match=f"eta is {wrong}".replace("nan", "NaN")):
            placed.sums(n, n, **bands, eta=wrong)
        with pytest.raises(gpp.Error, match=f"window is {wrong}".replace("nan", "NaN")):
            placed.sums(n, n, **bands, window=wrong)
    with pytest.raises(gpp.Error, match="window: needs real poles"):
        placed.sums(n, n, **bands, window=0.1)


def gpaw():
    """22.8: four quotients, of which two have the sign of 2f − 1 before η; some poles are imaginary. Poles with occupation
    1 − f are their opposites here."""
    pole, r, eta = poles(1) * np.where(poles(2) < 12, 1j, 1), random(3, NG, NG), 0.1

    def terms(w, n):
        w, sign = OMEGA[w] - ENERGIES[n], 2 * OCCUPATIONS[n] - 1
        time_ordered = sign * (1 / (w + pole - 1j * eta) - 1 / (w - pole + 1j * eta))
        return r * (time_ordered + 1 / (w + pole - 1j * eta * sign) + 1 / (w - pole - 1j * eta * sign))

    return terms, [(pole - 1j * eta, 4 * r), (-pole - 1j * eta, 2 * r), (-pole + 1j * eta, -2 * r)]


def yambo(multipole):
    """Real poles, or complex ones with negative imaginary parts; the damping has the sign of 1 − 2f. gamp is 1."""
    pole, x, damping, spin_occ = poles(1) - multipole * 0.2j, random(3, NG, NG), 0.1, 2

    def terms(w, n):
        w, f = OMEGA[w] + 1j * damping, spin_occ * OCCUPATIONS[n]
        quotients = (spin_occ - f) / (w - ENERGIES[n] - pole) + f / (w.conj() - ENERGIES[n] + pole)
        return -4 * np.pi / spin_occ * (-x if multipole else x / 2 * pole) * quotients

    return terms, [(pole - 1j * damping, np.pi * (8 * x if multipole else -4 * x * pole))]


def abinit(zcut=0.0, omega=OMEGA):
    """ppmodel 1 and 2: real poles; within zcut of one the quotient is broadened, with the sign of 2f − 1."""
    pole, botsq = poles(1), random(3, NG, NG)

    def quotient(x, sign):
        with np.errstate(divide="ignore"):
            return np.where(x**2 > zcut**2, 1 / x, (x + sign * 1j * zcut) / (x**2 + zcut**2))

    def terms(w, n):
        w, f = omega[w] - ENERGIES[n], OCCUPATIONS[n]
        return 0.5 * botsq / pole * (f * quotient(w + pole, 1) + (1 - f) * quotient(w - pole, -1))

    return terms, [(pole, botsq / pole)]


@pytest.mark.parametrize("version", ["best", "v15", "cpu:alone"])
def test_window_is_zcut_of_abinit(version):
    """One energy is on the pole of a pair and an empty band; at others, some full bands are near poles."""
    a, b, pole = random(1, NG, NB), random(2, NG, NB), poles(1)
    omega, zcut = np.array([-25, ENERGIES[-2] + pole[0, 1], -3, 70]), 0.8
    terms, [(pole, r)] = abinit(zcut, omega)
    of_g = pole + 0j, r / pole, np.ones(NG), np.arange(NG)
    found = gpp.Calculator("cpu", version).sums(*of_g, a, b, ENERGIES, OCCUPATIONS, omega, window=zcut)
    expected, size = summed(terms, a, b)
    assert_same(found.sigma, expected, size, NG * NG * NB)
    unlike, _ = summed(abinit(1e-9, omega)[0], a, b)
    assert (abs(unlike - expected) > 0.01 * abs(expected)).all()
    matrix = gpp.Calculator("cpu").matrix(*of_g, np.stack([a.T, b.T]), ENERGIES, OCCUPATIONS, omega, window=zcut)
    assert_same((matrix.sx + matrix.ch)[:, 0, 1], expected, size, NG * NG * NB)


@pytest.mark.parametrize("code", [gpaw(), yambo(False), yambo(True), abinit()], ids=["gpaw", "yambo", "mpa", "abinit"])
@pytest.mark.parametrize("version", ["best", "v13", "v15", "sigma:cells"])
def test_sums_of_other_codes(code, version):
    terms, columns = code
    a, b = random(1, NG, NB), random(2, NG, NB)
    found = gpp.Calculator("cpu", version).sums(
        np.hstack([pole + 0j for pole, _ in columns]), np.hstack([r / pole for pole, r in columns]), np.ones(NG),
        np.tile(np.arange(NG), len(columns)), a, b, ENERGIES, OCCUPATIONS, OMEGA, **PLAIN,
    )
    assert_same(found.sigma, *summed(terms, a, b), len(columns) * NG * NG * NB)


@pytest.mark.parametrize("script, version", [("silicon.py", "22.8"), ("multipole.py", "26.7")])
def test_gpaw_has_the_quasiparticle_energies_of_its_own_loop(script, version, tmp_path):
    """By an interpreter that has this GPAW: the one of the tests, or Debian's."""
    (tmp_path / "gpp").symlink_to(pathlib.Path(gpp.__file__).parent)
    environment = dict(os.environ, PYTHONPATH=str(tmp_path), OMP_NUM_THREADS="1")
    has = f"import gpaw, gpp; raise SystemExit(not gpaw.__version__.startswith('{version}'))"
    for python in sys.executable, "/usr/bin/python3":
        run = lambda *arguments: subprocess.run([python, *arguments], env=environment, capture_output=True, text=True)
        if os.access(python, os.X_OK) and run("-c", has).returncode == 0:
            break
    else:
        pytest.skip(f"no GPAW {version} here")
    output = run("-B", str(ROOT / "examples/gpaw" / script), "--quick").stdout
    assert float(output.split("largest difference ")[1].split()[0]) <= 1e-8, output
