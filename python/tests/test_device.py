"""Arrays on a GPU, as far as a machine without one can tell, and a screening in place."""

import gpp
import numpy as np
import pytest


@pytest.fixture(scope="module")
def cpu():
    return gpp.Calculator("cpu")


@pytest.fixture
def tiny():
    return gpp.system("tiny")


class OnDevice:
    """What says of itself that it is an array on a GPU."""

    def __init__(self, array, **said):
        self.__cuda_array_interface__ = {
            "shape": array.shape,
            "typestr": array.dtype.str,
            "data": (1 << 40, False),
            "strides": array.strides,
            "version": 3,
        } | said


MATRICES = ["wtilde", "eps", "aqsn", "aqsm"]


@pytest.mark.parametrize("name", MATRICES + ["vcoul", "e", "occ", "omega", "igp_to_ig"])
def test_the_processor_takes_no_array_of_a_gpu(cpu, tiny, name):
    with pytest.raises(gpp.Error, match="on a GPU|different memories"):
        cpu.sums(**tiny | {name: OnDevice(tiny[name])})
    with pytest.raises(TypeError, match=f"{name}.*__cuda_array_interface__"):
        cpu.sums(**tiny | {name: OnDevice(tiny[name], data=None)})


def test_matrices_of_a_gpu_are_looked_at(cpu, tiny):
    there = tiny | {name: OnDevice(tiny[name]) for name in MATRICES}
    with pytest.raises(gpp.Error, match="wtilde: is on a GPU; what was opened is the processor"):
        cpu.sums(**there)
    with pytest.raises(gpp.Error, match="eps needs its first index fastest.*give the transpose"):
        cpu.sums(**there | {"eps": OnDevice(np.ascontiguousarray(tiny["eps"]))})
    with pytest.raises(gpp.Error, match="aqsn is of another stream"):
        cpu.sums(**there | {"eps": OnDevice(tiny["eps"], stream=1), "aqsn": OnDevice(tiny["aqsn"], stream=7)})
    with pytest.raises(TypeError, match="aqsm needs complex128, 2-dimensional; found <c8"):
        cpu.sums(**there | {"aqsm": OnDevice(tiny["aqsm"].astype(np.complex64))})
    with pytest.raises(gpp.Error, match=r"wtilde needs shape .* found \(66, 9\)"):
        cpu.sums(**there | {"wtilde": OnDevice(tiny["wtilde"][1:])})


def test_a_screening_in_place_has_the_same_sums(cpu, tiny):
    names = ["wtilde", "eps", "vcoul", "igp_to_ig"]
    placed = cpu.place(**{name: tiny[name].copy() for name in names})
    of_bands = {name: value for name, value in tiny.items() if name not in names}
    for shift in 0.0, 0.3, 0.0:
        changed = {"omega": tiny["omega"] + shift}
        expected, found = cpu.sums(**tiny | changed), placed.sums(**of_bands | changed)
        assert np.array_equal(found.asx, expected.asx) and np.array_equal(found.ach, expected.ach)
    with pytest.raises(gpp.Error, match="aqsn needs shape"):
        placed.sums(**of_bands | {"aqsn": tiny["aqsn"][1:]})
    assert repr(placed) == "gpp.Placed(ncouls=67, ngpown=9)"
    host, device = cpu.workspace(67, 9, 21, 2)
    assert host > 0 and device == 0
