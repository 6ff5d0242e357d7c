// The baseline: the paper's versions v0 to v8 in CUDA C++, for benches/compare.
//
// Written from the paper (section III) as a careful CUDA programmer would: restrict pointers and
// 16-byte loads, 32-bit indices, collapsed loops that advance without dividing, the number of
// energies a template parameter, launch bounds, sums by shuffles in two stages. The arrays, the
// order of the parameters and the launch shapes and names are those of the Rust kernels.

struct complex {
    double re, im;
};

__device__ inline complex operator+(complex a, complex b) { return {a.re + b.re, a.im + b.im}; }
__device__ inline complex operator-(complex a, complex b) { return {a.re - b.re, a.im - b.im}; }
__device__ inline complex operator-(complex a) { return {-a.re, -a.im}; }
__device__ inline complex operator*(complex a, double b) { return {a.re * b, a.im * b}; }
__device__ inline complex operator*(complex a, complex b)
{
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
__device__ inline complex conj(complex a) { return {a.re, -a.im}; }
__device__ inline double norm(complex a) { return a.re * a.re + a.im * a.im; }
__device__ inline double abs(complex a) { return sqrt(norm(a)); }
__device__ inline complex operator/(complex a, complex b)
{
    const complex numerator = a * conj(b);
    const double square = norm(b);
    return {numerator.re / square, numerator.im / square};
}
__device__ inline complex reciprocal(complex a) { return conj(a) * (1.0 / norm(a)); }

__device__ inline complex load(const double2 *__restrict__ array, unsigned at)
{
    const double2 value = array[at];
    return {value.x, value.y};
}

struct Limits {
    double limittwo, limitone, sexcut;
};

constexpr double TOL_ZERO = 1e-12;

// What depends on (ig, igp) only: ω̃, ω̃², δ − ε⁻¹ and Ω² = ω̃²·eps.
struct Pair {
    complex wtilde, wtilde2, eps, omega2;
};

struct Term {
    complex ssx, sch;
};

constexpr complex ZERO = {0.0, 0.0};

// An infinite ssx arrives as NaN and is cut off like every other that is too large.
__device__ inline bool cut_off(double w, double size, double bound)
{
    return w < 0.0 && !(size <= bound);
}

__device__ inline complex wdiff_of(double w, complex wtilde) { return {w - wtilde.re, -wtilde.im}; }
// w² − ω̃², without cancellation near either pole.
__device__ inline complex first_denominator(double w, complex wdiff, complex wtilde, complex wtilde2)
{
    return {wdiff.re * (w + wtilde.re) + wtilde.im * wtilde.im, -wtilde2.im};
}
// 2ω̃(w + ω̃), which is 4ω̃²(delw + ½) / delw.
__device__ inline complex second_denominator(double w, complex wtilde)
{
    return wtilde * (complex{w + wtilde.re, wtilde.im} * 2.0);
}

// v0: divisions, square roots, a three-way branch.
struct Divisions {
    __device__ static Term term(const Pair &p, double w, const Limits &l)
    {
        const complex wdiff = wdiff_of(w, p.wtilde);
        const double wdiffr = norm(wdiff);
        const complex delw = p.wtilde / wdiff;
        const double delwr = norm(delw);
        Term t;
        if (wdiffr > l.limittwo && delwr < l.limitone) {
            t = {p.omega2 / first_denominator(w, wdiff, p.wtilde, p.wtilde2), delw * p.eps};
        } else if (delwr > TOL_ZERO) {
            t = {-(p.omega2 / second_denominator(w, p.wtilde)), ZERO};
        } else {
            t = {ZERO, ZERO};
        }
        if (cut_off(w, abs(t.ssx), l.sexcut * abs(p.eps))) t.ssx = ZERO;
        return t;
    }
};

// v1: one real reciprocal for each complex division.
struct Reciprocals {
    __device__ static Term term(const Pair &p, double w, const Limits &l)
    {
        const complex wdiff = wdiff_of(w, p.wtilde);
        const double wdiffr = norm(wdiff);
        const complex delw = p.wtilde * conj(wdiff) * (1.0 / wdiffr);
        const double delwr = norm(delw);
        Term t;
        if (wdiffr > l.limittwo && delwr < l.limitone) {
            t = {p.omega2 * reciprocal(first_denominator(w, wdiff, p.wtilde, p.wtilde2)), delw * p.eps};
        } else if (delwr > TOL_ZERO) {
            t = {-(p.omega2 * reciprocal(second_denominator(w, p.wtilde))), ZERO};
        } else {
            t = {ZERO, ZERO};
        }
        if (cut_off(w, abs(t.ssx), l.sexcut * abs(p.eps))) t.ssx = ZERO;
        return t;
    }
};

// v2: zero first, then a two-way branch.
__device__ inline Term uncut_term(const Pair &p, double w, const Limits &l)
{
    const complex wdiff = wdiff_of(w, p.wtilde);
    const double wdiffr = norm(wdiff);
    const complex delw = p.wtilde * conj(wdiff) * (1.0 / wdiffr);
    const double delwr = norm(delw);
    Term t = {ZERO, ZERO};
    if (wdiffr > l.limittwo && delwr < l.limitone) {
        t.ssx = p.omega2 * reciprocal(first_denominator(w, wdiff, p.wtilde, p.wtilde2));
        t.sch = delw * p.eps;
    } else if (delwr > TOL_ZERO) {
        t.ssx = -(p.omega2 * reciprocal(second_denominator(w, p.wtilde)));
    }
    return t;
}

struct TwoWay {
    __device__ static Term term(const Pair &p, double w, const Limits &l)
    {
        Term t = uncut_term(p, w, l);
        if (cut_off(w, abs(t.ssx), l.sexcut * abs(p.eps))) t.ssx = ZERO;
        return t;
    }
};

// v3: squares for absolute values.
struct Squares {
    __device__ static Term term(const Pair &p, double w, const Limits &l)
    {
        Term t = uncut_term(p, w, l);
        if (cut_off(w, norm(t.ssx), l.sexcut * l.sexcut * norm(p.eps))) t.ssx = ZERO;
        return t;
    }
};

struct Arrays {
    const double2 *__restrict__ wtilde;     // (ncouls, ngpown)
    const double2 *__restrict__ eps;        // (ncouls, ngpown)
    const double2 *__restrict__ aqsn;       // (ncouls, nbands)
    const double2 *__restrict__ aqsm_local; // (ngpown, nbands); v7, v8 (nbands, ngpown)
    const double *__restrict__ wx;          // (nw, nbands); v7, v8 (nbands, nw)
    const double *__restrict__ vcoul_loc;   // (ngpown)
    const double *__restrict__ occ;         // (nbands)
    unsigned nbands, ngpown, ncouls, nw, iw;
    Limits limits;

    __device__ Pair pair(unsigned ig, unsigned igp) const
    {
        Pair p;
        p.wtilde = load(wtilde, igp * ncouls + ig);
        p.eps = load(eps, igp * ncouls + ig);
        p.wtilde2 = p.wtilde * p.wtilde;
        p.omega2 = p.wtilde2 * p.eps;
        return p;
    }

    template <bool SWAPPED>
    __device__ complex m(unsigned ig, unsigned igp, unsigned n) const
    {
        const unsigned at = SWAPPED ? igp * nbands + n : n * ngpown + igp;
        return conj(load(aqsm_local, at)) * load(aqsn, n * ncouls + ig);
    }

    template <bool SWAPPED>
    __device__ double energy(unsigned e, unsigned n) const
    {
        return wx[SWAPPED ? (iw + e) * nbands + n : n * nw + iw + e];
    }
};

// What one thread has summed.
template <int NW>
struct Sums {
    complex asx[NW], ach[NW];

    __device__ Sums()
    {
#pragma unroll
        for (int e = 0; e < NW; ++e) asx[e] = ach[e] = ZERO;
    }

    __device__ void add(int e, double vcoul, double occ, const Term &t, complex m)
    {
        asx[e] = asx[e] - t.ssx * (vcoul * occ) * m;
        ach[e] = ach[e] + t.sch * (vcoul * 0.5) * m;
    }
};

// v0 to v3: n, igp and ig collapsed. A thread's position is three digits that advance with carry.
template <class T, int NW>
__device__ void collapse3(const Arrays &a, Sums<NW> &sums)
{
    const unsigned threads = gridDim.x * blockDim.x;
    unsigned index = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned ig = index % a.ncouls, igp = index / a.ncouls % a.ngpown;
    unsigned n = index / a.ncouls / a.ngpown;
    const unsigned step_ig = threads % a.ncouls, step_igp = threads / a.ncouls % a.ngpown;
    const unsigned step_n = threads / a.ncouls / a.ngpown;
    while (n < a.nbands) {
        const Pair p = a.pair(ig, igp);
        const complex m = a.m<false>(ig, igp, n);
        const double vcoul = a.vcoul_loc[igp], occ = a.occ[n];
#pragma unroll
        for (int e = 0; e < NW; ++e)
            sums.add(e, vcoul, occ, T::term(p, a.energy<false>(e, n), a.limits), m);
        ig += step_ig, igp += step_igp, n += step_n;
        if (ig >= a.ncouls) ig -= a.ncouls, ++igp;
        if (igp >= a.ngpown) igp -= a.ngpown, ++n;
    }
}

// v4, v5: igp and ig collapsed, bands in the thread.
template <class T, int NW>
__device__ void collapse2(const Arrays &a, Sums<NW> &sums)
{
    const unsigned threads = gridDim.x * blockDim.x, items = a.ngpown * a.ncouls;
    unsigned index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index >= items) return;
    while (true) {
        const unsigned igp = index / a.ncouls, ig = index % a.ncouls;
        const Pair p = a.pair(ig, igp);
        const double vcoul = a.vcoul_loc[igp];
        for (unsigned n = 0; n < a.nbands; ++n) {
            const complex m = a.m<false>(ig, igp, n);
            const double occ = a.occ[n];
#pragma unroll
            for (int e = 0; e < NW; ++e)
                sums.add(e, vcoul, occ, T::term(p, a.energy<false>(e, n), a.limits), m);
        }
        if (items - index <= threads) return;
        index += threads;
    }
}

// v6 to v8: 64 blocks of bands, igp and 128 blocks of ig collapsed.
constexpr unsigned BAND_BLOCKS = 64, IG_BLOCKS = 128;

template <class T, bool SWAPPED>
__device__ void blocked(const Arrays &a, Sums<1> &sums)
{
    const unsigned threads = gridDim.x * blockDim.x, items = BAND_BLOCKS * a.ngpown * IG_BLOCKS;
    unsigned index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index >= items) return;
    while (true) {
        const unsigned ig_block = index % IG_BLOCKS, row = index / IG_BLOCKS;
        const unsigned igp = row % a.ngpown, band_block = row / a.ngpown;
        const double vcoul = a.vcoul_loc[igp];
        for (unsigned ig = ig_block; ig < a.ncouls; ig += IG_BLOCKS) {
            const Pair p = a.pair(ig, igp);
            for (unsigned n = band_block; n < a.nbands; n += BAND_BLOCKS) {
                const complex m = a.m<SWAPPED>(ig, igp, n);
                sums.add(0, vcoul, a.occ[n], T::term(p, a.energy<SWAPPED>(0, n), a.limits), m);
            }
        }
        if (items - index <= threads) return;
        index += threads;
    }
}

// Sums one value over the block; thread 0 has it. No atomics, so that two runs give the same bits.
__device__ inline double block_sum(double x)
{
    __shared__ double warps[16];
    for (int width = 16; width > 0; width /= 2) x += __shfl_down_sync(~0u, x, width);
    __syncthreads();
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = x;
    __syncthreads();
    double sum = 0.0;
    if (threadIdx.x == 0)
        for (unsigned warp = 0; warp < blockDim.x / 32; ++warp) sum += warps[warp];
    return sum;
}

template <int NW>
__device__ void store(const Sums<NW> &sums, unsigned iw, double *__restrict__ partials)
{
#pragma unroll
    for (int e = 0; e < NW; ++e) {
        const double values[4] = {sums.asx[e].re, sums.asx[e].im, sums.ach[e].re, sums.ach[e].im};
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const double sum = block_sum(values[i]);
            if (threadIdx.x == 0) partials[((iw + e) * 4 + i) * gridDim.x + blockIdx.x] = sum;
        }
    }
}

#define KERNEL(NAME, NW, BOUNDS, CALL)                                                             \
    extern "C" __global__ void BOUNDS NAME(                                                        \
        const double2 *__restrict__ wtilde, const double2 *__restrict__ eps,                       \
        const double2 *__restrict__ aqsn, const double2 *__restrict__ aqsm_local,                  \
        const double *__restrict__ wx, const double *__restrict__ vcoul_loc,                       \
        const double *__restrict__ occ, double *__restrict__ partials, unsigned nbands,            \
        unsigned ngpown, unsigned ncouls, unsigned nw, unsigned iw, double limittwo,               \
        double limitone, double sexcut)                                                            \
    {                                                                                              \
        const Arrays a = {wtilde, eps,    aqsn,   aqsm_local, wx, vcoul_loc,                       \
                          occ,    nbands, ngpown, ncouls,     nw, iw,                              \
                          {limittwo, limitone, sexcut}};                                           \
        Sums<NW> sums;                                                                             \
        CALL(a, sums);                                                                             \
        store(sums, iw, partials);                                                                 \
    }

#define TOGETHER(VERSION, LOOPS, TERM)                                                             \
    KERNEL(gpp_##VERSION##_nw1, 1, __launch_bounds__(128), (LOOPS<TERM, 1>))                      \
    KERNEL(gpp_##VERSION##_nw2, 2, __launch_bounds__(128), (LOOPS<TERM, 2>))                      \
    KERNEL(gpp_##VERSION##_nw3, 3, __launch_bounds__(128), (LOOPS<TERM, 3>))

TOGETHER(v0, collapse3, Divisions)
TOGETHER(v1, collapse3, Reciprocals)
TOGETHER(v2, collapse3, TwoWay)
TOGETHER(v3, collapse3, Squares)
TOGETHER(v4, collapse2, Squares)
KERNEL(gpp_v5, 1, __launch_bounds__(128), (collapse2<Squares, 1>))
KERNEL(gpp_v6, 1, __launch_bounds__(128), (blocked<Squares, false>))
KERNEL(gpp_v7, 1, __launch_bounds__(128), (blocked<Squares, true>))
// At most 64 registers: two blocks on a multiprocessor.
KERNEL(gpp_v8, 1, __launch_bounds__(512, 2), (blocked<Squares, true>))

// Block `value` sums that value over all blocks of the first stage.
extern "C" __global__ void __launch_bounds__(512)
    gpp_second_stage(const double *__restrict__ partials, unsigned count, double *__restrict__ sums)
{
    const double *column = partials + size_t(blockIdx.x) * count;
    double sum = 0.0;
    for (unsigned at = threadIdx.x; at < count; at += blockDim.x) sum += column[at];
    sum = block_sum(sum);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}
