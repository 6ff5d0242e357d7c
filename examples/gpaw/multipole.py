"""As silicon.py, for GPAW 26.7 (PyPI's gpaw and gpaw-data), in which each pair has several poles: mpa with `npoles`."""

import argparse
import os
import tempfile

import gpp
import numpy as np
from ase.build import bulk
from gpaw import GPAW, PW, FermiDirac
from gpaw.response.g0w0 import G0W0


class Recorder:
    """In the place of GPAW's W: notes energy, occupation and matrix elements of each band, and gives zero for Σ."""

    __array_ufunc__ = None  # NumPy leaves `array @ self` to this class

    def __init__(self):
        self.deps, self.f, self.n = [], [], []

    def get_HW(self, deps, f):
        self.deps.append(deps)
        self.f.append(f)
        return self, self

    def __rmatmul__(self, n):
        self.next = n
        return self

    def __matmul__(self, _):
        if len(self.n) < len(self.f):
            self.n.append(self.next)
        return 0j


class Gpp(G0W0):
    """gpp in the place of the loop over bands; energies are in Hartree."""

    device, version, w, seconds = None, None, None, 0.0

    def place(self, w):
        """All poles of a pair, Ω − iη, in columns with the same row of G′."""
        self.w, (npoles, size, _) = w, w.W_nGG.shape
        poles = np.hstack(w.omegat_nGG) - 1j * w.eta
        rows = np.tile(np.arange(size), npoles)
        calculator = gpp.Calculator(self.device, self.version, threads=1)
        self.screening = calculator.place(poles, 4 * w.factor * np.hstack(w.W_nGG) / poles, np.ones(size), rows)

    def calculate_q(self, ie, k, kpt1, kpt2, qpd, Wdict, *, sigmas, **others):
        for mode, w in Wdict.items():
            recorder = Recorder()
            super().calculate_q(ie, k, kpt1, kpt2, qpd, {mode: recorder}, sigmas={mode: sigmas[mode]}, **others)
            if w is not self.w:
                self.place(w)
            states = range(kpt1.n1 - self.bands[0], kpt1.n2 - self.bands[0])
            recorded = [np.array(array) for array in (recorder.deps, recorder.f, recorder.n)]
            for state, deps, f, n in zip(states, *(np.split(array, len(states)) for array in recorded)):
                n = np.asfortranarray(n.T.conj())
                found = self.screening.sums(n, n, -deps, f, [0.0], eta=0, derivative=True)
                self.seconds += found.call_seconds
                sigmas[mode].sigma_eskn[ie, kpt1.s, k, state] += found.sigma.real[0]
                sigmas[mode].dsigma_eskn[ie, kpt1.s, k, state] += found.derivative.real[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu", help="of gpp")
    parser.add_argument("--version", default="best", help="of gpp")
    parser.add_argument("--npoles", type=int, default=4)
    parser.add_argument("--quick", action="store_true", help="a small cutoff, in a few seconds")
    given = parser.parse_args()
    Gpp.device, Gpp.version = given.device, given.version
    cutoff, nbands = (60, 60) if given.quick else (160, 120)  # cutoff of the screening in eV
    silicon = bulk("Si", "diamond", 5.431)
    k = dict(size=(2, 2, 2), gamma=True)
    silicon.calc = GPAW(mode=PW(300), kpts=k, occupations=FermiDirac(0.001), txt="dft.txt")
    silicon.get_potential_energy()
    silicon.calc.diagonalize_full_hamiltonian(nbands=nbands)
    silicon.calc.write("silicon.gpw", "all")
    mpa = dict(npoles=given.npoles, wrange=[0, 60], varpi=27.2, eta0=1e-5, eta_rest=2.72, alpha=1)
    qp, seconds = [], []
    for kind in G0W0, Gpp:
        options = dict(ecut=cutoff, nbands=nbands, kpts=[0, 1, 2], bands=(3, 5), mpa=mpa)
        gw = kind("silicon.gpw", kind.__name__, **options)
        qp.append(gw.calculate()["qp"])
        timer = gw.context.timer
        own = [timer.get_time(*path) for path in timer.timers if path[-1] in ("Wmodel.get_HW", "n_G @ S_GG @ n_G")]
        seconds.append(gw.seconds if kind is Gpp else sum(own))
        print(f"{kind.__name__:5} {seconds[-1]:7.2f} s, quasiparticle energies [eV]", *qp[-1].round(6).flat)
    apart, ratio = np.abs(qp[0] - qp[1]).max(), seconds[0] / seconds[1]
    print(f"largest difference {apart:.1e} eV; the loop is {ratio:.1f} times as fast")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # for GPAW's files
        main()
