-- The structure of the tree: at most 20 files in a folder, and 450 lines in a file.
-- Lua 5.4 only: it reads the sources.

local FILES, LINES = 20, 450

-- Folders that may have more files, and why.
local larger_folders = {
  ["src/device"] = "CUDA names its headers, and includes find them by name alone",
  ["src/device/cuda/std"] = "headers with libcu++'s names",
}

local texts = { c = true, h = true, cc = true, cpp = true, cu = true, cl = true, S = true, lua = true, sh = true,
  py = true, mk = true, Makefile = true }

-- Files that may have more lines, and why.
local longer_files = {
  ["src/moonwarp_abi.h"] = "the public interface and its manual are one text",
}

local function listed()
  local pipe, list = assert(io.popen "find Makefile *.mk *.sh src lua spec bench examples -type f | LC_ALL=C sort"), {}
  for path in pipe:lines() do list[#list + 1] = path end
  pipe:close()
  return list
end

local function count_lines(path)
  local count = 0
  for _ in io.lines(path) do count = count + 1 end
  return count
end

describe("the tree", function()
  it("has no folder of more than 20 files but headers that CUDA names", function()
    local count, wrong = {}, {}
    for _, path in ipairs(listed()) do
      local folder = path:match "^(.+)/" or "."
      count[folder] = (count[folder] or 0) + 1
    end
    for folder, files in pairs(count) do
      if files > FILES and not larger_folders[folder] then
        wrong[#wrong + 1] = folder .. " has " .. files .. " files"
      end
    end
    assert.same({}, wrong)
    for folder in pairs(larger_folders) do
      assert.is_true((count[folder] or 0) > FILES, folder .. " needs no exception any more")
    end
  end)

  it("has no file of more than 450 lines but the public interface", function()
    local wrong, seen = {}, {}
    for _, path in ipairs(listed()) do
      if texts[path:match "%.?(%w+)$"] then
        local lines = count_lines(path)
        seen[path] = lines
        if lines > LINES and not longer_files[path] then
          wrong[#wrong + 1] = path .. " has " .. lines .. " lines"
        end
      end
    end
    assert.same({}, wrong)
    for path in pairs(longer_files) do
      assert.is_true((seen[path] or 0) > LINES, path .. " needs no exception any more")
    end
  end)
end)
