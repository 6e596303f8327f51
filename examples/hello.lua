-- The smallest whole program: eight threads, each writes its own element.

local mw = require "moonwarp"

local m = mw.compile [==[
__global__ void squares(int *out) {
  int i = threadIdx.x;
  out[i] = i * i;
}
]==]

local out = mw.zeros(8, "int")
m.squares(1, 8)(out)                             -- one block of eight threads
print(table.concat(out:totable(), " "))          --> 0 1 4 9 16 25 36 49
