// A program that calls gpp: sums and matrices against the formula written out here, then every error, after each of which
// the handle still sums; two threads with one handle. Built as C and as C++. It prints one line at its end.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <gpp.h>

#include <fenv.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { NCOULS = 5, NGPOWN = 3, NG = 7, NBANDS = 4, NW = 3, LD = 8 };

#define CHECK(what) \
    do { \
        if (!(what)) { \
            fprintf(stderr, "line %d: %s; message: %s\n", __LINE__, #what, gpp_message()); \
            exit(1); \
        } \
    } while (0)

// Columns are LD apart; the rows behind NCOULS are no numbers, which nobody may read.
static gpp_complex wtilde[NGPOWN * LD], eps[NGPOWN * LD];
// The matrix elements of a matrix's two bands are those of either side of a sum.
static gpp_complex a[2 * NBANDS * LD], *const aqsn = a, *const aqsm = a + NBANDS * LD;
// The same, one column behind the other.
static gpp_complex wtilde_tight[NGPOWN * NCOULS], aqsm_local[NBANDS * NGPOWN];
static double vcoul[NCOULS] = {2.0, 1.5, 1.0, 0.5, 0.25};
// The G' of the last column has no row.
static int32_t inv_igp_index[NGPOWN] = {3, 1, 6};
static int32_t indinv[NG] = {2, 1, 4, 3, 5, 6, 0};
static double e[NBANDS] = {-6.0, -2.0, 1.5, 4.0}, occ[NBANDS] = {1.0, 1.0, 0.5, 0.0};
static double omega[NW] = {-1.0, 0.0, 1.0};
static gpp_complex asx_expected[NW], ach_expected[NW], static_expected[NBANDS];

static gpp_complex of(double re, double im) {
    gpp_complex z;
    z.re = re;
    z.im = im;
    return z;
}
static gpp_complex times(gpp_complex a, gpp_complex b) {
    return of(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re);
}
static double square(gpp_complex a) { return a.re * a.re + a.im * a.im; }
static gpp_complex over(gpp_complex a, gpp_complex b) {
    gpp_complex c = times(a, of(b.re, -b.im));
    return of(c.re / square(b), c.im / square(b));
}
static double any(void) {
    static unsigned state = 20260000;
    state = state * 1664525u + 1013904223u;
    return (state >> 8) / 16777216.0;
}

static void make(void) {
    for (int i = 0; i < NGPOWN * LD; i++) wtilde[i] = eps[i] = of(NAN, NAN);
    for (int i = 0; i < 2 * NBANDS * LD; i++) a[i] = of(NAN, NAN);
    for (int igp = 0; igp < NGPOWN; igp++)
        for (int ig = 0; ig < NCOULS; ig++) {
            wtilde_tight[igp * NCOULS + ig] = wtilde[igp * LD + ig] = of(5 + 10 * any(), 0.1 * any());
            eps[igp * LD + ig] = of(any(), 0.2 * any() - 0.1);
        }
    for (int n = 0; n < NBANDS; n++)
        for (int ig = 0; ig < NCOULS; ig++) {
            aqsn[n * LD + ig] = of(any() - 0.3, any() - 0.5);
            aqsm[n * LD + ig] = of(any() - 0.3, any() - 0.5);
        }
    for (int n = 0; n < NBANDS; n++)
        for (int igp = 0; igp < NGPOWN; igp++) {
            int row = indinv[inv_igp_index[igp] - 1];
            int has = row >= 1 && row <= NCOULS;
            aqsm_local[n * NGPOWN + igp] = has ? aqsm[n * LD + row - 1] : of(0, 0);
        }
}

// The formula, term by term, with BerkeleyGW's limits.
static void sum(const gpp_complex *of_ig, const gpp_complex *of_igp, gpp_complex *asx, gpp_complex *ach) {
    const double limittwo = 0.5 * 0.5, limitone = 1 / (4e-6), sexcut = 4;
    for (int iw = 0; iw < NW; iw++) {
        asx[iw] = ach[iw] = of(0, 0);
        for (int n = 0; n < NBANDS; n++)
            for (int igp = 0; igp < NGPOWN; igp++) {
                int row = indinv[inv_igp_index[igp] - 1];
                if (row < 1 || row > NCOULS) continue;
                for (int ig = 0; ig < NCOULS; ig++) {
                    gpp_complex wt = wtilde[igp * LD + ig], ep = eps[igp * LD + ig];
                    gpp_complex left = of_igp[n * LD + row - 1];
                    gpp_complex m = times(of(left.re, -left.im), of_ig[n * LD + ig]);
                    gpp_complex wt2 = times(wt, wt), ssx = of(0, 0), sch = of(0, 0);
                    double w = omega[iw] - e[n], v = vcoul[row - 1];
                    gpp_complex wdiff = of(w - wt.re, -wt.im), delw = over(wt, wdiff);
                    if (square(wdiff) > limittwo && square(delw) < limitone) {
                        sch = times(delw, ep);
                        ssx = over(times(wt2, ep), of(w * w - wt2.re, -wt2.im));
                    } else if (square(delw) > 1e-12) {
                        gpp_complex half = of(4 * (delw.re + 0.5), 4 * delw.im);
                        gpp_complex top = times(times(wt2, ep), delw), low = times(wt2, half);
                        ssx = over(of(-top.re, -top.im), low);
                    }
                    if (w < 0 && sqrt(square(ssx)) > sexcut * sqrt(square(ep))) ssx = of(0, 0);
                    gpp_complex x = times(ssx, m), c = times(sch, m);
                    asx[iw] = of(asx[iw].re - v * occ[n] * x.re, asx[iw].im - v * occ[n] * x.im);
                    ach[iw] = of(ach[iw].re + v * 0.5 * c.re, ach[iw].im + v * 0.5 * c.im);
                }
            }
    }
}

// The static CH: no pole, no energy, all bands alike.
static void static_sums(gpp_complex *sums) {
    for (int n = 0; n < NBANDS; n++) {
        gpp_complex all = of(0, 0);
        for (int igp = 0; igp < NGPOWN; igp++) {
            int row = indinv[inv_igp_index[igp] - 1];
            if (row < 1 || row > NCOULS) continue;
            for (int ig = 0; ig < NCOULS; ig++) {
                gpp_complex left = aqsm[n * LD + row - 1];
                gpp_complex m = times(of(left.re, -left.im), aqsn[n * LD + ig]);
                gpp_complex x = times(eps[igp * LD + ig], m);
                all = of(all.re - 0.5 * vcoul[row - 1] * x.re, all.im - 0.5 * vcoul[row - 1] * x.im);
            }
        }
        sums[n] = all;
    }
}

static gpp_screening screening(void) {
    gpp_screening s;
    s.ncouls = NCOULS, s.ngpown = NGPOWN, s.ng = NG;
    s.wtilde = wtilde, s.ld_wtilde = LD, s.eps = eps, s.ld_eps = LD;
    s.vcoul = vcoul, s.inv_igp_index = inv_igp_index, s.indinv = indinv, s.on_device = 0;
    return s;
}
static gpp_bands bands(void) {
    gpp_bands b;
    b.nbands = NBANDS, b.aqsn = aqsn, b.ld_aqsn = LD, b.aqsm = aqsm, b.ld_aqsm = LD;
    b.aqsm_local = 0, b.e = e, b.occ = occ, b.on_device = b.single = 0;
    return b;
}

static int near(int count, const gpp_complex *found, const gpp_complex *expected) {
    for (int iw = 0; iw < count; iw++) {
        double off = sqrt(square(of(found[iw].re - expected[iw].re, found[iw].im - expected[iw].im)));
        if (!(off <= 1e-13 * sqrt(square(expected[iw])))) return 0;
    }
    return 1;
}
static int right(gpp_handle *handle, const gpp_screening *s, const gpp_bands *b) {
    gpp_complex asx[NW], ach[NW], static_ch[NBANDS], ach_of_bands[NBANDS], sum = of(0, 0);
    for (int iw = 0; iw < NW; iw++) {
        if (gpp_sums(handle, s, b, NW, omega, NULL, asx, ach, static_ch, iw, ach_of_bands) != GPP_STATUS_OK) return 0;
        if (!near(NBANDS, static_ch, static_expected)) return 0;
        sum = of(0, 0);
        for (int n = 0; n < NBANDS; n++) sum = of(sum.re + ach_of_bands[n].re, sum.im + ach_of_bands[n].im);
        if (!near(1, &sum, &ach_expected[iw])) return 0;
    }
    gpp_complex sigma[NW], both[NW];
    if (gpp_sums(handle, s, b, NW, omega, NULL, NULL, sigma, NULL, 0, NULL) != GPP_STATUS_OK) return 0;
    for (int iw = 0; iw < NW; iw++) both[iw] = of(asx[iw].re + ach[iw].re, asx[iw].im + ach[iw].im);
    return near(NW, sigma, both) && near(NW, asx, asx_expected) && near(NW, ach, ach_expected);
}

// Beside Σ, by a version that has it.
static void derivative(gpp_handle *handle) {
    gpp_screening s = screening();
    gpp_bands b = bands();
    gpp_complex sigma[NW], alone[NW], rate[NW];
    char before[32];
    snprintf(before, sizeof before, "%s", gpp_last_version(handle));
    CHECK(gpp_set_version(handle, "v3") == GPP_STATUS_OK);
    CHECK(gpp_sums_and_derivative(handle, &s, &b, NW, omega, NULL, alone, rate) == GPP_STATUS_BAD_ARGUMENT);
    CHECK(strstr(gpp_message(), "v3: v15 and cpu:alone") != NULL);
    CHECK(gpp_set_version(handle, "best") == GPP_STATUS_OK);
    CHECK(gpp_sums(handle, &s, &b, NW, omega, NULL, NULL, sigma, NULL, 0, NULL) == GPP_STATUS_OK);
    CHECK(gpp_sums_and_derivative(handle, &s, &b, NW, omega, NULL, alone, rate) == GPP_STATUS_OK);
    CHECK(near(NW, alone, sigma));
    for (int iw = 0; iw < NW; iw++) {
        /* The slope between two energies next to it. */
        double next[2] = {omega[iw] - 1e-5, omega[iw] + 1e-5};
        gpp_complex at[2];
        CHECK(gpp_sums(handle, &s, &b, 2, next, NULL, NULL, at, NULL, 0, NULL) == GPP_STATUS_OK);
        gpp_complex off = of((at[1].re - at[0].re) / 2e-5 - rate[iw].re, (at[1].im - at[0].im) / 2e-5 - rate[iw].im);
        CHECK(sqrt(square(off)) <= 1e-6 * sqrt(square(alone[iw])));
    }
    CHECK(gpp_set_version(handle, before) == GPP_STATUS_OK);
}

// What a wrong argument gives; the handle goes on.
#define REFUSED(s, b, nw, omega, asx, ach, says) \
    do { \
        CHECK(gpp_sums(handle, s, b, nw, omega, NULL, asx, ach, NULL, 0, NULL) == GPP_STATUS_BAD_ARGUMENT); \
        CHECK(strstr(gpp_message(), says) != NULL); \
        gpp_screening s_right = screening(); \
        gpp_bands b_right = bands(); \
        CHECK(right(handle, &s_right, &b_right)); \
    } while (0)

#define WRONG_IN(kind, field, value, says) \
    do { \
        gpp_screening s = screening(); \
        gpp_bands b = bands(); \
        kind.field = value; \
        REFUSED(&s, &b, NW, omega, asx, ach, says); \
    } while (0)

static void errors(gpp_handle *handle) {
    gpp_complex asx[NW], ach[NW], untouched = of(7, 7);
    gpp_screening s = screening();
    gpp_bands b = bands();
    for (int iw = 0; iw < NW; iw++) asx[iw] = ach[iw] = untouched;
    WRONG_IN(s, ncouls, -1, "ncouls must be from 0 to 2147483647");
    WRONG_IN(s, ngpown, -3, "ngpown must be from 0 to 2147483647, found -3");
    WRONG_IN(s, ngpown, INT64_MAX, "ngpown must be");
    WRONG_IN(s, ld_wtilde, INT64_MAX, "more than memory can hold");
    WRONG_IN(s, ld_eps, NCOULS - 1, "eps must have at least 5 elements from one column to the next (ld_eps), found 4");
    WRONG_IN(s, wtilde, NULL, "wtilde is null");
    WRONG_IN(s, eps, (gpp_complex *)((char *)eps + 4), "eps is not at a multiple of 8 bytes");
    WRONG_IN(s, vcoul, NULL, "vcoul is null");
    WRONG_IN(s, indinv, (int32_t *)((char *)indinv + 1), "indinv is not at a multiple of 4 bytes");
    WRONG_IN(b, nbands, INT64_MIN, "nbands must be from 0 to 2147483647");
    WRONG_IN(b, aqsm_local, 2, "aqsm_local must be 0 or 1");
    WRONG_IN(b, e, NULL, "e is null");
    WRONG_IN(b, aqsn, NULL, "aqsn is null");
    REFUSED(NULL, &b, NW, omega, asx, ach, "screening is null");
    REFUSED(&s, NULL, NW, omega, asx, ach, "bands is null");
    REFUSED(&s, &b, 0, omega, asx, ach, "nw must be from 1 to 100000, found 0");
    REFUSED(&s, &b, 100001, omega, asx, ach, "nw must be from 1 to 100000, found 100001");
    CHECK(gpp_sums(handle, &s, &b, NW, omega, NULL, asx, ach, NULL, NW, asx) == GPP_STATUS_BAD_ARGUMENT);
    CHECK(strstr(gpp_message(), "ach_of_bands overlaps asx") != NULL);
    gpp_complex of_bands[NBANDS];
    CHECK(gpp_sums(handle, &s, &b, NW, omega, NULL, asx, ach, NULL, NW, of_bands) == GPP_STATUS_BAD_ARGUMENT);
    CHECK(strstr(gpp_message(), "iw must be from 0 to") != NULL);
    REFUSED(&s, &b, NW, NULL, asx, ach, "omega is null");
    REFUSED(&s, &b, NW, omega, asx, NULL, "ach is null");
    REFUSED(&s, &b, NW, omega, asx, asx + 1, "ach overlaps asx");
    REFUSED(&s, &b, NW, omega, asx, eps, "ach overlaps eps");
    REFUSED(&s, &b, NW, (double *)ach, asx, ach, "ach overlaps omega");
    // Numbers that are none, and indices that point nowhere.
    double none = NAN, kept = e[1];
#define WRONG_NUMBER(place, wrong, says) \
    do { \
        kept = place; \
        place = wrong; \
        CHECK(gpp_sums(handle, &s, &b, NW, omega, NULL, asx, ach, NULL, 0, NULL) == GPP_STATUS_BAD_ARGUMENT); \
        CHECK(strstr(gpp_message(), says) != NULL); \
        place = kept; \
        CHECK(right(handle, &s, &b)); \
    } while (0)
    WRONG_NUMBER(e[1], none, "e(1) is NaN");
    WRONG_NUMBER(omega[2], INFINITY, "omega(2) is inf");
    WRONG_NUMBER(occ[0], 1.5, "occ(0) is 1.5");
    WRONG_NUMBER(vcoul[1], none, "vcoul(1) is NaN");
    WRONG_NUMBER(wtilde[LD + 2].re, none, "wtilde(ig,igp) is NaN");
    WRONG_NUMBER(eps[LD].im, none, "eps(ig,igp) is");
    WRONG_NUMBER(aqsn[3 * LD + 1].re, none, "aqsn(ig,n) is NaN");
    WRONG_NUMBER(aqsm[1].re, none, "aqsm(ig,n) is NaN");
    WRONG_NUMBER(inv_igp_index[1], 8, "inv_igp_index(1) = 8");
    gpp_formula formula;
    memset(&formula, 0, sizeof formula);
    CHECK(gpp_sums(handle, &s, &b, NW, omega, &formula, asx, ach, NULL, 0, NULL) == GPP_STATUS_BAD_ARGUMENT);
    CHECK(strstr(gpp_message(), "formula.kind") != NULL && strstr(gpp_message(), "found 0") != NULL);
    formula.kind = GPP_FORMULA_TIME_ORDERED;
    formula.eta = -1;
    CHECK(gpp_sums(handle, &s, &b, NW, omega, &formula, asx, ach, NULL, 0, NULL) == GPP_STATUS_BAD_ARGUMENT);
    CHECK(strstr(gpp_message(), "eta is -1.0;") != NULL);
    formula.kind = GPP_FORMULA_BERKELEYGW;
    formula.gamma = none, formula.sexcut = 4;
    CHECK(gpp_sums(handle, &s, &b, NW, omega, &formula, asx, ach, NULL, 0, NULL) == GPP_STATUS_BAD_ARGUMENT);
    CHECK(strstr(gpp_message(), "gamma") != NULL);
    formula.gamma = -0.5;
    CHECK(gpp_sums(handle, &s, &b, NW, omega, &formula, asx, ach, NULL, 0, NULL) == GPP_STATUS_BAD_ARGUMENT);
    CHECK(strstr(gpp_message(), "gamma is -0.5; it must be finite and not negative") != NULL);
    WRONG_NUMBER(occ[0], 1e308, "occ(0) is 1e308;");
    // Without a cutoff, and with one that no term reaches.
    gpp_complex uncut[2][NW], ignored[NW];
    for (int i = 0; i < 2; i++) {
        formula.gamma = 0.5, formula.sexcut = i ? INFINITY : 1e30;
        CHECK(gpp_sums(handle, &s, &b, NW, omega, &formula, uncut[i], ignored, NULL, 0, NULL) == GPP_STATUS_OK);
    }
    CHECK(memcmp(uncut[0], uncut[1], sizeof *uncut) == 0);
    // The time-ordered formula without a broadening is BerkeleyGW's that has no near form and no cutoff.
    formula.gamma = 1e-9;
    CHECK(gpp_sums(handle, &s, &b, NW, omega, &formula, uncut[0], ignored, NULL, 0, NULL) == GPP_STATUS_OK);
    formula.kind = GPP_FORMULA_TIME_ORDERED;
    for (int i = 0; i < 2; i++) {
        formula.eta = 0.1 * i;
        CHECK(gpp_sums(handle, &s, &b, NW, omega, &formula, uncut[1], ignored, NULL, 0, NULL) == GPP_STATUS_OK);
        double difference = fabs(uncut[1]->re - uncut[0]->re) + fabs(uncut[1]->im - uncut[0]->im);
        double size = fabs(uncut[0]->re) + fabs(uncut[0]->im);
        CHECK(i ? difference > 1e-6 * size : difference <= 1e-12 * size);
    }
    // A window is of real poles without a broadening.
    formula.window = 0.1;
    for (int i = 0; i < 2; i++) {
        formula.eta = 0.1 * i;
        CHECK(gpp_sums(handle, &s, &b, NW, omega, &formula, asx, ach, NULL, 0, NULL) == GPP_STATUS_BAD_ARGUMENT);
        CHECK(strstr(gpp_message(), i ? "needs the time-ordered formula with eta 0" : "needs real poles") != NULL);
    }
    // A failure writes nothing.
    for (int iw = 0; iw < NW; iw++) CHECK(asx[iw].re == 7 && ach[iw].im == 7);
    // The sums of no columns are zero, and their arrays may be nowhere.
    gpp_screening empty = s;
    empty.ngpown = 0, empty.wtilde = NULL, empty.eps = NULL, empty.inv_igp_index = NULL;
    CHECK(gpp_sums(handle, &empty, &b, NW, omega, NULL, asx, ach, NULL, 0, NULL) == GPP_STATUS_OK);
    for (int iw = 0; iw < NW; iw++) CHECK(asx[iw].re == 0 && ach[iw].im == 0);
}

static void handles(gpp_handle *handle) {
    gpp_screening s = screening();
    gpp_bands b = bands();
    gpp_complex asx[NW], ach[NW];
    gpp_handle *other = handle;
    CHECK(gpp_open("cpi", &other) == GPP_STATUS_BAD_ARGUMENT && other == NULL);
    CHECK(strstr(gpp_message(), "did you mean `cpu`?") != NULL);
    CHECK(gpp_open(NULL, &other) == GPP_STATUS_BAD_ARGUMENT && other == NULL);
    CHECK(gpp_open("cpu", NULL) == GPP_STATUS_BAD_ARGUMENT);
    // Of a header of another version, whose structures may be others; and of another patch.
    for (int by = -100; by <= 100; by += 200) {
        other = handle;
        CHECK(gpp_open_version("cpu", GPP_VERSION + by, 0, &other) == GPP_STATUS_BAD_ARGUMENT && other == NULL);
        CHECK(strstr(gpp_message(), "was compiled for gpp 0.") != NULL);
    }
    CHECK(gpp_open_version("cpu", GPP_VERSION / 100 * 100 + 99, 0, &other) == GPP_STATUS_OK);
    CHECK(gpp_close(other) == GPP_STATUS_OK);
    feclearexcept(FE_ALL_EXCEPT);
    CHECK((gpp_open)("cpu", &other) == GPP_STATUS_OK && fetestexcept(FE_ALL_EXCEPT) == 0);
    CHECK(gpp_close(other) == GPP_STATUS_OK && gpp_version_number() == GPP_VERSION);
    CHECK(gpp_open_version("cpu", GPP_VERSION, 2, &other) == GPP_STATUS_BAD_ARGUMENT && other == NULL);
    CHECK(gpp_open("\xff\xfe", &other) == GPP_STATUS_BAD_ARGUMENT);
    CHECK(gpp_open("gpu:77", &other) == GPP_STATUS_NO_DEVICE && other == NULL);
    CHECK(strstr(gpp_message(), "no GPU to run on") != NULL);
    CHECK(gpp_open("cpu", &other) == GPP_STATUS_OK && other != handle);
    CHECK(right(other, &s, &b));
    CHECK(gpp_close(other) == GPP_STATUS_OK);
    gpp_handle *bad[] = {NULL, other, (gpp_handle *)1, (gpp_handle *)(uintptr_t)&s};
    for (int i = 0; i < 4; i++) {
        CHECK(gpp_sums(bad[i], &s, &b, NW, omega, NULL, asx, ach, NULL, 0, NULL) == GPP_STATUS_BAD_ARGUMENT);
        CHECK(strstr(gpp_message(), i == 0 ? "handle is null" : "handle is not open") != NULL);
        CHECK(gpp_set_version(bad[i], "v3") == GPP_STATUS_BAD_ARGUMENT);
        CHECK(gpp_set_threads(bad[i], 1) == GPP_STATUS_BAD_ARGUMENT && gpp_threads(bad[i]) == 0);
        CHECK(gpp_close(bad[i]) == (i == 0 ? GPP_STATUS_OK : GPP_STATUS_BAD_ARGUMENT));
        CHECK(*gpp_device_name(bad[i]) == 0 && *gpp_last_version(bad[i]) == 0);
    }
}

// Sums have the same bits on any number of threads; two handles have numbers of their own.
static void counts(gpp_handle *handle) {
    gpp_screening s = screening();
    gpp_bands b = bands();
    gpp_complex asx[2][NW], ach[2][NW];
    const char *asked = getenv("OMP_NUM_THREADS");
    int32_t by_default = gpp_threads(handle);
    CHECK(by_default >= 1 && (!asked || by_default == atoi(asked)));
    CHECK(gpp_sums(handle, &s, &b, NW, omega, NULL, asx[0], ach[0], NULL, 0, NULL) == GPP_STATUS_OK);
    gpp_handle *other = NULL;
    CHECK(gpp_open("cpu", &other) == GPP_STATUS_OK && gpp_set_threads(other, 7) == GPP_STATUS_OK);
    for (int32_t threads = 1; threads <= 3; threads++) {
        CHECK(gpp_set_threads(handle, threads) == GPP_STATUS_OK && gpp_threads(handle) == threads);
        CHECK(gpp_sums(handle, &s, &b, NW, omega, NULL, asx[1], ach[1], NULL, 0, NULL) == GPP_STATUS_OK);
        CHECK(memcmp(asx[0], asx[1], sizeof *asx) == 0 && memcmp(ach[0], ach[1], sizeof *ach) == 0);
    }
    CHECK(gpp_threads(other) == 7 && right(other, &s, &b) && gpp_close(other) == GPP_STATUS_OK);
    int32_t wrong[] = {-1, 65536, INT32_MIN, INT32_MAX};
    for (int i = 0; i < 4; i++) {
        CHECK(gpp_set_threads(handle, wrong[i]) == GPP_STATUS_BAD_ARGUMENT);
        CHECK(strstr(gpp_message(), "threads must be from 0 to 65535, found") != NULL);
        CHECK(gpp_threads(handle) == 3);
    }
    CHECK(gpp_set_threads(handle, 0) == GPP_STATUS_OK && gpp_threads(handle) == by_default);
}

static int32_t told(double part, void *context) {
    double *last = (double *)context;
    // After 1 another call begins.
    CHECK(part >= 0 && part <= 1 && (part >= *last || *last == 1));
    *last = part;
    return 0;
}
static int32_t within(double part, void *context) {
    (void)part;
    gpp_handle *handle = (gpp_handle *)context;
    CHECK(gpp_release(handle) == GPP_STATUS_BAD_ARGUMENT && strstr(gpp_message(), "within a call of the handle"));
    CHECK(gpp_close(handle) == GPP_STATUS_BAD_ARGUMENT && strstr(gpp_message(), "within a call of the handle"));
    CHECK(gpp_threads(handle) == 0 && *gpp_device_name(handle) == 0 && gpp_last_seconds(handle) == 0);
    return 0;
}
static int32_t stop(double part, void *context) {
    (void)part, (void)context;
    return 9;
}

// A screening in place, memory, and who is told.
static void places(gpp_handle *handle) {
    gpp_screening s = screening();
    gpp_bands b = bands();
    gpp_complex asx[NW], ach[NW];
    CHECK(gpp_sums(handle, NULL, &b, NW, omega, NULL, asx, ach, NULL, 0, NULL) == GPP_STATUS_BAD_ARGUMENT);
    CHECK(strcmp(gpp_message(), "screening is null, and none is placed") == 0);
    CHECK(gpp_place(handle, NULL) == GPP_STATUS_BAD_ARGUMENT);
    for (int i = 0; i < 3; i++) {
        // With gaps, which are copied; without, as they are; and one that fails leaves the other.
        s.wtilde = i == 1 ? wtilde_tight : wtilde, s.ld_wtilde = i == 1 ? NCOULS : LD;
        CHECK(gpp_place(handle, &s) == GPP_STATUS_OK);
        CHECK(right(handle, NULL, &b) && right(handle, NULL, &b));
        s.ngpown = -1;
        CHECK(gpp_place(handle, &s) == GPP_STATUS_BAD_ARGUMENT);
        s.ngpown = NGPOWN;
        CHECK(right(handle, NULL, &b) && right(handle, &s, &b));
    }
    CHECK(gpp_last_seconds(handle) > 0);
    CHECK(gpp_release(handle) == GPP_STATUS_OK && gpp_release(handle) == GPP_STATUS_OK);
    CHECK(gpp_sums(handle, NULL, &b, NW, omega, NULL, asx, ach, NULL, 0, NULL) == GPP_STATUS_BAD_ARGUMENT);
    // What is the host's is none of a GPU's.
    s.on_device = 1;
    CHECK(gpp_sums(handle, &s, &b, NW, omega, NULL, asx, ach, NULL, 0, NULL) == GPP_STATUS_BAD_ARGUMENT);
    CHECK(strstr(gpp_message(), "wtilde") != NULL);
    s.on_device = 0;
    double last = 0;
    CHECK(gpp_set_progress(handle, told, &last) == GPP_STATUS_OK && right(handle, &s, &b));
    CHECK(gpp_set_progress(handle, within, handle) == GPP_STATUS_OK && right(handle, &s, &b));
    CHECK(gpp_last_call_seconds(handle) > gpp_last_seconds(handle));
    CHECK(gpp_set_progress(handle, stop, NULL) == GPP_STATUS_OK);
    CHECK(gpp_sums(handle, &s, &b, NW, omega, NULL, asx, ach, NULL, 0, NULL) == GPP_STATUS_STOPPED);
    CHECK(gpp_set_progress(handle, NULL, NULL) == GPP_STATUS_OK && right(handle, &s, &b));
    CHECK(gpp_set_stream(handle, NULL) == GPP_STATUS_OK);
}

// Two states in one call, each with its own elements, bands and number of energies: the bits of single calls.
static void states(gpp_handle *handle) {
    gpp_complex asx[2 * NW], ach[2 * NW], single[2][NW], untouched = of(7, 7);
    double nothing = NAN;
    gpp_screening s = screening();
    gpp_state two[2];
    two[0].bands = two[1].bands = bands();
    two[0].nw = NW, two[0].omega = omega, two[0].asx = asx, two[0].ach = ach;
    two[1].nw = NW - 1, two[1].omega = omega + 1, two[1].asx = asx + NW, two[1].ach = ach + NW;
    two[1].bands.aqsn = aqsm, two[1].bands.nbands = NBANDS - 1;
    two[0].derivative = two[1].derivative = NULL;
    char before[32];
    snprintf(before, sizeof before, "%s", gpp_last_version(handle));
    CHECK(gpp_sums_of_states(handle, 2, two, NULL) == GPP_STATUS_BAD_ARGUMENT);
    CHECK(strcmp(gpp_message(), "no screening is placed") == 0);
    CHECK(gpp_place(handle, &s) == GPP_STATUS_OK);
    for (int alone = 0; alone < 2; alone++) {
        CHECK(gpp_sums_of_states(handle, 2, two, NULL) == GPP_STATUS_OK && gpp_last_seconds(handle) > 0);
        for (int i = 0; i < 2; i++) {
            size_t bytes = (size_t)two[i].nw * sizeof(gpp_complex);
            gpp_complex *to = alone ? NULL : single[0];
            CHECK(gpp_sums(handle, NULL, &two[i].bands, two[i].nw, two[i].omega, NULL, to, single[1], NULL, 0, NULL) ==
                  GPP_STATUS_OK);
            CHECK(memcmp(single[1], two[i].ach, bytes) == 0);
            CHECK(alone || memcmp(single[0], two[i].asx, bytes) == 0);
        }
        two[0].asx = NULL;
        CHECK(gpp_sums_of_states(handle, 2, two, NULL) == (alone ? GPP_STATUS_OK : GPP_STATUS_BAD_ARGUMENT));
        CHECK(strstr(gpp_message(), "state 1: asx is null for some states"));
        two[1].asx = NULL;
    }
    // In single precision, the second state; and the derivative, of all or of none, without the parts.
    float floats[2 * NBANDS * LD];
    gpp_complex same[NBANDS * LD], rates[2 * NW];
    for (int i = 0; i < NBANDS * LD; i++) {
        floats[2 * i] = (float)aqsm[i].re, floats[2 * i + 1] = (float)aqsm[i].im;
        same[i] = of(floats[2 * i], floats[2 * i + 1]);
    }
    two[0].derivative = rates;
    CHECK(gpp_sums_of_states(handle, 2, two, NULL) == GPP_STATUS_BAD_ARGUMENT);
    CHECK(strstr(gpp_message(), "state 1: derivative is null for some states"));
    two[1].derivative = rates + NW, two[1].bands.aqsn = two[1].bands.aqsm = floats, two[1].bands.single = 1;
    CHECK(gpp_set_version(handle, "best") == GPP_STATUS_OK);
    CHECK(gpp_sums_of_states(handle, 2, two, NULL) == GPP_STATUS_OK);
    gpp_bands b = two[1].bands;
    b.aqsn = b.aqsm = same, b.single = 0;
    CHECK(gpp_sums_and_derivative(handle, NULL, &b, NW - 1, omega + 1, NULL, single[0], single[1]) == GPP_STATUS_OK);
    CHECK(memcmp(single[0], ach + NW, (NW - 1) * sizeof(gpp_complex)) == 0);
    CHECK(memcmp(single[1], rates + NW, (NW - 1) * sizeof(gpp_complex)) == 0);
    two[1].bands.on_device = 1;
    CHECK(gpp_sums_of_states(handle, 2, two, NULL) == GPP_STATUS_BAD_ARGUMENT);
    CHECK(strstr(gpp_message(), "state 1: single must be 0 for matrices on a GPU"));
    two[1].bands.on_device = 0, two[0].asx = asx, two[1].asx = asx + NW;
    CHECK(gpp_sums_of_states(handle, 2, two, NULL) == GPP_STATUS_BAD_ARGUMENT);
    CHECK(strstr(gpp_message(), "state 0: derivative needs a null asx"));
    two[0].asx = two[1].asx = two[0].derivative = two[1].derivative = NULL;
    CHECK(gpp_set_version(handle, before) == GPP_STATUS_OK);
    ach[0] = ach[NW] = untouched;
    two[1].omega = &nothing, two[1].nw = 1;
    CHECK(gpp_sums_of_states(handle, 2, two, NULL) == GPP_STATUS_BAD_ARGUMENT);
    CHECK(strstr(gpp_message(), "state 1: the caller's arrays: omega(0) is NaN"));
    two[1].ach = ach + 1;
    CHECK(gpp_sums_of_states(handle, 2, two, NULL) == GPP_STATUS_BAD_ARGUMENT);
    CHECK(strstr(gpp_message(), "state 1: ach overlaps ach"));
    CHECK(ach[0].re == 7 && ach[NW].re == 7);
    CHECK(gpp_sums_of_states(handle, 0, NULL, NULL) == GPP_STATUS_OK);
    CHECK(gpp_sums_of_states(handle, 1, NULL, NULL) == GPP_STATUS_BAD_ARGUMENT);
    CHECK(gpp_release(handle) == GPP_STATUS_OK);
}

// Single precision: the sum of both parts within the bound, by a call and by one for states; and what it refuses.
static void single(gpp_handle *handle) {
    gpp_complex asx[NW], ach[NW], sigma[2][NW], sx[2 * 2 * NW];
    gpp_screening s = screening();
    gpp_bands b = bands();
    char before[32] = {0};
    strncpy(before, gpp_last_version(handle), sizeof before - 1);
    CHECK(gpp_set_version(handle, "best") == GPP_STATUS_OK);
    CHECK(gpp_sums(handle, &s, &b, NW, omega, NULL, asx, ach, NULL, 0, NULL) == GPP_STATUS_OK);
    CHECK(gpp_last_error_bound(handle) == 0 && gpp_last_error_found(handle) == 0);
    CHECK(gpp_set_precision(handle, 0, 1e-7) == GPP_STATUS_BAD_ARGUMENT && strstr(gpp_message(), "found 0"));
    CHECK(gpp_set_precision(handle, GPP_PRECISION_SINGLE, NAN) == GPP_STATUS_BAD_ARGUMENT);
    CHECK(strstr(gpp_message(), "tolerance") && right(handle, &s, &b));
    CHECK(gpp_set_precision(handle, GPP_PRECISION_SINGLE, 1e-6) == GPP_STATUS_OK);
    gpp_state one = {.bands = b, .nw = NW, .omega = omega, .asx = NULL, .ach = sigma[1]};
    CHECK(gpp_place(handle, &s) == GPP_STATUS_OK);
    for (int i = 0; i < 2; i++) {
        CHECK((i ? gpp_sums_of_states(handle, 1, &one, NULL)
                 : gpp_sums(handle, &s, &b, NW, omega, NULL, NULL, sigma[0], NULL, 0, NULL)) == GPP_STATUS_OK);
        double bound = gpp_last_error_bound(handle), most = 0, all = 0;
        for (int iw = 0; iw < NW; iw++) {
            gpp_complex off = of(sigma[i][iw].re - asx[iw].re - ach[iw].re, sigma[i][iw].im - asx[iw].im - ach[iw].im);
            CHECK(square(off) <= bound * bound);
            most = fmax(most, square(off)), all = fmax(all, square(ach[iw]));
        }
        CHECK(gpp_last_error_found(handle) > 0 && gpp_last_error_found(handle) <= bound);
        // Not those of double, and a bound that says something.
        CHECK(most > 0 && bound > 0 && bound * bound < 1e-8 * all);
        CHECK(strstr(gpp_last_version(handle), "cpu:single") || *gpp_last_version(handle) == 's');
    }
    CHECK(gpp_release(handle) == GPP_STATUS_OK);
    CHECK(gpp_sums(handle, &s, &b, NW, omega, NULL, asx, ach, NULL, 0, NULL) == GPP_STATUS_BAD_ARGUMENT);
    CHECK(strstr(gpp_message(), "single sums \xce\xa3 alone"));
    gpp_matrix_bands of_two = {.bands = 2, .nbands = NBANDS, .a = a, .ld_a = LD, .e = e, .occ = occ};
    CHECK(gpp_matrix(handle, &s, &of_two, NW, omega, NULL, NULL, sx) == GPP_STATUS_BAD_ARGUMENT);
    CHECK(strstr(gpp_message(), "a matrix is summed in double"));
    CHECK(gpp_set_precision(handle, GPP_PRECISION_DOUBLE, 1e-7) == GPP_STATUS_OK && right(handle, &s, &b));
    CHECK(gpp_last_error_bound(handle) == 0 && gpp_set_version(handle, before) == GPP_STATUS_OK);
}

enum { SIZE = 2 * 2 * NW };
static gpp_matrix_bands two_bands(void) {
    gpp_matrix_bands b;
    b.bands = 2, b.nbands = NBANDS, b.a = a, b.ld_a = LD, b.e = e, b.occ = occ, b.on_device = b.at_bands = 0;
    return b;
}
static int right_matrix(gpp_handle *handle, const gpp_screening *s, const gpp_matrix_bands *b) {
    gpp_complex sx[SIZE], ch[SIZE], sigma[SIZE], expected[2][NW];
    if (gpp_matrix(handle, s, b, NW, omega, NULL, sx, ch) != GPP_STATUS_OK) return 0;
    // Without sx, their sum.
    if (gpp_matrix(handle, s, b, NW, omega, NULL, NULL, sigma) != GPP_STATUS_OK) return 0;
    for (int i = 0; i < SIZE; i++) {
        gpp_complex wrong = of(sigma[i].re - sx[i].re - ch[i].re, sigma[i].im - sx[i].im - ch[i].im);
        if (!(square(wrong) <= 1e-24 * (square(sx[i]) + square(ch[i])))) return 0;
    }
    for (int l = 0; l < 2; l++)
        for (int m = 0; m < 2; m++) {
            sum(a + l * NBANDS * LD, a + m * NBANDS * LD, expected[0], expected[1]);
            for (int iw = 0; iw < NW; iw++)
                for (int part = 0; part < 2; part++) {
                    gpp_complex z = (part ? ch : sx)[l + 2 * (m + 2 * iw)], x = expected[part][iw];
                    if (!(square(of(z.re - x.re, z.im - x.im)) <= 1e-24 * square(x))) return 0;
                }
        }
    return 1;
}

#define REFUSED_MATRIX(s, b, nw, omega, sx, ch, says) \
    do { \
        CHECK(gpp_matrix(handle, s, b, nw, omega, NULL, sx, ch) == GPP_STATUS_BAD_ARGUMENT); \
        CHECK(strstr(gpp_message(), says) != NULL); \
        gpp_screening s_right = screening(); \
        gpp_matrix_bands b_right = two_bands(); \
        CHECK(right_matrix(handle, &s_right, &b_right)); \
    } while (0)
#define WRONG_IN_MATRIX(field, value, says) \
    do { \
        gpp_matrix_bands b_wrong = two_bands(); \
        b_wrong.field = value; \
        REFUSED_MATRIX(&s, &b_wrong, NW, omega, sx, ch, says); \
    } while (0)

static void matrices(gpp_handle *handle, int on_cpu) {
    gpp_screening s = screening();
    gpp_matrix_bands b = two_bands();
    gpp_complex sx[SIZE], ch[SIZE], tight[2 * NBANDS * NCOULS];
    for (int i = 0; i < SIZE; i++) sx[i] = ch[i] = of(7, 7);
    CHECK(right_matrix(handle, &s, &b));
    CHECK(gpp_last_seconds(handle) > 0 && *gpp_last_version(handle));
    CHECK(!on_cpu || strcmp(gpp_last_version(handle), "cpu") == 0);
    for (int i = 0; i < 2 * NBANDS * NCOULS; i++) tight[i] = a[i / NCOULS * LD + i % NCOULS];
    b.a = tight, b.ld_a = NCOULS;
    CHECK(right_matrix(handle, &s, &b));
    CHECK(gpp_matrix(handle, NULL, &b, NW, omega, NULL, sx, ch) == GPP_STATUS_BAD_ARGUMENT);
    CHECK(gpp_place(handle, &s) == GPP_STATUS_OK && right_matrix(handle, NULL, &b));
    CHECK(gpp_release(handle) == GPP_STATUS_OK);

    // Rows at the energies of their bands, then columns; the room for more is not touched.
    gpp_complex at_each[2][SIZE], at_own[2][SIZE];
    double own[2] = {omega[2], omega[0]};
    for (int i = 0; i < SIZE; i++) at_own[0][i] = at_own[1][i] = of(7, 7);
    CHECK(gpp_matrix(handle, &s, &b, 2, own, NULL, at_each[0], at_each[1]) == GPP_STATUS_OK);
    b.at_bands = 1;
    CHECK(gpp_matrix(handle, &s, &b, 2, own, NULL, at_own[0], at_own[1]) == GPP_STATUS_OK);
    for (int part = 0; part < 2; part++)
        for (int i = 0; i < SIZE; i++) {
            int l = i % 2, m = i / 2 % 2, plane = i / 4;
            gpp_complex x = plane < 2 ? at_each[part][l + 2 * (m + 2 * (plane ? m : l))] : of(7, 7);
            CHECK(memcmp(&at_own[part][i], &x, sizeof x) == 0);
        }
    REFUSED_MATRIX(&s, &b, NW, omega, sx, ch, "omega: at_bands needs an energy for each of 2 bands");
    b.at_bands = 0;

    WRONG_IN_MATRIX(bands, 0, "bands must be from 1 to 8192, found 0");
    WRONG_IN_MATRIX(bands, 8193, "bands must be from 1 to 8192");
    WRONG_IN_MATRIX(nbands, INT64_MAX, "nbands must be from 0 to 2147483647");
    WRONG_IN_MATRIX(a, NULL, "a is null");
    WRONG_IN_MATRIX(a, (gpp_complex *)((char *)a + 4), "a is not at a multiple of 8 bytes");
    WRONG_IN_MATRIX(ld_a, NCOULS - 1, "a must have at least 5 elements from one column to the next (ld_a)");
    WRONG_IN_MATRIX(ld_a, INT64_MAX, "more than memory can hold");
    WRONG_IN_MATRIX(e, NULL, "e is null");
    WRONG_IN_MATRIX(on_device, 2, "bands.on_device must be 0 or 1");
    WRONG_IN_MATRIX(at_bands, -1, "bands.at_bands must be 0 or 1");
    // What is the host's is none of a GPU's.
    WRONG_IN_MATRIX(on_device, 1, "a: is ");
    REFUSED_MATRIX(&s, NULL, NW, omega, sx, ch, "bands is null");
    REFUSED_MATRIX(&s, &b, 0, omega, sx, ch, "nw must be from 1 to 100000");
    REFUSED_MATRIX(&s, &b, NW, omega, sx, NULL, "ch is null");
    REFUSED_MATRIX(&s, &b, NW, omega, sx, sx + SIZE - 1, "ch overlaps sx");
    REFUSED_MATRIX(&s, &b, NW, omega, tight, ch, "sx overlaps a");
    gpp_complex kept = tight[0];
    for (int i = 0; i < 3; i++) {
        double wrong[] = {NAN, INFINITY, 1e51};
        // Of the last column; the first is band 1's.
        int at = i == 0 ? 0 : 2 * NBANDS * NCOULS - 1;
        kept = tight[at];
        tight[at].im = wrong[i];
        CHECK(gpp_matrix(handle, &s, &b, NW, omega, NULL, sx, ch) == GPP_STATUS_BAD_ARGUMENT);
        CHECK(strstr(gpp_message(), i == 0 ? "a(ig,n,l) is " : "at (4,3,1)") != NULL);
        tight[at] = kept;
        CHECK(right_matrix(handle, &s, &b));
    }
    double last = 0;
    CHECK(gpp_set_progress(handle, told, &last) == GPP_STATUS_OK && right_matrix(handle, &s, &b) && last == 1);
    CHECK(gpp_set_progress(handle, stop, NULL) == GPP_STATUS_OK);
    CHECK(gpp_matrix(handle, &s, &b, NW, omega, NULL, sx, ch) == GPP_STATUS_STOPPED);
    CHECK(gpp_set_progress(handle, NULL, NULL) == GPP_STATUS_OK);
    // A failure writes nothing.
    for (int i = 0; i < SIZE; i++) CHECK(sx[i].re == 7 && ch[i].im == 7);
}

// A copy that the system has no room for is an error, and the handle goes on.
static void no_room(gpp_handle *handle) {
    enum { ROWS = 8191, COLUMNS = 4096 };
    gpp_screening s = screening();
    gpp_complex *large = (gpp_complex *)calloc((size_t)(ROWS + 1) * COLUMNS, sizeof *large);
    int32_t *indices = (int32_t *)calloc(COLUMNS, sizeof *indices);
    double *numbers = (double *)calloc(ROWS, sizeof *numbers);
    for (int i = 0; i < COLUMNS; i++) indices[i] = 1;
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(large && indices && numbers && file && fscanf(file, "%ld", &pages) == 1 && fclose(file) == 0);
    struct rlimit before, less;
    CHECK(getrlimit(RLIMIT_AS, &before) == 0);
    less = before;
    less.rlim_cur = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + (256 << 20);
    s.ncouls = ROWS, s.ngpown = COLUMNS, s.ng = COLUMNS, s.wtilde = s.eps = large, s.ld_wtilde = s.ld_eps = ROWS + 1;
    s.vcoul = numbers, s.inv_igp_index = s.indinv = indices;
    CHECK(setrlimit(RLIMIT_AS, &less) == 0);
    gpp_status status = gpp_place(handle, &s);
    CHECK(setrlimit(RLIMIT_AS, &before) == 0);
    CHECK(status == GPP_STATUS_MEMORY);
    CHECK(strstr(gpp_message(), "not enough host memory for wtilde: 511.9 MiB needed") == gpp_message());
    free(large), free(indices), free(numbers);
    s = screening();
    gpp_bands b = bands();
    CHECK(right(handle, &s, &b));
}

static void *turns(void *handle) {
    gpp_screening s = screening();
    gpp_bands b = bands();
    for (int i = 0; i < 10; i++) {
        CHECK(right((gpp_handle *)handle, &s, &b));
        CHECK(gpp_sums((gpp_handle *)handle, &s, NULL, NW, omega, NULL, NULL, NULL, NULL, 0, NULL) != GPP_STATUS_OK);
        CHECK(strcmp(gpp_message(), "bands is null") == 0);
    }
    return NULL;
}

// The device is "cpu" if none is named. A second argument has memory limited, which valgrind does not stand.
int main(int count, char **arguments) {
    const char *device = count > 1 ? arguments[1] : "cpu";
    int on_cpu = strcmp(device, "cpu") == 0;
    struct sigaction before[NSIG], after;
    cpu_set_t cores, cores_after;
    for (int i = 1; i < NSIG; i++) sigaction(i, NULL, &before[i]);
    sched_getaffinity(0, sizeof cores, &cores);
    make();
    sum(aqsn, aqsm, asx_expected, ach_expected);
    static_sums(static_expected);
    CHECK(strcmp(gpp_version(), GPP_EXPECTED_VERSION) == 0);
    char version[32];
    int minor = GPP_VERSION / 100 % 100;
    snprintf(version, sizeof version, "%d.%d.%d", GPP_VERSION / 10000, minor, GPP_VERSION % 100);
    CHECK(strcmp(gpp_version(), version) == 0);
    CHECK(*gpp_message() == 0);

    gpp_handle *handle = NULL;
    CHECK(gpp_open(device, &handle) == GPP_STATUS_OK);
    CHECK(*gpp_device_name(handle) && !*gpp_last_version(handle) && !*gpp_message());
    const char *versions[] = {"best", "v3", "v13", "cpu:threads", "sigma:cells"};
    for (int i = 0; i < (on_cpu ? 5 : 3); i++) {
        CHECK(gpp_set_version(handle, versions[i]) == GPP_STATUS_OK);
        gpp_screening s = screening();
        gpp_bands b = bands();
        CHECK(right(handle, &s, &b));
        if (i > 0) CHECK(strcmp(gpp_last_version(handle), versions[i]) == 0);
        s.wtilde = wtilde_tight, s.ld_wtilde = NCOULS;
        b.aqsm = aqsm_local, b.ld_aqsm = NGPOWN, b.aqsm_local = 1;
        CHECK(right(handle, &s, &b));
    }
    CHECK(gpp_set_version(handle, "v99") == GPP_STATUS_BAD_ARGUMENT);
    CHECK(strstr(gpp_message(), "unknown version `v99`") != NULL);
    CHECK(gpp_set_version(handle, NULL) == GPP_STATUS_BAD_ARGUMENT);
    errors(handle);
    CHECK(strcmp(gpp_last_version(handle), on_cpu ? "sigma:cells" : "v13") == 0);
    CHECK(on_cpu || gpp_set_version(handle, "cpu:threads") == GPP_STATUS_BAD_ARGUMENT);
    places(handle);
    states(handle);
    single(handle);
    derivative(handle);
    matrices(handle, on_cpu);
    handles(handle);
    counts(handle);
    if (count > 2) no_room(handle);
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) CHECK(pthread_create(&threads[i], NULL, turns, handle) == 0);
    for (int i = 0; i < 2; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK(gpp_close(handle) == GPP_STATUS_OK);

    // Signals and cores of this thread are as they were.
    for (int i = 1; i < NSIG; i++)
        CHECK(sigaction(i, NULL, &after) != 0 || after.sa_handler == before[i].sa_handler);
    sched_getaffinity(0, sizeof cores_after, &cores_after);
    CHECK(CPU_EQUAL(&cores, &cores_after));
    puts("gpp.c: all as expected");
    return 0;
}
