/* suites.h - one suite per module; check_main.c runs them all. */
#ifndef ASIDE_TESTS_SUITES_H
#define ASIDE_TESTS_SUITES_H

#include <check.h>

#endif
