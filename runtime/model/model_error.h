/* model_error.h - what a provider's error means. */
#ifndef ASIDE_RUNTIME_MODEL_ERROR_H
#define ASIDE_RUNTIME_MODEL_ERROR_H

#include "runtime/model/model.h"
#include "sql/base/json.h"

/* The error in an object of one of the known shapes:
 *   {"error": {"message", "type", "code", ...}}   the reference
 *   {"error": "text"}                             Ollama
 *   {"message", "type", "code", ...}              vLLM, Mistral
 *   {"detail": ...}                               FastAPI
 * or an array that holds one (Gemini). NULL: no object at all. status is the
 * HTTP status, or 0 within a stream. *out always gets an error: its kind is
 * never MODEL_ERROR_NONE. */
void model_error_read(const cJSON *, long status, struct model_error *out);

/* The same from the body of a reply: JSON, an event, or anything. */
void model_error_from_body(const char *body, size_t len, long status,
                           struct model_error *out);

/* An error of our own making, of kind MODEL_ERROR_OTHER. */
void model_error_set(struct model_error *out, const char *code,
                     const char *message);

#endif
