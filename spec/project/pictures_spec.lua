-- The pictures of docs/use/random.md are those that their script makes.

local function bytes_of(path)
  local file = assert(io.open(path, "rb"))
  local bytes = file:read "*a"
  file:close()
  return bytes
end

it("the pictures of random numbers are what docs/use/pictures/random.lua makes", function()
  local folder = os.tmpname()
  os.remove(folder)
  assert(os.execute("mkdir " .. folder))
  local pipe = assert(io.popen(("%s docs/use/pictures/random.lua %s 2>&1"):format(arg[-1], folder)))
  local printed = pipe:read "*a"
  pipe:close()
  assert.equal("discrepancy of 1024 points: philox 0.00857, sobol32 0.00087\n", printed)
  for _, name in ipairs { "planes.png", "neighbours.png", "discrepancy.png" } do
    assert.is_true(bytes_of("docs/use/pictures/" .. name) == bytes_of(folder .. "/" .. name), name)
  end
  os.execute("rm -rf " .. folder)
end)
