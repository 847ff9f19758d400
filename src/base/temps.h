/* temps.h - unfinished files, removed on signals and early exits. */
#ifndef CS_BASE_TEMPS_H
#define CS_BASE_TEMPS_H

/** cs_temps_init - exit() of this process, but not of forked children, removes registered files.
 * Call before starting threads; cs_signal_init() does */
void cs_temps_init(void);
/** cs_temps_unlink - remove them now. Async-signal-safe */
void cs_temps_unlink(void);
/** cs_temps_add - register a file to remove; returns a slot, or -1 if the table is full. Takes
 * ownership of the path, memory of cs_alloc(), in every case. Allocate it before making the file,
 * so that no file stays unregistered for lack of memory */
int cs_temps_add(char *path);
/** cs_temps_lock - around making a file and registering it: an exit comes before or after both */
void cs_temps_lock(void);
void cs_temps_unlock(void);
/** cs_temps_drop - unregister it: complete, or removed already; accepts -1 */
void cs_temps_drop(int slot);

#endif
