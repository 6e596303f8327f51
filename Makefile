# moonwarp: CUDA for Lua.
#
#   make            the library, mwcc, the Lua module        make test    the whole suite
#   make demo       examples/photo.lua                       make bench   speed, beside peers
#   make -s env     shell exports for lua5.4 and luajit      make lint    warnings as errors, luacheck, clang-format
#   make config=sanitize|debug …   the same with ASan+UBSan, or unoptimised with module verification
#
# Where things come from (setup.sh installs them from Debian's packages):
#   LLVM and clang >= 19   mwcc: without them no kernel can be compiled, only loaded from .mwo files
#   Lua 5.4                the Lua module and the tests
#   libpng                 PNG images; without it mw_image_read/write know netpbm only
#   busted, luacheck       the tests; lint
# The build tree has the shape of an installation (bin, lib, share), so that paths are found the same way in both.

config ?= release
BUILD ?= build/$(config)
LUA_VERSION ?= 5.4
LUA ?= lua$(LUA_VERSION)
LLVM_CONFIG ?= $(shell for v in 22 21 20 19; do command -v llvm-config-$$v && break; done || command -v llvm-config)
CLANG_FORMAT ?= $(shell for v in 22 21 20 19; do command -v clang-format-$$v && break; done || command -v clang-format)
PKG_CONFIG ?= pkg-config
VERSION := 0.1.0

WARN := -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla
CFLAGS_release := -O2 -g
CFLAGS_debug := -O0 -g3 -DMW_DEBUG=1
CFLAGS_sanitize := -O1 -g -fsanitize=address,undefined -fno-omit-frame-pointer -DMW_DEBUG=1
LDFLAGS_sanitize := -fsanitize=address,undefined
CFLAGS ?= $(CFLAGS_$(config))
LDFLAGS ?= $(LDFLAGS_$(config))
ALL_CFLAGS = -std=c11 -D_GNU_SOURCE -DMW_VERSION='"$(VERSION)"' -fPIC -fvisibility=hidden -pthread -MMD -MP $(WARN) $(CFLAGS) -Isrc

PNG_CFLAGS := $(shell $(PKG_CONFIG) --cflags libpng 2>/dev/null && echo -DMW_HAVE_PNG=1)
PNG_LIBS := $(shell $(PKG_CONFIG) --libs libpng 2>/dev/null)
LUA_CFLAGS ?= $(shell $(PKG_CONFIG) --cflags lua$(LUA_VERSION) 2>/dev/null || echo -I/usr/include/lua$(LUA_VERSION))
LLVM_CFLAGS = -isystem $(shell $(LLVM_CONFIG) --includedir)
LLVM_LIBS = -L$(shell $(LLVM_CONFIG) --libdir) -lLLVM-$(firstword $(subst ., ,$(shell $(LLVM_CONFIG) --version)))

LIB_SOURCES := $(wildcard src/*.c) $(wildcard src/cpu/*.c)
LIB_ASM := $(wildcard src/cpu/*.S)
MWCC_SOURCES := $(wildcard src/mwcc/*.c) src/base.c
LUA_SOURCES := $(wildcard src/lua/*.c)

object = $(patsubst %,$(BUILD)/obj/%.o,$(1))
LIB := $(BUILD)/lib/libmoonwarp.so
MWCC := $(BUILD)/bin/mwcc
LUA_MODULE := $(BUILD)/lib/lua/$(LUA_VERSION)/moonwarp/core.so
DEVICE := $(BUILD)/share/moonwarp/device

.PHONY: all lib mwcc lua
all: lib mwcc lua
lib: $(LIB)
mwcc: $(MWCC) $(DEVICE)
lua: $(LUA_MODULE)

$(LIB): $(call object,$(LIB_SOURCES) $(LIB_ASM))
	@mkdir -p $(@D)
	$(CC) -shared -pthread $(LDFLAGS) -Wl,-soname,libmoonwarp.so -o $@ $^ $(PNG_LIBS) -ldl -lm

$(MWCC): $(call object,$(MWCC_SOURCES))
	@mkdir -p $(@D)
	$(CC) -pthread $(LDFLAGS) -o $@ $^ $(LLVM_LIBS) -lm

# The Lua module finds the library beside it, in the build tree as in an installation.
$(LUA_MODULE): $(call object,$(LUA_SOURCES)) $(LIB)
	@mkdir -p $(@D)
	$(CC) -shared -pthread $(LDFLAGS) -Wl,-rpath,'$$ORIGIN/../../..' -o $@ $(filter %.o,$^) -L$(BUILD)/lib -lmoonwarp

$(DEVICE):
	@mkdir -p $(@D)
	ln -sfn $(abspath src/device) $@

# The text of the interface, as a C string: mw_abi_text.
$(BUILD)/gen/abi_text.inc: src/moonwarp_abi.h
	@mkdir -p $(@D)
	sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/"/' -e 's/$$/\\n"/' $< > $@

$(BUILD)/obj/src/lua/%.c.o: src/lua/%.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(LUA_CFLAGS) -c -o $@ $<

$(BUILD)/obj/src/mwcc/%.c.o: src/mwcc/%.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(LLVM_CFLAGS) -c -o $@ $<

$(BUILD)/obj/src/%.c.o: src/%.c | $(BUILD)/gen/abi_text.inc
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(PNG_CFLAGS) -I$(BUILD)/gen -c -o $@ $<

$(BUILD)/obj/%.S.o: %.S
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -c -o $@ $<

-include $(shell find $(BUILD)/obj -name '*.d' 2>/dev/null)
