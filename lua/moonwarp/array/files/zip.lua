-- Zip files in the form that .npz uses: stored or deflated members, found by the directory at the end of the file.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"
local bytes = require "moonwarp.array.files.bytes"

local fail, number, text = bytes.fail, bytes.number, bytes.text

local M = {}

local MOST = 2 ^ 32 - 1 -- the 32-bit value that says "see the 64-bit extension"
local DEFLATED, STORED = 8, 0

-- The position of the directory in the file (from 1) and the number of members, from the record at the end; a comment
-- may follow it. `before`: bytes of the file before `data`.
local function directory(path, data, before)
  local at
  for first = #data - 21, math.max(1, #data - 21 - 65535), -1 do
    if data:byte(first) == 80 and data:sub(first, first + 3) == "PK\5\6" then
      at = first
      break
    end
  end
  if not at then fail(path, "it is not a zip file, or it is cut off: the directory at its end is missing") end
  local count, first = number(data, at + 10, 2), number(data, at + 16, 4)
  if count == 65535 or first == MOST then
    local locator = at - 20
    if locator < 1 or data:sub(locator, locator + 3) ~= "PK\6\7" then
      fail(path, "the directory at its end is damaged")
    end
    local record = number(data, locator + 8, 8) + 1 - before
    if record < 1 then fail(path, "the directory at its end is damaged") end
    if record + 55 > #data or data:sub(record, record + 3) ~= "PK\6\6" then
      fail(path, "the directory at its end is damaged")
    end
    count, first = number(data, record + 32, 8), number(data, record + 48, 8)
  end
  return first + 1, count
end

-- Replace 32-bit fields at their maximum by those of the 64-bit extension.
local function extended(path, member, extra)
  local at = 1
  while at + 3 <= #extra do
    local id, size = number(extra, at, 2), number(extra, at + 2, 2)
    local field, last = at + 4, math.min(#extra, at + 3 + size)
    for _, key in ipairs(id == 1 and { "size", "packed", "offset" } or {}) do
      if member[key] == MOST then
        if field + 7 > last then fail(path, "its member '%s' has no size", member.name) end
        member[key] = number(extra, field, 8)
        field = field + 8
      end
    end
    at = at + 4 + size
  end
end

---The members of a zip file.
---@param path string for messages
---@param data string the file's bytes, or the last of them
---@param before? integer bytes of the file before these
---@return table[] members each { name =, method =, checksum =, packed =, size =, offset = }
function M.members(path, data, before)
  local at, count = directory(path, data, before or 0)
  at = at - (before or 0)
  local list = {}
  for i = 1, count do
    if at < 1 or at + 45 > #data or data:sub(at, at + 3) ~= "PK\1\2" then
      fail(path, "its directory is damaged at member %d of %.0f", i, count)
    end
    local name, extra, comment = number(data, at + 28, 2), number(data, at + 30, 2), number(data, at + 32, 2)
    local member = {
      flags = number(data, at + 8, 2), method = number(data, at + 10, 2), checksum = number(data, at + 16, 4),
      packed = number(data, at + 20, 4), size = number(data, at + 24, 4), offset = number(data, at + 42, 4),
      name = data:sub(at + 46, at + 45 + name),
    }
    extended(path, member, data:sub(at + 46 + name, at + 45 + name + extra))
    list[i] = member
    at = at + 46 + name + extra + comment
  end
  return list
end

---The offset of a member's data from that of its head, which has 30 bytes and more.
---@param path string for messages
---@param head string
---@param member table
---@return integer
function M.data_offset(path, head, member)
  if #head < 30 or head:sub(1, 4) ~= "PK\3\4" then
    fail(path, "its member '%s' is not where the directory says", member.name)
  end
  return 30 + number(head, 27, 2) + number(head, 29, 2)
end

M.STORED = STORED

---The bytes of a member, inflated and checked.
---@param path string for messages
---@param data string the file's bytes
---@param member table
---@return string
function M.read(path, data, member)
  local at = member.offset + 1
  local first = at + M.data_offset(path, data:sub(at, at + 29), member)
  if member.flags % 2 == 1 then fail(path, "its member '%s' is encrypted", member.name) end
  if first + member.packed - 1 > #data then fail(path, "its member '%s' is cut off", member.name) end
  local packed = data:sub(first, first + member.packed - 1)
  local result
  if member.method == STORED then
    if member.packed ~= member.size then fail(path, "its member '%s' has two different sizes", member.name) end
    result = packed
  elseif member.method == DEFLATED then
    if member.size > member.packed * 1032 + 1032 then -- deflate's highest ratio
      fail(path, "its member '%s' claims to inflate %.0f bytes to %.0f", member.name, member.packed, member.size)
    end
    local ok, made = pcall(raw.bytes_inflate, packed, member.size)
    if not ok then
      fail(path, "its member '%s': %s", member.name, errors.is(made) and made.message or tostring(made))
    end
    result = made
  else
    fail(path, "its member '%s' is compressed by method %d; only 0 and 8 are supported, which NumPy writes",
      member.name, member.method)
  end
  if raw.bytes_checksum(result) ~= member.checksum then
    fail(path, "its member '%s' is damaged: its checksum does not match", member.name)
  end
  return result
end

local DATE = text(33, 2) -- a fixed date (zip's first day), so that equal arrays make equal files

-- What the head of a member and its entry in the directory have in common.
local function facts_of(member)
  return text(20, 2) .. text(0x800, 2) .. text(STORED, 2) .. text(0, 2) .. DATE .. text(member.checksum, 4)
    .. text(member.size, 4):rep(2) .. text(#member.name, 2) .. text(0, 2)
end

---The head of a stored member, which its data follows.
---@param member { name: string, size: integer, checksum: integer }
---@return string
function M.head(member) return "PK\3\4" .. facts_of(member) .. member.name end

---The offsets of stored members' heads, as fields of theirs, and of the directory after them.
---@param members { name: string, size: integer }[]
---@return integer
function M.place(members)
  local offset = 0
  for _, member in ipairs(members) do
    if offset + member.size + 100 + #member.name > MOST then
      errors.usage "mw.save_npz writes files of up to 4 GiB; save larger arrays with mw.save_npy"
    end
    member.offset = offset
    offset = offset + 30 + #member.name + member.size
  end
  return offset
end

---The directory, which ends the file.
---@param members { name: string, size: integer, checksum: integer, offset: integer }[]
---@param offset integer its own
---@return string
function M.directory(members, offset)
  local entries = {}
  for i, member in ipairs(members) do
    entries[i] = "PK\1\2" .. text(20, 2) .. facts_of(member) .. text(0, 2):rep(3) .. text(0, 4)
      .. text(member.offset, 4) .. member.name
  end
  local index = table.concat(entries)
  return index .. "PK\5\6" .. text(0, 2):rep(2) .. text(#members, 2):rep(2) .. text(#index, 4) .. text(offset, 4)
    .. text(0, 2)
end

---A zip file whose members are stored, not compressed.
---@param members { name: string, data: string }[]
---@return string
function M.write(members)
  local parts = {}
  for _, member in ipairs(members) do member.size, member.checksum = #member.data, raw.bytes_checksum(member.data) end
  local offset = M.place(members)
  for _, member in ipairs(members) do
    parts[#parts + 1] = M.head(member)
    parts[#parts + 1] = member.data
  end
  parts[#parts + 1] = M.directory(members, offset)
  return table.concat(parts)
end

return M
