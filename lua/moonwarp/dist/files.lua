-- NumPy's .npy and .npz files, read and written in pieces: each rank reads or writes its own rows, at most 16 MiB at a
-- time, so no rank needs memory for the whole array.

local mw = require "moonwarp"
local raw = require "moonwarp.binding"
local bytes = require "moonwarp.array.files.bytes"
local errors = require "moonwarp.diagnostics.error"
local layouts = require "moonwarp.dist.layout"
local arrays = require "moonwarp.dist.array"
local npy = require "moonwarp.array.files.npy"
local zip = require "moonwarp.array.files.zip"

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

-- ---- reading ----

-- The elements of rows from `first` on (from 0) into an array; the npy file begins at byte `base`. Returns their
-- checksum.
local function read_rows(path, file, base, facts, first, target)
  local total, at, checksum = target.nbytes, 0, 0
  local start = base + facts.first + first * facts.row_bytes
  file:seek("set", start)
  local view = total > 0 and raw.array_view(target, 0, "uchar", { total })
  while at < total do
    local size = math.min(PIECE, total - at)
    local text = file:read(size)
    if not text or #text < size then
      raw.raise { kind = "io", code = "cudaErrorFileNotFound",
        message = ("%s is cut off: byte %d is missing"):format(path, start + at + #(text or "")) }
    end
    view:sub(at + 1, at + size):copy_from(text)
    checksum = raw.bytes_checksum_join(checksum, raw.bytes_checksum(text), size)
    at = at + size
  end
  return checksum
end

-- The rows of this rank, of an npy file that begins at byte `base`, and their checksum.
local function load_rows(path, file, base, facts, comm)
  local rows = layouts.new(comm, facts.shape)
  local part, run, checksum = raw.array_new(facts.dtype, rows:part_shape()), rows:runs()[1][1], 0
  if run then checksum = read_rows(path, file, base, facts, run.global - 1, part) end
  return arrays.new(rows, part), checksum
end

local function in_layout(d, options)
  local layout = layouts.new(d.comm, d.shape, options)
  return layout:equals(d.layout) and d or d:redistribute(layout)
end

-- Read an array that is divided over the ranks.
function M.load(comm, path, options)
  local file = open(path, "rb")
  local facts = npy.read_header(path, file)
  if facts.fortran or facts.swapped then
    file:close()
    usage("mw.dist.load_npy: %s is in %s; save it again with numpy.ascontiguousarray(a)", path,
      facts.fortran and "Fortran's order" or "the other byte order")
  end
  local d = load_rows(path, file, 0, facts, comm)
  file:close()
  return in_layout(d, options)
end

-- The members of a zip file, whose directory is within its last bytes.
local function members_of(path, file)
  local size = file:seek "end"
  local last = math.min(size, 2 ^ 21)
  file:seek("set", size - last)
  return zip.members(path, file:read(last) or "", size - last)
end

-- The checksum of bytes in pieces, one of each rank in order, after those that have the checksum `first`. All ranks get
-- it.
local function joined(comm, first, checksum, size)
  local pieces = comm:allgather(mw.array({ checksum, size }, "double")):totable()
  for _, piece in ipairs(pieces) do first = raw.bytes_checksum_join(first, piece[1], piece[2]) end
  return first
end

-- A stored member in pieces.
local function load_stored(path, file, base, member, comm)
  file:seek("set", base)
  local facts = npy.read_header(path, file)
  if facts.fortran or facts.swapped then return nil end
  file:seek("set", base)
  local header = file:read(facts.first)
  local d, checksum = load_rows(path, file, base, facts, comm)
  if joined(comm, raw.bytes_checksum(header), checksum, d.part.nbytes) ~= member.checksum then
    bytes.fail(path, "its member '%s' is damaged: its checksum does not match", member.name)
  end
  return d
end

-- Any other member, which every rank reads whole.
local function load_whole(path, file, offset, member, comm)
  file:seek("set", member.offset)
  local data = file:read(offset + member.packed) or ""
  local there = setmetatable({ offset = 0 }, { __index = member })
  local whole = npy.decode(path .. ":" .. member.name, zip.read(path, data, there))
  return raw.part("dist.dist").from(layouts.new(comm, whole.shape), whole)
end

-- Read the arrays of an .npz file, divided over the ranks.
function M.load_npz(comm, path, options)
  local file, found = open(path, "rb"), {}
  for _, member in ipairs(members_of(path, file)) do
    file:seek("set", member.offset)
    local offset = zip.data_offset(path, file:read(30) or "", member)
    local where = path .. ":" .. member.name
    local d = member.method == zip.STORED and member.flags % 2 == 0
      and load_stored(where, file, member.offset + offset, member, comm)
    d = d or load_whole(path, file, offset, member, comm)
    found[member.name:gsub("%.npy$", "")] = in_layout(d, options)
  end
  file:close()
  return found
end

-- ---- writing ----

-- An array divided by rows.
local function by_rows(d)
  local rows = layouts.new(d.comm, d.shape)
  return d.layout:equals(rows) and d or d:redistribute(rows)
end

-- Write the rows of this rank, of an array whose first element is at byte `first` of the file. Returns their checksum.
local function write_rows(path, first, d)
  local run, row, checksum = d.layout:runs()[1][1], raw.dtype_size(d.dtype), 0
  for axis = 2, #d.shape do row = row * d.shape[axis] end
  if not run or row == 0 then return 0 end
  local file = open(path, "r+b")
  file:seek("set", first + (run.global - 1) * row)
  local part = d.part:contiguous()
  local view = raw.array_view(part, 0, "uchar", { part.nbytes })
  for at = 0, part.nbytes - 1, PIECE do
    local text = view:sub(at + 1, math.min(at + PIECE, part.nbytes)):bytes()
    file:write(text)
    checksum = raw.bytes_checksum_join(checksum, raw.bytes_checksum(text), #text)
  end
  file:close()
  return checksum
end

-- A new file with these bytes, before the other ranks write.
local function begin(comm, path, text)
  if comm.rank == 0 then
    local file = open(path, "wb")
    file:write(text)
    file:close()
  end
  comm:barrier()
end

---Write the array as an .npy file, which numpy.load reads. Each rank writes its rows, into a file that all ranks see.
---@param path string
function dist_array:save_npy(path)
  local header = npy.header("d:save_npy", self.dtype, self.shape)
  begin(self.comm, path, header)
  write_rows(path, #header, by_rows(self))
  self.comm:barrier()
end

-- Write arrays of one communicator as an .npz file.
function M.save_npz(path, list)
  local where, members, comm = "mw.dist.save_npz", {}, nil
  for i, name in ipairs(npy.names(where, list, arrays.is)) do
    local d = list[name]
    comm = comm or d.comm
    if d.comm ~= comm then usage("%s: '%s' is of another communicator than the others", where, name) end
    local header, size = npy.header(where, d.dtype, d.shape), raw.dtype_size(d.dtype)
    for _, n in ipairs(d.shape) do size = size * n end
    members[i] = { name = name .. ".npy", array = d, header = header, size = #header + size }
  end
  if not comm then usage("%s wants arrays by name, as in { x = d }, and there are none", where) end
  local last = zip.place(members)
  begin(comm, path, "")
  for _, member in ipairs(members) do
    local d = by_rows(member.array)
    local checksum = write_rows(path, member.offset + 30 + #member.name + #member.header, d)
    member.checksum = joined(comm, raw.bytes_checksum(member.header), checksum, d.part.nbytes)
  end
  if comm.rank == 0 then
    local file = open(path, "r+b")
    for _, member in ipairs(members) do
      file:seek("set", member.offset)
      file:write(zip.head(member), member.header)
    end
    file:seek("set", last)
    file:write(zip.directory(members, last))
    file:close()
  end
  comm:barrier()
end

return M
