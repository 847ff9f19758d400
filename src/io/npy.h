/* npy.h - arrays of numbers in NumPy's .npy format. */
#ifndef CS_IO_NPY_H
#define CS_IO_NPY_H

#include "base/outfile.h"

/* MAX_DIM: NumPy's own limit before its version 2; HEADER: bytes of the longest header written */
enum { CS_NPY_MAX_DIM = 32, CS_NPY_HEADER = 4096 + 64 };

/* Element types written: float, double, int64_t, in the byte order of this machine. */
typedef enum cs_npy_type { CS_NPY_F4, CS_NPY_F8, CS_NPY_I8 } cs_npy_type;

typedef struct cs_npy_shape { int n_dim; int64_t dim[CS_NPY_MAX_DIM]; } cs_npy_shape;

/** cs_npy_shape2 - r rows of c columns */
static inline cs_npy_shape cs_npy_shape2(int64_t r, int64_t c)
{
    return (cs_npy_shape){ 2, { r, c } };
}

/** cs_npy_write - a whole array, rows last index fastest; path as cs_outfile_open() */
int cs_npy_write(const char *path, cs_npy_type type, cs_npy_shape shape, const void *v)
    CS_MUST_CHECK;
/** cs_npy_put - the same into an output, which stays open. Errors of cs_outfile_write() */
int cs_npy_put(cs_outfile *f, cs_npy_type type, cs_npy_shape shape, const void *v) CS_MUST_CHECK;

/**
 * cs_npy_begin - the header of an array; the caller then writes its elements to f as in memory
 *
 * shape    dim[0] is -1 if the number of rows is unknown; cs_npy_end() then sets it
 * Returns  CS_OK; CS_EUSAGE if it is unknown and f is not a regular file, whose header could be
 *          rewritten; errors of cs_outfile_write()
 */
int cs_npy_begin(cs_outfile *f, cs_npy_type type, cs_npy_shape shape) CS_MUST_CHECK;

/** cs_npy_end - rewrite the header with the number of rows. The caller closes f */
int cs_npy_end(cs_outfile *f, cs_npy_type type, cs_npy_shape shape) CS_MUST_CHECK;

/** cs_npy_header - the header itself; dim[0] as above. Its length does not depend on the number of
 * rows. Returns its bytes */
size_t cs_npy_header(char head[CS_NPY_HEADER], cs_npy_type type, cs_npy_shape shape);

/* An array read from a file: last index fastest, for either order in the file. */
typedef struct cs_npy { cs_npy_shape shape; int64_t n; double *v; } cs_npy;

/**
 * cs_npy_read - an array of 4 or 8 byte floating-point numbers, either byte order, C or Fortran
 * order, format version 1 to 3
 *
 * Returns  CS_OK; CS_EIO; CS_EFORMAT with details, also for other types, truncated files and
 *          trailing bytes; CS_EMEM. free(a->v)
 * Source   numpy/lib/format.py, "Format Version 1.0" to "3.0"
 */
int cs_npy_read(const char *path, cs_npy *a) CS_MUST_CHECK;
/** cs_npy_parse - the same from n bytes in memory; `what` names them in messages */
int cs_npy_parse(const void *p, size_t n_bytes, const char *what, cs_npy *a) CS_MUST_CHECK;

#endif
