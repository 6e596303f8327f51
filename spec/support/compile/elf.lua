-- A reader of shared objects of 64 bits, little-endian, for specs that examine a linker's output.
--   local object = elf.read(bytes)
--   object.exports, imports, needed, functions   names, sorted; an import with its version: "exp@GLIBC_2.29"
--   object.segments    { type, writable, executable, from, to: addresses }; object.count(elf.LOAD)
--   object.is_found(name)   through the hash table, as the dynamic linker looks it up
--   object.frames      the addresses in .eh_frame_hdr; object.frame_functions: those in .eh_frame
--   object.binds_now

local elf = { LOAD = 1, STACK = 0x6474e551, RELRO = 0x6474e552 }

local function string_at(bytes, offset) return (string.unpack("<z", bytes, offset + 1)) end

local function read_sections(bytes)
  local list, named = {}, {}
  local start = string.unpack("<I8", bytes, 0x28 + 1)
  local size, count, names = string.unpack("<I2I2I2", bytes, 0x3a + 1)
  for i = 0, count - 1 do
    local s = {}
    s.name_offset, s.type, s.flags, s.address, s.offset, s.size, s.link, s.info, s.align, s.entry =
      string.unpack("<I4I4I8I8I8I8I4I4I8I8", bytes, start + i * size + 1)
    list[i] = s
  end
  for i = 0, count - 1 do
    list[i].name = string_at(bytes, list[names].offset + list[i].name_offset)
    named[list[i].name] = list[i]
  end
  return list, named
end

local function read_symbols(bytes, sections, table_section)
  local list = {}
  if not table_section then return list end
  for i = 0, table_section.size // 24 - 1 do
    local s = {}
    local name, info
    name, info, s.other, s.section, s.value, s.size =
      string.unpack("<I4I1I1I2I8I8", bytes, table_section.offset + i * 24 + 1)
    s.name = string_at(bytes, sections[table_section.link].offset + name)
    s.type, s.bind = info & 15, info >> 4
    list[i] = s
  end
  return list
end

-- Names of versions by their number.
local function read_versions(bytes, named)
  local names, section, strings = {}, named[".gnu.version_r"], named[".dynstr"]
  local at = section and section.offset
  while at do
    local _, count, _, first, next = string.unpack("<I2I2I4I4I4", bytes, at + 1)
    local one = at + first
    for _ = 1, count do
      local _, _, number, name, step = string.unpack("<I4I2I2I4I4", bytes, one + 1)
      names[number] = string_at(bytes, strings.offset + name)
      one = one + step
    end
    at = next > 0 and at + next or nil
  end
  return names
end

local function hash_of(name)
  local hash = 5381
  for i = 1, #name do hash = (hash * 33 + name:byte(i)) & 0xffffffff end
  return hash
end

-- As the dynamic linker does: the filter, the bucket, the chain.
local function find(bytes, section, symbols, name)
  local buckets, first, words, shift = string.unpack("<I4I4I4I4", bytes, section.offset + 1)
  local hash, filter = hash_of(name), section.offset + 16
  local word = string.unpack("<I8", bytes, filter + hash // 64 % words * 8 + 1)
  if word >> hash % 64 & 1 == 0 or word >> (hash >> shift) % 64 & 1 == 0 then return false end
  local bucket = filter + words * 8
  local i = string.unpack("<I4", bytes, bucket + hash % buckets * 4 + 1)
  while i >= first do
    local other = string.unpack("<I4", bytes, bucket + buckets * 4 + (i - first) * 4 + 1)
    if other | 1 == hash | 1 and symbols[i].name == name then return true end
    if other & 1 == 1 then return false end
    i = i + 1
  end
  return false
end

local function read_dynamic(bytes, section, strings, object)
  object.needed = {}
  for at = section.offset, section.offset + section.size - 16, 16 do
    local tag, value = string.unpack("<i8I8", bytes, at + 1)
    if tag == 1 then table.insert(object.needed, string_at(bytes, strings.offset + value)) end
    if tag == 30 and value & 8 ~= 0 then object.binds_now = true end
    if tag == 0 then break end
  end
  table.sort(object.needed)
end

local function read_segments(bytes, object)
  local start = string.unpack("<I8", bytes, 0x20 + 1)
  local size, count = string.unpack("<I2I2", bytes, 0x36 + 1)
  for i = 0, count - 1 do
    local type, flags = string.unpack("<I4I4", bytes, start + i * size + 1)
    local _, address, _, _, memory = string.unpack("<I8I8I8I8I8", bytes, start + i * size + 9)
    object.segments[i + 1] =
      { type = type, writable = flags & 2 ~= 0, executable = flags & 1 ~= 0, from = address, to = address + memory }
  end
end

-- The functions in the sorted table, and in the records themselves.
local function read_frames(bytes, named, object)
  local header, frames = named[".eh_frame_hdr"], named[".eh_frame"]
  object.frames, object.frame_functions = {}, {}
  if not header then return end
  for i = 0, string.unpack("<I4", bytes, header.offset + 9) - 1 do
    object.frames[i + 1] = header.address + string.unpack("<i4", bytes, header.offset + 12 + 8 * i + 1)
  end
  local at = 0
  while at + 8 <= frames.size do
    local size, kind = string.unpack("<I4I4", bytes, frames.offset + at + 1)
    if size == 0 then break end
    if kind ~= 0 then
      local distance = string.unpack("<i4", bytes, frames.offset + at + 9)
      table.insert(object.frame_functions, frames.address + at + 8 + distance)
    end
    at = at + 4 + size
  end
end

---@param bytes string a shared object; bytes after it are ignored
---@return table
function elf.read(bytes)
  local object = { exports = {}, imports = {}, functions = {}, segments = {} }
  local sections, named = read_sections(bytes)
  local symbols = read_symbols(bytes, sections, named[".dynsym"])
  local versions, numbers = read_versions(bytes, named), named[".gnu.version"]
  for i = 1, #symbols do
    local s = symbols[i]
    local version = numbers and versions[string.unpack("<I2", bytes, numbers.offset + 2 * i + 1)]
    if s.section == 0 then
      table.insert(object.imports, version and s.name .. "@" .. version or s.name)
    elseif s.type ~= 3 then -- a section
      table.insert(object.exports, s.name)
    end
  end
  for _, s in pairs(read_symbols(bytes, sections, named[".symtab"])) do
    if s.type == 2 and s.section ~= 0 then table.insert(object.functions, ("%s %d"):format(s.name, s.size)) end
  end
  for _, list in ipairs { "imports", "exports", "functions" } do table.sort(object[list]) end
  read_dynamic(bytes, named[".dynamic"], named[".dynstr"], object)
  read_segments(bytes, object)
  read_frames(bytes, named, object)
  function object.is_found(name) return find(bytes, named[".gnu.hash"], symbols, name) end
  function object.count(type)
    local count = 0
    for _, segment in ipairs(object.segments) do count = count + (segment.type == type and 1 or 0) end
    return count
  end
  return object
end

return elf
