-- The ways in which the CPU device can run a kernel whose threads see their warps: see tiers.lua.

return {
  { name = "as the compiler picks" },
  { name = "thread by thread", options = { "--width=1" } },
}
