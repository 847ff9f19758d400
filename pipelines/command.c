/* command.c - parse the command line of a subcommand and run it. */
#include "pipelines/command.h"

#include <stdlib.h>

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

int cs_command_run(const cs_command *cmd, int argc, char **argv)
{
    int rc = CS_OK;
    cs_optset set[CS_MAX_OPTSET] = { { 0 } };

    if (cmd->select != NULL)
        CS_TRY(cmd->select(set, argc, argv));
    else
        cs_command_tables(cmd, set);
    CS_TRY(cs_args_parse(set, argc, argv, cmd->operands, &cs_command_logs));
    rc = cmd->run(&(cs_call){ argc, argv, set });
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
