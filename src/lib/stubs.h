/* stubs.h - library stub of fatal errors. */
#ifndef CS_LIB_STUBS_H
#define CS_LIB_STUBS_H

#include <setjmp.h>

/** cs_exhausted_catch - where cs_exhausted() jumps to in this thread; NULL: abort(). Returns the
 * place that was set before */
jmp_buf *cs_exhausted_catch(jmp_buf *here);

#endif
