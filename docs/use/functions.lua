-- Writes docs/use/functions.md: every function of moonwarp.runtime and moonwarp.driver, what becomes of it, and
-- where it is tested. The functions stand in docs/use/functions/, one a record; the tests are found in the specs:
--   ok(rt.cudaMalloc(…))                               that it works
--   code("cudaErrorInvalidValue", rt.cudaMalloc(…))    that it fails with this code
--   make functions

local APIS = {
  { name = "moonwarp.runtime", list = "runtime", variable = "rt", codes = "cudaError", guide = "D" },
  { name = "moonwarp.driver", list = "driver", variable = "cu", codes = "CUDA_ERROR_", guide = "E" },
}

-- They return no code.
local PLAIN = {
  cudaCreateChannelDesc = true, cudaGetLastError = true, cudaPeekAtLastError = true, cudaGetErrorName = true,
  cudaGetErrorString = true,
}

local function read(path)
  local file = assert(io.open(path))
  local text = file:read("*a")
  file:close()
  return text
end

-- The functions that the headers for C hosts declare, a set.
local function in_c()
  local names = {}
  local pipe = assert(io.popen "cat src/host/include/*.h")
  for name in pipe:read("*a"):gmatch "%f[%w_](cud?a?%u[%w_]*)%(" do names[name] = true end
  pipe:close()
  return names
end

-- The specs, first those that are all about CUDA's names, in the order of their names: { name =, text = }.
local function specs()
  local list = {}
  local pipe = assert(io.popen "find spec -name '*_spec.lua'")
  for path in pipe:lines() do
    local name = path:match("([%w_]+)%.lua$")
    local first = name:find "^runtime" and 1 or name:find "^driver" and 2 or 3
    list[#list + 1] = { name = name, key = first .. name, text = read(path) }
  end
  pipe:close()
  table.sort(list, function(a, b) return a.key < b.key end)
  return list
end

-- The name of the first spec where `pattern` stands, or nil.
local function where(list, pattern)
  for _, spec in ipairs(list) do
    if spec.text:find(pattern) then return spec.name end
  end
end

---All functions: { api =, section =, name =, guide =, refuses =, works = spec, errors = {{ code =, spec = }} }.
local function functions()
  local all, tests, c = {}, specs(), in_c()
  for _, api in ipairs(APIS) do
    local section
    for _, record in ipairs(dofile("docs/use/functions/" .. api.list .. ".lua")) do
      if record.section then
        section = record.section
      else
        local name = record[1]
        local call = api.variable .. "%." .. name .. "%f[^%w_]"
        local entry = {
          api = api, section = section, name = name, guide = record.guide, c = c[name], refuses = record.refuses,
          errors = {},
          works = not record.refuses and where(tests, (PLAIN[name] and "" or "ok%(") .. call) or nil,
        }
        for code in (record.errors or ""):gmatch("%S+") do
          local pattern = 'code%(%s*"' .. api.codes .. code .. '",%s*' .. call
          entry.errors[#entry.errors + 1] = { code = api.codes .. code, spec = where(tests, pattern) }
        end
        all[#all + 1] = entry
      end
    end
  end
  return all
end

---What no spec tests: "cudaMalloc works", "cudaMalloc cudaErrorInvalidValue".
local function untested(list)
  local missing = {}
  for _, entry in ipairs(list) do
    if not entry.refuses and not entry.works then missing[#missing + 1] = entry.name .. " works" end
    for _, failure in ipairs(entry.errors) do
      if not failure.spec then missing[#missing + 1] = entry.name .. " " .. failure.code end
    end
  end
  return missing
end

-- ---- writing ----

local function short(spec) return (spec or ""):gsub("_spec$", "") end

local function row(entry)
  local errors = {}
  for i, failure in ipairs(entry.errors) do
    errors[i] = ("`%s` (%s)"):format(failure.code:sub(#entry.api.codes + 1), short(failure.spec))
  end
  return ("| `%s` | %s | %s | %s | %s | %s |"):format(entry.name, entry.guide or "", entry.c and "C" or "",
    entry.refuses and "refuses: " .. entry.refuses or "works", short(entry.works), table.concat(errors, ", "))
end

local INTRO = [[
# Functions under CUDA's names

`moonwarp.runtime` has the functions of CUDA's runtime API, `moonwarp.driver` those of its driver API, with CUDA's names,
arguments and result codes. What C receives through pointers is returned after the code (`local err, p = cu.cuMemAlloc(n)`),
structs are tables, and enumerators are fields. `rt.story()` and `cu.story()` return the whole error of the last code.

- **guide**: the section of the CUDA 1.1 programming guide, appendix D or E. Functions without one are from later guides.
- **C**: whether `libmoonwarp_cuda` has the function for C hosts ([C hosts](embedding.md#cudas-own-functions)).
- **works in**, **fails with**: a spec (`spec/…_spec.lua`) that tests that the function works, and one for each error code.
  A function that cannot work says why.

Failures of kernels are reported by whatever waits for them. Nearly all functions of the driver API fail with
`CUDA_ERROR_NOT_INITIALIZED` before `cuInit`, and with `CUDA_ERROR_INVALID_CONTEXT` if no context is current.

```lua
local cu = require "moonwarp.driver"
cu.cuInit(0)
local _, context = cu.cuCtxCreate(0, 0)
local _, module = cu.cuModuleLoadData "__global__ void twice(int *x) { x[threadIdx.x] *= 2; }"
local _, twice = cu.cuModuleGetFunction(module, "twice")
local _, d = cu.cuMemAlloc(4 * cu.sizeof "int")
local h = cu.malloc(4 * cu.sizeof "int", "int")          -- host memory: h[0] to h[3]
h:set { 1, 2, 3, 4 }
cu.cuMemcpyHtoD(d, h, 16)
cu.cuFuncSetBlockShape(twice, 4, 1, 1)
cu.cuParamSetv(twice, 0, d, 8)                           -- the value itself, where C gives its address
cu.cuParamSetSize(twice, 8)
print(cu.cuLaunchGrid(twice, 1, 1), cu.CUDA_SUCCESS)     --> 0 0
cu.cuMemcpyDtoH(h, d, 16)
print(table.concat(h:totable(4), " "))                   --> 2 4 6 8
print(cu.cuMemcpyDtoH(h, d, 20), cu.story().message)     --> 1 20 bytes are more than the target has: …
cu.cuCtxDestroy(context)                                 -- and with it all that was made in it
```

**OpenGL.** Its functions share buffers and images of the context that is current in the calling thread, on every device.
Between the calls that map and unmap them, a buffer is memory of the device, and the layers and levels of an image are CUDA
arrays (row 0 is OpenGL's), each on its own or all as one mipmapped array over the same memory. OpenGL must not use them
in that time.

- If an NVIDIA GPU's driver owns the context, it shares the memory itself.
- Otherwise the mapped memory is a copy. Buffers are fetched when they are mapped, and images when an array is requested.
  Both are written back when they are unmapped, except those mapped for reading only; `…WriteDiscard` fetches nothing. The
  context has to be current in all of these calls, and OpenGL errors from before a call are discarded.
- Contexts of OpenGL ES share buffers and renderbuffers from 3.0 on, and textures from 3.1. Images that they cannot draw to
  cannot be read back, so these are shared with `…WriteDiscard` only.

`examples/guide/` has the host code of the guide's sections 4.5.2.3 to 4.5.2.6 and 4.5.3.3 to 4.5.3.9, in its order.

`make functions` writes this page.
]]

---The page.
local function text(list)
  local out, api, section = { INTRO }, nil, nil
  for _, entry in ipairs(list) do
    if entry.api ~= api then
      api, section = entry.api, nil
      out[#out + 1] = ("## `%s`\n"):format(api.name)
    end
    if entry.section ~= section then
      section = entry.section
      out[#out + 1] = ("### %s of `%s`\n"):format(section, api.list)
      out[#out + 1] = ("| function | guide | C | does | works in | fails with `%s…` |\n|---|---|---|---|---|---|"):format(api.codes)
    end
    out[#out + 1] = row(entry)
  end
  local page = table.concat(out, "\n"):gsub("|\n#", "|\n\n#")
  return (page:gsub("\n*$", "\n"))
end

return { functions = functions, untested = untested, text = text, apis = APIS }
