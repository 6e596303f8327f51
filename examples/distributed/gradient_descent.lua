-- Data-parallel gradient descent: logistic regression, whose data is divided over the ranks. Each rank computes the
-- gradient of its own rows, and allreduce adds them up, so that all ranks take the same step.
--   lua5.4 examples/distributed/gradient_descent.lua               (four emulated ranks)
--   mpirun -n 8 lua5.4 examples/distributed/gradient_descent.lua

local mw = require "moonwarp"
local examples = (arg[0]:match "^(.*/)" or "./") .. "../"
local ranks = dofile(examples .. "support/ranks.lua")

local n, features = 20000, 10

ranks(function(comm)
  local function report(...)
    if comm.rank == 0 then print(...) end
  end

  -- The same data on any number of ranks: points, and labels that follow a hidden rule with some noise.
  local layout = mw.dist.layout(comm, { n, features })
  local x = mw.dist.normal(layout, mw.random(1)).part
  local hidden = mw.linspace(-2, 2, features):reshape(features, 1)
  local noise = mw.dist.normal(mw.dist.layout(comm, { n, 1 }), mw.random(2)).part
  local y = (x:mm(hidden) + noise):gt(0):to "float"
  report(("%d points of %d features"):format(n, features))             --> 20000 points of 10 features

  local weights = mw.zeros(features, 1)
  local loss
  for step = 1, 200 do
    local p = 1 / ((-x:mm(weights)):exp() + 1)
    local gradient = comm:allreduce(x:transpose():mm(p - y)) / n       -- the only messages of a step, but for the loss
    weights = weights - gradient * 2
    if step % 100 == 0 then
      local own = -(y * (p + 1e-7):log() + (1 - y) * (1 - p + 1e-7):log()):sum()
      loss = comm:allreduce(own) / n
      report(("step %d: loss %.3f"):format(step, loss))
    end
  end
  --> step 100: loss 0.181
  --> step 200: loss 0.178

  local right = comm:allreduce(x:mm(weights):gt(0):to("float"):eq(y):sum()) / n
  report(("%.0f %% are right"):format(100 * right))                     --> 92 % are right
  local angle = weights:reshape(-1):dot(hidden:reshape(-1)) / (weights:norm() * hidden:norm())
  report(angle > 0.999)                                                 --> true
end)
