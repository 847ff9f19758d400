/* blas.cuh - cuBLAS, loaded when a device is opened.
 *
 * DESIGN. Linked in the usual way it costs every start of the program half a second and 200 MB,
 * also of those who compute on the CPU.
 */
#ifndef CS_KERNELS_CUDA_BLAS_CUH
#define CS_KERNELS_CUDA_BLAS_CUH

#include <cublas_v2.h>

/* The calls that we make, by cuBLAS's own names. */
typedef struct cs_blas {
    decltype(&cublasCreate)        create;
    decltype(&cublasDestroy)       destroy;
    decltype(&cublasSetStream)     set_stream;
    decltype(&cublasSetWorkspace)  set_workspace;
    decltype(&cublasGetStatusName) status_name;
    decltype(&cublasGemmEx_64)     gemm;
} cs_blas;

/** cs_blas_load - the library's calls; NULL with the reason in `why` (valid until the next dlopen).
 * Loaded once, for good */
const cs_blas *cs_blas_load(const char **why);

#endif
