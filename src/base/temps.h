/* temps.h - unfinished files, removed on signals and early exits. */
#ifndef CS_BASE_TEMPS_H
#define CS_BASE_TEMPS_H

/** cs_temps_add - note a file to remove; a slot, or -1 when the table is full */
int cs_temps_add(const char *path);
/** cs_temps_drop - forget it: it is complete, or removed already; accepts -1 */
void cs_temps_drop(int slot);

#endif
