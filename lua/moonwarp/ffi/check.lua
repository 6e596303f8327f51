-- Checked runs, as raw.check_begin and raw.check_end; moonwarp/watch/ has the public functions.

local ffi = require "ffi"
local C = require("moonwarp.ffi.library").C
local errors = require "moonwarp.ffi.error"
local device = require "moonwarp.ffi.device"

local M = {}

local function text(value) return value ~= nil and ffi.string(value) or nil end
local function index(list) return { list[0], list[1], list[2] } end

local function fill(into, from)
  into.kernel, into.file, into.access = text(from.kernel), text(from.file), text(from.access)
  if from.line ~= 0 then into.line = from.line end
  if from.has_thread ~= 0 then into.thread, into.block = index(from.thread), index(from.block) end
  return into
end

local function finding_of(from)
  local finding = { kind = text(from.kind), array = text(from.array), scope = text(from.scope), hint = text(from.hint),
    text = text(from.text), count = tonumber(from.count) }
  if from.has_index ~= 0 then finding.index = tonumber(from.index) end
  if from.has_other ~= 0 then finding.other = fill({}, from.other) end
  return fill(finding, from.here)
end

M.raw = {
  -- check_begin(kinds, seed): of the device in use
  check_begin = function(kinds, seed) errors.must(C.mw_check_begin(device.current()._handle, kinds, seed)) end,
  -- check_end() -> a sequence of findings, with the text `unchecked`
  check_end = function()
    local out, finding, findings = ffi.new "mw_report *[1]", ffi.new "mw_finding", {}
    errors.must(C.mw_check_end(device.current()._handle, out))
    for i = 1, tonumber(C.mw_report_count(out[0])) do
      errors.must(C.mw_report_get(out[0], i - 1, finding))
      findings[i] = finding_of(finding)
    end
    findings.unchecked = text(C.mw_report_unchecked(out[0]))
    C.mw_report_release(out[0])
    return findings
  end,
}

return M
