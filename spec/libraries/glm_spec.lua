-- GLM (Debian's libglm-dev) with -I: vectors, matrices and quaternions in kernels, against their formulas.
-- Lua 5.4 only: this tests the compiler.

local mw = require "moonwarp"
local paths = require "support.compile.paths"

local options = { "-I/usr/include", "-O1" }
local source = [==[
#include <glm/glm.hpp>
#include <glm/gtc/matrix_transform.hpp>
#include <glm/gtc/quaternion.hpp>
#include <glm/gtc/type_ptr.hpp>
__global__ void k(const float *point, float *moved, float *seen, float *turned, float *unit) {
  glm::vec3 v = glm::make_vec3(point), up(0, 1, 0);
  glm::mat4 m = glm::translate(glm::rotate(glm::mat4(1.0f), 0.5f, up), v);
  glm::vec4 r = m * glm::vec4(v, 1);
  for (int i = 0; i < 3; i++) moved[i] = r[i];
  r = glm::perspective(1.0f, 1.5f, 0.1f, 10.0f) * glm::vec4(v, 1);
  for (int i = 0; i < 4; i++) seen[i] = r[i];
  glm::vec3 q = glm::angleAxis(0.5f, up) * v;
  for (int i = 0; i < 3; i++) turned[i] = q[i];
  glm::mat4 one = glm::inverse(m) * m;
  for (int i = 0; i < 16; i++) unit[i] = glm::value_ptr(one)[i];
  unit[16] = glm::dot(glm::cross(v, up), v) + glm::length(glm::normalize(v)) + glm::mix(1.0f, 2.0f, 0.25f);
}]==]

local file = io.open "/usr/include/glm/glm.hpp"
if file then file:close() end

local function assert_near(expected, got)
  for i, value in ipairs(expected) do assert.near(value, got[i], 2e-6 * math.max(1, math.abs(value))) end
end

describe("GLM", function()
  if not file then return pending "GLM is not installed: apt install libglm-dev" end

  it("transforms as its formulas say", function()
    local moved, seen, turned, unit = mw.zeros(3), mw.zeros(4), mw.zeros(3), mw.zeros(17)
    local x, y, z = 1, 2, 3
    mw.compile { source = source, options = options }.k(1, 1)(mw.array { x, y, z }, moved, seen, turned, unit)
    local c, s = math.cos(0.5), math.sin(0.5)
    local function turn(a, b, d) return { c * a + s * d, b, c * d - s * a } end
    assert_near(turn(2 * x, 2 * y, 2 * z), moved)
    assert_near(turn(x, y, z), turned)
    local f = 1 / math.tan(0.5)
    assert_near({ f / 1.5 * x, f * y, -10.1 / 9.9 * z - 2 / 9.9, -z }, seen)
    for i = 0, 15 do assert.near(i % 5 == 0 and 1 or 0, unit[i + 1], 2e-6) end
    assert.near(2.25, unit[17], 2e-6)
  end)

  it("compiles for GPUs", function()
    paths.assert_compiles_for_gpus { source = source, options = options }
  end)
end)
