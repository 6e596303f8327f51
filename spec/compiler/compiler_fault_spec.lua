-- Failures of the compiler, and sources that it cannot compile in bounded time or memory, are errors: the host
-- continues, and the next compilation works.
-- CPU device only: its compiler is a process of its own.

local mw = require "moonwarp"
local child = require "support.child"
local check_works = require "support.faults.works"

-- A folder in which bin/mwcc is a shell script, with the rest of the build tree.
local function fake_home(script)
  local home = os.tmpname()
  os.remove(home)
  local real = os.getenv "MOONWARP_HOME"
  assert(os.execute(("mkdir -p '%s/bin' && ln -s '%s/lib' '%s/share' '%s/'"):format(home, real, real, home)))
  local file = assert(io.open(home .. "/bin/mwcc", "w"))
  file:write("#!/bin/sh\n", script, "\n")
  file:close()
  assert(os.execute(("chmod +x '%s/bin/mwcc'"):format(home)))
  return home
end

-- Compile with that compiler in a child process, which prints the error.
local function compile_with(script, limits)
  local home = fake_home(script)
  local result = child {
    ([[
      local mw = require "moonwarp"
      %s
      local a = mw.arange(100, "int")
      for _ = 1, 2 do
        local m, err = mw.try_compile "__global__ void f(int *p) { p[0] = 1; }"
        assert(m == nil)
        print(err.kind, err.code)
        print(err.message)
      end
      assert(a:sum() == 4950)
      print "alive"
    ]]):format(limits or ""),
    environment = { MOONWARP_HOME = home, XDG_CACHE_HOME = home .. "/cache" },
  }
  os.execute(("rm -rf '%s'"):format(home))
  assert.is_true(result.ok, result.output)
  assert.matches("alive\n$", result.output)
  return result.output
end

describe("a compiler that", function()
  it("crashes is reported, unlike a source with errors", function()
    local output = compile_with "kill -SEGV $$"
    assert.matches("^compile\tcudaErrorUnknown\n", output)
    assert.matches("crashed on this source %(signal 11", output)
    assert.matches("crashed", compile_with "kill -ABRT $$")
  end)

  it("is killed is reported", function()
    assert.matches("killed", compile_with "kill -KILL $$")
  end)

  it("is ended by a resource limit is reported", function()
    assert.matches("ulimit %-f", compile_with "kill -XFSZ $$")
    assert.matches("ulimit %-t", compile_with "kill -XCPU $$")
    assert.is_nil(compile_with("kill -XFSZ $$"):find("defect", 1, true))
  end)

  it("runs out of memory is run once, and the error has its limit and how to raise it", function()
    if os.getenv "MOONWARP_CONFIG" == "sanitize" then return pending "mwcc's shadow memory is larger than any limit" end
    local runs = os.tmpname()
    local output = compile_with(("echo run >> %s; echo 'mwcc: out of memory' >&2; exit 2"):format(runs),
      'mw.limit("compile_memory", 300 * 2^20)')
    local count = 0
    for _ in io.lines(runs) do count = count + 1 end
    os.remove(runs)
    assert.equal(2, count) -- of two compilations
    assert.matches("^compile\tcudaErrorMemoryAllocation\n", output)
    assert.matches("300 MiB", output)
    assert.matches('mw.limit%("compile_memory", bytes%)', output)
  end)

  it("fails without a message is reported", function()
    assert.matches("exit status 3", compile_with "exit 3")
  end)

  it("prints another message is quoted", function()
    assert.matches("the moon is full", compile_with "echo 'mwcc: the moon is full' >&2; exit 2")
  end)

  it("hangs is stopped after its time limit", function()
    local limit = 'mw.limit("compile_time", 0.3)'
    for _, script in ipairs { "sleep 1000", "trap '' TERM INT HUP; while :; do :; done", "sleep 1000 & wait",
      "while :; do echo x; done", "while :; do echo x >&2; done", "exec cat" } do
      local output = compile_with(script, limit)
      if output:find "LaunchTimeout" or script ~= "exec cat" then
        assert.matches("cudaErrorLaunchTimeout\n[^\n]*stopped after the 0.3 s", output, nil, nil, script)
      end
    end
  end)

  it("leaves a process behind does not hold up the script", function()
    local output = compile_with("(sleep 1000 &) ; echo 'mwcc: gone' >&2; exit 2", 'mw.limit("compile_time", 5)')
    assert.is_truthy(output:find("gone", 1, true) or output:find("stopped after", 1, true), output)
  end)

  it("writes nothing, or no module, is reported", function()
    assert.matches("^%a+\tcudaError%a+\n", compile_with "exit 0")
    assert.matches("^%a+\tcudaError%a+\n", compile_with 'for a; do :; done; while [ "$1" != -o ] && [ $# -gt 1 ]; '
      .. 'do shift; done; echo rubbish > "$2"; exit 0')
  end)

  it("is missing is reported", function()
    local home = fake_home "exit 0"
    os.remove(home .. "/bin/mwcc")
    local result = child {
      [[
        local mw = require "moonwarp"
        print(select(2, mw.try_compile "__global__ void f(int *p) { p[0] = 1; }"))
        print(mw.arange(10):sum())
      ]],
      environment = { MOONWARP_HOME = home, XDG_CACHE_HOME = home .. "/cache", PATH = "/usr/bin:/bin" },
    }
    os.execute(("rm -rf '%s'"):format(home))
    assert.is_true(result.ok, result.output)
    assert.matches("mwcc", result.output)
    assert.matches("45", result.output)
  end)
end)

describe("under resource limits of the process", function()
  local function under(limit, text)
    local folder = os.tmpname()
    os.remove(folder)
    local result = child {
      ([[
        local pipe = io.popen(%q .. "; exec " .. arg[1] .. " -e '" .. %q .. "' 2>&1")
        io.write(pipe:read "*a")
      ]]):format(limit, [[
        local mw = require "moonwarp"
        local m, err = mw.try_compile(os.getenv "TEXT")
        if err then print(err.code, err.message) return end
        local p = mw.zeros(1, "int")
        m.k(1, 1)(p)
        print(p[1])
      ]]),
      arg[-1],
      environment = { TEXT = text or "__global__ void k(int *p) { p[0] = 7; }", MOONWARP_CACHE = "off" },
    }
    assert.is_true(result.ok, result.output)
    return result.output
  end

  it("on address space, kernels compile where it is enough", function()
    if os.getenv "MOONWARP_CONFIG" == "sanitize" then return pending "shadow memory is larger than any limit" end
    assert.equal("7\n", under "ulimit -v 3000000")
    assert.equal("7\n", under "ulimit -v 700000")
    assert.matches("`ulimit %-v`", under("ulimit -v 1000000", [[
      template <typename T, T... N> struct list {};
      typedef __make_integer_seq<list, int, 100000000> many;
      __global__ void f(int *p) { p[0] = sizeof(many); }
    ]]))
    assert.matches("ulimit %-v", under "ulimit -v 300000")
  end)

  it("on file sizes, the error has the limit, and the host continues", function()
    assert.matches("ulimit %-f", under "ulimit -f 4")
    assert.matches("ulimit %-f", under "ulimit -f 1")
  end)
end)

describe("a source that the compiler cannot finish", function()
  it("because a pragma crashes the compiler is reported", function()
    local _, err = mw.try_compile "#pragma clang __debug crash\n__global__ void f() {}"
    assert.equal("compile", err.kind)
    assert.equal("cudaErrorInvalidSource", err.code)
    assert.matches("as `#pragma clang __debug` in the source requests", err.message, 1, true)
    assert.is_nil(err.message:find("defect", 1, true))
  end)

  -- The error of a compilation under limits.
  local function stopped(source, limits)
    local before = {}
    for name, value in pairs(limits) do before[name] = mw.limit(name, value) end
    local m, err = mw.try_compile(source)
    for name, value in pairs(before) do mw.limit(name, value) end
    assert.is_nil(m)
    assert.equal("compile", err.kind)
    check_works()
    return err
  end

  it("is stopped after its time limit: a constant expression without end", function()
    local err = stopped({
      source = [[
        constexpr int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
        template <int N> struct count { static constexpr int v = fibonacci(23) + N; };
        template <int N> constexpr int total() { return count<N>::v + total<N - 1>(); }
        template <> constexpr int total<0>() { return 0; }
        __global__ void f(int *p) { p[0] = total<800>(); }
      ]],
    }, { compile_time = 0.5 })
    assert.equal("cudaErrorLaunchTimeout", err.code)
    assert.matches("0.5 s", err.message)
  end)

  it("leaves no compiler running", function()
    local mark = ("SPEC_MARK=%d_%d"):format(os.time(), math.random(1 << 30))
    local result = child {
      [[
        local mw = require "moonwarp"
        mw.limit("compile_time", 0.3)
        local m, err = mw.try_compile [=[
          template <int N> constexpr long f() {
            long s = 0;
            for (int i = 0; i < 100000; i++) s ^= i * N;
            return s + f<N - 1>();
          }
          template <> constexpr long f<0>() { return 0; }
          template <int N> struct value { static constexpr long v = f<N>(); };
          __global__ void k(long *p) { p[0] = value<900>::v; }
        ]=]
        print(m, err.code)
      ]],
      environment = { SPEC_MARK = mark:match "=(.*)" },
    }
    assert.equal("nil\tcudaErrorLaunchTimeout\n", result.output)
    -- A killed process takes a moment to end.
    local left
    for _ = 1, 1000 do
      local pipe = assert(io.popen("grep -ls " .. mark .. " /proc/[0-9]*/environ"))
      left = pipe:read "*a"
      pipe:close()
      if left == "" then break end
    end
    assert.equal("", left)
  end)

  it("is stopped when it needs too much memory", function()
    if os.getenv "MOONWARP_CONFIG" == "sanitize" then return pending "mwcc's shadow memory is larger than any limit" end
    local err = stopped([[
      template <typename T, T... N> struct list {};
      typedef __make_integer_seq<list, int, 100000000> many;
      __global__ void f(int *p) { p[0] = sizeof(many); }
    ]], { compile_memory = 600 * 2 ^ 20 })
    assert.equal("cudaErrorMemoryAllocation", err.code)
    assert.matches("600 MiB", err.message)
  end)

  it("is an error at its line if the language sets a bound", function()
    local _, err = mw.try_compile [[
      template <int N> struct deep { static constexpr int v = deep<N + 1>::v + 1; };
      __global__ void f(int *p) {
        p[0] = deep<0>::v;
      }
    ]]
    assert.equal("cudaErrorInvalidSource", err.code)
    assert.matches("instantiation", err.message)
    _, err = mw.try_compile [[
      constexpr int endless() { int n = 0; while (true) n ^= 1; return n; }
      __global__ void f(int *p) { constexpr int n = endless(); p[0] = n; }
    ]]
    assert.equal("cudaErrorInvalidSource", err.code)
    check_works()
  end)

  it("may be nested deeply", function()
    local depth = 200000
    local _, err = mw.try_compile(("__global__ void f(int *p) { p[0] = %s1%s; }"):format(("("):rep(depth),
      (")"):rep(depth)))
    assert.equal("compile", err.kind)
    check_works()
  end)
end)

describe("an enormous source", function()
  it("of comments compiles", function()
    local line = "// nothing to see here, and a good deal of it\n"
    local m = mw.compile(line:rep(200000) .. "__global__ void last(int *p) { p[0] = 42; }")
    local p = mw.zeros(1, "int")
    m.last(1, 1)(p)
    assert.equal(42, p[1])
  end)

  it("of statements compiles or is refused as too large, at its line", function()
    local lines = { "__global__ void sum(unsigned *p) {", "unsigned a = p[0];" }
    for i = 1, 800 do lines[#lines + 1] = ("a = a * %du + (a >> 3);"):format(2 * i + 1) end
    lines[#lines + 1] = "p[1] = a; }"
    local m = mw.compile(table.concat(lines, "\n"))
    local p = mw.array({ 7, 0 }, "uint")
    m.sum(1, 1)(p)
    local a = 7
    for i = 1, 800 do a = (a * (2 * i + 1) + (a >> 3)) & 0xffffffff end
    assert.equal(a, p[2])
    lines[500] = "wrong;"
    local _, err = mw.try_compile(table.concat(lines, "\n"))
    assert.equal(500, err.line)
  end)

  it("with a zero byte, or empty, is an error or a module, never a crash", function()
    for _, text in ipairs {
      "", "\0", "__global__ void f() {}\0garbage", ("\255\254"):rep(1000), "/*", '"', "#include <",
    } do
      local m, err = mw.try_compile(text)
      assert.is_true(m ~= nil or err.kind == "compile", text)
    end
    check_works()
  end)
end)
