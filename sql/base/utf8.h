/* utf8.h - the few facts about UTF-8 (RFC 3629) that Aside needs. */
#ifndef ASIDE_BASE_UTF8_H
#define ASIDE_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* True if s[0..len) is well-formed UTF-8: no overlong form, no surrogate,
 * nothing above U+10FFFF. A NUL byte is well-formed. */
bool utf8_valid(const char *s, size_t len);

/* Length of the longest prefix of s[0..len) that does not end within a code
 * point. Bytes that can never become valid count as complete. */
size_t utf8_complete_len(const char *s, size_t len);

/* Length in bytes of the longest prefix of s[0..len) of at most max_bytes
 * bytes that does not split a code point. */
size_t utf8_clip(const char *s, size_t len, size_t max_bytes);

/* Copy s[0..len) to out, replacing every ill-formed sequence and NUL byte by
 * U+FFFD. out must hold 3 * len + 1 bytes; the result is NUL-terminated.
 * Returns its length. For text from providers and documents, which may be
 * anything. */
size_t utf8_repair(const char *s, size_t len, char *out);

/* True if there is nothing to see in it: spaces of any kind, controls, marks
 * without width. */
bool utf8_is_blank(const char *text);

/* Line ends and other control characters become spaces. */
void utf8_one_line(char *text);

/* What stands at s, of len > 0 bytes: its code point if nobody sees it, or it
 * could move a cursor, hide what stands beside it or turn its order round; U+FFFD
 * if it is no UTF-8; else 0. *n: its bytes.
 *
 * That is: control and format characters, all white space but the plain one,
 * what Unicode has fonts ignore by default (fillers, joiners, selectors), what no
 * character is assigned to, and the few letters that are blank all the same. The
 * page goes by the same rule (static/js/pretty.js). */
uint32_t utf8_unseen(const char *s, size_t len, size_t *n);

/* Copy s[0..len) to out with each code that is unseen as JSON would escape it:
 * "\u202e", "\udb40\udc41"; and "\xff" for each byte that is no UTF-8. out must
 * hold 6 * len + 1 bytes; the result is NUL-terminated. Returns its length. */
size_t utf8_show(const char *s, size_t len, char *out);

/* Make s[0..len) harmless where it is read, in place and of the same length: for
 * logs. Tabs and line ends become spaces, so that a line stays one with its
 * columns; all else that is unseen becomes "?" for each byte. */
void utf8_tame(char *s, size_t len);

#endif
