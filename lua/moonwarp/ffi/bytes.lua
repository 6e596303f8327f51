-- Bytes of files as strings, and what the members of zip files need.

local ffi = require "ffi"
local C = require("moonwarp.ffi.library").C
local errors = require "moonwarp.ffi.error"

-- bytes_read(path) -> string
local function bytes_read(path)
  local out, length = ffi.new "char *[1]", ffi.new "size_t[1]"
  errors.must(C.mw_bytes_read(path, length, out))
  local kept = ffi.gc(out[0], C.mw_bytes_release)
  return ffi.string(kept, length[0])
end

-- bytes_write(path, string)
local function bytes_write(path, bytes) errors.must(C.mw_bytes_write(path, bytes, #bytes)) end

-- bytes_checksum(string) -> CRC-32
local function bytes_checksum(bytes) return tonumber(C.mw_bytes_checksum(bytes, #bytes)) end

-- bytes_checksum_join(first, second, length) -> the CRC-32 of bytes that have the first, then `length` bytes that have
-- the second
local function bytes_checksum_join(first, second, length)
  return tonumber(C.mw_bytes_checksum_join(first, second, length))
end

-- bytes_inflate(string, size) -> string of `size` bytes
local function bytes_inflate(bytes, size)
  local out = ffi.new("char[?]", size + 1)
  local code = C.mw_bytes_inflate(bytes, #bytes, size, out)
  if code == C.MW_INVALID_VALUE then errors.raise "io" end -- the file is at fault, not the script
  errors.must(code)
  return ffi.string(out, size)
end

return { raw = {
  bytes_read = bytes_read, bytes_write = bytes_write, bytes_checksum = bytes_checksum, bytes_inflate = bytes_inflate,
  bytes_checksum_join = bytes_checksum_join,
} }
