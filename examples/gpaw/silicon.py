"""Quasiparticle energies of silicon by GPAW's G0W0 with plasmon poles: with its own loop over bands, and with gpp in
place of the loop, with the same arrays. Prints both, the CPU seconds of the loops and how far the energies are apart.
For GPAW 22.8 (Debian's packages gpaw and gpaw-data)."""

import argparse
import os
import tempfile
import time

import gpp
import numpy as np
from ase.build import bulk
from gpaw import GPAW, PW, FermiDirac
from gpaw.response.g0w0 import G0W0


class Gpaw(G0W0):
    """GPAW's own loop, timed. Keeps its arguments: signs of imaginary poles follow from rounding."""

    loop, seconds, calls = G0W0.calculate_sigma_ppa, 0.0, []

    def calculate_sigma_ppa(self, *arguments):
        self.calls.append(arguments)
        return self.timed(*arguments)

    def timed(self, *arguments):
        start = time.process_time()
        found = self.loop(*arguments)
        self.seconds += time.process_time() - start
        return found


class Gpp(Gpaw):
    """gpp in its place, with the arguments of GPAW's own run; energies are in Hartree."""

    device, version, w = None, None, None

    def calculate_sigma_ppa(self, *arguments):
        return self.timed(*self.calls.pop(0))  # without GPAW's own run before: self.timed(*arguments)

    def place(self, poles, residues):
        rows = np.tile(np.arange(len(poles)), poles.shape[1] // len(poles))
        calculator = gpp.Calculator(self.device, self.version, threads=1)
        return calculator.place(poles, residues / poles, np.ones(len(poles)), rows)

    def loop(self, n_mg, deps_m, f_m, w, *_):
        if w is not self.w:  # another q
            self.w, (residues, poles) = w, w
            below, above = poles - 1j * self.eta, poles + 1j * self.eta
            # The time-ordered sum, and GPAW's Lorentzians: two poles a pair, summed with the occupations 1 − f.
            lorentzians = np.hstack([above, below]), np.hstack([2 * residues, -2 * residues])
            self.screenings = self.place(below, 4 * residues), self.place(*lorentzians)
        n_gm = np.asfortranarray(n_mg.T)
        found = [
            screening.sums(n_gm, n_gm, -deps_m, occ, [0.0], eta=0, derivative=True)
            for screening, occ in zip(self.screenings, (f_m, 1 - f_m))
        ]
        both = np.sum([(sums.sigma[0], sums.derivative[0]) for sums in found], axis=0).real
        return both / (2 * np.pi * self.gs.volume * self.qd.nbzkpts)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu", help="of gpp")
    parser.add_argument("--version", default="best", help="of gpp")
    parser.add_argument("--quick", action="store_true", help="a small cutoff, in a few seconds")
    given = parser.parse_args()
    Gpp.device, Gpp.version = given.device, given.version
    cutoff, nbands = (60, 60) if given.quick else (240, 200)  # cutoff of the screening in eV
    silicon = bulk("Si", "diamond", 5.431)
    k = dict(size=(2, 2, 2), gamma=True)
    silicon.calc = GPAW(mode=PW(300), kpts=k, occupations=FermiDirac(0.001), txt="dft.txt")
    silicon.get_potential_energy()
    silicon.calc.diagonalize_full_hamiltonian(nbands=nbands)
    silicon.calc.write("silicon.gpw", "all")
    qp, seconds = [], []
    for kind in Gpaw, Gpp:
        options = dict(ecut=cutoff, nbands=nbands, kpts=[0, 1, 2], bands=(3, 5), ppa=True, savepckl=False)
        gw = kind("silicon.gpw", kind.__name__, **options)
        qp.append(gw.calculate()["qp"])
        seconds.append(gw.seconds)
        print(f"{kind.__name__:5} {seconds[-1]:7.2f} s, quasiparticle energies [eV]", *qp[-1].round(6).flat)
    apart, ratio = np.abs(qp[0] - qp[1]).max(), seconds[0] / seconds[1]
    print(f"largest difference {apart:.1e} eV; the loop is {ratio:.1f} times as fast")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # for GPAW's files
        main()
