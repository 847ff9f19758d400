/* budget.h - thread budget, shared by stages and their parallel loops. */
#ifndef CS_BASE_BUDGET_H
#define CS_BASE_BUDGET_H

typedef struct cs_budget cs_budget;

/** cs_budget_new - for n >= 1 threads */
cs_budget *cs_budget_new(int n);
void cs_budget_free(cs_budget *b);               /* accepts NULL */

/**
 * cs_budget_enter, cs_budget_leave - the calling thread works, or is about to wait for others
 *
 * enter waits until fewer than n threads work; never call it with a lock held that one of them may
 * want. leave returns the budget to enter again, NULL when the thread is in none; enter(NULL) does
 * nothing. So whoever waits, writes
 *
 *     cs_budget *b = cs_budget_leave();
 *     ... wait ...
 *     cs_budget_enter(b);
 */
void cs_budget_enter(cs_budget *b);
cs_budget *cs_budget_leave(void);

/**
 * cs_budget_share - threads that the caller's parallel loops may have, itself included
 *
 * What the others leave of n: a mean of how many of them worked since the last calls, because those
 * that work at this moment may have been woken by the caller itself. At least 1; one caller per
 * budget; n outside any budget is the caller's business: NULL is not accepted.
 */
int cs_budget_share(cs_budget *b);

/** cs_budget_waited - seconds that this thread has waited in cs_budget_enter() */
double cs_budget_waited(void);

#endif
