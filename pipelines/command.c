/* command.c - parse the command line of a subcommand and run it. */
#include "pipelines/command.h"

#include <stdlib.h>

#include "registry.h"

cs_log_args cs_command_logs;

void cs_command_tables(const cs_command *cmd, cs_optset set[CS_MAX_OPTSET])
{
    if (cmd->options != NULL) {
        cmd->options(set);
        return;
    }
    for (const cs_optset *t = cmd->tables; t->opt != NULL; t++)
        *set++ = *t;
}

/* Add to the error about an unknown option the first commands that have it. */
static void name_commands(const cs_command *own, const char *option)
{
    enum { MOST = 3 };
    const cs_command *cmd;
    int n = 0;

    for (int i = 0; (cmd = cs_command_at(i)) != NULL && n <= MOST; i++) {
        cs_optset set[CS_MAX_OPTSET] = { { 0 } };
        if (cmd == own)
            continue;
        cs_command_tables(cmd, set);
        if (!cs_opt_has(set, option))
            continue;
        if (n++ < MOST)
            (void)cs_fail_also(CS_EUSAGE, "%s'%s'", n == 1 ? "; it is an option of " : ", ",
                               cmd->name);
        else
            (void)cs_fail_also(CS_EUSAGE, " and others");
    }
}

int cs_command_run(const cs_command *cmd, int argc, char **argv)
{
    int rc = CS_OK;
    cs_optset set[CS_MAX_OPTSET] = { { 0 } };

    if (cmd->select != NULL)
        CS_TRY(cmd->select(set, argc, argv));
    else
        cs_command_tables(cmd, set);
    rc = cs_args_parse(set, argc, argv, cmd->operands, &cs_command_logs);
    if (*cs_opt_unknown() != '\0')
        name_commands(cmd, cs_opt_unknown());
    if (rc != CS_OK)
        goto out;
    rc = cmd->run(&(cs_command_line){ argc, argv, set });
out:
    cs_opt_release(set);
    if (cmd->operands != NULL) {
        free(cmd->operands->v);
        *cmd->operands = (cs_strlist){ NULL, 0 };
    }
    if (cmd->release != NULL)
        cmd->release();
    return rc;
}
