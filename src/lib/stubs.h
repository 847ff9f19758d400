/* stubs.h - library stub of fatal errors. */
#ifndef CS_LIB_STUBS_H
#define CS_LIB_STUBS_H

#include <setjmp.h>

/** cs_exhausted_catch - set the jump target of cs_exhausted() in this thread; NULL: abort().
 * Returns the previous target */
jmp_buf *cs_exhausted_catch(jmp_buf *here);

#endif
