-- Warp functions in random kernels: the calls, and a model of their results.
--
-- Threads are numbered from 1 in their block; calls[i] = { value, lane, width } of those that are alive.

local warps = {}

warps.votes = { ballot = true, any = true, all = true }
warps.shuffles = { idx = "__shfl_sync", up = "__shfl_up_sync", down = "__shfl_down_sync", xor = "__shfl_xor_sync" }
warps.reductions = { add = true, min = true, max = true }

-- (PTX ISA, shfl.sync)
local source = {}
function source.idx(self, lane, width) return self // width * width + lane % width end
function source.up(self, lane, width) return lane > self % width and self or self - lane end
function source.down(self, lane, width) return self % width + lane >= width and self or self + lane end
function source.xor(self, lane, width)
  local from = self ~ lane
  return from // width > self // width and self or from
end

local function each_warp(count, f)
  for first = 1, count, 32 do f(first, math.min(first + 31, count)) end
end

local function vote(how, calls, count)
  local answers = {}
  each_warp(count, function(first, last)
    local bits, all = 0, true
    for i = first, last do
      if calls[i] and calls[i][1] ~= 0 then bits = bits | 1 << (i - first) end
      if calls[i] and calls[i][1] == 0 then all = false end
    end
    local answer = how == "ballot" and bits or how == "any" and (bits ~= 0 and 1 or 0) or (all and 1 or 0)
    for i = first, last do answers[i] = answer end
  end)
  return answers
end

-- A lane that is not there gives nothing to count on: `absent` is called, and the reader keeps its own.
local function shuffle(how, calls, count, absent)
  local answers = {}
  each_warp(count, function(first, last)
    for i = first, last do
      local call = calls[i]
      if call then
        local from = calls[first + source[how](i - first, call[2] & 31, call[3])]
        if not from then absent() end
        answers[i] = (from or call)[1]
      end
    end
  end)
  return answers
end

local function fold(how, a, b)
  if how == "add" then return ((a + b & 0xffffffff) ~ 0x80000000) - 0x80000000 end
  return how == "min" and math.min(a, b) or how == "max" and math.max(a, b)
end

local function reduce(how, calls, count)
  local answers = {}
  each_warp(count, function(first, last)
    local sum
    for i = first, last do
      if calls[i] then sum = sum and fold(how, sum, calls[i][1]) or calls[i][1] end
    end
    for i = first, last do answers[i] = sum end
  end)
  return answers
end

local function match(calls, count)
  local answers = {}
  each_warp(count, function(first, last)
    for i = first, last do
      answers[i] = 0
      for j = first, last do
        if calls[i] and calls[j] and calls[j][1] == calls[i][1] then answers[i] = answers[i] | 1 << (j - first) end
      end
    end
  end)
  return answers
end

function warps.is_call(how)
  return how == "match" or warps.votes[how] or warps.shuffles[how] or warps.reductions[how] or false
end

-- By thread.
function warps.answers(how, calls, count, absent)
  if warps.votes[how] then return vote(how, calls, count) end
  if warps.shuffles[how] then return shuffle(how, calls, count, absent) end
  if warps.reductions[how] then return reduce(how, calls, count) end
  return match(calls, count)
end

-- ---- in C

-- The careful form of shuffles: a lane that is not there is not read.
warps.prelude = [[
__device__ unsigned lane_of_thread() {
  return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % 32;
}
template <typename T> __device__ T there(T read, T own, unsigned from) {
  return __ballot_sync(0xffffffff, 1) >> from & 1 ? read : own;
}
template <typename T> __device__ T careful_idx(T v, int lane, int width) {
  unsigned self = lane_of_thread();
  return there(__shfl_sync(0xffffffff, v, lane, width), v, self / width * width + (lane & 31) % width);
}
template <typename T> __device__ T careful_up(T v, int lane, int width) {
  int self = lane_of_thread(), delta = lane & 31;
  return there(__shfl_up_sync(0xffffffff, v, lane, width), v, delta > self % width ? self : self - delta);
}
template <typename T> __device__ T careful_down(T v, int lane, int width) {
  int self = lane_of_thread(), delta = lane & 31;
  return there(__shfl_down_sync(0xffffffff, v, lane, width), v, self % width + delta >= width ? self : self + delta);
}
template <typename T> __device__ T careful_xor(T v, int lane, int width) {
  int self = lane_of_thread(), from = self ^ (lane & 31);
  return there(__shfl_xor_sync(0xffffffff, v, lane, width), v, from / width > self / width ? self : from);
}
]]

-- `careful`: some lane is not there.
function warps.text(how, value, lane, width, careful)
  if warps.votes[how] then return ("__%s_sync(0xffffffff, %s)"):format(how, value) end
  if warps.reductions[how] then return ("__reduce_%s_sync(0xffffffff, %s)"):format(how, value) end
  if how == "match" then return ("__match_any_sync(0xffffffff, %s)"):format(value) end
  if careful then return ("careful_%s(%s, %s, %d)"):format(how, value, lane, width) end
  return ("%s(0xffffffff, %s, %s, %d)"):format(warps.shuffles[how], value, lane, width)
end

return warps
