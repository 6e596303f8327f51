-- What a line's figures mean: by how much it exceeds the least possible, why, and what to try.

local M = {}

local function times(a, b) return b > 0 and a / b or a > 0 and math.huge or 1 end

-- Each judge gives how many times the ideal a line takes, and a sentence about it.
local judges = {
  function(f)
    local ratio = times(f.shared_load_wavefronts + f.shared_store_wavefronts,
      f.shared_load_ideal_wavefronts + f.shared_store_ideal_wavefronts)
    return ratio, ("bank conflicts: shared memory takes %.1f passes where 1 would do, since lanes of a warp access "
      .. "different words of one bank; make rows one element longer ([32][33]), or let neighbouring threads access "
      .. "neighbouring words"):format(ratio)
  end,
  function(f)
    local ratio = times(f.global_load_sectors, f.global_load_ideal_sectors)
    return ratio, ("uncoalesced loads: %.1f sectors of 32 bytes a request where %.1f would do, since neighbouring "
      .. "threads load from addresses that are far apart; let threadIdx.x count the elements that are adjacent in "
      .. "memory, or load a tile through shared memory"):format(times(f.global_load_sectors, f.global_load_requests),
        times(f.global_load_ideal_sectors, f.global_load_requests))
  end,
  function(f)
    local ratio = times(f.global_store_sectors, f.global_store_ideal_sectors)
    return ratio, ("uncoalesced stores: %.1f sectors of 32 bytes a request where %.1f would do, since neighbouring "
      .. "threads store to addresses that are far apart; let threadIdx.x count the elements that are adjacent in "
      .. "memory, or collect a tile in shared memory first"):format(
        times(f.global_store_sectors, f.global_store_requests),
        times(f.global_store_ideal_sectors, f.global_store_requests))
  end,
  function(f)
    local ratio = 1 + times(f.atomic_collisions, math.max(f.atomic_requests, 1))
    if f.atomic_requests == 0 then ratio = 1 end
    return ratio, ("colliding atomics: %.1f lanes of a warp wait for others at the same address; add up within the "
      .. "warp or the block first, or give each block its own copy"):format(ratio - 1)
  end,
  function(f)
    local ratio = 1 + 4 * (f.branches > 0 and f.divergent_branches / f.branches or 0)
    return ratio, ("divergence: lanes of a warp take different sides in %d of %d branches, and wait for each other; "
      .. "let the condition depend on whole warps (threadIdx.x / 32), or give lanes work of equal length"):format(
        f.divergent_branches, f.branches)
  end,
}

---How far the figures are from the ideal: 1 is the ideal, above 2 there is a sentence why and what to try.
---@param figures table of a line
---@return number
---@return string?
function M.judge(figures)
  local worst, sentence = 1, nil
  for _, judge in ipairs(judges) do
    local ratio, text = judge(figures)
    if ratio > worst then worst, sentence = ratio, text end
  end
  return worst, worst > 2 and sentence or nil
end

return M
