# Aside. `make help` lists the targets; README.md tells the story.
#
# All output goes to build/ and var/. SAN=address,undefined builds into a
# folder of its own, so that switching never mixes objects.

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
MAKEFLAGS += -rR

CC     ?= cc
ifeq ($(origin CC),default)
CC     := cc
endif
SAN    ?=
# The sanitizers' build is for finding faults, and is made anew often.
CFLAGS ?= $(if $(SAN),-O0,-O2) -g
BUILD  ?= build
PREFIX ?= /usr/local

# Each kind of sanitizer has objects of its own.
OUT := $(BUILD)/$(if $(findstring fuzzer,$(SAN)),fuzz,$(if \
   $(findstring thread,$(SAN)),tsan,$(if $(SAN),san,release)))
GEN := $(BUILD)/gen

WARN := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes \
        -Wmissing-prototypes -Wvla -Wswitch-enum -Wformat=2 -Wundef -Werror
CPPF := -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -I. -I$(BUILD) -I/usr/include/libxml2
SANF := $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer -DASIDE_FAULTS)
ALLF := -std=c11 $(WARN) $(CPPF) $(CFLAGS) $(SANF) -pthread -MMD -MP
LIBS := -lfcgi -lcmark -lsqlite3 -lcurl -lcjson -lxml2 -lsodium -lutf8proc -lseccomp -lm -pthread

# --- sources by folder -------------------------------------------------------
STORE_SRC   := $(wildcard sql/base/*.c sql/*.c)
FCGI_SRC    := $(filter-out fcgi/main.c,$(wildcard fcgi/*.c))
OFFLINE_SRC := $(filter-out fcgi/offline/main.c,$(wildcard fcgi/offline/*.c))
RUNTIME_SRC := $(filter-out runtime/main.c runtime/cmd/aside.c,$(wildcard runtime/*.c runtime/*/*.c))
CHECK_SRC   := $(wildcard tests/check_*.c tests/support/*.c)
BENCH_SRC   := $(wildcard tests/bench/*.c)
TARGET_SRC  := $(wildcard tests/fuzz/fuzz_*.c)
FUZZ_SRC    := $(filter-out $(TARGET_SRC),$(wildcard tests/fuzz/*.c))

obj = $(patsubst %.c,$(OUT)/%.o,$(1))

STORE   := $(OUT)/libstore.a
FCGI    := $(OUT)/libresponder.a
OFFLINE := $(OUT)/liboffline.a
RUNTIME := $(OUT)/libruntime.a

PROGRAMS := $(OUT)/aside.fcgi $(OUT)/aside-offline.fcgi $(OUT)/asided $(OUT)/aside

.PHONY: all programs
all: programs page
programs: $(PROGRAMS)

# --- generated: SQL as C ------------------------------------------------------
QUERIES := $(sort $(wildcard sql/query/*.sql sql/query/*/*.sql))
SCHEMAS := $(sort $(wildcard sql/schema/*.sql sql/schema/*/*.sql))

$(GEN)/stmt.h $(GEN)/stmt.c $(GEN)/schema.h $(GEN)/schema.c &: sql/embed.awk $(QUERIES) $(SCHEMAS)
	@mkdir -p $(GEN)
	awk -v out=$(GEN) -f sql/embed.awk $(QUERIES) $(SCHEMAS)

$(call obj,$(STORE_SRC) $(FCGI_SRC) $(OFFLINE_SRC) $(RUNTIME_SRC) $(CHECK_SRC) \
   $(TARGET_SRC) $(FUZZ_SRC) fcgi/main.c fcgi/offline/main.c runtime/main.c runtime/cmd/aside.c): | $(GEN)/stmt.h

$(GEN)/run_conf.h: nginx/run.conf.in
	@mkdir -p $(GEN)
	{ echo 'static const char RUN_CONF[] = {'; \
	  od -An -v -tu1 $< | sed 's/[0-9][0-9]*/&,/g'; echo '0};'; } > $@
$(OUT)/runtime/cmd/nginx_conf.o: $(GEN)/run_conf.h

# --- objects, archives, programs ---------------------------------------------
$(OUT)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(ALLF) $(ENTRY) -c -o $@ $<

$(OUT)/gen/%.o: $(GEN)/%.c
	@mkdir -p $(@D)
	$(CC) $(ALLF) -c -o $@ $<

define archive
	@rm -f $@
	$(AR) rcs $@ $^
endef
AR ?= ar
ifeq ($(origin AR),default)
AR := ar
endif

$(STORE): $(call obj,$(STORE_SRC)) $(OUT)/gen/stmt.o $(OUT)/gen/schema.o
	$(archive)
$(FCGI): $(call obj,$(FCGI_SRC))
	$(archive)
$(OFFLINE): $(call obj,$(OFFLINE_SRC))
	$(archive)
$(RUNTIME): $(call obj,$(RUNTIME_SRC))
	$(archive)

# Of the libraries each program loads what it uses: the responder's start and its
# memory are not paid for libcurl's forty.
link = $(CC) $(CFLAGS) $(SANF) -Wl,--as-needed -o $@ $(filter %.o %.a,$^) $(LIBS)

$(OUT)/aside.fcgi: $(OUT)/fcgi/main.o $(FCGI) $(STORE)
	$(link)
$(OUT)/aside-offline.fcgi: $(OUT)/fcgi/offline/main.o $(OFFLINE) $(FCGI) $(STORE)
	$(link)
$(OUT)/asided: $(OUT)/runtime/main.o $(RUNTIME) $(STORE)
	$(link)
$(OUT)/aside: $(OUT)/runtime/cmd/aside.o $(RUNTIME) $(STORE)
	$(link)

# The tests' allocations are led through tests/support/short_memory.c.
comma := ,
WRAP := $(addprefix -Wl$(comma)--wrap=,malloc calloc realloc strdup strndup)
$(OUT)/check: $(call obj,$(CHECK_SRC) tests/fuzz/stage.c tests/fuzz/fuzz.c) $(RUNTIME) $(OFFLINE) $(FCGI) $(STORE)
	$(CC) $(CFLAGS) $(SANF) $(WRAP) -o $@ $(filter %.o %.a,$^) -lcheck -lsubunit -lrt $(LIBS)

# Each target of tests/fuzz/ is a program of its own for the fuzzer, which brings
# main; to be replayed they are one, and their entries have names of their own.
FUZZERS := $(patsubst tests/fuzz/%.c,$(OUT)/%,$(TARGET_SRC))
FUZZ_OBJ := $(call obj,$(filter-out tests/fuzz/replay.c,$(FUZZ_SRC)))

$(OUT)/replay: $(call obj,$(TARGET_SRC) $(FUZZ_SRC)) $(RUNTIME) $(FCGI) $(STORE)
	$(link)
$(FUZZERS): $(OUT)/%: $(OUT)/tests/fuzz/%.o $(FUZZ_OBJ) $(RUNTIME) $(FCGI) $(STORE)
	$(link) -fsanitize=fuzzer
ifneq ($(OUT),$(BUILD)/fuzz)
$(OUT)/tests/fuzz/fuzz_%.o: ENTRY = -DLLVMFuzzerTestOneInput=$(*F)
endif

-include $(shell find $(OUT) -name '*.d' 2>/dev/null)

# --- the page: static/ and the libraries it names ----------------------------
PAGE_SRC := $(shell find static -type f)

.PHONY: page
page: $(BUILD)/static/index.html

# npm packages, once per lock file: those of the page, and for the tests all.
$(BUILD)/npm.stamp: package.json package-lock.json
	@mkdir -p $(@D)
	npm ci --silent --omit=dev
	@touch $@
$(BUILD)/npm-all.stamp: package.json package-lock.json
	@mkdir -p $(@D)
	npm ci --silent
	@touch $(BUILD)/npm.stamp $@

$(BUILD)/static/index.html: $(PAGE_SRC) $(BUILD)/npm.stamp
	node static/tools/assemble.mjs $(BUILD)/static

# --- packages of the system -----------------------------------------------------
RUN_PACKAGES := gcc libc6-dev libfcgi-dev libcmark-dev libsqlite3-dev libcurl4-openssl-dev \
   libcjson-dev libxml2-dev libsodium-dev libutf8proc-dev libseccomp-dev nginx-light spawn-fcgi sqlite3-doc \
   poppler-utils
TEST_PACKAGES := $(RUN_PACKAGES) check libsubunit-dev sqlite3 chromium-headless-shell systemd
STRICT_PACKAGES := valgrind
FUZZ_PACKAGES := clang libclang-rt-14-dev
LINT_PACKAGES := clang-format clang-tidy cppcheck
BENCH_PACKAGES := wrk
MANUAL := /usr/share/doc/sqlite3

# Install what is missing of $(1): as root, or through sudo. Slim images leave
# documentation out, which is the library here, so it is asked for by name.
define install
@command -v dpkg-query > /dev/null || { \
   echo "This is no Debian system; Aside needs the equivalents of: $(1)"; \
   exit 0; }; \
want="$(1)"; missing=; \
command -v node > /dev/null || want="$$want nodejs"; \
command -v npm > /dev/null || want="$$want npm"; \
for p in $$want; do \
   dpkg-query -W -f '$${db:Status-Status}' $$p 2> /dev/null | \
      grep -qx installed || missing="$$missing $$p"; \
done; \
test -e $(MANUAL)/wal.html || missing="$$missing sqlite3-doc"; \
test -n "$$missing" || exit 0; \
if test "$$(id -u)" = 0; then sudo=; \
elif command -v sudo > /dev/null; then sudo=sudo; \
else echo "Please install:$$missing"; exit 1; fi; \
echo "Installing:$$missing"; \
get="$$sudo env DEBIAN_FRONTEND=noninteractive apt-get -q -y \
   -o DPkg::Lock::Timeout=300 -o Dpkg::Options::=--path-include=$(MANUAL)/*"; \
add="install --no-install-recommends --reinstall $$missing"; \
$$get $$add || { $$get update && $$get $$add; }
endef

.PHONY: deps deps-test deps-lint deps-bench deps-fuzz deps-strict
deps: ## install what make run needs
	$(call install,$(RUN_PACKAGES))
deps-test:
	$(call install,$(TEST_PACKAGES))
deps-lint:
	$(call install,$(TEST_PACKAGES) $(LINT_PACKAGES))
deps-strict:
	$(call install,$(TEST_PACKAGES) $(STRICT_PACKAGES))
deps-fuzz:
	$(call install,$(TEST_PACKAGES) $(FUZZ_PACKAGES))
deps-bench:
	$(call install,$(TEST_PACKAGES) $(BENCH_PACKAGES))

CPUS := $(shell nproc 2> /dev/null || echo 2)
BUILDING = $(MAKE) --no-print-directory -j $(CPUS)

# --- running ----------------------------------------------------------------------
# PORT=, DATA= and CONF= choose port, folder and configuration file; ASIDE_...
# variables pass through. Without CONF= the library is SQLite's manual.
.PHONY: run
run: deps ## build and start everything: http://localhost:8080/
	@$(BUILDING) all
	@$(if $(CONF),,ASIDE_LIBRARY="$${ASIDE_LIBRARY:-$(MANUAL)}") \
	   exec $(BUILD)/release/aside run $(if $(PORT),-p $(PORT)) \
	   $(if $(DATA),-d $(DATA)) $(if $(CONF),-c $(CONF))

# --- tests ------------------------------------------------------------------------
# The unit tests and the programs under test are built with the sanitizers;
# the page and the tests of the supervisor use the release build.
SANITIZE := SAN=address,undefined
NODE_TEST := timeout -k 20 1200 node tests/run.mjs

.PHONY: test test-build check replay scenarios load browser e2e pictures bench
test-build: $(BUILD)/npm-all.stamp
	@$(BUILDING) $(SANITIZE) programs $(BUILD)/san/check $(BUILD)/san/replay
	@$(BUILDING) all
test: deps-test ## build with sanitizers too, then run all tests
	@$(MAKE) --no-print-directory test-build
	@$(MAKE) --no-print-directory -j 2 --output-sync=target $(SANITIZE) \
	   check scenarios
	@$(MAKE) --no-print-directory load browser
# With the sanitizers, a thousand forks take minutes: all tests run in one process,
# which is looked through for leaks, and what must abort in one of its own.
ABORTING = $(patsubst tests/check_%.c,%,$(shell \
   grep -l suite_may_abort $(filter-out tests/check_main.c,$(CHECK_SRC))))
# What was freed is watched for a while, but not until a gigabyte lies there.
QUARANTINE := quarantine_size_mb=16:thread_local_quarantine_size_kb=64
check: $(OUT)/check replay ## unit tests; CK_RUN_SUITE=name chooses one
ifeq ($(SAN),)
	$(OUT)/check
else
	CK_FORK=no ASAN_OPTIONS=$(QUARANTINE) $(OUT)/check
	for suite in $(or $(CK_RUN_SUITE),$(ABORTING)); do \
	   CK_RUN_SUITE=$$suite ASAN_OPTIONS=detect_leaks=0 $(OUT)/check || exit 1; \
	done
endif
# What broke a fuzz target once must not break it again. ONLY=json,sse chooses.
replay: $(OUT)/replay
	ASAN_OPTIONS=abort_on_error=1 $(OUT)/replay tests/fuzz/corpus \
	   $(subst $(comma), ,$(ONLY))
# The longest come first, so that none runs alone at the end.
LONG := $(patsubst %,tests/scenarios/%.test.mjs,access attack-crash attack-life \
   attack-responder-walk backup cases command library policy races soak supervisor) \
   $(patsubst %,tests/browser/%.test.mjs,adverse cases scenario tabs)
longest_first = $(filter $(LONG),$(1)) $(filter-out $(LONG),$(1))
# Most of a scenario is waiting for what must not come too soon.
scenarios:
	$(NODE_TEST) 4 $(call longest_first,$(filter-out $(LOAD),$(wildcard \
	   tests/page/*.test.mjs tests/scenarios/*.test.mjs)))
# It measures how others are served meanwhile, so nothing runs beside it.
LOAD := tests/scenarios/load.test.mjs
load:
	$(NODE_TEST) 1 $(LOAD)
browser:
	$(NODE_TEST) 2 $(call longest_first,$(wildcard tests/browser/*.test.mjs))
e2e: test-build ## tests over HTTP only; ONLY=name chooses a file
	$(NODE_TEST) 2 $(wildcard tests/scenarios/$(or $(ONLY),*).test.mjs)

# SEED= repeats one.
.PHONY: soak
SOAK ?= 600
soak: deps-test test-build ## ten minutes of load while processes are killed; SOAK= seconds
	SOAK_SECONDS=$(SOAK) SOAK_SEED=$(SEED) \
	   node --test --test-reporter=spec tests/scenarios/soak.test.mjs

# The pictures of the README, made anew from what the test of the main job sees.
pictures: test-build ## the README's pictures, into docs/
	$(NODE_TEST) 1 tests/browser/scenario.test.mjs
	node tests/browser/to-webp.mjs var/screenshots/03-answered.png docs/chat.webp \
	   var/screenshots/04-report-phone-dark.png docs/phone.webp

# --- fuzzing ------------------------------------------------------------------------
# Each target in turn, one process, SECONDS=60 in all; ONLY=json,sse chooses some.
# What is found stays in var/fuzz/, an input that breaks a target under the name
# that the last lines tell.
SECONDS ?= 60
# The warnings that count are those of the ordinary compiler.
FUZZING := CC=clang SAN=fuzzer-no-link,address,undefined \
   CFLAGS='-O1 -g -Wno-error'
TARGETS = $(or $(subst $(comma), ,$(ONLY)),$(patsubst \
   tests/fuzz/fuzz_%.c,%,$(TARGET_SRC)))

.PHONY: fuzz fuzz-build
fuzz: deps-fuzz ## look for inputs that break a parser; SECONDS=, ONLY=
	@$(BUILDING) $(FUZZING) fuzz-build
	@for t in $(TARGETS); do \
	   mkdir -p var/fuzz/$$t && \
	   $(BUILD)/fuzz/fuzz_$$t -artifact_prefix=var/fuzz/$$t- -timeout=20 \
	      -max_total_time=$$(( $(SECONDS) / $(words $(TARGETS)) + 1 )) \
	      -rss_limit_mb=2048 -verbosity=0 -print_final_stats=0 \
	      $(FUZZ_OPTIONS) var/fuzz/$$t tests/fuzz/corpus/$$t || exit 1; \
	   echo "$$t: nothing broke it"; \
	done
fuzz-build: $(FUZZERS)

# --- stricter runs ------------------------------------------------------------------
# A whole Aside under load, in programs that are watched from inside or outside.
.PHONY: tsan valgrind jitter units
tsan: deps-test ## the responder's threads under load, a minute
	@$(BUILDING) SAN=thread programs
	$(NODE_TEST) 1 tests/strict/threads.test.mjs
valgrind: deps-strict ## both processes under memcheck, two minutes
	@$(BUILDING) programs
	$(NODE_TEST) 1 tests/strict/valgrind.test.mjs

# Every end of every wire late now and then, the tests' own too: what leans on
# an order that nobody promised fails here. ONLY=name chooses a file.
jitter: deps-test test-build $(BUILD)/jitter.so ## the scenarios, with everybody late at random, twenty minutes
	JITTER=$(abspath $(BUILD)/jitter.so) timeout -k 20 3600 node tests/run.mjs 4 \
	   $(filter-out $(LOAD),$(wildcard tests/scenarios/$(or $(ONLY),*).test.mjs))
$(BUILD)/jitter.so: tests/strict/jitter.c
	@mkdir -p $(@D)
	$(CC) -std=c11 $(WARN) $(CPPF) -O1 -fPIC -shared -o $@ $<

# As root: a systemd needs namespaces of its own.
units: deps-test ## the systemd units under a systemd of their own; as root
	@$(MAKE) --no-print-directory -s install DESTDIR=$(CURDIR)/var/units
	$(NODE_TEST) 1 tests/strict/units.test.mjs

# --- figures ----------------------------------------------------------------------
# On the release build. ONLY=accept,wake,stream,rest chooses some; BENCH_REST=60
# watches the processes at rest for so many seconds.
BENCH_TOOLS := $(addprefix $(OUT)/bench/,hello probe provider)

bench: deps-bench ## figures against their goals, into var/bench/
	@$(BUILDING) programs bench-tools
	node tests/bench/bench.mjs $(subst $(comma), ,$(ONLY))
.PHONY: bench-tools
bench-tools: $(BENCH_TOOLS)

$(BENCH_TOOLS): $(OUT)/bench/%: $(OUT)/tests/bench/%.o \
   $(OUT)/tests/bench/wire.o $(STORE)
	@mkdir -p $(@D)
	$(link)

# --- reading the code ---------------------------------------------------------------
C_FILES := $(STORE_SRC) $(FCGI_SRC) $(OFFLINE_SRC) $(RUNTIME_SRC) $(CHECK_SRC) \
   $(BENCH_SRC) $(TARGET_SRC) $(FUZZ_SRC) $(wildcard tests/strict/*.c fcgi/main.c fcgi/offline/main.c runtime/main.c \
   runtime/cmd/aside.c)
H_FILES := $(wildcard sql/base/*.h sql/*.h fcgi/*.h fcgi/offline/*.h runtime/*.h runtime/*/*.h \
   tests/support/*.h tests/bench/*.h tests/fuzz/*.h)

.PHONY: lint format lint-format lint-cppcheck lint-tidy lint-layers lint-words \
   lint-types
lint: deps-lint ## formatting, static analysis, layers, words, types
	@$(MAKE) --no-print-directory -k lint-format lint-layers lint-words \
	   lint-types lint-cppcheck lint-tidy
	@echo 'lint: nothing to complain about'
lint-format:
	@clang-format --dry-run -Werror $(C_FILES) $(H_FILES)
lint-layers:
	@awk -f tests/lint/layers.awk $(C_FILES) $(H_FILES)
lint-words:
	@git ls-files -z | xargs -0 awk -f tests/lint/words.awk
lint-types: $(BUILD)/npm-all.stamp
	@npm run --silent types
lint-cppcheck: $(GEN)/stmt.h $(GEN)/run_conf.h
	@cppcheck --quiet --std=c11 --enable=warning,performance,portability \
	   --error-exitcode=1 --inline-suppr --suppress=missingIncludeSystem \
	   --suppress=funcArgOrderDifferent -j $(CPUS) -D_GNU_SOURCE -I. -I$(BUILD) $(C_FILES)
lint-tidy: $(GEN)/stmt.h $(GEN)/run_conf.h
	@printf '%s\n' $(C_FILES) | xargs -P $(CPUS) -n 3 sh -c \
	   'clang-tidy --quiet "$$@" -- -std=c11 $(CPPF) 2> /dev/null' tidy
format: ## lay out all C files
	clang-format -i $(C_FILES) $(H_FILES)

# --- elsewhere ------------------------------------------------------------------------
.PHONY: install clean help
LIBDIR := $(DESTDIR)$(PREFIX)/lib/aside
install: all ## into $(PREFIX), with DESTDIR= in front
	install -d $(LIBDIR)/bin $(DESTDIR)$(PREFIX)/bin \
	   $(DESTDIR)$(PREFIX)/share/aside $(DESTDIR)$(PREFIX)/share/man/man1
	install -m 755 $(PROGRAMS) $(LIBDIR)/bin
	sh static/tools/install.sh $(BUILD)/static $(LIBDIR)/static
	install -m 644 nginx/snippet.conf systemd/*.service \
	   $(DESTDIR)$(PREFIX)/share/aside
	install -m 644 docs/aside.1 $(DESTDIR)$(PREFIX)/share/man/man1
	ln -sf ../lib/aside/bin/aside $(DESTDIR)$(PREFIX)/bin/aside
clean: ## remove all output but var/
	rm -rf $(BUILD)
help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-8s %s\n", $$1, $$2}' \
	   Makefile
