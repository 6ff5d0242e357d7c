"""Calls that the types of the module accept, and, each with its reason to be ignored, that they refuse; mypy reads it."""

from collections.abc import Mapping
from typing import Any

import gpp
import numpy as np
from numpy.typing import NDArray


class OnGpu:
    @property
    def __cuda_array_interface__(self) -> Mapping[str, Any]:
        return {}


def accepted(array: NDArray[np.complex128], real: NDArray[np.float64]) -> complex:
    calculator = gpp.Calculator("auto", threads=2, progress=lambda part: part > 0.5)
    calculator.progress = print
    there = OnGpu()
    found: gpp.Sums = calculator.sums(**gpp.system("tiny", energies=[0.0, 1.0]), static_ch=True, ach_of_bands=0)
    found = calculator.sums(there, there, real, np.arange(3), array, array, real, real, [0.0, 1.0], stream=1)
    matrices: gpp.Matrices = calculator.matrix(array, array, there, [0, 1], there, [1.0], [1.0], real, at_bands=True)
    placed: gpp.Placed = calculator.place(there, there, [1.0], [0, -1])
    found = placed.sums(there, array, real, real, omega=real)
    matrices = placed.matrix(there, real, real, real, 0.5, sexcut=4)
    arguments, (asx, ach) = gpp.read("tiny.dat")
    names: list[str] = [*gpp.versions(), matrices.version, calculator.device, calculator.version]
    print(arguments["igp_to_ig"], names, calculator.threads + 1)
    try:
        total: NDArray[np.complex128] = asx + ach + found.asx + matrices.sx[0, 0]
    except (gpp.Stopped, gpp.Error):
        raise
    return complex(total[0]) + (0 if found.static_ch is None else complex(found.static_ch.sum()))


def refused(calculator: gpp.Calculator, placed: gpp.Placed) -> None:
    calculator.place(object(), [1j], [1.0], [0])  # type: ignore[arg-type]
    placed.sums([1j])  # type: ignore[call-arg]
    gpp.Calculator(progress=3)  # type: ignore[arg-type]
    gpp.system("tiny")["a"]  # type: ignore[typeddict-item]
