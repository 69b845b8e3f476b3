# SPDX-License-Identifier: MIT
# sandrun's build. `make help` lists the targets.

PREFIX  ?= /usr/local
DESTDIR ?=
BUILD   ?= build
VERSION := 0.1.0

CC      ?= gcc
CSTD    := -std=gnu11
WARN    := -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition \
           -Wpointer-arith -Wcast-qual -Wwrite-strings -Wvla -Wformat=2 -Wimplicit-fallthrough -Wundef
# The hardening set of the OpenSSF compiler guide that gcc 12 and clang 14 both know.
HARDEN  := -D_FORTIFY_SOURCE=2 -fstack-protector-strong -fstack-clash-protection -fPIE
LDHARD  := -pie -Wl,-z,relro,-z,now,-z,noexecstack -Wl,--as-needed
OPT     ?= -O2 -g
LIBS    := -lseccomp -lcap -lcjson -lz
CPPFLAGS += -Iinclude -Isrc -I$(BUILD)/gen -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -DSR_VERSION='"$(VERSION)"' \
            -DSR_POLICY_DIR='"$(PREFIX)/share/sandrun/policies"'
ALL_CFLAGS = $(CSTD) $(OPT) $(WARN) $(HARDEN) $(SAN) $(CFLAGS)
ALL_LDFLAGS = $(LDHARD) $(SAN) $(LDFLAGS)

ifeq ($(V),1)
Q :=
else
Q := @
endif

SRCS := $(sort $(wildcard src/*.c src/*/*.c src/*/*/*.c))
# The helper that handles untrusted bytes is a program of its own; everything else is one library and one main.
LIB_SRCS := $(filter-out src/main.c src/helper/%,$(SRCS))
LIB_OBJS := $(LIB_SRCS:%.c=$(BUILD)/%.o) $(BUILD)/gen/policies_builtin.o
UNIT_SRCS := $(sort $(wildcard tests/unit/*.c))
UNIT_OBJS := $(UNIT_SRCS:%.c=$(BUILD)/%.o)
POLICIES := $(sort $(wildcard policies/*.json))

.PHONY: all
all: $(BUILD)/sandrun ## build build/sandrun

$(BUILD)/sandrun: $(BUILD)/src/main.o $(BUILD)/libsandrun.a
	@echo "  LD    $@"
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $^ $(LIBS)

$(BUILD)/libsandrun.a: $(LIB_OBJS)
	@echo "  AR    $@"
	$(Q)rm -f $@ && ar rcs $@ $^

$(BUILD)/%.o: %.c Makefile
	@mkdir -p $(@D)
	@echo "  CC    $<"
	$(Q)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

# The shipped policies are compiled in too, so that a binary alone is whole and a staged run depends on no writable file.
$(BUILD)/gen/policies_builtin.c: $(POLICIES) scripts/embed-policies Makefile
	@mkdir -p $(@D)
	$(Q)scripts/embed-policies $(POLICIES) > $@.tmp && mv $@.tmp $@

$(BUILD)/gen/policies_builtin.o: $(BUILD)/gen/policies_builtin.c
	$(Q)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -c -o $@ $<

$(BUILD)/unit-tests: $(UNIT_OBJS) $(BUILD)/libsandrun.a
	@echo "  LD    $@"
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $^ $(LIBS) -lcriterion

.PHONY: unit
unit: $(BUILD)/unit-tests ## build the unit tests
	$(Q)$(BUILD)/unit-tests

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  \1\t/' | expand -t 16

.PHONY: clean
clean: ## remove what was built
	rm -rf $(BUILD) build-asan build-clang build-fuzz

-include $(wildcard $(BUILD)/src/*.d $(BUILD)/src/*/*.d $(BUILD)/src/*/*/*.d $(BUILD)/tests/unit/*.d)
