/* completion.h - shell completions from option tables: bash, zsh, fish. */
#ifndef CS_BASE_COMPLETION_H
#define CS_BASE_COMPLETION_H

#include "base/opt.h"

/* A command of the program. */
typedef struct cs_completion {
    const char *name, *summary;
    const char *words;           /* blank-separated choices of the first operand; or NULL */
    cs_optset   set[CS_MAX_OPTSET];
} cs_completion;

/** cs_completion_is - is it the name of a shell? */
bool cs_completion_is(const char *shell);
/** cs_completion_write - print the completions of n commands for a shell of cs_completion_is().
 * CS_OK; CS_EIO */
int cs_completion_write(const char *shell, const cs_completion *cmd, int n) CS_MUST_CHECK;

#endif
