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
# Three small libraries are linked in: loading them took 0.2 ms of each run, a fifth of the start. LIBS="-lseccomp -lcap -lz -lcjson"
# links them as shared ones, as a distribution would.
LIBS    ?= -Wl,-Bstatic -lseccomp -lcap -lz -Wl,-Bdynamic -lcjson
CPPFLAGS += -Iinclude -Isrc -I$(BUILD)/gen -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -DSR_VERSION='"$(VERSION)"'
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

# ---- the test rings ----

# The hostile programs of tests/escape: plain programs, as an attacker would build them, so no hardening.
PROBES := $(patsubst tests/escape/%.c,$(BUILD)/escape/%,$(sort $(wildcard tests/escape/*.c)))

$(BUILD)/escape/%: tests/escape/%.c tests/escape/probe.h Makefile
	@mkdir -p $(@D)
	@echo "  CC    $<"
	$(Q)$(CC) $(CSTD) -O1 -g -Wall -Wextra -Werror -D_GNU_SOURCE -o $@ $<

.PHONY: probes
probes: $(PROBES) ## build the hostile programs of tests/escape

.PHONY: test
test: ## run every ring (scripts/test)
	$(Q)scripts/test

SANITIZERS := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer

.PHONY: asan-build
asan-build: ## build build-asan with address and undefined behaviour sanitizers
	$(Q)$(MAKE) --no-print-directory BUILD=build-asan SAN="$(SANITIZERS)" HARDEN= \
	    build-asan/sandrun build-asan/unit-tests

# Leaks are errors too. The black-box tests run the sanitized binary; it aborts on a finding, which no test expects.
.PHONY: asan
asan: asan-build ## run unit and black-box tests with sanitizers, leaks on
	$(Q)scripts/test asan

.PHONY: clang
clang: ## build everything with clang into build-clang
	$(Q)$(MAKE) --no-print-directory CC=clang BUILD=build-clang build-clang/sandrun build-clang/unit-tests

# ---- fuzzing ----

FUZZ_SECONDS ?= 0
FUZZERS := $(patsubst tests/fuzz/%.c,build-fuzz/%,$(sort $(wildcard tests/fuzz/fuzz_*.c)))
FUZZ_FLAGS := -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined

# The library is built again with coverage; the corpus is replayed, each target must take all of it.
.PHONY: fuzz
fuzz: ## build the fuzz targets and replay their corpus; FUZZ_SECONDS=60 fuzzes each for so long
	$(Q)test -n "$(FUZZERS)" || { echo "no fuzz target"; exit 1; }
	$(Q)$(MAKE) --no-print-directory CC=clang BUILD=build-fuzz SAN="$(FUZZ_FLAGS)" HARDEN=-fPIE OPT="-O1 -g" $(FUZZERS)
	$(Q)for f in $(FUZZERS); do scripts/fuzz-one $$f $(FUZZ_SECONDS) || exit 1; done

build-fuzz/%: tests/fuzz/%.c build-fuzz/libsandrun.a
	@echo "  FUZZ  $@"
	$(Q)$(CC) $(CPPFLAGS) $(filter-out -Wmissing-prototypes,$(ALL_CFLAGS)) -fsanitize=fuzzer,address,undefined \
	    $(ALL_LDFLAGS) -o $@ $^ $(LIBS)

# ---- measuring ----

$(BUILD)/bench: tests/bench/bench.c $(BUILD)/libsandrun.a Makefile
	@mkdir -p $(@D)
	@echo "  CC    $<"
	$(Q)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $< $(BUILD)/libsandrun.a $(LIBS)

.PHONY: bench
bench: $(BUILD)/sandrun $(BUILD)/bench ## measure against bare exec and bwrap (scripts/deps bench); not a test
	$(Q)tests/bench/run $(BENCH_ARGS)

# ---- static analysis ----

.PHONY: lint
lint: ## cppcheck, clang-tidy and shellcheck (scripts/deps lint)
	$(Q)cppcheck --quiet --std=c11 --enable=warning,portability,performance --inline-suppr --error-exitcode=1 \
	    --suppress=missingIncludeSystem -D_GNU_SOURCE -Iinclude -Isrc src
	$(Q)clang-tidy --quiet $(SRCS) -- $(CPPFLAGS) $(CSTD)
	$(Q)shellcheck -x -S warning -e SC2154 scripts/deps scripts/test scripts/demo .ci/run tests/box/*.sh tests/tools/*.sh

# ---- installing ----

BINDIR  := $(DESTDIR)$(PREFIX)/bin
DATADIR := $(DESTDIR)$(PREFIX)/share/sandrun
MANDIR  := $(DESTDIR)$(PREFIX)/share/man/man1
BASHDIR := $(DESTDIR)$(PREFIX)/share/bash-completion/completions
ZSHDIR  := $(DESTDIR)$(PREFIX)/share/zsh/site-functions
FISHDIR := $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d

# What is printed by the binary is generated here, so that it cannot be another version's. Written through a
# temporary file: a binary that fails must not leave an empty manual page behind.
$(BUILD)/share/%: $(BUILD)/sandrun
	@mkdir -p $(@D)
	$(Q)$(BUILD)/sandrun $(call generator,$*) > $@.tmp && test -s $@.tmp && mv $@.tmp $@

GENERATED := sandrun.1 sandrun.bash _sandrun sandrun.fish policy.schema.json
generator = $(strip $(if $(filter sandrun.1,$1),help --man)$(if $(filter sandrun.bash,$1),help --completion bash)\
	$(if $(filter _sandrun,$1),help --completion zsh)$(if $(filter sandrun.fish,$1),help --completion fish)\
	$(if $(filter policy.schema.json,$1),schema))

.PHONY: install
install: $(BUILD)/sandrun $(GENERATED:%=$(BUILD)/share/%) ## install below PREFIX (default /usr/local), DESTDIR in front
	$(Q)install -d "$(BINDIR)" "$(DATADIR)/policies" "$(MANDIR)" "$(BASHDIR)" "$(ZSHDIR)" "$(FISHDIR)"
	$(Q)install -m 755 $(BUILD)/sandrun "$(BINDIR)/sandrun"
	$(Q)install -m 644 $(POLICIES) "$(DATADIR)/policies"
	$(Q)install -m 644 $(BUILD)/share/policy.schema.json "$(DATADIR)/policy.schema.json"
	$(Q)install -m 644 $(BUILD)/share/sandrun.1 "$(MANDIR)/sandrun.1"
	$(Q)install -m 644 $(BUILD)/share/sandrun.bash "$(BASHDIR)/sandrun"
	$(Q)install -m 644 $(BUILD)/share/_sandrun "$(ZSHDIR)/_sandrun"
	$(Q)install -m 644 $(BUILD)/share/sandrun.fish "$(FISHDIR)/sandrun.fish"

.PHONY: uninstall
uninstall: ## remove what install put there
	$(Q)rm -f "$(BINDIR)/sandrun" "$(MANDIR)/sandrun.1" "$(BASHDIR)/sandrun" "$(ZSHDIR)/_sandrun" "$(FISHDIR)/sandrun.fish"
	$(Q)rm -rf "$(DATADIR)"

-include $(wildcard $(BUILD)/src/*.d $(BUILD)/src/*/*.d $(BUILD)/src/*/*/*.d $(BUILD)/tests/unit/*.d)
