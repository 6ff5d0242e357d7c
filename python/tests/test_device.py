"""Arrays on a GPU, as far as a machine without one can tell, and a screening in place."""

import types

import gpp
import numpy as np
import pytest
from gpp._arrays import CallArrays


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
    with pytest.raises(gpp.Error, match=f"{name} needs a GPU, but the calculator is on a CPU"):
        cpu.sums(**tiny | {name: OnDevice(tiny[name])})
    with pytest.raises(TypeError, match=f"{name} is not an array: TypeError"):
        cpu.sums(**tiny | {name: OnDevice(tiny[name], data=None)})


def test_matrices_of_a_gpu_are_looked_at(cpu, tiny):
    there = tiny | {name: OnDevice(tiny[name]) for name in MATRICES}
    with pytest.raises(gpp.Error, match="wtilde needs a GPU"):
        cpu.sums(**there)
    with pytest.raises(gpp.Error, match="eps needs its first index fastest; give the transpose"):
        cpu.sums(**there | {"eps": OnDevice(np.ascontiguousarray(tiny["eps"]))})
    with pytest.raises(TypeError, match="aqsm needs complex128, 2-dimensional; found complex64 of shape .* on a GPU"):
        cpu.sums(**there | {"aqsm": OnDevice(tiny["aqsm"].astype(np.complex64))})
    with pytest.raises(TypeError, match="eps is not an array: TypeError.*mask"):
        cpu.sums(**there | {"eps": OnDevice(tiny["eps"], mask=OnDevice(tiny["occ"]))})


def test_arrays_of_a_gpu_as_the_core_takes_them(tiny):
    """With a core that lists what it is given, in place of one with a GPU."""
    calls = []

    class Core:
        def fetch(self, name, at, size, call):
            calls.append((name, at, size, call[0]))
            return tiny[name].view(np.uint8)

    calculator = types.SimpleNamespace(device="gpu:0", _core=Core(), progress=None)
    gaps = OnDevice(np.zeros((100, 8), complex, order="F")[:67])
    names = ["vcoul", "igp_to_ig"]
    given = {"wtilde": OnDevice(tiny["wtilde"], stream=7), "eps": gaps} | {name: OnDevice(tiny[name]) for name in names}
    call = CallArrays(calculator, None, False, **given)
    wtilde, eps, vcoul, columns, rows = call.screening()
    assert (wtilde.at, wtilde.ld, eps.at, eps.ld) == (1 << 40, 67, 1 << 40, 100)
    assert np.array_equal(vcoul, tiny["vcoul"]) and np.array_equal(rows, tiny["igp_to_ig"] + 1)
    assert np.array_equal(columns, np.arange(8) + 1) and rows.dtype == columns.dtype == np.int32
    assert calls == [("vcoul", 1 << 40, 67 * 8, 7), ("igp_to_ig", 1 << 40, 8 * 8, 7)]
    assert call.call == (7, False, None, False, False, None) and call.has_matrices_on_gpu
    assert CallArrays(calculator, 3, False, **given).call[0] == 3
    with pytest.raises(gpp.Error, match="eps.* have different streams; pass one as stream"):
        CallArrays(calculator, None, False, **given | {"eps": OnDevice(tiny["eps"], stream=1)})
    with pytest.raises(gpp.Error, match="wtilde and eps must both be on the host or both on the GPU"):
        CallArrays(calculator, None, False, **given | {"eps": tiny["eps"]}).screening()
    with pytest.raises(gpp.Error, match=r"wtilde needs shape .* found \(66, 8\)"):
        CallArrays(calculator, None, False, **given | {"wtilde": OnDevice(tiny["wtilde"][1:])}).screening()


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
    assert repr(placed) == "gpp.Placed(ncouls=67, ngpown=8)"
