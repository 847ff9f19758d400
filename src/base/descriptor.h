/* descriptor.h - paths to descriptors of this process (/dev/fd/N). */
#ifndef CS_BASE_DESCRIPTOR_H
#define CS_BASE_DESCRIPTOR_H

#include <stdint.h>

/** cs_descriptor_of - the number in /dev/fd/N and its other names; -1 for others. Duplicate the
 * descriptor instead of opening the path, which starts at offset 0 and fails for sockets */
int64_t cs_descriptor_of(const char *path);

#endif
