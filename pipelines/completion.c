/* completion.c - shell completions from the option tables: bash, zsh or fish. */
#include <stdlib.h>

#include "base/completion.h"
#include "base/mem.h"
#include "pipelines/command.h"
#include "registry.h"

static cs_strlist shells;        /* the one to print for */

static const cs_optset completion_tables[] = {
    { cs_log_table, &cs_command_logs, NULL }, { 0 }
};

enum { MAX_COMMAND = 64 };

static int completion_run(const cs_command_line *cmdline)
{
    const cs_command *cmd;
    int n = 0;

    (void)cmdline;
    if (shells.n != 1 || !cs_completion_is(shells.v[0]))
        return cs_fail(CS_EUSAGE, "give one shell: bash, zsh or fish");
    cs_completion *all = cs_xcalloc(MAX_COMMAND, sizeof *all);
    for (; (cmd = cs_command_at(n)) != NULL; n++) {
        CS_BUG(n == MAX_COMMAND);
        all[n] = (cs_completion){ .name = cmd->name, .summary = cmd->summary, .words = cmd->words };
        cs_command_tables(cmd, all[n].set);
    }
    const int rc = cs_completion_write(shells.v[0], all, n);
    free(all);
    return rc;
}

const cs_command cs_cmd_completion = {
    .name = "completion",
    .summary = "print shell completions",
    .usage = "[OPTIONS] bash|zsh|fish",
    .words = "bash zsh fish",
    .tables = completion_tables,
    .operands = &shells,
    .run = completion_run,
};
