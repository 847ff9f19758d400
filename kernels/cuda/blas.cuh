/* blas.cuh - cuBLAS, loaded when a device is opened.
 *
 * DESIGN. Linking cuBLAS would cost every start of the program half a second and 200 MB, also for
 * runs on the CPU.
 */
#ifndef CS_KERNELS_CUDA_BLAS_CUH
#define CS_KERNELS_CUDA_BLAS_CUH

#include <cublas_v2.h>

/* Functions used, by cuBLAS's names. */
typedef struct cs_blas {
    decltype(&cublasCreate)        create;
    decltype(&cublasDestroy)       destroy;
    decltype(&cublasSetStream)     set_stream;
    decltype(&cublasSetWorkspace)  set_workspace;
    decltype(&cublasGetStatusName) status_name;
    decltype(&cublasGemmEx_64)     gemm;
} cs_blas;

/** cs_blas_load - load the library's functions; NULL with the reason in `why` (valid until the next
 * dlopen). Loaded once, never unloaded */
const cs_blas *cs_blas_load(const char **why);

#endif
