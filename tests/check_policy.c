/* check_policy.c - which calls may be made: every verdict, and what goes before
 * what. */

#include "runtime/policy.h"
#include "runtime/runtime.h"
#include "tests/support/suites.h"
#include "tests/support/tmp.h"

#define FREE                                                                   \
    {                                                                          \
        {-1, 0},                                                               \
        {                                                                      \
            -1, 0                                                              \
        }                                                                      \
    }
#define NO_LIMITS .run = FREE, .day = FREE

static const struct row {
    const char *says;
    struct policy_facts facts;
    enum policy_verdict verdict;
} ROW[] = {
    /* What counts where nothing is configured. */
    {"own reads", {.own = true, NO_LIMITS}, POLICY_ALLOW},
    {"own acts", {.own = true, .acts = true, NO_LIMITS}, POLICY_ALLOW},
    {"a server's reads", {NO_LIMITS}, POLICY_ALLOW},
    {"a server's acts", {.acts = true, NO_LIMITS}, POLICY_ASK},
    /* The configuration. */
    {"own asks", {.own = true, .of_tool = CONF_ASK, NO_LIMITS}, POLICY_ASK},
    {"own denied",
     {.own = true, .of_tool = CONF_DENY, NO_LIMITS},
     POLICY_FORBID},
    {"server allows",
     {.acts = true, .of_server = CONF_ALLOW, NO_LIMITS},
     POLICY_ALLOW},
    {"server asks", {.of_server = CONF_ASK, NO_LIMITS}, POLICY_ASK},
    {"server denies", {.of_server = CONF_DENY, NO_LIMITS}, POLICY_FORBID},
    {"the tool goes before: allow",
     {.acts = true, .of_tool = CONF_ALLOW, .of_server = CONF_DENY, NO_LIMITS},
     POLICY_ALLOW},
    {"the tool goes before: deny",
     {.of_tool = CONF_DENY, .of_server = CONF_ALLOW, NO_LIMITS},
     POLICY_FORBID},
    {"the tool goes before: ask",
     {.of_tool = CONF_ASK, .of_server = CONF_ALLOW, NO_LIMITS},
     POLICY_ASK},
    /* The person. */
    {"open", {.acts = true, .asked = true, NO_LIMITS}, POLICY_ASK},
    {"once",
     {.acts = true, .asked = true, .approval = APPROVAL_ONCE, NO_LIMITS},
     POLICY_ALLOW},
    {"run",
     {.acts = true, .asked = true, .approval = APPROVAL_RUN, NO_LIMITS},
     POLICY_ALLOW},
    {"denied",
     {.acts = true, .asked = true, .approval = APPROVAL_DENIED, NO_LIMITS},
     POLICY_DENY},
    {"nobody came",
     {.acts = true,
      .asked = true,
      .approval = APPROVAL_DENIED,
      .expired = true,
      NO_LIMITS},
     POLICY_UNANSWERED},
    {"void",
     {.acts = true, .asked = true, .approval = APPROVAL_VOID, NO_LIMITS},
     POLICY_DENY},
    {"approved for the Run",
     {.acts = true, .for_run = true, NO_LIMITS},
     POLICY_ALLOW},
    {"for the Run, but denied itself",
     {.acts = true,
      .asked = true,
      .approval = APPROVAL_DENIED,
      .for_run = true,
      NO_LIMITS},
     POLICY_DENY},
    {"nobody came before",
     {.acts = true, .unanswered = true, NO_LIMITS},
     POLICY_UNANSWERED},
    {"for the Run, though nobody came to another",
     {.acts = true, .for_run = true, .unanswered = true, NO_LIMITS},
     POLICY_ALLOW},
    {"no question, though nobody came",
     {.unanswered = true, NO_LIMITS},
     POLICY_ALLOW},
    {"approved, and now forbidden",
     {.acts = true,
      .of_tool = CONF_DENY,
      .asked = true,
      .approval = APPROVAL_ONCE,
      NO_LIMITS},
     POLICY_FORBID},
    {"denied, and now allowed",
     {.acts = true,
      .of_tool = CONF_ALLOW,
      .asked = true,
      .approval = APPROVAL_DENIED,
      NO_LIMITS},
     POLICY_DENY},
    {"open, and now allowed",
     {.acts = true, .of_tool = CONF_ALLOW, .asked = true, NO_LIMITS},
     POLICY_ALLOW},
    /* Its server has made another tool of it. */
    {"changed", {.acts = true, .changed = true, NO_LIMITS}, POLICY_CHANGED},
    {"changed while it was asked about",
     {.acts = true, .changed = true, .asked = true, NO_LIMITS},
     POLICY_CHANGED},
    {"changed since it was approved",
     {.acts = true,
      .changed = true,
      .asked = true,
      .approval = APPROVAL_ONCE,
      NO_LIMITS},
     POLICY_CHANGED},
    {"changed, and asked about by the configuration",
     {.of_tool = CONF_ASK, .changed = true, .for_run = true, NO_LIMITS},
     POLICY_CHANGED},
    {"changed, and denied",
     {.acts = true,
      .changed = true,
      .asked = true,
      .approval = APPROVAL_DENIED,
      NO_LIMITS},
     POLICY_DENY},
    {"changed, and made again",
     {.acts = true, .changed = true, .admitted = true, NO_LIMITS},
     POLICY_CHANGED},
    {"changed, and forbidden",
     {.of_server = CONF_DENY, .changed = true, NO_LIMITS},
     POLICY_FORBID},
    {"changed, and allowed by the configuration",
     {.acts = true, .of_tool = CONF_ALLOW, .changed = true, NO_LIMITS},
     POLICY_ALLOW},
    {"changed, and only reads", {.changed = true, NO_LIMITS}, POLICY_ALLOW},
    /* What was let through before. */
    {"again", {.acts = true, .admitted = true, NO_LIMITS}, POLICY_ALLOW},
    {"again, and now forbidden",
     {.admitted = true, .of_server = CONF_DENY, NO_LIMITS},
     POLICY_FORBID},
    {"again, at the limit",
     {.admitted = true, .run = {{1, 1}, {-1, 0}}, .day = FREE},
     POLICY_ALLOW},
    /* Limits. */
    {"none left",
     {.own = true, .run = {{0, 0}, {-1, 0}}, .day = FREE},
     POLICY_RUN_LIMIT},
    {"one left",
     {.own = true, .run = {{3, 2}, {-1, 0}}, .day = FREE},
     POLICY_ALLOW},
    {"the last was made",
     {.own = true, .run = {{3, 3}, {-1, 0}}, .day = FREE},
     POLICY_RUN_LIMIT},
    {"the server's", {.run = {{3, 0}, {5, 5}}, .day = FREE}, POLICY_RUN_LIMIT},
    {"today", {.run = FREE, .day = {{2, 2}, {-1, 0}}}, POLICY_DAY_LIMIT},
    {"the server's today",
     {.run = FREE, .day = {{-1, 0}, {2, 9}}},
     POLICY_DAY_LIMIT},
    {"spares the question",
     {.acts = true, .run = {{1, 1}, {-1, 0}}, .day = FREE},
     POLICY_RUN_LIMIT},
    {"approved, but none is left",
     {.acts = true,
      .asked = true,
      .approval = APPROVAL_ONCE,
      .run = FREE,
      .day = {{1, 1}, {-1, 0}}},
     POLICY_DAY_LIMIT},
    {"denied, and none is left",
     {.acts = true,
      .asked = true,
      .approval = APPROVAL_DENIED,
      .run = FREE,
      .day = {{1, 1}, {-1, 0}}},
     POLICY_DENY},
};
#define N_ROWS ((int)(sizeof(ROW) / sizeof(ROW[0])))

START_TEST(verdicts)
{
    ck_assert_msg(policy_decide(&ROW[_i].facts) == ROW[_i].verdict, "%s: %d",
                  ROW[_i].says, (int)policy_decide(&ROW[_i].facts));
}
END_TEST

/* No word of the person's lets through what is forbidden or used up. */
START_TEST(nothing_outweighs_a_denial)
{
    static const enum conf_verdict SET[] = {CONF_UNSET, CONF_ALLOW, CONF_ASK,
                                            CONF_DENY};

    for (unsigned bits = 0; bits < 256; bits++) {
        for (int i = 0; i < 4 * APPROVAL_STATE__MAX; i++) {
            struct policy_facts f = {.of_tool = CONF_DENY,
                                     .of_server = SET[i % 4],
                                     .approval = (enum approval_state)(i / 4),
                                     .own = (bits & 1) != 0,
                                     .acts = (bits & 2) != 0,
                                     .admitted = (bits & 4) != 0,
                                     .asked = (bits & 8) != 0,
                                     .expired = (bits & 16) != 0,
                                     .for_run = (bits & 32) != 0,
                                     .unanswered = (bits & 64) != 0,
                                     .changed = (bits & 128) != 0,
                                     NO_LIMITS};

            ck_assert_int_eq(policy_decide(&f), POLICY_FORBID);
            f.of_tool = SET[i % 4] == CONF_DENY ? CONF_ASK : SET[i % 4];
            f.of_server = CONF_UNSET;
            f.run[0] = (struct policy_limit){2, 2};
            ck_assert(f.admitted || policy_decide(&f) != POLICY_ALLOW);
        }
    }
}
END_TEST

/* Whatever may be named in a policy is a tool, and the other way round. */
START_TEST(own_tools_are_those_of_the_configuration)
{
    struct runtime rt = {.mcp = NULL};
    size_t n = 0;

    for (; tool_at(&rt, n) != NULL; n++) {
        ck_assert_ptr_nonnull(conf_tool_at(n));
        ck_assert_str_eq(tool_at(&rt, n)->name, conf_tool_at(n));
    }
    ck_assert_ptr_null(conf_tool_at(n));
}
END_TEST

START_TEST(forbidden_tools_are_not_offered)
{
    char err[256];
    struct conf c;

    (void)tmp_make();
    ck_assert_int_eq(
        conf_load(tmp_write("aside.conf",
                            "mcp.a.url = http://x\nmcp.b.url = http://x\n"
                            "policy.a = deny\npolicy.a__look = allow\n"
                            "policy.b__drop = deny\npolicy.note = deny\n"),
                  &c, err, sizeof(err)),
        RC_OK);
    ck_assert(policy_forbids(&c, "a__drop"));
    ck_assert(!policy_forbids(&c, "a__look"));
    ck_assert(policy_forbids(&c, "b__drop"));
    ck_assert(!policy_forbids(&c, "b__drops"));
    ck_assert(policy_forbids(&c, "note"));
    ck_assert(!policy_forbids(&c, "web_fetch"));
    conf_free(&c);
    tmp_remove();
}
END_TEST

Suite *policy_suite(void)
{
    Suite *s = suite_create("policy");
    TCase *t = tcase_create("policy");

    tcase_add_loop_test(t, verdicts, 0, N_ROWS);
    tcase_add_test(t, nothing_outweighs_a_denial);
    tcase_add_test(t, own_tools_are_those_of_the_configuration);
    tcase_add_test(t, forbidden_tools_are_not_offered);
    suite_add_tcase(s, t);
    return s;
}
