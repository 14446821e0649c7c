/* version.h - what this is, for health, user agent and logs. */
#ifndef ASIDE_BASE_VERSION_H
#define ASIDE_BASE_VERSION_H

#define ASIDE_VERSION "0.1.0"

#endif
