-- Files that specs read whole and write whole, byte for byte.

local files = {}

function files.read(path)
  local file = assert(io.open(path, "rb"))
  local bytes = file:read("*a")
  file:close()
  return bytes
end

function files.write(path, bytes)
  local file = assert(io.open(path, "wb"))
  file:write(bytes)
  file:close()
end

-- The text of a kernel of bench/kernels by its name, in whichever folder it is.
function files.benchmark(name)
  for _, folder in ipairs { "classics", "fields", "functions", "machine" } do
    local file = io.open(("bench/kernels/%s/%s.cu"):format(folder, name), "rb")
    if file then
      local text = file:read "*a"
      file:close()
      return text
    end
  end
  error("bench/kernels has no " .. name, 2)
end

return files
