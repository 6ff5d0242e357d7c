"""PyTorch's arrays on a GPU: the bits of NumPy's, in place, in a stream, and refused where they do not fit.

Run as a program; scripts/gpu-faces does so where there is a GPU and PyTorch.
"""

import sys
import time
from pathlib import Path

import gpp
import numpy as np
import torch

NAMES = ["wtilde", "eps", "vcoul", "igp_to_ig", "aqsn", "aqsm", "e", "occ", "omega"]
MATRICES = ["wtilde", "eps", "aqsn", "aqsm"]
SCREENING = ["wtilde", "eps", "vcoul", "igp_to_ig"]


def there(array):
    """A matrix column-major on the GPU: the transpose of one in C's order."""
    if array.ndim == 1:
        return torch.from_numpy(np.ascontiguousarray(array)).cuda()
    return torch.from_numpy(np.ascontiguousarray(array.T)).cuda().T


def same(a, b):
    return all(np.array_equal(getattr(a, name), getattr(b, name)) for name in ["asx", "ach", "static_ch", "ach_of_bands"])


def part(arguments, names):
    return {name: value for name, value in arguments.items() if name in names}


def gpaw(device):
    """Σ of a run of GPAW by every version for GPUs in double precision."""
    run = np.load(Path(__file__).parents[2] / "data/fixtures/gpaw-silicon.npz")
    n, eta = run["n"].T, float(run["eta"])
    others = "cpu:", "sigma:cells", "s1", "s2", "s3", "s4"
    for wtilde, broadening in (run["poles"], 0.0), (run["poles"] + 1j * eta, eta):
        call = dict(wtilde=wtilde, eps=run["residues"] / wtilde, vcoul=np.ones(len(n)), igp_to_ig=np.arange(len(n)))
        call.update(aqsn=n, aqsm=n, e=run["e"], occ=run["f"], omega=run["omega"], eta=broadening)
        for version in gpp.versions():
            if not version.startswith(others):
                error = abs(gpp.Calculator(device, version).sums(**call).sigma - run["sigma"])
                assert (error <= 1e-13 * abs(run["sigma"])).all(), version


def refused(call, says):
    try:
        call()
    except (gpp.Error, TypeError) as error:
        assert says in str(error), error
    else:
        raise AssertionError(f"not refused: {says}")


def main():
    gpu = gpp.Calculator("gpu")
    compared = 0
    for name, energies in [("tiny", None), ("tiny-complex", np.linspace(-2, 2, 5)), ("demo", None)]:
        system = gpp.system(name, energies=energies)
        for version in ["best", "v3", "v8", "v13", "sigma:blocks"]:
            calculator = gpp.Calculator("gpu", version)
            asked = dict(static_ch=True, ach_of_bands=1)
            expected = calculator.sums(**system, **asked)
            assert (expected.static_ch != 0).all() and (expected.ach_of_bands != 0).all()
            all_there = {key: there(system[key]) if key in NAMES else system[key] for key in system}
            large = {key: there(system[key]) if key in MATRICES else system[key] for key in system}
            mixed = dict(system, aqsn=all_there["aqsn"], aqsm=all_there["aqsm"])
            for arguments in [all_there, large, mixed]:
                assert same(calculator.sums(**arguments, **asked), expected), (name, version)
                placed = calculator.place(**part(arguments, SCREENING))
                of_bands = {key: arguments[key] for key in arguments if key not in SCREENING}
                for _ in range(3):
                    assert same(placed.sums(**of_bands, **asked), expected), (name, version)
                compared += 4
    print(f"{compared} comparisons, the same bits")

    system = gpp.system("demo")
    arrays = {key: there(system[key]) if key in MATRICES else system[key] for key in system}
    expected = gpu.sums(**system)
    stream = torch.cuda.Stream()
    kept = arrays["aqsn"].clone()
    arrays["aqsn"].fill_(float("nan"))
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(200_000_000)
        arrays["aqsn"].copy_(kept)
    assert same(gpu.sums(**arrays, stream=stream.cuda_stream), expected)
    print("a stream is waited for")

    row_major = torch.from_numpy(system["wtilde"].copy()).cuda().contiguous()
    refused(lambda: gpu.sums(**dict(arrays, wtilde=row_major)), "give the transpose")
    single = arrays["aqsn"].to(torch.complex64)
    refused(lambda: gpu.sums(**dict(arrays, aqsn=single)), "complex128")
    refused(lambda: gpu.sums(**dict(arrays, aqsn=arrays["aqsn"][:, 1:])), "aqsn")
    refused(lambda: gpu.sums(**dict(arrays, eps=system["eps"])), "must both be on")
    refused(lambda: gpp.Calculator("cpu").sums(**arrays), "wtilde needs a GPU")
    assert same(gpu.sums(**arrays), expected)
    print("refused what does not fit; the calculator goes on")

    given = {key: arrays[key] for key in arrays if key not in ("aqsn", "aqsm")}
    given["a"] = np.stack([system["aqsn"].T, system["aqsm"].T] * 9)
    on_host = {key: system.get(key, given[key]) for key in given}
    matrix = gpu.matrix(**on_host)
    by_cpu = gpp.Calculator("cpu").matrix(**on_host)
    for own, other in (matrix.sx, by_cpu.sx), (matrix.ch, by_cpu.ch):
        assert np.max(abs(own - other)) <= 1e-12 * np.max(abs(other))
    on_gpu = given | {"a": torch.from_numpy(given["a"]).cuda()}
    placed = gpu.place(**part(given, SCREENING))
    for found in (
        gpu.matrix(**given),
        gpu.matrix(**on_gpu),
        placed.matrix(**{key: on_gpu[key] for key in on_gpu if key not in SCREENING}),
    ):
        assert np.array_equal(found.sx, matrix.sx) and np.array_equal(found.ch, matrix.ch)
    refused(lambda: gpu.matrix(**on_gpu | {"a": on_gpu["a"].transpose(0, 1)}), "a needs C's order")
    print(f"matrices by {matrix.version}, the same bits wherever the arrays are")

    def number(*shape):
        return torch.rand(shape[::-1], dtype=torch.complex128, device="cuda").T

    ncouls, ngpown, nbands = 11075, 1385, 800
    energies = np.linspace(-12.0, 28.0, nbands)
    big = dict(aqsn=number(ncouls, nbands), aqsm=number(ngpown, nbands), e=energies)
    big.update(occ=(energies < 5).astype(float), omega=np.array([6.0, 6.5]))
    modes = torch.rand((ngpown, ncouls), dtype=torch.float64, device="cuda").T * 40 + 3
    begin = time.perf_counter()
    placed = gpp.Calculator("gpu", "v13").place(
        (modes + 0j).T.contiguous().T, number(ncouls, ngpown), np.ones(ncouls), np.arange(ngpown)
    )
    placing = time.perf_counter() - begin
    first = placed.sums(**big)
    beside = []
    for _ in range(90):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        found = placed.sums(**big)
        beside.append(time.perf_counter() - begin - found.seconds)
        assert same(found, first)
    # A processor takes a fifth of a second to its full clock.
    beside = beside[30:]
    print(
        f"si214's size: kernels {1e3 * found.seconds:.3f} ms, beside them {1e3 * np.median(beside):.3f} ms "
        f"(median of {len(beside)} after 30; least {1e3 * min(beside):.3f}), placing {placing:.2f} s"
    )


if __name__ == "__main__":
    if not torch.cuda.is_available():
        sys.exit("PyTorch finds no GPU")
    main()
    gpaw("gpu")
    print("on_gpu.py: all as expected")
