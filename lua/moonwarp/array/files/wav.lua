-- Sound in WAV files: samples of 8, 16, 24 or 32 bits or in floating point, with one or several channels.
--
-- A file is "RIFF", a size, "WAVE", and chunks: four letters, a size, and that many bytes (padded to an even number).

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"
local bytes = require "moonwarp.array.files.bytes"

local usage = errors.usage
local fail, number, text = bytes.fail, bytes.number, bytes.text

local M = {}

local PCM, FLOAT, EXTENSIBLE = 1, 3, 0xfffe

-- The format, and where the samples are.
local function read_chunks(path, data)
  if data:sub(1, 4) ~= "RIFF" or data:sub(9, 12) ~= "WAVE" then
    fail(path, "it is no WAV file: it does not begin with RIFF and WAVE")
  end
  local at, format = 13, nil
  while at + 7 <= #data do
    local name, size = data:sub(at, at + 3), number(data, at + 4, 4)
    local first = at + 8
    if name == "fmt " then
      if size < 16 or first + 15 > #data then fail(path, "its format is cut off") end
      format = { kind = number(data, first, 2), channels = number(data, first + 2, 2),
        rate = number(data, first + 4, 4), frame = number(data, first + 12, 2), bits = number(data, first + 14, 2) }
      if format.kind == EXTENSIBLE then
        if size < 40 or first + 39 > #data then fail(path, "its format is cut off") end
        format.kind = number(data, first + 24, 2)
      end
    elseif name == "data" then
      if not format then fail(path, "its samples precede their format") end
      if size == 0xffffffff then size = #data - first + 1 end -- the file was written to a pipe
      if first + size - 1 > #data then
        fail(path, "it is cut off: its header announces %.0f bytes of samples, and it has %d", size, #data - first + 1)
      end
      return format, first, size
    end
    at = first + size + size % 2
  end
  return fail(path, format and "it has no samples" or "it is cut off: it has no format")
end

local function is_known(format)
  if format.kind == PCM then return format.bits == 8 or format.bits == 16 or format.bits == 24 or format.bits == 32 end
  return format.kind == FLOAT and (format.bits == 32 or format.bits == 64)
end

-- Samples as floats between -1 and 1.
local function samples_of(data, format, count)
  local bits = format.bits
  if format.kind == FLOAT then
    local samples = raw.array_new(bits == 32 and "float" or "double", { count }):copy_from(data)
    return bits == 32 and samples or samples:to "float"
  end
  if bits == 8 then
    return (raw.array_new("uchar", { count }):copy_from(data):to "float" - 128) * 2 ^ -7
  elseif bits == 16 then
    return raw.array_new("short", { count }):copy_from(data):to "float" * 2 ^ -15
  elseif bits == 24 then -- into the upper three bytes of ints
    local wide = raw.array_new("uchar", { count, 4 }):fill(0)
    wide[{ {}, { 2, 4 } }] = raw.array_new("uchar", { count, 3 }):copy_from(data)
    return raw.array_new("float", { count }):assign(raw.array_view(wide, 0, "int", { count })) * 2 ^ -31
  end
  local ints = raw.array_new("int", { count }):copy_from(data)
  return raw.array_new("float", { count }):assign(ints) * 2 ^ -31
end

---Read a WAV file: floats from -1 to 1, of shape {samples}, or {samples, channels} if there are several channels.
---@param path string
---@return moonwarp.array
---@return integer rate samples a second
function M.read_wav(path)
  local data = raw.bytes_read(path)
  local format, first, size = read_chunks(path, data)
  if not is_known(format) then
    fail(path, "its samples have format %d and %d bits; PCM of 8, 16, 24 and 32 bits and floating point are supported",
      format.kind, format.bits)
  end
  if format.channels == 0 then fail(path, "it has no channels") end
  if format.frame ~= format.channels * format.bits / 8 then
    fail(path, "its frames of %d bytes are not %d channels of %d bits", format.frame, format.channels, format.bits)
  end
  local frames = math.floor(size / format.frame)
  local shape = format.channels == 1 and { frames } or { frames, format.channels }
  if frames == 0 then return raw.array_new("float", shape), format.rate end
  local used = data:sub(first, first + frames * format.frame - 1)
  return samples_of(used, format, frames * format.channels):reshape(shape), format.rate
end

-- The samples as the file holds them, with their format and bits.
local function stored(array, options)
  local dtype = array.dtype
  if dtype == "short" or dtype == "int" then return array, PCM, dtype == "short" and 16 or 32 end
  if dtype == "uchar" then return array, PCM, 8 end
  if dtype ~= "float" and dtype ~= "double" and dtype ~= "half" then
    usage("mw.write_wav wants float from -1 to 1, short, int or uchar, got %s", tostring(dtype))
  end
  if options.format == "float" then return array:to "float", FLOAT, 32 end
  return raw.array_new("short", array.shape):assign((array:to "float" * 32768):round():clip(-32768, 32767)), PCM, 16
end

---Write sound as a WAV file of 16 bits, or in floating point. Floats from -1 to 1 are scaled, larger ones are clipped;
---short, int and uchar are written unchanged.
---@param path string
---@param array moonwarp.array of shape {samples} or {samples, channels}
---@param rate integer samples a second
---@param options? { format?: "pcm"|"float" }
function M.write_wav(path, array, rate, options)
  options = options or {}
  if options.format ~= nil and options.format ~= "pcm" and options.format ~= "float" then
    usage('mw.write_wav: the format is "pcm" or "float", got %s', raw.describe(options.format))
  end
  local channels = array.rank == 2 and array.shape[2] or 1
  if array.rank > 2 or channels == 0 or channels > 65535 then
    usage("mw.write_wav wants the shape {samples} or {samples, channels}, got %s",
      raw.part("array.views").shape_text(array.shape))
  end
  if rate < 1 or rate >= 2 ^ 32 then usage("mw.write_wav: the rate must be from 1 to 2^32 - 1, got %s", rate) end
  local samples, kind, bits = stored(array, options)
  local data = samples.count > 0 and samples:contiguous():bytes() or ""
  if #data > 2 ^ 32 - 100 then usage "mw.write_wav: a WAV file holds at most 4 GiB" end
  local frame = channels * bits / 8
  local format = text(kind, 2) .. text(channels, 2) .. text(rate, 4) .. text(rate * frame % 2 ^ 32, 4) .. text(frame, 2)
    .. text(bits, 2)
  raw.bytes_write(path, "RIFF" .. text(36 + #data + #data % 2, 4) .. "WAVEfmt " .. text(#format, 4) .. format .. "data"
    .. text(#data, 4) .. data .. ("\0"):rep(#data % 2))
end

return M
