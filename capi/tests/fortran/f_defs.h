! What examples/berkeleygw uses of BerkeleyGW's header.
#ifdef CPLX
#define SCALAR complex(DPC)
#define SCALARIFY(x) (x)
#else
#define SCALAR real(DP)
#define SCALARIFY(x) real(x, kind=DP)
#endif
