/* blas.cu - look up cuBLAS's functions in the shared library. */
#include "kernels/cuda/blas.cuh"

#ifdef CS_BLAS_LINKED            /* tests/gpu/host links its own */

const cs_blas *cs_blas_load(const char **)
{
    static const cs_blas linked = { cublasCreate, cublasDestroy, cublasSetStream,
                                    cublasSetWorkspace, cublasGetStatusName,
                                    cublasGemmEx_64 };
    return &linked;
}

#else

#include <dlfcn.h>

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

/* cublas_v2.h renames functions by macros; the library exports the expanded names. */
#define FIND(field, call)                                                              \
    do {                                                                               \
        found.field = (decltype(found.field))dlsym(library, TEXT(call));               \
        if (!found.field)                                                              \
            complete = false;                                                          \
    } while (0)

const cs_blas *cs_blas_load(const char **why)
{
    static cs_blas found;
    static bool complete;
    void *library;

    if (complete)
        return &found;
    library = dlopen("libcublas.so." TEXT(CUBLAS_VER_MAJOR), RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        *why = dlerror();
        return NULL;
    }
    complete = true;
    FIND(create, cublasCreate);
    FIND(destroy, cublasDestroy);
    FIND(set_stream, cublasSetStream);
    FIND(set_workspace, cublasSetWorkspace);
    FIND(status_name, cublasGetStatusName);
    FIND(gemm, cublasGemmEx_64);
    *why = "libcublas.so." TEXT(CUBLAS_VER_MAJOR) " lacks a call that it should have";
    return complete ? &found : NULL;
}

#endif
