/* cublas_v2.h - the only cuBLAS product used by kernels/cuda, as plain loops. */
#ifndef CS_TESTS_GPU_HOST_CUBLAS_V2_H
#define CS_TESTS_GPU_HOST_CUBLAS_V2_H

#include "cuda_runtime.h"

#define CS_BLAS_LINKED           /* linked, not loaded: see kernels/cuda/blas.cu */

typedef enum cublasStatus { CUBLAS_STATUS_SUCCESS, CUBLAS_STATUS_NOT_INITIALIZED } cublasStatus_t;
typedef enum cublasOperation { CUBLAS_OP_N, CUBLAS_OP_T } cublasOperation_t;
typedef enum cudaDataType { CUDA_R_32F } cudaDataType;
typedef enum cublasComputeType {
    CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_32F_FAST_TF32, CUBLAS_COMPUTE_32F_FAST_16BF
} cublasComputeType_t;
typedef enum cublasGemmAlgo { CUBLAS_GEMM_DEFAULT } cublasGemmAlgo_t;
typedef struct cs_host_blas *cublasHandle_t;

cublasStatus_t cublasCreate(cublasHandle_t *h);
cublasStatus_t cublasDestroy(cublasHandle_t h);
cublasStatus_t cublasSetStream(cublasHandle_t h, cudaStream_t s);
cublasStatus_t cublasSetWorkspace(cublasHandle_t h, void *p, size_t n_bytes);
const char *cublasGetStatusName(cublasStatus_t e);
/* Supports one combination of types; inputs are rounded as the compute type says. */
cublasStatus_t cublasGemmEx_64(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb,
                               int64_t m, int64_t n, int64_t k, const void *alpha, const void *a,
                               cudaDataType ta_, int64_t lda, const void *b, cudaDataType tb_,
                               int64_t ldb, const void *beta, void *c, cudaDataType tc_,
                               int64_t ldc, cublasComputeType_t compute, cublasGemmAlgo_t algo);

#endif
