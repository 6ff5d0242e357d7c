// The library's way to Σ as a matrix, the baseline of `gpp offdiag`: for each band n and energy P is written to memory,
// and cuBLAS multiplies it by A. For 24 of them at a time V is gathered, and cuBLAS multiplies what there is by it. The
// complex products are those of cublasZgemm (four real products) and of cublasZgemm3m (three, as ours).
// Random numbers, each step sustained for some seconds; a row of CSV for each routine, without a heading:
// system, bands, routine, TFLOP/s of the first product, ms of it, of P and of the gather, each alone, ms and TFLOP/s of the
// whole, all for one band n at one energy, watts, and the largest difference from cublasZgemm's product over its largest
// element.
//   nvcc -O3 -std=c++17 -arch=sm_90 -lcublas -lnvidia-ml offdiag.cu -o offdiag && ./offdiag SYSTEM BANDS SECONDS
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cublas_v2.h>
#include <nvml.h>
#include <vector>

#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        auto code = (call);                                                                                            \
        if ((int)code) { fprintf(stderr, "%s: error %d\n", #call, (int)code); exit(1); }                               \
    } while (0)

__global__ void fill(double *to, size_t count, double low, double high, unsigned seed) {
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count; i += (size_t)gridDim.x * blockDim.x) {
        unsigned long long z = (i + 1) * 0x9E3779B97F4A7C15ull + seed * 0xD1B54A32D192ED03ull;
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
        z = (z ^ z >> 27) * 0x94D049BB133111EBull;
        to[i] = low + (high - low) * ((z ^ z >> 31) >> 11) * 0x1p-53;
    }
}

// sch of real poles: eps·ω̃ / (w − ω̃), zero in the second branch.
__global__ void write_p(double2 *p, const double *wtilde, const double2 *eps, size_t count, double w) {
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count; i += (size_t)gridDim.x * blockDim.x) {
        double wdiff = w - wtilde[i], delw = fabs(wdiff) > 0.5 ? wtilde[i] / wdiff : 0.0;
        p[i] = {eps[i].x * delw, eps[i].y * delw};
    }
}

// V of some items: the conjugate of A where igp is, weighed.
__global__ void gather(double2 *v, const double2 *a, int bands, int ncouls, int ngpown, int items) {
    size_t depth = (size_t)items * ngpown;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < depth * bands; i += (size_t)gridDim.x * blockDim.x) {
        size_t m = i % bands, igp = i / bands % ngpown, item = i / bands / ngpown;
        double2 z = a[m + bands * (igp * (ncouls / ngpown) + ncouls * item)];
        double vcoul = 1.0 / (1.0 + igp);
        v[item * ngpown + igp + depth * m] = {vcoul * z.x, -vcoul * z.y};
    }
}

// Seconds of a call, the median of the last three fifths, and the mean power of these in watts.
struct Sustained { double seconds, watts; };
template <class Call> Sustained sustained(Call call, double seconds, nvmlDevice_t device) {
    cudaEvent_t begin, end;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    std::vector<float> times;
    double total = 0, settled = 0;
    unsigned long long before = 0, after;
    while (total < 1e3 * seconds) {
        if (!settled && total >= 4e2 * seconds) {
            settled = total;
            times.clear();
            CHECK(nvmlDeviceGetTotalEnergyConsumption(device, &before));
        }
        CHECK(cudaEventRecord(begin));
        call();
        CHECK(cudaEventRecord(end));
        CHECK(cudaEventSynchronize(end));
        times.push_back(0);
        CHECK(cudaEventElapsedTime(&times.back(), begin, end));
        total += times.back();
    }
    CHECK(nvmlDeviceGetTotalEnergyConsumption(device, &after));
    std::sort(times.begin(), times.end());
    return {1e-3 * times[times.size() / 2], (after - before) / (total - settled)};
}

int main(int count, char **given) {
    if (count != 4) {
        fprintf(stderr, "usage: offdiag si214|si510 BANDS SECONDS\n");
        return 2;
    }
    bool small = !strcmp(given[1], "si214");
    int ncouls = small ? 11075 : 26529, ngpown = small ? 1385 : 3317, bands = atoi(given[2]), items = 24;
    double seconds = atof(given[3]);
    nvmlDevice_t device;
    CHECK(nvmlInit());
    CHECK(nvmlDeviceGetHandleByIndex(0, &device));
    cublasHandle_t library;
    CHECK(cublasCreate(&library));
    size_t pairs = (size_t)ncouls * ngpown, columns = (size_t)ncouls * bands, depth = (size_t)items * ngpown;
    double *wtilde;
    double2 *eps, *p, *a, *u, *v, *sigma, one{1, 0}, zero{0, 0};
    CHECK(cudaMalloc(&wtilde, 8 * pairs));
    CHECK(cudaMalloc(&eps, 16 * pairs));
    CHECK(cudaMalloc(&p, 16 * pairs));
    CHECK(cudaMalloc(&a, 16 * items * columns));
    CHECK(cudaMalloc(&u, 16 * depth * bands));
    CHECK(cudaMalloc(&v, 16 * depth * bands));
    CHECK(cudaMalloc(&sigma, 16ull * bands * bands));
    fill<<<2048, 256>>>(wtilde, pairs, 5, 60, 1);
    fill<<<2048, 256>>>((double *)eps, 2 * pairs, -1, 1, 2);
    fill<<<2048, 256>>>((double *)a, 2 * items * columns, -1, 1, 3);
    CHECK(cudaMemset(sigma, 0, 16ull * bands * bands));
    double w = -20.0;
    auto p_written = [&] { write_p<<<1056, 256>>>(p, wtilde, eps, pairs, w += 0.002); };
    auto gathered = [&] { gather<<<1056, 256>>>(v, a, bands, ncouls, ngpown, items); };
    std::vector<double2> first(ngpown * (size_t)bands), other(first.size());
    for (bool three : {false, true}) {
        auto multiply = three ? cublasZgemm3m : cublasZgemm;
        auto product = [&](int item) {
            CHECK(multiply(library, CUBLAS_OP_N, CUBLAS_OP_T, bands, ngpown, ncouls, &one, a + item * columns, bands, p,
                           ngpown, &zero, u + (size_t)item * ngpown * bands, bands));
        };
        auto all = [&] {
            for (int item = 0; item < items; item++) {
                p_written();
                product(item);
            }
            gathered();
            CHECK(multiply(library, CUBLAS_OP_N, CUBLAS_OP_N, bands, bands, (int)depth, &one, u, bands, v, (int)depth,
                           &one, sigma, bands));
        };
        write_p<<<1056, 256>>>(p, wtilde, eps, pairs, -20.0);
        product(0);
        CHECK(cudaMemcpy((three ? other : first).data(), u, 16 * first.size(), cudaMemcpyDeviceToHost));
        double largest = 0, difference = 0;
        for (size_t i = 0; three && i < first.size(); i++) {
            largest = std::max(largest, hypot(first[i].x, first[i].y));
            difference = std::max(difference, hypot(first[i].x - other[i].x, first[i].y - other[i].y));
        }
        all();
        Sustained alone = sustained([&] { product(0); }, seconds, device), of_p = sustained(p_written, seconds, device);
        Sustained of_v = sustained(gathered, seconds, device), whole = sustained(all, seconds, device);
        double flops = 8e-12 * pairs * bands, both = flops + 8e-12 * bands * bands * (double)ngpown;
        printf("%s,%d,%s,%.2f,%.5f,%.5f,%.5f,%.5f,%.2f,%.0f,%.1e\n", given[1], bands, three ? "zgemm3m" : "zgemm",
               flops / alone.seconds, 1e3 * alone.seconds, 1e3 * of_p.seconds, 1e3 * of_v.seconds / items,
               1e3 * whole.seconds / items, both * items / whole.seconds, whole.watts, three ? difference / largest : 0.0);
    }
}
