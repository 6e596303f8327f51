-- The ways in which the CPU device can run a kernel whose threads see their warps: see tiers.lua. Of whatever width the
-- vectors are, as many as it takes make a warp.

return {
  { name = "as the compiler picks" },
  { name = "thread by thread", options = { "--width=1" } },
  { name = "in parts of 4 lanes", options = { "--width=4" } },
  { name = "in parts of 8 lanes", options = { "--width=8" } },
  { name = "in one part", options = { "--width=32" } },
}
