# moonwarp: CUDA for Lua.
#
#   make            the library, mwcc, the Lua module        make test    the whole suite
#   make demo       examples/photo.lua                       make bench   speed, beside peers
#   make -s env     shell exports for lua5.4 and luajit      make lint    warnings as errors, luacheck, clang-format
#   make config=sanitize|debug|tsan …   the same with ASan+UBSan, unoptimised with module verification, or with TSan
#   make target=aarch64 …   the same for AArch64, cross-compiled and run by qemu (sh setup.sh --aarch64 prepares it)
#
# Where things come from (setup.sh installs them from Debian's packages):
#   LLVM and clang 19-22   mwcc: without them no kernel can be compiled, only loaded from .mwo files
#   Lua 5.4                the Lua module and the tests
#   LuaJIT 2.1             a second Lua module, for luajit, where its headers are (libluajit-5.1-dev)
#   libpng                 PNG images; without it mw_image_read/write know netpbm only
#   zlib                   compressed .npz files; without it they are refused
#   busted, luacheck       the tests; lint
# The build tree has the shape of an installation (bin, lib, share), so that paths are found the same way in both.

config ?= release
BUILD ?= build/$(or $(target),$(config))
LUA_VERSION ?= 5.4
# Of the other kind of processor there are a compiler and a linker, a folder with its libraries and Lua, and an emulator that
# runs its programs. mwcc stays this machine's, told what to make: the emulated library starts it as if it were its own.
ifneq ($(target),)
TRIPLET := $(target)-linux-gnu
SYSROOT ?= $(CURDIR)/build/sysroot/$(target)
CC := $(TRIPLET)-gcc --sysroot=$(SYSROOT)
LDFLAGS := -Wl,-rpath-link,$(SYSROOT)/usr/lib/$(TRIPLET):$(SYSROOT)/lib/$(TRIPLET)
PKG_CONFIG := env PKG_CONFIG_SYSROOT_DIR=$(SYSROOT) PKG_CONFIG_LIBDIR=$(SYSROOT)/usr/lib/$(TRIPLET)/pkgconfig pkg-config
NATIVE := build/$(config)
LUA := $(CURDIR)/$(BUILD)/bin/lua$(LUA_VERSION)
EMULATOR := $(CURDIR)/$(BUILD)/bin/emulate
endif
LUA ?= lua$(LUA_VERSION)
ifndef LLVM_CONFIG
LLVM_CONFIG := $(shell sh setup.sh --llvm-config || echo llvm-config)
endif
CLANG = $(shell $(LLVM_CONFIG) --bindir)/clang
CLANG_FORMAT ?= $(shell sh setup.sh --clang-format)
PKG_CONFIG ?= pkg-config
VERSION := 0.1.0

WARN := -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla
CFLAGS_release := -O2 -g
CFLAGS_debug := -O0 -g3 -DMW_DEBUG=1
CFLAGS_sanitize := -O1 -g -fsanitize=address,undefined -fno-omit-frame-pointer -DMW_DEBUG=1
LDFLAGS_sanitize := -fsanitize=address,undefined
CFLAGS_tsan := -O1 -g -fsanitize=thread -fno-omit-frame-pointer
LDFLAGS_tsan := -fsanitize=thread
CFLAGS ?= $(CFLAGS_$(config))
LDFLAGS ?= $(LDFLAGS_$(config))
# What an object depends on counts under both names that a build may know it by: BUILD may be absolute.
DEPENDENCIES = -MMD -MP -MT '$(patsubst $(CURDIR)/%,%,$(abspath $@))' -MT '$(abspath $@)'
ALL_CFLAGS = -std=c11 -D_GNU_SOURCE -DMW_VERSION='"$(VERSION)"' -fPIC -fvisibility=hidden -pthread $(DEPENDENCIES) $(WARN) $(CFLAGS) -Isrc

PNG_CFLAGS := $(shell $(PKG_CONFIG) --cflags libpng 2>/dev/null && echo -DMW_HAVE_PNG=1)
PNG_LIBS := $(shell $(PKG_CONFIG) --libs libpng 2>/dev/null)
ZLIB_CFLAGS := $(shell $(PKG_CONFIG) --cflags zlib 2>/dev/null && echo -DMW_HAVE_ZLIB=1)
ZLIB_LIBS := $(shell $(PKG_CONFIG) --libs zlib 2>/dev/null)
LUAJIT_CFLAGS := $(shell $(PKG_CONFIG) --cflags luajit 2>/dev/null)
LUA_CFLAGS ?= $(or $(if $(filter 5.1,$(LUA_VERSION)),$(LUAJIT_CFLAGS)), \
  $(shell $(PKG_CONFIG) --cflags lua$(LUA_VERSION) 2>/dev/null || echo -I/usr/include/lua$(LUA_VERSION)))
LLVM_CFLAGS = -isystem $(shell $(LLVM_CONFIG) --includedir)
LLVM_LIBS = -L$(shell $(LLVM_CONFIG) --libdir) $(shell $(LLVM_CONFIG) --link-shared --libs)
# With LLVM's and clang's static libraries (setup.sh finds out whether they are all installed) mwcc is one program that
# starts 4 times as fast. STATIC_LLVM= uses the shared libraries, as all configurations but release do.
ifndef STATIC_LLVM
export STATIC_LLVM := $(if $(filter release,$(config)),$(shell sh setup.sh --static-llvm))
endif
# With BOLT (setup.sh finds out whether it is installed) that program's code is laid out in the order of execution, which
# takes two minutes once and half a minute for each link. BOLT= leaves it as it is linked, with debug information.
ifeq ($(origin BOLT),undefined)
BOLT := $(if $(STATIC_LLVM),$(shell sh setup.sh --bolt))
ifneq ($(BOLT),)
export BOLT
endif
endif
# Those of its processors that moonwarp makes code for: mwcc --target
LLVM_TARGETS = $(filter X86 AArch64,$(shell $(LLVM_CONFIG) --targets-built))
# The code generator for GPUs, likewise: mwcc --target=nvptx
LLVM_NVPTX = $(filter NVPTX,$(shell $(LLVM_CONFIG) --targets-built))
CLANG_RESOURCES = $(shell $(CLANG) -print-resource-dir)
CLANG_PARTS := Frontend Driver Serialization CodeGen Parse Sema Analysis ASTMatchers Edit APINotes Support AST Lex Basic
STATIC_LIBS = -L$(shell $(LLVM_CONFIG) --libdir) -Wl,--start-group $(CLANG_PARTS:%=-lclang%) -Wl,--end-group \
  $(shell $(LLVM_CONFIG) --link-static --libs native $(shell echo $(LLVM_TARGETS) $(LLVM_NVPTX) | tr A-Z a-z) passes bitreader bitwriter irreader coverage frontenddriver \
    frontendhlsl frontendopenmp hipstdpar lto option windowsdriver) -Wl,--as-needed $(shell $(LLVM_CONFIG) --link-static --system-libs)

LIB_SOURCES := $(sort $(shell find src/base src/core src/cpu src/cuda src/mpi -name '*.c'))
LIB_ASM := $(sort $(shell find src/cpu -name '*.S'))
MWCC_SOURCES := $(sort $(shell find src/mwcc -name '*.c' -not -path 'src/mwcc/layout/*')) $(wildcard src/base/*.c)
MWCC_START := $(filter src/mwcc/main.c src/mwcc/front/% src/mwcc/support/process.c src/mwcc/support/passes.c src/mwcc/support/huge_pages.c src/mwcc/gpu/arch.c,$(MWCC_SOURCES)) \
  $(filter-out src/mwcc/%,$(MWCC_SOURCES))
LUA_SOURCES := $(sort $(shell find src/lua -name '*.c'))
CUDA_SOURCES := $(sort $(shell find src/host -name '*.c'))

# As many jobs as there are processors, and one short line per file: make V=1 shows the commands, make -s nothing.
ifeq ($(MAKELEVEL)$(filter -j%,$(MAKEFLAGS)),0)
MAKEFLAGS += -j$(shell nproc)
endif
Q := $(if $(V),,@)
say = @$(if $(V)$(findstring s,$(firstword -$(MAKEFLAGS))),:,printf '%-5s %s\n' $(1) '$(patsubst $(BUILD)/%,%,$@)')

object = $(patsubst %,$(BUILD)/obj/%.o,$(1))
LIB := $(BUILD)/lib/libmoonwarp.so
CUDA_LIB := $(BUILD)/lib/libmoonwarp_cuda.so
MWCC := $(BUILD)/bin/mwcc
MWCC_STAGES := $(if $(STATIC_LLVM),,$(BUILD)/lib/moonwarp/mwcc.so)
LUA_MODULE := $(BUILD)/lib/lua/$(LUA_VERSION)/moonwarp/core.so
LUAJIT_MODULE := $(if $(LUAJIT_CFLAGS),$(BUILD)/lib/lua/5.1/moonwarp/core.so)
DEVICE := $(BUILD)/share/moonwarp/device
PCH := $(DEVICE).pch
PROMPT := $(BUILD)/bin/moonwarp
EMBED := $(BUILD)/bin/embed
CUDA_EXAMPLES := $(patsubst examples/c/%.c,$(BUILD)/bin/c/%,$(wildcard examples/c/*.c))
ACCURACY := $(BUILD)/bin/accuracy
FAKES := $(addprefix $(BUILD)/test/libfake,cuda.so nvrtc.so nccl.so cublas.so cufft.so cusolver.so)
TEST_GL := $(BUILD)/test/libgl.so
TEST_FAILING := $(BUILD)/test/libfailing.so
TEST_PROCESS := $(BUILD)/test/libprocess.so

# Kernels of common operations on arrays, compiled beforehand for the levels of instruction sets in KERNEL_LEVELS: this
# machine's, unless you say otherwise, as packagers do ('x86-64-v2 x86-64-v3 x86-64-v4'). It takes 40 seconds of one
# processor for each and 8 MB; KERNEL_LEVELS= leaves them out, as does a developer's quick build with BOLT=.
LEFT_OUT := $(if $(BOLT),,$(filter-out file undefined,$(origin BOLT)))$(target)$(filter-out release,$(config))
KERNEL_LEVELS ?= $(if $(LEFT_OUT),,$(shell sh src/kernels/level.sh))
KERNELS := $(BUILD)/share/moonwarp/kernels
KERNEL_TEXTS := $(BUILD)/gen/kernels

.PHONY: all lib mwcc lua luajit cuda embed kernels
all: lib mwcc lua $(if $(LUAJIT_CFLAGS),luajit) cuda embed kernels
kernels: $(KERNEL_LEVELS:%=$(KERNELS)/%)
lib: $(LIB)
cuda: $(CUDA_LIB) $(CUDA_EXAMPLES)
mwcc: $(MWCC) $(DEVICE) $(PCH)
lua: $(LUA_MODULE) $(PROMPT) $(if $(target),$(LUA))
	@:
luajit: $(LUAJIT_MODULE)
embed: $(EMBED) $(if $(target),$(EMULATOR))

# It stays in memory once it is loaded: where a host leaves a device open, its threads run on after a state has ended.
$(LIB): $(call object,$(LIB_SOURCES) $(LIB_ASM))
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) -shared -pthread $(LDFLAGS) -Wl,-soname,libmoonwarp.so -Wl,-z,defs -Wl,-z,nodelete -Wl,-Bsymbolic-functions \
	  -o $@ $^ $(PNG_LIBS) $(ZLIB_LIBS) -ldl -lm

# CUDA's own C interface is a library of its own: a process that has NVIDIA's runtime too is not to find two cudaMalloc.
$(CUDA_LIB): $(call object,$(CUDA_SOURCES)) $(LIB)
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) -shared -pthread $(LDFLAGS) -Wl,-soname,libmoonwarp_cuda.so -Wl,-z,defs -Wl,-rpath,'$$ORIGIN' -o $@ \
	  $(filter %.o,$^) -L$(BUILD)/lib -lmoonwarp -lm

ifneq ($(target),)
$(MWCC): FORCE
	@$(MAKE) --no-print-directory target= BUILD=$(NATIVE) CC=cc LDFLAGS='$(LDFLAGS_$(config))' PKG_CONFIG=pkg-config mwcc
	@mkdir -p $(@D)
	@printf '#!/bin/sh\nexec "%s" --target=$(TRIPLET) "$$@"\n' '$(abspath $(NATIVE)/bin/mwcc)' > $@.new && chmod +x $@.new
	@cmp -s $@.new $@ && rm $@.new || mv $@.new $@
$(LUA): FORCE
	@mkdir -p $(@D)
	@printf '#!/bin/sh\nexec "%s" -0 "$$0" "%s" "$$@"\n' '$(EMULATOR)' '$(SYSROOT)/usr/bin/$(@F)' > $@ && chmod +x $@
# qemu keeps books of every page that is mapped, reserved or not: 16 GiB of addresses for device memory will do.
$(EMULATOR): FORCE
	@mkdir -p $(@D)
	@printf '#!/bin/sh\nulimit -v 33554432\nexec qemu-$(target) -L "%s" "$$@"\n' '$(SYSROOT)' > $@ && chmod +x $@
.PHONY: FORCE
else ifneq ($(STATIC_LLVM),)
# mwcc starts itself as clang. At a fixed address there is nothing for the dynamic linker to adapt, and segments that begin as
# large pages do can have such (src/mwcc/support/huge_pages.c), once the small ones that the linker has written are no more in memory.
MWCC_LINKED := $(if $(BOLT),$(BUILD)/layout/mwcc,$(MWCC))
MWCC_PROFILE := $(BUILD)/layout/profile
KEEP_RELOCATIONS := -Wl,--emit-relocs
# For speed alone.
uncached = $(Q)dd of=$@ oflag=nocache conv=notrunc,fdatasync count=0 2>/dev/null || :
$(MWCC_LINKED): $(call object,$(MWCC_SOURCES) src/mwcc/front/clang_embedded.cc)
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CXX) -no-pie -pthread -static-libstdc++ -static-libgcc -Wl,--gc-sections -Wl,-z,max-page-size=2097152 \
	  $(if $(BOLT),$(KEEP_RELOCATIONS)) $(LDFLAGS) -o $@ $^ $(STATIC_LIBS) -ldl -lm
	$(uncached)

ifneq ($(BOLT),)
# LLVM's functions, which are nearly all that it is about, stay the same while ours change.
$(MWCC_PROFILE): $(wildcard src/mwcc/layout/*) | $(MWCC_LINKED) $(DEVICE)
	$(call say,COUNT)
	$(Q)CC='$(CC)' sh src/mwcc/layout/profile.sh '$(BOLT)' $(MWCC_LINKED) $(BUILD) $@

$(MWCC): $(MWCC_LINKED) $(MWCC_PROFILE)
	@mkdir -p $(@D)
	$(call say,BOLT)
	$(Q)sh src/mwcc/layout/lay_out.sh '$(BOLT)' $(MWCC_LINKED) $(MWCC_PROFILE) $@
	$(uncached)
endif
else
# mwcc starts clang, and then loads what is linked with LLVM. The cache looks at the program's date: it follows the rest.
$(MWCC): $(call object,$(MWCC_START)) $(MWCC_STAGES)
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) -pthread $(LDFLAGS) -o $@ $(filter %.o,$^) -ldl

$(MWCC_STAGES): $(call object,$(filter-out src/mwcc/main.c,$(MWCC_SOURCES)))
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) -shared -pthread $(LDFLAGS) -o $@ $^ $(LLVM_LIBS) -lm
endif

LUA_OBJECTS := $(LUA_SOURCES:src/lua/%=$(BUILD)/obj/lua$(LUA_VERSION)/%.o)

# The Lua module, of one version of Lua: $(1), with the flags $(2). It finds the library from where it stands, in the build
# tree as in an installation or a tree of LuaRocks.
define lua_module
$(BUILD)/lib/lua/$(1)/moonwarp/core.so: $(LUA_SOURCES:src/lua/%=$(BUILD)/obj/lua$(1)/%.o) $(LIB) Makefile
	@mkdir -p $$(@D)
	$$(call say,LINK)
	$$(Q)$$(CC) -shared -pthread $$(LDFLAGS) -Wl,-rpath,'$$$$ORIGIN/home/lib:$$$$ORIGIN/../../..' -o $$@ $$(filter %.o,$$^) -L$$(BUILD)/lib -lmoonwarp

$(BUILD)/obj/lua$(1)/%.c.o: src/lua/%.c
	@mkdir -p $$(@D)
	$$(call say,CC)
	$$(Q)$$(CC) $$(ALL_CFLAGS) -fno-plt $(2) -c -o $$@ $$<
endef
$(eval $(call lua_module,$(LUA_VERSION),$(LUA_CFLAGS)))
ifneq ($(LUA_VERSION),5.1)
$(eval $(call lua_module,5.1,$(LUAJIT_CFLAGS)))
endif

$(DEVICE):
	@mkdir -p $(@D)
	@ln -sfn $(abspath src/device) $@

# The device headers, precompiled for the usual options: saves half of clang's time.
$(PCH): $(MWCC) $(shell find src/device -type f) | $(DEVICE)
	$(call say,PCH)
	$(Q)env -u MOONWARP_HOME $(MWCC) --make-pch $@

# The operations' texts, from a library whose compiler only keeps them; and the modules, under the names of the texts.
$(KERNEL_TEXTS): $(LIB) $(LUA_MODULE) $(wildcard src/kernels/*) $(shell find lua/moonwarp/array -type f)
	$(call say,KEEP)
	$(Q)rm -rf $@ && mkdir -p $@/home/bin && install -m 755 src/kernels/collect.sh $@/home/bin/mwcc
	$(Q)$(ENV) MOONWARP_HOME='$(abspath $@)/home' MOONWARP_DEVICE=cpu XDG_CACHE_HOME='$(abspath $@)/home' \
	  MW_TEXTS='$(abspath $@)/texts' $(LUA) src/kernels/common.lua
	$(Q)touch $@

$(KERNELS)/%: $(KERNEL_TEXTS) $(MWCC) $(PCH)
	$(call say,MWCC)
	$(Q)sh src/kernels/compile.sh '$(abspath $(MWCC))' $(KERNEL_TEXTS)/texts '$(abspath $@)' $*

# The prompt, for the Lua whose module it is. It looks for moonwarp's files where an installation has them.
$(PROMPT): bin/moonwarp Makefile
	@mkdir -p $(@D) $(BUILD)/share/lua
	@ln -sfn $(CURDIR)/lua $(BUILD)/share/lua/$(LUA_VERSION)
	@mkdir -p $(BUILD)/share/moonwarp && ln -sfn $(CURDIR)/examples/lessons $(BUILD)/share/moonwarp/solutions
	$(call say,GEN)
	$(Q)sed '1s|.*|#!/usr/bin/env $(LUA)|' $< > $@ && chmod 755 $@

# A C host without Lua, as a user would build it: one header, one library.
$(EMBED): examples/embed.c $(LIB)
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) -std=c11 $(WARN) $(CFLAGS) $(LDFLAGS) -Isrc -o $@ $< -L$(BUILD)/lib -lmoonwarp -Wl,-rpath,'$$ORIGIN/../lib'

# CUDA host code in C, as a user would build it.
$(CUDA_EXAMPLES): $(BUILD)/bin/c/%: examples/c/%.c $(wildcard examples/c/*.h src/host/include/*.h) $(CUDA_LIB)
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) -std=c11 $(WARN) $(CFLAGS) $(LDFLAGS) -Isrc/host/include -o $@ $< -L$(BUILD)/lib -lmoonwarp_cuda \
	  -Wl,-rpath,'$$ORIGIN/../../lib'

# The declarations of the interface, as a C string: mw_abi_text. Without the manual around them, which only costs time there.
$(BUILD)/gen/abi_text.inc: src/moonwarp_abi.h
	@mkdir -p $(@D)
	$(call say,GEN)
	$(Q)$(CC) -E -P -undef -std=c11 -x c $< > $@.text
	$(Q)sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/"/' -e 's/$$/\\n"/' $@.text > $@

# Joe and Kuo's direction numbers, for C as for Lua.
$(BUILD)/gen/joe_kuo.inc: lua/moonwarp/random/joe_kuo.lua
	@mkdir -p $(@D)
	$(call say,GEN)
	$(Q)sed -n 's|^\([A-Za-z0-9+/]\{32,\}\)$$|"\1",|p' $< > $@

# Headers that NVRTC is given as strings.
$(BUILD)/gen/nvrtc_headers.inc: src/cuda/compile/embed.sh $(shell find src/device -type f)
	@mkdir -p $(@D)
	$(call say,GEN)
	$(Q)sh src/cuda/compile/embed.sh src/device > $@

$(BUILD)/obj/src/mwcc/%.c.o: src/mwcc/%.c
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(ALL_CFLAGS) $(LLVM_CFLAGS) $(if $(filter front/toolchain,$*),-DMW_CLANG_RESOURCES='"$(CLANG_RESOURCES)"') \
	  $(if $(filter target/target,$*),-DMW_LLVM_TARGETS='$(foreach target,$(LLVM_TARGETS),T($(target)))' $(if $(LLVM_NVPTX),-DMW_LLVM_HAS_NVPTX=1)) -c -o $@ $<

# Its headers are LLVM's own: no exceptions, no run-time types.
$(BUILD)/obj/src/mwcc/%.cc.o: src/mwcc/%.cc
	@mkdir -p $(@D)
	$(call say,CXX)
	$(Q)$(CXX) -std=c++17 -fno-rtti -fno-exceptions -fPIC $(DEPENDENCIES) -Wall -Wextra -Wshadow $(CFLAGS) -Isrc $(LLVM_CFLAGS) -c -o $@ $<

$(BUILD)/obj/src/%.c.o: src/%.c | $(BUILD)/gen/abi_text.inc $(BUILD)/gen/nvrtc_headers.inc $(BUILD)/gen/joe_kuo.inc
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(ALL_CFLAGS) -fno-plt $(PNG_CFLAGS) $(ZLIB_CFLAGS) -I$(BUILD)/gen -c -o $@ $<

$(BUILD)/obj/%.S.o: %.S
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(ALL_CFLAGS) -c -o $@ $<

-include $(shell find $(BUILD)/obj -name '*.d' 2>/dev/null)

# ---- using the build tree ----

# What lua5.4 and luajit need to find it. For a shell: eval "$(make -s env)", which has moonwarp and mwcc on its path. Lua 5.4 looks at LUA_CPATH_5_4 first, so
# that LUA_CPATH is left for LuaJIT.
HOME_DIR := $(abspath $(BUILD))
ENV_VARIABLES := LUA_PATH='$(CURDIR)/lua/?.lua;$(CURDIR)/lua/?/init.lua;;' \
  LUA_CPATH='$(HOME_DIR)/lib/lua/5.1/?.so;;' \
  LUA_CPATH_$(subst .,_,$(LUA_VERSION))='$(HOME_DIR)/lib/lua/$(LUA_VERSION)/?.so;;' \
  MOONWARP_HOME='$(HOME_DIR)'
ENV := env $(ENV_VARIABLES) $(if $(target),PATH='$(HOME_DIR)/bin':"$$PATH")

.PHONY: env demo test bench bundle lint clean
env:
	@printf 'export %s\n' $(foreach variable,$(ENV_VARIABLES),"$(variable)") "PATH='$(HOME_DIR)/bin':\"\$$PATH\""

demo: all
	@$(ENV) $(LUA) examples/photo.lua

# The tests: all of spec/, or the files in SPEC; ARGS goes to busted (ARGS='--filter barrier'). They have a compile cache
# of their own, empty at the start. lua5.4 itself is not instrumented, so the sanitizers' libraries have to be there
# before it (and ours, or reports of leaks name no function, since Lua has unloaded it by then); spec/sanitize says what
# they leave out, and why.
SPEC ?= spec
gcc_library = $(shell $(CC) -print-file-name=$(1).so)
SANITIZE := $(CURDIR)/spec/sanitize
TEST_ENV_sanitize = LD_PRELOAD='$(call gcc_library,libasan) $(call gcc_library,libubsan) $(abspath $(LIB))' \
  ASAN_OPTIONS='suppressions=$(SANITIZE)/asan.suppressions:include_if_exists=$(SANITIZE)/asan.options:include_if_exists=$(SANITIZE)/%b.options' \
  LSAN_OPTIONS='suppressions=$(SANITIZE)/lsan.suppressions:print_suppressions=0' \
  UBSAN_OPTIONS='halt_on_error=1:print_stacktrace=1'
# Code for blocks of one size (src/core/module/specialize.c) is made at the first launch in one of them and late in the others.
# Each suite runs on every interpreter and binding: COMBINATIONS='lua5.4' for one of them. All of them run, whichever fails.
# They share a compile cache, empty at the start, so that the first one compiles and the others load; caches that one spec
# examines are emptied before each. SHARED_CACHE=1 keeps what an earlier run compiled.
COMBINATIONS ?= $(LUA) $(if $(LUAJIT_CFLAGS),luajit+ffi luajit+c)
test: all $(if $(target),,$(ACCURACY)) $(FAKES) $(TEST_GL) $(TEST_FAILING) $(TEST_PROCESS)
	@failed=; $(if $(SHARED_CACHE),,rm -rf $(BUILD)/test-cache;) for combination in $(COMBINATIONS); do \
	  printf '\n-- %s\n' $$combination; rm -rf $(BUILD)/test-cache/*_spec; \
	  binding=$${combination#*+}; [ $$binding != $$combination ] || binding=; \
	  specialise=; [ $$combination != luajit+c ] || specialise=0; \
	  $(ENV) XDG_CACHE_HOME='$(HOME_DIR)/test-cache' MOONWARP_CONFIG=$(config) MOONWARP_TARGET=$(target) MOONWARP_BINDING=$$binding MOONWARP_SPECIALISE=$$specialise MOONWARP_BACKGROUND=off \
	    $(TEST_ENV_$(config)) \
	    $${combination%%+*} spec/support/run.lua $(ARGS) $(SPEC) || failed="$$failed $$combination"; \
	done; [ -z "$$failed" ] || { echo "failed on:$$failed" >&2; exit 1; }

# An NVIDIA driver and compiler without a GPU, which do as the tests tell them (spec/gpu/cuda_spec.lua).
$(FAKES): $(BUILD)/test/libfake%.so: spec/support/fake/%.c $(wildcard spec/support/fake/*.h) src/cuda/entry_points.h src/cuda/types.h src/device/moonwarp/guard_layout.h
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) -std=c11 -D_GNU_SOURCE $(WARN) -O1 -g -fPIC -shared -Isrc -o $@ $< -lm -ldl

$(TEST_FAILING) $(TEST_PROCESS): $(BUILD)/test/lib%.so: spec/support/native/%.c
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) -std=c11 -D_GNU_SOURCE $(WARN) -O1 -g -fPIC -shared -fvisibility=hidden -o $@ $< -ldl

# OpenGL for specs (spec/graphics/): libraries of GL and headers of Lua are not needed here.
$(TEST_GL): spec/support/native/gl.c spec/support/native/gl_context.h
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) -std=c11 -D_GNU_SOURCE $(WARN) -O1 -g -fPIC -shared -fvisibility=hidden -o $@ $< -ldl

# Host threads that use the library all at once, for make config=tsan stress (ARGS: operations per thread, seed). A
# compiler process has one thread, and limits too narrow for ThreadSanitizer's books: it is the release's.
STRESS := $(BUILD)/bin/stress
.PHONY: stress
stress: $(STRESS)
	@$(MAKE) --no-print-directory config=release BUILD=build/release mwcc
	@env MOONWARP_HOME='$(abspath build/release)' TSAN_OPTIONS='halt_on_error=1:second_deadlock_stack=1' $(STRESS) $(ARGS)

$(STRESS): spec/sanitize/stress.c $(CUDA_LIB) $(wildcard src/host/include/*.h)
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) -std=c11 -D_GNU_SOURCE -pthread $(WARN) $(CFLAGS) $(LDFLAGS) -Isrc/host/include -o $@ $< -L$(BUILD)/lib \
	  -lmoonwarp_cuda -Wl,-rpath,'$$ORIGIN/../lib'

# The mathematics of device code beside MPFR, in units of the last place: docs/build/accuracy.md. The tests run it with fewer points.
.PHONY: accuracy
accuracy: all $(ACCURACY)
	@$(ENV) $(ACCURACY) $(ARGS)

$(ACCURACY): $(wildcard spec/accuracy/*.[ch]) src/moonwarp_abi.h $(LIB)
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) -std=c11 -D_GNU_SOURCE $(WARN) -O2 -Isrc -o $@ $(filter %.c,$^) -L$(BUILD)/lib -lmoonwarp \
	  -Wl,-rpath,'$$ORIGIN/../lib' -lmpfr -lgmp -lm

include bench.mk

# Warnings as errors by both compilers, then luacheck, then the layout of C and of nothing else.
lint:
	$(MAKE) --no-print-directory BUILD=build/lint-gcc STATIC_LLVM= CC=gcc CFLAGS='-O2 -g -Werror' all
	$(MAKE) --no-print-directory BUILD=build/lint-clang STATIC_LLVM= CC=$(CLANG) CFLAGS='-O2 -g -Werror' all
	luacheck --quiet lua spec examples bench src/tables bin/moonwarp
	$(CLANG_FORMAT) --dry-run -Werror $(shell find src examples bench spec -name '*.[ch]' -o -name '*.cc')

# The reference, out of the annotations; and all pages as HTML (pandoc) in build/html.
DOCS := $(wildcard docs/*/*.md)
.PHONY: reference functions docs prompt
reference:
	$(LUA) -e 'print(dofile("docs/use/reference.lua").text())' > docs/use/reference.md
# The table of CUDA's functions and where each is tested, out of docs/use/functions/ and the specs.
functions:
	$(LUA) -e 'local page = dofile("docs/use/functions.lua") io.write(page.text(page.functions()))' > docs/use/functions.md
# The session in docs/learn/prompt.md, played anew.
prompt: all
	@$(CC) -O1 -o $(BUILD)/pty spec/support/native/pty.c
	@$(ENV) $(LUA) -e 'package.path = "spec/?.lua;" .. package.path local s = require "support.prompt_session" '\
	'local file = io.open "docs/learn/prompt.md" local page = file:read "*a" file:close() '\
	'local played = s.play("$(BUILD)/pty", "$(LUA)") io.open("docs/learn/prompt.md", "w"):write(s.insert(page, played))'
docs:
	@command -v pandoc >/dev/null || { echo 'make docs wants pandoc (apt install pandoc)' >&2; exit 1; }
	@mkdir -p build/html
	@for page in README.md docs/README.md CHANGELOG.md CONTRIBUTING.md $(DOCS); do \
	  name=$${page##*/}; name=$${name%.md}; \
	  case $$page in README.md) name=index;; docs/README.md) name=manual;; esac; \
	  sed -E -e '/^```/!s/\]\((\.\.\/|docs\/)README\.md\)/](manual.html)/g' \
	    -e '/^```/!s/\]\((\.\.\/)*(CHANGELOG|CONTRIBUTING)\.md\)/](\2.html)/g' \
	    -e '/^```/!s/\]\(([a-z.]+\/)*([a-z_]+)\.md(#[a-z-]+)?\)/](\2.html\3)/g' \
	    -e '/^```/!s/\]\(([a-z.]+\/)*([a-z_]+)\.svg\)/](\2.svg)/g' $$page | \
	  pandoc --from gfm --to html5 --standalone --toc --metadata title="moonwarp: $$name" --metadata lang=en \
	    --css style.css -o build/html/$$name.html || exit; \
	done
	@cp docs/style.css $(wildcard docs/build/*.svg docs/*/pictures/*.svg) build/html/
	@mkdir -p build/html/pictures && cp $(wildcard docs/*/pictures/*.png) build/html/pictures/

clean:
	rm -rf build dist

include install.mk
