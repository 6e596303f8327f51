-- Host memory at a known address: a kernel that gets the address must not be able to change the memory.

local text = ("what a kernel must not touch; "):rep(2000)
local copy = ("what a kernel must not touch; "):rep(2000) -- long strings are kept one by one

-- %p shows the address of the string's object; its characters follow a header.
local object = assert(tonumber(("%p"):format(text):match("^0x%x+$")))
local memory = assert(io.open("/proc/self/mem", "rb"))
memory:seek("set", object)
local header = assert(memory:read(64):find(text:sub(1, 20), 1, true), "the string is not where Lua says") - 1
memory:close()

return {
  -- Within the text, aligned for every type.
  address = ((object + header + 1000) | 63) + 1,
  intact = function() return text == copy end,
}
