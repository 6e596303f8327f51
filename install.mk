# Installing, and what packages are made from. An installation has the shape of the build tree, and is found by where it
# stands: it may be moved as a whole.
#
#   make install PREFIX=/usr/local LUA_VERSION=5.4    LUA_VERSION=5.1: for LuaJIT; run it once for each
#   make uninstall                                    with the same variables
#   make dist                                         dist/moonwarp-VERSION.tar.gz, for the release's rockspec
#
# DESTDIR goes before every path, for packagers. Static libraries are for hosts that embed Lua: libmoonwarp.a, and the Lua
# module as libmoonwarp-lua5.4.a, whose luaopen_moonwarp_core belongs into package.preload["moonwarp.core"].
# libmoonwarp_cuda and its headers are for C hosts that are written with CUDA's own functions (pkg-config moonwarp-cuda).

PREFIX ?= /usr/local
DESTDIR ?=
BINDIR ?= $(PREFIX)/bin
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
DATADIR ?= $(PREFIX)/share/moonwarp
PKGCONFIGDIR ?= $(LIBDIR)/pkgconfig
LUADIR ?= $(PREFIX)/share/lua/$(LUA_VERSION)
LUA_CDIR ?= $(PREFIX)/lib/lua/$(LUA_VERSION)
LUA_PROGRAM ?= $(if $(filter 5.1,$(LUA_VERSION)),luajit,lua$(LUA_VERSION))

STATIC_LIB := $(BUILD)/lib/libmoonwarp.a
STATIC_LUA := $(BUILD)/lib/libmoonwarp-lua$(LUA_VERSION).a
STATIC_CUDA := $(BUILD)/lib/libmoonwarp_cuda.a
PC_FILE := $(BUILD)/lib/pkgconfig/moonwarp.pc
CUDA_PC_FILE := $(BUILD)/lib/pkgconfig/moonwarp-cuda.pc

.PHONY: static install uninstall dist
static: $(STATIC_LIB) $(STATIC_LUA) $(STATIC_CUDA)

$(STATIC_LIB): $(call object,$(LIB_SOURCES) $(LIB_ASM))
$(STATIC_LUA): $(LUA_OBJECTS)
$(STATIC_CUDA): $(call object,$(CUDA_SOURCES))
$(STATIC_LIB) $(STATIC_LUA) $(STATIC_CUDA):
	@mkdir -p $(@D)
	$(call say,AR)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

# Paths are told from where the file stands.
$(PC_FILE): Makefile install.mk
	@mkdir -p $(@D)
	$(call say,GEN)
	$(Q)printf '%s\n' 'prefix=$${pcfiledir}/../..' 'libdir=$${prefix}/lib' 'includedir=$${prefix}/include' '' \
	  'Name: moonwarp' 'Description: CUDA C kernels, compiled at run time, on any machine' 'Version: $(VERSION)' \
	  'Cflags: -I$${includedir}' 'Libs: -L$${libdir} -lmoonwarp' 'Libs.private: $(strip $(PNG_LIBS) $(ZLIB_LIBS)) -ldl -lm -pthread' > $@

# CUDA's headers stand in a folder of their own, beside no other cuda.h that a compiler finds by itself.
$(CUDA_PC_FILE): Makefile install.mk
	@mkdir -p $(@D)
	$(call say,GEN)
	$(Q)printf '%s\n' 'prefix=$${pcfiledir}/../..' 'libdir=$${prefix}/lib' 'includedir=$${prefix}/include' '' \
	  'Name: moonwarp-cuda' 'Description: the CUDA runtime and driver APIs for C hosts, over moonwarp' 'Version: $(VERSION)' \
	  'Cflags: -I$${includedir}/moonwarp' 'Libs: -L$${libdir} -lmoonwarp_cuda' 'Requires.private: moonwarp' > $@

# The lessons' solutions, in a folder of their own.
SOLUTIONS := $(sort $(patsubst examples/lessons/%,%,$(wildcard examples/lessons/*/*.lua)))

# What goes where: a file of the build or of the sources, behind it the folder.
HEADERS := src/moonwarp.h src/moonwarp_abi.h
CUDA_HEADERS := $(sort $(wildcard src/host/include/*.h))
LUA_FILES := $(sort $(patsubst lua/%,%,$(shell find lua -name '*.lua')))
DEVICE_FILES := $(sort $(patsubst src/device/%,%,$(shell find src/device -type f)))
INSTALLED = $(BINDIR)/mwcc $(BINDIR)/moonwarp $(LIBDIR)/libmoonwarp.so $(LIBDIR)/moonwarp/mwcc.so \
  $(LIBDIR)/$(notdir $(STATIC_LIB)) $(LIBDIR)/$(notdir $(STATIC_LUA)) $(PKGCONFIGDIR)/moonwarp.pc \
  $(LIBDIR)/libmoonwarp_cuda.so $(LIBDIR)/$(notdir $(STATIC_CUDA)) $(PKGCONFIGDIR)/moonwarp-cuda.pc \
  $(addprefix $(INCLUDEDIR)/moonwarp/,$(notdir $(CUDA_HEADERS))) \
  $(addprefix $(INCLUDEDIR)/,$(notdir $(HEADERS))) $(LUA_CDIR)/moonwarp/core.so $(addprefix $(LUADIR)/,$(LUA_FILES)) \
  $(addprefix $(DATADIR)/device/,$(DEVICE_FILES)) $(DATADIR)/device.pch $(addprefix $(DATADIR)/solutions/,$(SOLUTIONS))

install_program = install -D -m 755 $(1) '$(DESTDIR)$(strip $(2))'
install_data = install -D -m 644 $(1) '$(DESTDIR)$(strip $(2))'
# Those of a folder, each below the other folder.
install_tree = cd $(1) && find $(2) -type f | while read -r file; do install -D -m 644 "$$file" '$(DESTDIR)$(strip $(3))'/"$$file" || exit; done

.PHONY: install-library install-lua
install-library: lib mwcc kernels
	@$(call install_program,$(MWCC),$(BINDIR)/mwcc)
	@$(call install_program,$(LIB),$(LIBDIR)/libmoonwarp.so)
	@$(if $(MWCC_STAGES),$(call install_program,$(MWCC_STAGES),$(LIBDIR)/moonwarp/mwcc.so))
	@$(call install_tree,src/device,.,$(DATADIR)/device)
	@for level in $(KERNEL_LEVELS); do ($(call install_tree,$(KERNELS),$$level,$(DATADIR)/kernels)) || exit; done

install-lua: lua
	@$(call install_program,$(LUA_MODULE),$(LUA_CDIR)/moonwarp/core.so)
	@$(call install_tree,lua,moonwarp,$(LUADIR))
	@$(call install_tree,examples/lessons,.,$(DATADIR)/solutions)
	@mkdir -p '$(DESTDIR)$(BINDIR)'
	@sed '1s|.*|#!/usr/bin/env $(LUA_PROGRAM)|' bin/moonwarp > '$(DESTDIR)$(BINDIR)/moonwarp'
	@chmod 755 '$(DESTDIR)$(BINDIR)/moonwarp'

# The headers are compiled beforehand where they will stay; in a package's folder they would know the wrong paths, and the
# first compilation of a user does it instead.
# What a shell has to know is told at the end.
install: install-library install-lua cuda static $(PC_FILE) $(CUDA_PC_FILE)
	@$(call install_data,$(STATIC_LIB),$(LIBDIR)/$(notdir $(STATIC_LIB)))
	@$(call install_data,$(STATIC_LUA),$(LIBDIR)/$(notdir $(STATIC_LUA)))
	@$(call install_data,$(PC_FILE),$(PKGCONFIGDIR)/moonwarp.pc)
	@$(call install_program,$(CUDA_LIB),$(LIBDIR)/libmoonwarp_cuda.so)
	@$(call install_data,$(STATIC_CUDA),$(LIBDIR)/$(notdir $(STATIC_CUDA)))
	@$(call install_data,$(CUDA_PC_FILE),$(PKGCONFIGDIR)/moonwarp-cuda.pc)
	@for header in $(CUDA_HEADERS); do install -D -m 644 $$header '$(DESTDIR)$(INCLUDEDIR)/moonwarp'/$${header##*/} || exit; done
	@for header in $(HEADERS); do install -D -m 644 $$header '$(DESTDIR)$(INCLUDEDIR)'/$${header##*/} || exit; done
	@[ -n '$(DESTDIR)' ] || env -u MOONWARP_HOME '$(BINDIR)/mwcc' --make-pch '$(DATADIR)/device.pch'
	@[ -n '$(DESTDIR)' ] || { $(tell_use); }

# Lua 5.4 looks at LUA_PATH_5_4 first, LuaJIT knows LUA_PATH alone.
LUA_SUFFIX = $(if $(filter 5.1,$(LUA_VERSION)),,_$(subst .,_,$(LUA_VERSION)))
FINDS_FILES = local at = package.searchpath; os.exit(at("moonwarp", package.path) == "$(LUADIR)/moonwarp/init.lua" \
  and at("moonwarp.core", package.cpath) == "$(LUA_CDIR)/moonwarp/core.so")
define tell_use
echo "installed: $(BINDIR)/moonwarp is the prompt, $(BINDIR)/mwcc the compiler; --help tells more of each"; \
if (cd / && $(LUA_PROGRAM) -e '$(FINDS_FILES)') 2>/dev/null; then lua=; else lua=1; fi; \
case ":$$PATH:" in *":$(BINDIR):"*) path=;; *) path=1;; esac; \
if [ -z "$$lua$$path" ]; then echo "$(LUA_PROGRAM) and your shell find it: there is nothing to export"; else \
echo "for your shell to find it, put into its profile:"; fi; \
[ -z "$$path" ] || echo "  export PATH='$(BINDIR)':\"\$$PATH\""; \
[ -z "$$lua" ] || echo "  export LUA_PATH$(LUA_SUFFIX)='$(LUADIR)/?.lua;$(LUADIR)/?/init.lua;;'"; \
[ -z "$$lua" ] || echo "  export LUA_CPATH$(LUA_SUFFIX)='$(LUA_CDIR)/?.so;;'"
endef

uninstall:
	@for file in $(INSTALLED); do rm -f "$(DESTDIR)$$file"; done
	@rm -f '$(DESTDIR)$(DATADIR)/kernels'/*/*.mwo
	@for folder in '$(DATADIR)' '$(LIBDIR)/moonwarp' '$(INCLUDEDIR)/moonwarp' '$(LUADIR)/moonwarp' '$(LUA_CDIR)/moonwarp'; do \
	  [ ! -d "$(DESTDIR)$$folder" ] || find "$(DESTDIR)$$folder" -depth -type d -empty -delete; done

# Into a tree of LuaRocks, which moves what stands in a rock's lib and lua folders: there all but the Lua files stands in
# a folder beside the module, which looks for the library in it. Of mwcc a script that starts it goes to the tree's
# programs. Its code is not laid out by BOLT, which would take minutes of an installation.
# LuaRocks tells the interpreter and the folder of its headers; where there are none, pkg-config is asked.
.PHONY: rock install-rock
ROCK_HOME = $(LUA_CDIR)/moonwarp/home
ROCK_LUA ?= $(LUA)
ROCK_VERSION = $(shell '$(ROCK_LUA)' -e 'io.write(_VERSION:match "%d%.%d")')
ROCK_CFLAGS = $(if $(wildcard $(ROCK_INCDIR)/lua.h),LUA_CFLAGS='-I$(ROCK_INCDIR)')
ROCK_MAKE = $(MAKE) --no-print-directory BOLT= KERNEL_LEVELS="$$(sh src/kernels/level.sh)" LUA_VERSION=$(ROCK_VERSION) $(ROCK_CFLAGS)
rock:
	@+$(ROCK_MAKE) lib mwcc lua
install-rock:
	@+$(ROCK_MAKE) PREFIX='$(ROCK_HOME)' BINDIR='$(ROCK_HOME)/bin' LIBDIR='$(ROCK_HOME)/lib' \
	  DATADIR='$(ROCK_HOME)/share/moonwarp' install-library
	@+$(ROCK_MAKE) LUADIR='$(LUADIR)' LUA_CDIR='$(LUA_CDIR)' BINDIR='$(BINDIR)' LUA_PROGRAM='$(notdir $(ROCK_LUA))' \
	  DATADIR='$(ROCK_HOME)/share/moonwarp' install-lua
	@printf '%s\n' '#!/bin/sh' 'here=$$(dirname "$$(readlink -f "$$0")")' \
	  'exec "$$here/../lib/lua/$(ROCK_VERSION)/moonwarp/home/bin/mwcc" "$$@"' > '$(BINDIR)/mwcc'
	@chmod 755 '$(BINDIR)/mwcc'

# The sources of the last commit.
dist:
	@mkdir -p dist
	git archive --prefix=moonwarp-$(VERSION)/ -o dist/moonwarp-$(VERSION).tar.gz HEAD
