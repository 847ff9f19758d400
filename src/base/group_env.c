/* group_env.c - the rank set by a launcher in the environment. */
#include "base/group.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PORT = 29500, MAX_RANKS = 1 << 16 };

/* The variables of one launcher. `local` and `local_n` may be missing; `mark` must be set, unless
 * NULL. Slurm sets its variables also for helpers of mpirun inside a job; srun --mpi=pmi2 sets both
 * PMI's and its own, but only its own have the rank's number on its machine. */
static const struct launcher {
    const char *name, *mark, *rank, *n, *local, *local_n, *n_machine;
} launchers[] = {
    { "torchrun", NULL, "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", NULL },
    { "Open MPI", NULL, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
      "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE", NULL },
    { "MPI", "MPI_LOCALRANKID", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS",
      NULL },
    { "Slurm", NULL, "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", NULL, "SLURM_NNODES" },
    { "MPI", NULL, "PMI_RANK", "PMI_SIZE", "PMI_LOCAL_RANK", "PMI_LOCAL_SIZE", NULL },
};

enum { N_LAUNCHER = sizeof launchers / sizeof launchers[0] };

/* An optional number from `min` to `max`; *v stays if it is missing. */
static int group_env_number(const char *name, long min, long max, int *v)
{
    const char *text = name != NULL ? getenv(name) : NULL;
    char *end;

    if (text == NULL)
        return CS_OK;
    const long n = strtol(text, &end, 10);
    if (end == text || *end != '\0' || n < min || n > max)
        return cs_fail(CS_EUSAGE, "the environment has %s='%s', which is not a number from %ld "
                       "to %ld", name, text, min, max);
    *v = (int)n;
    return CS_OK;
}

static const struct launcher *find_launcher(void)
{
    for (int i = 0; i < N_LAUNCHER; i++)
        if (getenv(launchers[i].rank) != NULL && getenv(launchers[i].n) != NULL &&
            (launchers[i].mark == NULL || getenv(launchers[i].mark) != NULL))
            return &launchers[i];
    return NULL;
}

/* Rank 0's host without an address in the environment: this one, if all ranks are here. */
static int find_host(const struct launcher *l, cs_group_spec *s)
{
    int rc = CS_OK;
    const char *host = getenv("MASTER_ADDR");
    int n_here = 0, n_machine = 0;

    CS_TRY(group_env_number(l->local_n, 1, MAX_RANKS, &n_here));
    CS_TRY(group_env_number(l->n_machine, 1, MAX_RANKS, &n_machine));
    if (host == NULL && n_here != s->n && n_machine != 1)
        return cs_fail(CS_EUSAGE, "%s started %d ranks, but the environment does not locate rank "
                       "0; set MASTER_ADDR to its host name", l->name, s->n);
    if (host == NULL)
        host = "127.0.0.1";
    if (strlen(host) >= sizeof s->host)
        return cs_fail(CS_EUSAGE, "MASTER_ADDR is too long for a host name");
    memcpy(s->host, host, strlen(host) + 1);
out:
    return rc;
}

int cs_group_env(cs_group_spec *out)
{
    int rc = CS_OK;
    const struct launcher *l = find_launcher();
    const char *store = getenv("TORCHELASTIC_USE_AGENT_STORE");

    *out = (cs_group_spec){ .port = PORT, .local = -1 };
    if (l == NULL)
        return cs_fail(CS_EUSAGE, "the environment does not set the rank; start the ranks with "
                       "torchrun, mpirun or srun, or set RANK, WORLD_SIZE and MASTER_ADDR");
    CS_TRY(group_env_number(l->n, 1, MAX_RANKS, &out->n));
    CS_TRY(group_env_number(l->rank, 0, out->n - 1, &out->rank));
    CS_TRY(group_env_number(l->local, 0, out->n - 1, &out->local));
    if (out->local < 0)          /* fallback for launchers without these variables */
        CS_TRY(group_env_number("LOCAL_RANK", 0, out->n - 1, &out->local));
    CS_TRY(find_host(l, out));
    CS_TRY(group_env_number("MASTER_PORT", 1, 65534, &out->port));
    out->port += store != NULL && strcmp(store, "True") == 0;
out:
    return rc;
}
