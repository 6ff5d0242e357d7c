"""Quasi-particle corrections of silicon: an empirical pseudopotential, RPA screening, plasmon poles, gpp.

    python silicon.py            # minutes
    python silicon.py --quick    # seconds, a coarse grid

README.md says what each step is, what the numbers can be compared with, and what is not converged.
"""

import argparse
import os
import sys
import time

# Matrices are small: threads of BLAS wait for each other longer than they work. It is read when NumPy loads.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")

import gpp
import numpy as np

from crystal import RYDBERG, Density, Grid, irreducible, moved_grids, states
from screening import NO_POLE, inverses, poles
from sigma import SelfEnergy

GAMMA, X, L = np.zeros(3), np.array([0, 0, 1.0]), np.full(3, 0.5)

# Cohen and Bergstresser's splittings in eV: from, to, theirs. A state is a point and a band from 0.
SPLITTINGS = [
    ("Γ25' → Γ15", ("Γ", 3), ("Γ", 4), 3.4),
    ("Γ25' → Γ2'", ("Γ", 3), ("Γ", 7), 3.8),
    ("Γ25' → X1", ("Γ", 3), ("X", 4), 0.8),
    ("Γ25' → L1", ("Γ", 3), ("L", 4), 1.9),
    ("X4 → X1", ("X", 3), ("X", 4), 4.0),
    ("L3' → L1", ("L", 3), ("L", 4), 3.1),
    ("L3' → L3", ("L", 3), ("L", 5), 5.2),
]

# Name, point, bands from 0.
STATES = [
    ("Γ1", "Γ", [0]),
    ("Γ25'", "Γ", [1, 2, 3]),
    ("Γ15", "Γ", [4, 5, 6]),
    ("Γ2'", "Γ", [7]),
    ("X4", "X", [2, 3]),
    ("X1", "X", [4, 5]),
    ("L3'", "L", [2, 3]),
    ("L1", "L", [4]),
]

# Hybertsen and Louie, Phys. Rev. B 34, 5390 (1986), in eV: what, state above Γ25', LDA, GW.
PUBLISHED = [
    ("direct gap Γ25' → Γ15", "Γ15", 2.57, 3.35),
    ("indirect gap, ours at X1", "X1", 0.52, 1.29),
]


def bands(cutoff):
    """Prints the bands at Γ, X and L next to the published splittings."""
    at = {"Γ": states(GAMMA, cutoff), "X": states(X, cutoff), "L": states(L, cutoff)}
    top = at["Γ"].e[3]
    print("\nBands [eV above Γ25']")
    for name, found in at.items():
        energies = "  ".join(f"{(e - top) * RYDBERG:7.2f}" for e in found.e[:8])
        print(f"  {name}  {energies}    {len(found.g)} plane waves")
    path = [states(x * X, cutoff).e[4] for x in np.linspace(0, 1, 101)]
    lowest = int(np.argmin(path))
    print(f"  indirect gap {(min(path) - top) * RYDBERG:.2f} eV at {lowest / 100:.2f} Γ–X")
    print(f"\n  {'splitting [eV]':14} {'here':>6} {'Cohen, Bergstresser':>20}")
    for name, low, high, theirs in SPLITTINGS:
        here = (at[high[0]].e[high[1]] - at[low[0]].e[low[1]]) * RYDBERG
        print(f"  {name:14} {here:6.2f} {theirs:20.1f}")


def of_poles(name, parts):
    """Prints what the poles of some matrices are like, each (ω̃, δ − ε⁻¹, on the diagonal, Ω² = 0, how often)."""
    wtilde, eps, diagonal, forbidden, times = (
        np.concatenate([part[i].ravel() for part in parts]) for i in range(5)
    )
    kept = eps != 0
    valid = kept & (wtilde != NO_POLE)

    def share(some):
        return 100 * np.sum(times[some]) / np.sum(times[kept])

    def quantiles(values, some):
        order = np.argsort(values[some])
        below = np.cumsum(times[some][order]) / np.sum(times[some])
        return [values[some][order][min(np.searchsorted(below, p), len(order) - 1)] for p in (0.1, 0.5, 0.9)]

    row = [f"{share(kept & forbidden):7.1f}", f"{share(kept & ~valid & ~forbidden):7.1f}"]
    row += [f"{x:8.1f}" for x in quantiles(wtilde, valid & ~diagonal)]
    row += [f"{quantiles(wtilde, valid & diagonal)[1]:9.1f}"]
    row += [f"{x:9.1e}" for x in quantiles(abs(eps), kept & ~diagonal)]
    print(f"  {name:12}" + " ".join(row))


def compare_poles(screenings, stars, system):
    """Poles of this silicon next to a built-in system's."""
    here = []
    for at, s in screenings.items():
        times = sum(first == at for first, *_ in stars.values())
        diagonal = np.eye(len(s.g), dtype=bool)
        here.append((s.wtilde, s.inverse, diagonal, s.forbidden, np.full(diagonal.shape, float(times))))
    print("\nPoles: pairs without one [%]; the others [eV]; all pairs. Of all q")
    print(
        f"  {'':12}{'Ω² = 0':>7} {'ω̃² < 0':>9} {'ω̃ off the diagonal':>27} {'on it':>9} {'|δ − ε⁻¹| off it':>29}"
    )
    heads = "10 %", "median", "90 %"
    at = " ".join(f"{head:>8}" for head in heads), " ".join(f"{head:>9}" for head in heads)
    print(f"  {'':12}{'':15} {at[0]} {'median':>9} {at[1]}")
    of_poles("silicon", here)
    made = gpp.system(system)
    wtilde, eps = made["wtilde"].real, made["eps"]
    diagonal = np.zeros(wtilde.shape, bool)
    diagonal[made["igp_to_ig"], np.arange(wtilde.shape[1])] = True
    of_poles(system, [(wtilde, abs(eps), diagonal, np.zeros_like(diagonal), np.ones(wtilde.shape))])


def corrections(sigma, grid):
    """Prints Σ of the states, and the corrections next to the published ones."""
    points = {"Γ": GAMMA, "X": X, "L": L}
    print("\nSelf-energy [eV]")
    print(
        f"  {'state':6} {'E':>7} {'exchange':>9} {'SX − X':>7} {'CH':>8} {'Σ':>8} {'Vxc':>8} {'Z':>6} {'spread':>8}"
    )
    means = {}
    for point, k in points.items():
        names = [(name, its) for name, where, its in STATES if where == point]
        at = grid.find(k)
        if at is None:
            print(f"  {point} is no point of this grid")
            continue
        numbers = [band for _, its in names for band in its]
        elements = dict(zip(numbers, sigma.at(at[0], numbers)))
        for name, its in names:
            of = [elements[band] for band in its]
            parts = [(x.e, x.exchange, x.sx[1], x.ch[1], x.sigma(), x.vxc, x.z(), x.correction()) for x in of]
            e, *row, z, correction = np.mean(parts, axis=0)
            spread = np.ptp([x.sigma() for x in of])
            print(f"  {name:6} {e:7.2f} " + " ".join(f"{x:8.3f}" for x in row) + f" {z:6.3f} {spread:8.0e}")
            means[name] = e, correction
    top = means["Γ25'"]
    print("\nQuasi-particle corrections Z(Σ − Vxc), less that of Γ25' [eV]")
    print(f"  {'state':6} {'EPM':>7} {'correction':>11} {'sum':>7}")
    for name, (e, correction) in means.items():
        e, correction = e - top[0], correction - top[1]
        print(f"  {name:6} {e:7.2f} {correction:+11.2f} {e + correction:7.2f}")
    print("\nBeside Hybertsen and Louie's [eV]")
    print(f"  {'':26} {'correction':>21} {'gap':>27}")
    print(f"  {'':26} {'here':>10} {'theirs':>10} {'LDA + here':>16} {'theirs':>10}")
    for what, name, lda, gw in PUBLISHED:
        if name in means:
            here = means[name][1] - top[1]
            print(f"  {what:26} {here:+10.2f} {gw - lda:+10.2f} {lda + here:16.2f} {gw:10.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a coarse grid, in seconds")
    parser.add_argument("--grid", type=int, metavar="N", help="N³ points q, an even N")
    parser.add_argument("--planewaves", type=float, metavar="RY", help="cutoff of the states' plane waves")
    parser.add_argument("--screening", type=float, metavar="RY", help="cutoff of the dielectric matrix")
    parser.add_argument(
        "--discard", action="store_true", help="leave pairs with ω̃² ≤ 0 out: static otherwise"
    )
    parser.add_argument("--device", default="auto", help="auto, cpu, gpu, gpu:N")
    parser.add_argument("--version", default="best", help="a version of gpp")
    parser.add_argument("--beside", metavar="SYSTEM", help="the built-in system whose poles are compared")
    given = parser.parse_args()
    n = given.grid or (4 if given.quick else 6)
    planewaves = given.planewaves or (7.0 if given.quick else 12.0)
    cutoff = given.screening or (3.0 if given.quick else 9.0)
    begin = time.perf_counter()

    def say(what):
        print(f"[{time.perf_counter() - begin:6.1f} s] {what}", file=sys.stderr, flush=True)

    print(f"grid {n}³, plane waves to {planewaves} Ry, dielectric matrix to {cutoff} Ry")
    bands(planewaves)
    grid, moved = Grid(n), moved_grids(n)
    first, stars = irreducible(grid)
    say(f"ε of {len(first)} q, {4 * n**3} k")
    gs, found, kept = inverses(grid, moved, first, cutoff, planewaves)
    density = Density(kept)
    screenings = {
        at: poles(grid.k(at), g, inverse, density, given.discard) for at, g, inverse in zip(first, gs, found)
    }
    plasma = np.sqrt(16 * np.pi * density.of(np.zeros(3, int))) * RYDBERG
    print(
        f"\nDielectric constant {1 / found[0][0, 0]:.1f}, plasma energy {plasma:.1f} eV, "
        f"{len(gs[0])} G at Γ, {len(kept[0].e)} bands"
    )
    compare_poles(screenings, stars, given.beside or ("demo" if given.quick else "si214"))
    say("states on the grid")
    all_states = [states(grid.k(at), planewaves) for at in range(len(grid.steps))]
    calculator = gpp.Calculator(given.device, given.version)
    say(f"Σ on {calculator.device_name}")
    sigma = SelfEnergy(grid, all_states, screenings, stars, density, planewaves, calculator)
    corrections(sigma, grid)
    rate = sigma.terms / max(sigma.seconds, 1e-9) / 1e9
    print(
        f"\ngpp: {sigma.terms / 1e9:.2f} · 10⁹ terms in {sigma.seconds:.2f} s ({rate:.2f} · 10⁹ a second) by "
        f"{', '.join(sorted(sigma.versions))}; all {time.perf_counter() - begin:.0f} s"
    )


if __name__ == "__main__":
    main()
