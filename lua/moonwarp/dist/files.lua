-- NumPy's .npy files, read and written in pieces: each rank reads or writes its own rows, at most 16 MiB at a time, so
-- no rank needs memory for the whole array.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"
local layouts = require "moonwarp.dist.layout"
local arrays = require "moonwarp.dist.array"
local npy = require "moonwarp.array.files.npy"

local usage = errors.usage
local dist_array = arrays.methods
local M = {}

local PIECE = 2 ^ 24

local function open(path, mode)
  local file, why = io.open(path, mode)
  if not file then raw.raise { kind = "io", code = "cudaErrorFileNotFound", message = tostring(why) } end
  return file
end

-- The shape and dtype of an .npy file, and the position of its first element.
function M.header(path)
  local file = open(path, "rb")
  local facts = npy.read_header(path, file)
  file:close()
  return facts
end

-- The elements of rows from `first` on (from 0) into an array.
local function read_rows(path, file, facts, first, target)
  local bytes, at = target.nbytes, 0
  local row = facts.row_bytes
  file:seek("set", facts.first + first * row)
  local view = bytes > 0 and raw.array_view(target, 0, "uchar", { bytes })
  while at < bytes do
    local size = math.min(PIECE, bytes - at)
    local text = file:read(size)
    if not text or #text < size then
      raw.raise { kind = "io", code = "cudaErrorFileNotFound",
        message = ("%s is cut off: byte %d is missing"):format(path, facts.first + first * row + at + #(text or "")) }
    end
    view:sub(at + 1, at + size):copy_from(text)
    at = at + size
  end
end

-- Read an array that is divided over the ranks.
function M.load(comm, path, options)
  local facts = M.header(path)
  if facts.fortran or facts.swapped then
    usage("mw.dist.load_npy: %s is in %s; save it again with numpy.ascontiguousarray(a)", path,
      facts.fortran and "Fortran's order" or "the other byte order")
  end
  local layout = layouts.new(comm, facts.shape, options)
  local rows = layouts.new(comm, facts.shape)
  local part, run = raw.array_new(facts.dtype, rows:part_shape()), rows:runs()[1][1]
  if run then
    local file = open(path, "rb")
    read_rows(path, file, facts, run.global - 1, part)
    file:close()
  end
  local d = arrays.new(rows, part)
  return layout:equals(rows) and d or d:redistribute(layout)
end

---Write the array as an .npy file, which numpy.load reads. Each rank writes its rows, into a file that all ranks see.
---@param path string
function dist_array:save_npy(path)
  local comm, rows = self.comm, layouts.new(self.comm, self.shape)
  local d = self.layout:equals(rows) and self or self:redistribute(rows)
  local header = npy.header("d:save_npy", self.dtype, self.shape)
  if comm.rank == 0 then
    local file = open(path, "wb")
    file:write(header)
    file:close()
  end
  comm:barrier()
  local run, row = rows:runs()[1][1], raw.dtype_size(self.dtype)
  for axis = 2, #self.shape do row = row * self.shape[axis] end
  if run and row > 0 then
    local file = open(path, "r+b")
    file:seek("set", #header + (run.global - 1) * row)
    local bytes = d.part:contiguous()
    local view = raw.array_view(bytes, 0, "uchar", { bytes.nbytes })
    for at = 0, bytes.nbytes - 1, PIECE do
      file:write(view:sub(at + 1, math.min(at + PIECE, bytes.nbytes)):bytes())
    end
    file:close()
  end
  comm:barrier()
end

return M
