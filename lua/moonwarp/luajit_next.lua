-- Traces in which an old LuaJIT compiled `next` wrongly are thrown away before they run.
--
-- The 2.1 betas from September 2021 to April 2022 (Debian 12 has one) compile `next`, and `pairs`, to a call of
-- lj_vm_next, which returns a pointer and an index in rax and rdx. Where the trace wants them the other way round, the
-- exchange lacks its REX prefix: it swaps 32 bits, the pointer's upper half is lost and the next instruction reads a
-- wild address (https://github.com/LuaJIT/LuaJIT/issues/829). Which registers a trace wants changes with addresses, so
-- any loop over a table crashes now and then: struct arguments do, and so do a script's own loops.
--
-- LuaJIT reports each trace when its machine code is there and before it runs. Nothing else that it emits exchanges eax
-- and edx right after a call; where these bytes are a part of something else, a function stays interpreted in vain.

local jit = rawget(_G, "jit")
local guard = {}

---Is `code`, a trace's machine code for x86-64, miscompiled?
function guard.is_wrong(code)
  return code:find "\232....\146" ~= nil -- call rel32
    or code:find "\255[\208-\215]\146" ~= nil -- call register
end

---Has this LuaJIT the fault? Later ones than the betas have their commit's time as third number, "2.1.1700206165".
function guard.is_affected(version, arch) return arch == "x64" and version:find "^LuaJIT 2%.1%.0%-beta3" ~= nil end

-- LuaJIT has one handler for each kind of event, so the one of the script, of -jv or of -jdump is called from here.
local other

-- The key under which LuaJIT keeps handlers of that kind is a hash of its name.
local function handler_before(attach, handler)
  local handlers, before = debug.getregistry()._VMEVENTS or {}, {}
  for key, known in pairs(handlers) do before[key] = known end
  attach(handler, "trace")
  for key, known in pairs(debug.getregistry()._VMEVENTS) do
    if known == handler then return before[key] end
  end
end

local function attach_others(attach)
  return function(handler, event)
    if event ~= "trace" or type(handler) ~= "function" then
      if event == nil and handler == other then other = nil end
      return attach(handler, event)
    end
    other = handler
  end
end

---Watch traces for the rest of the process.
function guard.start()
  if not guard.is_affected(jit.version, jit.arch) then return end
  local util, start = require "jit.util", nil
  local function watch(event, trace, func, ...)
    local ok, why = true, nil
    if other then ok, why = pcall(other, event, trace, func, ...) end
    if event == "start" then
      start = func
    elseif event == "stop" and guard.is_wrong(util.tracemc(trace) or "") then
      jit.off(start) -- else it would be compiled to the same again
      jit.flush() -- all, as others may have been linked to it
      if other then other "flush" end -- events within events are not reported
    end
    if not ok then error(why, 0) end -- LuaJIT prints it
  end
  other = handler_before(jit.attach, watch)
  jit.attach = attach_others(jit.attach)
  jit.flush() -- what nobody has watched
end

return guard
