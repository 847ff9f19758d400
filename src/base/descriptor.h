/* descriptor.h - paths to descriptors of this process (/dev/fd/N). */
#ifndef CS_BASE_DESCRIPTOR_H
#define CS_BASE_DESCRIPTOR_H

#include <stdint.h>

/** cs_descriptor_of - the number in /dev/fd/N and its other names; -1 for others. Opening those
 * again would start at offset 0, lose what is there or read it twice, and a socket cannot be
 * opened: so duplicate the descriptor itself */
int64_t cs_descriptor_of(const char *path);

#endif
