/* completion.c - shell completions from option tables: bash, zsh, fish. */
#include "base/completion.h"

#include <string.h>

#include "base/outfile.h"

enum { NAME_BYTES = 128 };

/* All commands. */
struct all { const cs_completion *v; int n; };

/* One option of one command: its table and row, and its name with the prefix of the table. */
struct word {
    const cs_completion *cmd;
    const cs_optset     *set;
    const cs_opt        *opt;
    char                 name[NAME_BYTES];
};
typedef int (*visit)(cs_outfile *f, const struct word *w);

/* The next option of w->cmd, in the order of its tables; false after the last. */
static bool next_option(struct word *w)
{
    w->set = w->set ? w->set : w->cmd->set;
    for (const cs_opt *o = w->opt ? w->opt + 1 : w->set->opt; o; o = (++w->set)->opt) {
        while (o->type == CS_OPT_GROUP)
            o++;
        if (o->type == CS_OPT_END)
            continue;
        w->opt = o;
        (void)snprintf(w->name, sizeof w->name, "%s%s%s", w->set->prefix ? w->set->prefix : "",
                       w->set->prefix ? "." : "", o->name);
        return true;
    }
    return false;
}

static int each_option(cs_outfile *f, const cs_completion *cmd, visit v)
{
    int rc = CS_OK;
    struct word w = { .cmd = cmd };

    while (next_option(&w))
        CS_TRY(v(f, &w));
out:
    return rc;
}

static int choices(cs_outfile *f, const cs_opt *o)
{
    int rc = CS_OK;

    for (int i = 0; o->choice[i]; i++)
        CS_TRY(cs_outfile_printf(f, "%s%s", i > 0 ? " " : "", o->choice[i]));
out:
    return rc;
}

static int command_names(cs_outfile *f, const struct all *all)
{
    int rc = CS_OK;

    for (const cs_completion *cmd = all->v; cmd < all->v + all->n; cmd++)
        CS_TRY(cs_outfile_printf(f, "%s ", cmd->name));
    rc = cs_outfile_printf(f, "help");
out:
    return rc;
}

/* ---- bash: -o default completes file names where no word fits -------------------------- */

static int bash_word(cs_outfile *f, const struct word *w)
{
    if (w->opt->letter)
        return cs_outfile_printf(f, " -%c --%s", w->opt->letter, w->name);
    return cs_outfile_printf(f, " --%s", w->name);
}

static bool has_choices(const cs_opt *o)
{
    return cs_opt_takes_word(o) && (cs_opt_names(o) || (cs_opt_names_file(o) && o->choice));
}

/* Print the choices of an option that no earlier one of its name has. */
static int new_choices(cs_outfile *f, const struct word *w)
{
    int rc = CS_OK;

    for (int i = 0; w->opt->choice[i]; i++) {
        struct word before = { .cmd = w->cmd };
        bool known = false;
        while (next_option(&before) && before.opt != w->opt)
            for (int k = 0; has_choices(before.opt) && before.opt->choice[k]; k++)
                known |= strcmp(before.name, w->name) == 0
                    && strcmp(before.opt->choice[k], w->opt->choice[i]) == 0;
        if (!known)
            CS_TRY(cs_outfile_printf(f, " %s", w->opt->choice[i]));
    }
out:
    return rc;
}

/* Encoders share names of options, with choices of their own: the first row has those of all. */
static int bash_choice(cs_outfile *f, const struct word *w)
{
    int rc = CS_OK;
    struct word other = { .cmd = w->cmd };

    if (!has_choices(w->opt))
        return CS_OK;
    while (next_option(&other) && other.opt != w->opt)
        if (has_choices(other.opt) && strcmp(other.name, w->name) == 0)
            return CS_OK;
    CS_TRY(cs_outfile_printf(f, "    %s:--%s", w->cmd->name, w->name));
    if (w->opt->letter)
        CS_TRY(cs_outfile_printf(f, "|%s:-%c", w->cmd->name, w->opt->letter));
    /* Names that stand for files yield to files. */
    CS_TRY(cs_outfile_printf(f, ") %swords='", cs_opt_names_file(w->opt) ? "[ -n \"$cur\" ] && "
                             "compgen -f -- \"$cur\" > /dev/null || " : ""));
    CS_TRY(choices(f, w->opt));
    while (next_option(&other))
        if (has_choices(other.opt) && strcmp(other.name, w->name) == 0)
            CS_TRY(new_choices(f, &other));
    rc = cs_outfile_printf(f, "' ;;\n");
out:
    return rc;
}

static int bash(cs_outfile *f, const struct all *all)
{
    int rc = CS_OK;

    CS_TRY(cs_outfile_printf(f, "# chordseq - completion for bash, written by 'chordseq completion "
                             "bash'.\n\n_chordseq()\n{\n    local cur=${COMP_WORDS[COMP_CWORD]} "
                             "prev=${COMP_WORDS[COMP_CWORD-1]} words=\n    COMPREPLY=()\n"
                             "    # --option=value is three words\n"
                             "    [ \"$prev\" != = ] || prev=${COMP_WORDS[COMP_CWORD-2]}\n"
                             "    [ \"$cur\" != = ] || cur=\n"
                             "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n        words='"));
    CS_TRY(command_names(f, all));
    CS_TRY(cs_outfile_printf(f, " --help --version'\n    else\n    case "
                             "${COMP_WORDS[1]}:$prev in\n"));
    for (const cs_completion *cmd = all->v; cmd < all->v + all->n; cmd++)
        CS_TRY(each_option(f, cmd, bash_choice));
    CS_TRY(cs_outfile_printf(f, "    help:*) words='"));
    CS_TRY(command_names(f, all));
    CS_TRY(cs_outfile_printf(f, "' ;;\n    esac\n    fi\n    if [ -z \"$words\" ]; then\n"
                             "    case ${COMP_WORDS[1]}:$cur in\n"));
    for (const cs_completion *cmd = all->v; cmd < all->v + all->n; cmd++) {
        CS_TRY(cs_outfile_printf(f, "    %s:-*) words='--help", cmd->name));
        CS_TRY(each_option(f, cmd, bash_word));
        CS_TRY(cs_outfile_printf(f, "' ;;\n"));
        if (cmd->words)
            CS_TRY(cs_outfile_printf(f, "    %s:*) [ \"$COMP_CWORD\" -ne 2 ] || words='%s' ;;\n",
                                     cmd->name, cmd->words));
    }
    rc = cs_outfile_printf(f, "    esac\n    fi\n    COMPREPLY=($(compgen -W \"$words\" -- "
                           "\"$cur\"))\n}\ncomplete -o default -F _chordseq chordseq\n");
out:
    return rc;
}

/* ---- zsh and fish: with the help texts ------------------------------------------------------ */

/* A text within single quotes, with a backslash before each of `special`. */
static int quoted(cs_outfile *f, const char *text, const char *special)
{
    int rc = CS_OK;

    for (; *text; text++) {
        if (*text == '\'')
            CS_TRY(cs_outfile_printf(f, "'\\''"));
        else
            CS_TRY(cs_outfile_printf(f, "%s%c", strchr(special, *text) ? "\\" : "", *text));
    }
out:
    return rc;
}

static int zsh_argument(cs_outfile *f, const cs_opt *o)
{
    int rc = CS_OK;

    if (!cs_opt_takes_word(o))
        return cs_outfile_printf(f, "' \\\n");
    CS_TRY(cs_outfile_printf(f, ":"));
    CS_TRY(quoted(f, o->arg, ":\\"));
    CS_TRY(cs_outfile_printf(f, ":"));
    if (cs_opt_names(o)) {
        CS_TRY(cs_outfile_printf(f, "("));
        CS_TRY(choices(f, o));
        CS_TRY(cs_outfile_printf(f, ")"));
    } else if (cs_opt_names_file(o)) {
        CS_TRY(cs_outfile_printf(f, "_files"));
    }
    rc = cs_outfile_printf(f, "' \\\n");
out:
    return rc;
}

static int zsh_word(cs_outfile *f, const struct word *w)
{
    int rc = CS_OK;
    const cs_opt *o = w->opt;

    for (int form = o->letter ? 0 : 1; form < 2; form++) {
        if (form == 0)
            CS_TRY(cs_outfile_printf(f, "        '*-%c[", o->letter));
        else
            CS_TRY(cs_outfile_printf(f, "        '*--%s[", w->name));
        CS_TRY(quoted(f, o->help, "[]:\\"));
        CS_TRY(cs_outfile_printf(f, "]"));
        CS_TRY(zsh_argument(f, o));
    }
out:
    return rc;
}

static int zsh(cs_outfile *f, const struct all *all)
{
    int rc = CS_OK;

    CS_TRY(cs_outfile_printf(f, "#compdef chordseq\n# chordseq - completion for zsh, written by "
                             "'chordseq completion zsh'.\n\n_chordseq()\n{\n    if (( CURRENT == "
                             "2 )); then\n        compadd "));
    CS_TRY(command_names(f, all));
    CS_TRY(cs_outfile_printf(f, " --help --version\n        return\n    fi\n    local command="
                             "$words[2]\n    shift words\n    (( CURRENT-- ))\n    case $command "
                             "in\n"));
    for (const cs_completion *cmd = all->v; cmd < all->v + all->n; cmd++) {
        CS_TRY(cs_outfile_printf(f, "    %s) _arguments \\\n", cmd->name));
        CS_TRY(each_option(f, cmd, zsh_word));
        if (cmd->words)
            CS_TRY(cs_outfile_printf(f, "        '1:what:(%s)' \\\n", cmd->words));
        CS_TRY(cs_outfile_printf(f, "        '--help[list the options]' '*:file:_files' ;;\n"));
    }
    CS_TRY(cs_outfile_printf(f, "    help) compadd "));
    CS_TRY(command_names(f, all));
    rc = cs_outfile_printf(f, " ;;\n    esac\n}\n_chordseq \"$@\"\n");
out:
    return rc;
}

static int fish_word(cs_outfile *f, const struct word *w)
{
    int rc = CS_OK;
    const cs_opt *o = w->opt;

    CS_TRY(cs_outfile_printf(f, "complete -c chordseq -n '__fish_seen_subcommand_from %s' -l '%s'",
                             w->cmd->name, w->name));
    if (o->letter)
        CS_TRY(cs_outfile_printf(f, " -s %c", o->letter));
    if (cs_opt_takes_word(o) && cs_opt_names(o)) {
        CS_TRY(cs_outfile_printf(f, " -x -a '"));
        CS_TRY(choices(f, o));
        CS_TRY(cs_outfile_printf(f, "'"));
    } else if (cs_opt_takes_word(o)) {
        CS_TRY(cs_outfile_printf(f, cs_opt_names_file(o) ? " -r -F" : " -x"));
    }
    if (cs_opt_names_file(o) && o->choice) {
        CS_TRY(cs_outfile_printf(f, " -a '"));
        CS_TRY(choices(f, o));
        CS_TRY(cs_outfile_printf(f, "'"));
    }
    CS_TRY(cs_outfile_printf(f, " -d '"));
    CS_TRY(quoted(f, o->help, "\\"));
    rc = cs_outfile_printf(f, "'\n");
out:
    return rc;
}

static int fish(cs_outfile *f, const struct all *all)
{
    int rc = CS_OK;

    CS_TRY(cs_outfile_printf(f, "# chordseq - completion for fish, written by 'chordseq completion "
                             "fish'.\n"));
    for (const cs_completion *cmd = all->v; cmd < all->v + all->n; cmd++) {
        CS_TRY(cs_outfile_printf(f, "complete -c chordseq -n __fish_use_subcommand -f -a %s -d '",
                                 cmd->name));
        CS_TRY(quoted(f, cmd->summary, "\\"));
        CS_TRY(cs_outfile_printf(f, "'\n"));
        if (cmd->words)
            CS_TRY(cs_outfile_printf(f, "complete -c chordseq -n '__fish_seen_subcommand_from %s' "
                                     "-a '%s'\n", cmd->name, cmd->words));
        CS_TRY(each_option(f, cmd, fish_word));
    }
out:
    return rc;
}

/* ---- the shells ------------------------------------------------------------------------------ */

static const struct shell {
    const char *name;
    int       (*write)(cs_outfile *f, const struct all *all);
} shells[] = { { "bash", bash }, { "zsh", zsh }, { "fish", fish } };

static const struct shell *find_shell(const char *name)
{
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++)
        if (strcmp(shells[i].name, name) == 0)
            return &shells[i];
    return NULL;
}

bool cs_completion_is(const char *shell)
{
    return find_shell(shell) != NULL;
}

int cs_completion_write(const char *shell, const cs_completion *cmd, int n)
{
    int rc = CS_OK;
    cs_outfile *f = NULL;

    CS_TRY(cs_outfile_open("-", &f));
    CS_TRY(find_shell(shell)->write(f, &(struct all){ cmd, n }));
out:
    return cs_outfile_end(f, rc);
}
