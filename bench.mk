# Speed. What the figures are compared with: C with OpenMP, the machine's limits, and the OpenCL platforms that are there.
BENCH_HAVE_OPENCL := $(shell $(PKG_CONFIG) --exists OpenCL 2>/dev/null && echo $(BUILD)/bench/opencl)
BENCH_PROGRAMS := $(addprefix $(BUILD)/bench/,native texture limits) $(BENCH_HAVE_OPENCL)
BENCH_PROBLEMS := $(addprefix bench/peers/,problems.c classics.c fields.c functions.c)
BENCH_HELD := $(patsubst bench/held/%/peers.c,$(BUILD)/bench/held_%.so,$(wildcard bench/held/*/peers.c))
bench: all $(BENCH_PROGRAMS) $(BENCH_HELD)
	@$(ENV) MOONWARP_DEVICE=cpu MOONWARP_BACKGROUND=off $(LUA) bench/run.lua $(ARGS)
	@$(ENV) MOONWARP_DEVICE=cpu MOONWARP_BACKGROUND=off $(LUA) bench/bindings.lua

$(BENCH_PROGRAMS): $(BUILD)/bench/%: bench/peers/%.c $(BENCH_PROBLEMS) bench/peers/problems.h bench/peers/vectors.h
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) -std=c11 -D_GNU_SOURCE $(WARN) -O3 -march=native -ffast-math -fopenmp -o $@ $(filter %.c,$^) \
	  $(if $(filter opencl,$*),$(shell $(PKG_CONFIG) --cflags --libs OpenCL)) -lm

# Kernels that nothing was tuned for, beside C, PoCL and Intel's runtime: make bench-held ARGS='rows --rounds=5'.
.PHONY: bench-held
bench-held: all $(BENCH_PROGRAMS) $(BENCH_HELD)
	@$(ENV) MOONWARP_DEVICE=cpu luajit bench/held.lua $(ARGS)

$(BENCH_HELD): $(BUILD)/bench/held_%.so: bench/held/%/peers.c
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) -std=c11 -D_GNU_SOURCE $(WARN) -Wno-missing-prototypes -O3 -march=native -ffast-math -fopenmp -fPIC \
	  -shared -o $@ $< -lm

# The same on an NVIDIA GPU, with launches from C beside: what docs/use/gpu.md has a table of.
.PHONY: bench-gpu
$(BUILD)/bench/gpu_launch: bench/peers/gpu_launch.c src/cuda/types.h
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) -std=c11 -D_GNU_SOURCE $(WARN) -O2 -Isrc -o $@ $< -ldl
bench-gpu: all $(BUILD)/bench/gpu_launch
	@echo "cuLaunchKernel from C, and with a synchronisation, us: $$($(BUILD)/bench/gpu_launch)"
	@$(ENV) $(LUA) bench/gpu.lua
	@$(if $(LUAJIT_CFLAGS),$(ENV) luajit bench/gpu.lua launch,:)

# What measures scaling (make bench ARGS=--scaling) where nothing is installed: a folder to copy there.
bundle: all
	@sh bench/bundle.sh $(BUILD)
