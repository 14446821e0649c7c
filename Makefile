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
CFLAGS ?= -O2 -g
SAN    ?=
BUILD  ?= build
PORT   ?= 8080
DATA   ?= ./var
PREFIX ?= /usr/local

OUT := $(BUILD)/$(if $(SAN),san,release)
GEN := $(BUILD)/gen

WARN := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes \
        -Wmissing-prototypes -Wvla -Wswitch-enum -Wformat=2 -Wundef -Werror
CPPF := -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -I. -I$(BUILD) -I/usr/include/libxml2
SANF := $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer -DASIDE_FAULTS)
ALLF := -std=c11 $(WARN) $(CPPF) $(CFLAGS) $(SANF) -pthread -MMD -MP
LIBS := -lfcgi -lsqlite3 -lcurl -lcjson -lxml2 -lsodium -lm -pthread

# --- sources by folder -------------------------------------------------------
STORE_SRC   := $(wildcard sql/base/*.c sql/*.c)
FCGI_SRC    := $(filter-out fcgi/main.c,$(wildcard fcgi/*.c))
OFFLINE_SRC := $(filter-out fcgi/offline/main.c,$(wildcard fcgi/offline/*.c))
RUNTIME_SRC := $(filter-out runtime/main.c runtime/aside.c,$(wildcard runtime/*.c))
CHECK_SRC   := $(wildcard tests/check_*.c tests/support/*.c)
BENCH_SRC   := $(wildcard tests/bench/*.c)

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
QUERIES := $(sort $(wildcard sql/query/*.sql sql/query/library/*.sql))
SCHEMAS := $(sort $(wildcard sql/schema/*.sql sql/schema/library/*.sql))

$(GEN)/stmt.h $(GEN)/stmt.c $(GEN)/schema.h $(GEN)/schema.c &: sql/embed.awk $(QUERIES) $(SCHEMAS)
	@mkdir -p $(GEN)
	awk -v out=$(GEN) -f sql/embed.awk $(QUERIES) $(SCHEMAS)

$(call obj,$(STORE_SRC) $(FCGI_SRC) $(OFFLINE_SRC) $(RUNTIME_SRC) $(CHECK_SRC) \
   fcgi/main.c fcgi/offline/main.c runtime/main.c runtime/aside.c): | $(GEN)/stmt.h

# --- objects, archives, programs ---------------------------------------------
$(OUT)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(ALLF) -c -o $@ $<

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

link = $(CC) $(CFLAGS) $(SANF) -o $@ $(filter %.o %.a,$^) $(LIBS)

$(OUT)/aside.fcgi: $(OUT)/fcgi/main.o $(FCGI) $(STORE)
	$(link)
$(OUT)/aside-offline.fcgi: $(OUT)/fcgi/offline/main.o $(OFFLINE) $(FCGI) $(STORE)
	$(link)
$(OUT)/asided: $(OUT)/runtime/main.o $(RUNTIME) $(STORE)
	$(link)
$(OUT)/aside: $(OUT)/runtime/aside.o $(RUNTIME) $(STORE)
	$(link)

$(OUT)/check: $(call obj,$(CHECK_SRC)) $(RUNTIME) $(OFFLINE) $(FCGI) $(STORE)
	$(CC) $(CFLAGS) $(SANF) -o $@ $(filter %.o %.a,$^) -lcheck -lsubunit -lrt $(LIBS)

-include $(shell find $(OUT) -name '*.d' 2>/dev/null)
