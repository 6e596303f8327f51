---@meta
-- luacheck: ignore 212 241 631
-- What distributed arrays get from tables: reductions (dist/reduction.lua). For editors (LuaLS) and readers; never
-- loaded.
error("moonwarp.meta.dist is for editors; require \"moonwarp\"")

---@class moonwarp.dist_array
---@field sum fun(self, options?: table): any The sum over all axes, a number, or over some ({ axis =, keepdims = }): an array that every rank has. Between ranks floating-point numbers are added in double precision.
---@field prod fun(self, options?: table): any The product, as sum.
---@field mean fun(self, options?: table): any The mean, as sum.
---@field max fun(self, options?: table): any The largest element, as sum.
---@field min fun(self, options?: table): any The smallest element, as sum.
---@field any fun(self, options?: table): any Whether an element is not 0, as sum.
---@field all fun(self, options?: table): any Whether no element is 0, as sum.
---@field count_nonzero fun(self, options?: table): any How many elements are not 0, as sum.
