-- Candidates: long launches time a kernel's code for several gangs, and keep the fastest (MOONWARP_TRIALS). Results are
-- the same whichever code runs which blocks, and the cache remembers the choice.
-- CPU device only: code for other devices has no candidates

local run = require "support.child"

-- Launches a kernel that has candidates until the choice is in the cache, or a number of times; compares each result
-- with a loop in Lua. Prints the number of files in the cache, the choice, and how many launches there were.
local script = [[
  local mw = require "moonwarp"
  local folder, most = arg[1], tonumber(arg[2])
  local n, table_of = 2 ^ 14, {}
  for i = 0, 255 do table_of[i + 1] = i * 2654435761 % 2 ^ 32 end
  local m = mw.compile [=[
    __global__ void mix(int n, const unsigned *t, const float *x, unsigned *out, float *sums) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i >= n) return;
      unsigned h = i * 0x9E3779B9u;
      float sum = 0;
      for (int k = 0; k < 8 + i % 13; k++) {
        h = t[h & 255] ^ (h >> 8);
        sum = sum * 0.75f + x[h & 255];
      }
      out[i] = h;
      sums[i] = sum;
    }]=]
  local x = {}
  for i = 1, 256 do x[i] = math.sin(i) end
  local t, xs = mw.array(table_of, "uint"), mw.array(x)
  local out, sums = mw.zeros(n, "uint"), mw.zeros(n)
  local launch = m.mix(n / 64, 64)
  local first
  local function check()
    local got = sums:totable()
    first = first or got
    for i = 1, n do assert(got[i] == first[i], "the results differ at " .. i) end
    local words = out:totable()
    for i = 0, n - 1, 97 do
      local h = i * 0x9E3779B9 % 2 ^ 32
      for _ = 1, 8 + i % 13 do
        local mixed, shifted, bit, both = table_of[h % 256 + 1], math.floor(h / 256), 1, 0
        for _ = 1, 32 do
          if mixed % 2 ~= shifted % 2 then both = both + bit end
          mixed, shifted, bit = math.floor(mixed / 2), math.floor(shifted / 2), bit * 2
        end
        h = both
      end
      assert(words[i + 1] == h, "not the loop's result at " .. i)
    end
  end
  local function listed(command)
    local pipe = assert(io.popen(command))
    local text = pipe:read "*a"
    pipe:close()
    return text
  end
  local choice, launches, deadline = "", 0, mw.time() + 60
  repeat
    for _ = 1, 20 do
      sums:fill(0)
      launch(n, t, xs, out, sums)
      launches = launches + 1
    end
    if launches % 200 == 20 then check() end
    choice = listed("grep -ahs '^gang ' '" .. folder .. "'/*"):match "gang (%d+)" or ""
  until (most == 0 and choice ~= "") or (most > 0 and launches >= most) or mw.time() > deadline
  check()
  print("files " .. #listed("find '" .. folder .. "' -type f"):gsub("[^\n]", ""))
  print("choice " .. choice)
]]

local function start(folder, most, trials)
  local result = run { script, folder, most, seconds = 120,
    environment = { MOONWARP_CACHE = folder, MOONWARP_SPECIALISE = 0, MOONWARP_TRIALS = trials,
      MOONWARP_DEVICE = "cpu:0" } }
  assert.is_true(result.ok, result.output)
  return tonumber(result.output:match "files (%d+)"), result.output:match "choice (%d*)"
end

local function with_folder(use)
  local folder = os.tmpname()
  os.remove(folder)
  assert(os.execute("mkdir -m 700 '" .. folder .. "'"))
  local ok, message = pcall(use, folder)
  os.execute("rm -r '" .. folder .. "'")
  if not ok then error(message, 0) end
end

-- Files of a fresh cache without any candidate.
local function count_without(trials, launches)
  local files, choice
  with_folder(function(folder) files, choice = start(folder, launches, trials) end)
  assert.equal("", choice)
  return files
end

describe("candidates of a kernel", function()
  it("are timed in its launches, with the same results, and the choice is remembered", function()
    local without = count_without("off", 200)
    with_folder(function(folder)
      local files, choice = start(folder, 0, 0)
      assert.matches("%d", choice)
      assert.is_true(files >= without + 2, files .. " files, and " .. without .. " without candidates")
      local again, same = start(folder, 200, 0)
      assert.same({ files, choice }, { again, same })
    end)
  end)

  it("are not made for a kernel that has run for a short time only", function()
    assert.equal(count_without("off", 20), count_without(1000, 20))
  end)
end)
