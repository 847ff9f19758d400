/* budget.h - thread budget, shared by stages and their parallel loops. */
#ifndef CS_BASE_BUDGET_H
#define CS_BASE_BUDGET_H

typedef struct cs_budget cs_budget;

/** cs_budget_new - for n >= 1 threads */
cs_budget *cs_budget_new(int n);
void cs_budget_free(cs_budget *b);               /* accepts NULL */

/**
 * cs_budget_enter, cs_budget_leave - the calling thread starts to work, or to wait
 *
 * enter waits until fewer than n threads work; never call it while holding a lock that one of them
 * may need. leave returns the budget to enter again, NULL if the thread is in none; enter(NULL)
 * does nothing. Code that waits reads
 *
 *     cs_budget *b = cs_budget_leave();
 *     ... wait ...
 *     cs_budget_enter(b);
 */
void cs_budget_enter(cs_budget *b);
cs_budget *cs_budget_leave(void);

/**
 * cs_budget_share - number of threads for the caller's parallel loops, including itself
 *
 * n minus the average number of other working threads since the last calls, since those working now
 * may have been woken by the caller. At least 1; one caller per budget; NULL is not accepted.
 */
int cs_budget_share(cs_budget *b);

/** cs_budget_waited - seconds that this thread has waited in cs_budget_enter() */
double cs_budget_waited(void);

#endif
