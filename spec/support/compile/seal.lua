-- The trailer of .mwo files (src/mwo.h), for specs that change a module's bytes and need a valid checksum. Lua 5.4.
--   bytes = seal(bytes)   the bytes of a module with a new trailer

local HIGH, LOW = 0x2360ed051fc65da4, 0x4385df649fccf645

-- The upper 64 bits of a product of two unsigned numbers.
local function multiply_high(a, b)
  local al, ah, bl, bh = a & 0xffffffff, a >> 32, b & 0xffffffff, b >> 32
  local middle = ah * bl + (al * bl >> 32)
  local other = al * bh + (middle & 0xffffffff)
  return ah * bh + (middle >> 32) + (other >> 32)
end

return function(bytes)
  local body = bytes:sub(1, -49)
  local low, high = 0x62b821756295c58d, 0x6c62272e07bb0142
  local function mix(word)
    local x = low ~ word
    high, low = multiply_high(x, LOW) + x * HIGH + high * LOW, x * LOW
    low = low ~ high
  end
  local padded = body .. ("\0"):rep(8 - #body % 8)
  for at = 1, #padded, 8 do mix((string.unpack("<i8", padded, at))) end
  mix(#body)
  return body .. string.pack("<i8i8i8", low, high, #body) .. bytes:sub(-24)
end
