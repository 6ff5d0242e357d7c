// The library's way to Σ as a matrix, a yardstick for `gpp offdiag`: for each item P is written to memory and cuBLAS
// multiplies it by A. Random numbers, si214's and si510's sizes, both sustained for some seconds; as CSV.
//   nvcc -O3 -std=c++17 -arch=sm_90 -lcublas offdiag.cu -o offdiag && ./offdiag SECONDS
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cublas_v2.h>
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

// Seconds of a call, the median of the last three fifths.
template <class Call> double sustained(Call call, double seconds) {
    cudaEvent_t begin, end;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    std::vector<float> times;
    for (double total = 0; total < 1e3 * seconds; total += times.back()) {
        CHECK(cudaEventRecord(begin));
        call();
        CHECK(cudaEventRecord(end));
        CHECK(cudaEventSynchronize(end));
        times.push_back(0);
        CHECK(cudaEventElapsedTime(&times.back(), begin, end));
    }
    std::vector<float> last(times.begin() + times.size() * 2 / 5, times.end());
    std::sort(last.begin(), last.end());
    return 1e-3 * last[last.size() / 2];
}

int main(int, char **given) {
    double seconds = given[1] ? atof(given[1]) : 1.0;
    cublasHandle_t library;
    CHECK(cublasCreate(&library));
    puts("system,bands,product_ms,product_tflops,with_p_ms,with_p_tflops");
    struct { const char *name; int ncouls, ngpown; } systems[] = {{"si214", 11075, 1385}, {"si510", 26529, 3317}};
    for (auto [name, ncouls, ngpown] : systems) {
        size_t pairs = (size_t)ncouls * ngpown;
        double *wtilde;
        double2 *eps, *p;
        CHECK(cudaMalloc(&wtilde, 8 * pairs));
        CHECK(cudaMalloc(&eps, 16 * pairs));
        CHECK(cudaMalloc(&p, 16 * pairs));
        fill<<<2048, 256>>>(wtilde, pairs, 5, 60, 1);
        fill<<<2048, 256>>>((double *)eps, 2 * pairs, -1, 1, 2);
        for (int bands : {32, 64, 96, 128, 256, 512}) {
            double2 *a, *u, one{1, 0}, zero{0, 0};
            CHECK(cudaMalloc(&a, 16ull * ncouls * bands));
            CHECK(cudaMalloc(&u, 16ull * ngpown * bands));
            fill<<<2048, 256>>>((double *)a, 2ull * ncouls * bands, -1, 1, 3);
            auto product = [&] {
                CHECK(cublasZgemm(library, CUBLAS_OP_N, CUBLAS_OP_T, bands, ngpown, ncouls, &one, a, bands, p, ngpown,
                                  &zero, u, bands));
            };
            double w = -20.0;
            auto both = [&] {
                write_p<<<1056, 256>>>(p, wtilde, eps, pairs, w += 0.05);
                product();
            };
            both();
            double alone = sustained(product, seconds), whole = sustained(both, seconds);
            double operations = 8e-12 * pairs * bands;
            printf("%s,%d,%.4f,%.2f,%.4f,%.2f\n", name, bands, 1e3 * alone, operations / alone, 1e3 * whole,
                   operations / whole);
            fflush(stdout);
            CHECK(cudaFree(a));
            CHECK(cudaFree(u));
        }
        CHECK(cudaFree(wtilde));
        CHECK(cudaFree(eps));
        CHECK(cudaFree(p));
    }
}
