"""Matrices against the formula, element by element, and what is refused."""

import gpp
import numpy as np
import pytest
from test_gpp import by_definition

SCREENING = ["wtilde", "eps", "vcoul", "igp_to_ig"]
BANDS = 3


def arguments(name, **more):
    """Those of a system, with matrix elements of three bands."""
    system = gpp.system(name, **more)
    aqsn, aqsm = system.pop("aqsn"), system.pop("aqsm")
    return system | {"a": np.stack([aqsn.T, aqsm.T, 0.5j * aqsn.T - aqsm.T])}


@pytest.fixture
def tiny():
    return arguments("tiny")


def same(found, expected):
    return np.array_equal(found.sx, expected.sx) and np.array_equal(found.ch, expected.ch)


@pytest.mark.parametrize("name", ["tiny", "tiny-complex"])
@pytest.mark.parametrize("energies", [None, np.linspace(-10, 10, 5)])
def test_elements_are_those_of_the_formula(cpu, name, energies):
    given = arguments(name, energies=energies)
    found, a = cpu.matrix(**given), given.pop("a")
    nw = len(given["omega"])
    assert found.sx.shape == found.ch.shape == (nw, BANDS, BANDS)
    assert found.sx.dtype == found.ch.dtype == np.complex128
    assert found.version == "cpu" and found.seconds > 0
    scale = [np.max(abs(part)) for part in (found.sx, found.ch)]
    for l in range(BANDS):
        for m in range(BANDS):
            expected = by_definition(**given, aqsn=a[l].T, aqsm=a[m].T)
            for part, exact, size in zip((found.sx, found.ch), expected, scale):
                assert np.max(abs(part[:, l, m] - exact)) <= 1e-12 * size, (l, m)


def test_the_diagonal_is_that_of_sums(cpu, tiny):
    found, a = cpu.matrix(**tiny), tiny.pop("a")
    for l in range(BANDS):
        sums = cpu.sums(**tiny, aqsn=a[l].T, aqsm=a[l].T)
        assert np.allclose(found.sx[:, l, l], sums.asx, rtol=1e-12, atol=0)
        assert np.allclose(found.ch[:, l, l], sums.ach, rtol=1e-12, atol=0)


def test_any_order_has_the_same_bits(cpu, tiny):
    expected, a = cpu.matrix(**tiny), tiny["a"]
    assert a.flags.c_contiguous
    for other in np.asfortranarray(a), np.repeat(a, 2, axis=1)[:, ::2], a[::-1].copy()[::-1]:
        assert not other.flags.c_contiguous
        assert same(cpu.matrix(**tiny | {"a": other}), expected)


def test_a_screening_in_place_has_the_same_bits(cpu, tiny):
    placed = cpu.place(**{name: tiny[name] for name in SCREENING})
    of_bands = {name: value for name, value in tiny.items() if name not in SCREENING}
    for shift in 0.0, 0.3, 0.0:
        changed = {"omega": tiny["omega"] + shift}
        assert same(placed.matrix(**of_bands | changed), cpu.matrix(**tiny | changed))


def test_bands_at_their_own_energies_have_rows_and_columns(cpu, tiny):
    tiny["omega"] = np.array([1.5, -0.5, 1.5])
    whole = cpu.matrix(**tiny)
    of_bands = {name: value for name, value in tiny.items() if name not in SCREENING}
    placed = cpu.place(**{name: tiny[name] for name in SCREENING})
    for found in cpu.matrix(**tiny, at_bands=True), placed.matrix(**of_bands, at_bands=True):
        for part, of in (found.sx, whole.sx), (found.ch, whole.ch):
            assert part.shape == (2, BANDS, BANDS)
            for band in range(BANDS):
                assert np.array_equal(part[0, band, :], of[band, band, :])
                assert np.array_equal(part[1, :, band], of[band, :, band])
    with pytest.raises(gpp.Error, match="omega: at_bands needs an energy for each of 3 bands; found 2"):
        cpu.matrix(**tiny | {"omega": tiny["omega"][1:]}, at_bands=True)


@pytest.mark.parametrize(
    "name, change, said",
    [
        ("a", lambda a: a[:, 1:], r"a needs shape .* = \(3, 21, 67\); found \(3, 20, 67\)"),
        ("a", lambda a: a.transpose(0, 2, 1), r"a needs shape .* found \(3, 67, 21\)"),
        ("a", lambda a: a * np.nan, r"a\(ig,n,l\) is NaN.* at \("),
        ("a", lambda a: a * 1e60, r"a\(ig,n,l\) is .* must be finite and at most 1e50"),
        ("occ", lambda occ: occ[1:], "occ needs shape"),
        ("omega", lambda omega: omega[:0], "length of omega"),
        ("eps", lambda eps: eps.T, "eps needs shape"),
    ],
)
def test_what_is_wrong_is_named_and_the_calculator_goes_on(cpu, tiny, name, change, said):
    expected = cpu.matrix(**tiny)
    with np.errstate(invalid="ignore"):
        wrong = tiny | {name: change(tiny[name])}
    with pytest.raises(gpp.Error, match=said):
        cpu.matrix(**wrong)
    assert same(cpu.matrix(**tiny), expected)


def test_a_wrong_type_is_named(cpu, tiny):
    a = tiny["a"]
    for given in a.astype(np.complex256), a[0], a.real.copy(), a.astype(str), None:
        with pytest.raises(TypeError, match="^a needs complex128 or complex64, 3-dimensional; found .* of shape"):
            cpu.matrix(**tiny | {"a": given})


def test_the_processor_takes_no_array_of_a_gpu(cpu, tiny):
    class OnDevice:
        def __init__(self, array):
            said = {"shape": array.shape, "typestr": array.dtype.str, "strides": array.strides}
            self.__cuda_array_interface__ = said | {"data": (1 << 40, False), "version": 3}

    with pytest.raises(gpp.Error, match="a needs a GPU, but the calculator is on a CPU"):
        cpu.matrix(**tiny | {"a": OnDevice(tiny["a"])})
    with pytest.raises(gpp.Error, match="a needs C's order without gaps"):
        cpu.matrix(**tiny | {"a": OnDevice(np.asfortranarray(tiny["a"]))})
    with pytest.raises(TypeError, match="a needs complex128, 3-dimensional; found complex128 of shape .* on a GPU"):
        cpu.matrix(**tiny | {"a": OnDevice(tiny["a"][0])})


def test_what_comes_says_what_it_is(cpu, tiny):
    assert repr(cpu.matrix(**tiny)).startswith("Matrices(sx=array([[[")
    assert "bands, nbands, ncouls" in gpp.Calculator.matrix.__doc__
