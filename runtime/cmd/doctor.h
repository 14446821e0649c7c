/* doctor.h - what the parts of `aside doctor` share. */
#ifndef ASIDE_RUNTIME_DOCTOR_H
#define ASIDE_RUNTIME_DOCTOR_H

#include "runtime/cmd/cmd.h"
#include "runtime/http/http.h"

enum doctor_verdict { DOCTOR_FINE = 0, DOCTOR_NOT_TRIED, DOCTOR_FAULT };

struct doctor_finding {
    const char *what;
    enum doctor_verdict verdict;
    const char *text;
};

#define DOCTOR_FINDINGS_MAX 16

struct doctor {
    struct cmd *cmd; /* its store is NULL where the database cannot be opened */
    struct http *http;
    struct doctor_finding list[DOCTOR_FINDINGS_MAX];
    size_t n;
};

/* text: of the arena, or static. */
void doctor_say(struct doctor *, enum doctor_verdict, const char *what,
                const char *text);

/* What is asked over HTTP: the model endpoint, and the web server in front. */
void doctor_look_at_model(struct doctor *);
void doctor_look_at_front(struct doctor *);

#endif
