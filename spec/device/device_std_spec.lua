-- <cuda/std/…>, and its headers under the C++ library's names if there is no C++ library.
-- Lua 5.4 only: this tests the compiler.
-- CPU device only: NVRTC has no C++ library, and these headers use clang's type traits

local mw = require "moonwarp"

local headers = { "type_traits", "utility", "limits", "array", "tuple", "functional", "bit", "span", "algorithm",
  "complex", "cstddef", "cstdint", "cmath", "initializer_list", "climits", "cfloat", "cassert", "cstring" }

local body = [==[
template <typename T> struct twice { T operator()(T x) const = delete; };
template <typename T> __device__ typename S::enable_if_t<S::is_integral_v<T>, int> kind(T) { return 1; }
template <typename T> __device__ typename S::enable_if_t<S::is_floating_point_v<T>, int> kind(T) { return 2; }
static_assert(S::is_same_v<S::remove_cvref_t<const int &>, int> && S::is_base_of_v<S::true_type, S::is_void<void>>);
static_assert(S::is_same_v<S::common_type_t<int, float, char>, float> && S::rank_v<int[2][3]> == 2);
static_assert(S::is_same_v<S::conditional_t<(sizeof(int) > 2), int, char>, int> && S::is_pointer<int *>::value);
static_assert(S::is_same_v<S::make_unsigned_t<int>, unsigned> && S::is_convertible_v<int, double>);
static_assert(S::is_same_v<S::make_signed_t<const unsigned long>, const long> &&
              S::is_same_v<S::make_signed_t<unsigned long long>, long long> &&
              S::is_same_v<S::make_unsigned_t<char>, unsigned char> && sizeof(S::make_unsigned_t<E>) == 2);
static_assert(S::conjunction_v<S::true_type, S::is_class<twice<int>>> && !S::disjunction<S::false_type>::value);
static_assert(S::is_same_v<S::decay_t<int[3]>, int *> && S::extent<int[4]>::value == 4 && !S::is_signed_v<unsigned>);
static_assert(S::is_invocable_v<int (*)(int), char> && S::is_same_v<S::invoke_result_t<int (*)(int), int>, int>);
static_assert(S::is_trivially_copyable_v<float3> && S::is_same_v<S::underlying_type_t<E>, short>);
static_assert(S::numeric_limits<int>::max() == 2147483647 && S::numeric_limits<signed char>::min() == -128);
static_assert(S::numeric_limits<unsigned long long>::max() == ~0ull && S::numeric_limits<bool>::max());
static_assert(S::numeric_limits<float>::epsilon() == 1.1920928955078125e-7f && !S::numeric_limits<char>::is_iec559);
static_assert(S::numeric_limits<double>::max() == 1.7976931348623157e308 && S::numeric_limits<short>::digits == 15);
static_assert(S::tuple_size_v<S::tuple<int, char>> == 2 && S::index_sequence_for<int, int>::size() == 2);
static_assert(S::is_same_v<S::tuple_element_t<1, S::tuple<int, char>>, char>);

__device__ int sum(std::initializer_list<int> list) {
  int total = 0;
  for (int x : list) total += x;
  return total;
}
template <S::size_t... I> __device__ int weigh(const int *v, S::index_sequence<I...>) {
  return ((v[I] * (int)I) + ... + 0);
}

__global__ void k(double *out) {
  int n = threadIdx.x, at = 0;
  auto put = [&](double x) { out[at++ * blockDim.x + n] = x; };
  S::array<int, 5> a{{5, 3, 1, 4, 2}};
  S::swap(a[0], a[4]);
  put(a.front() * 10 + a.back() + a.size() * 1000); // 5025
  int total = 0;
  for (int x : a) total += x * n;
  put(total); // 15 n
  put(S::max(n, 3) * 100 + S::min(n, 3) + S::clamp(n, 1, 2) * 0.5);
  S::pair<int, float> p = S::make_pair(n, 2.5f);
  auto [first, second] = p;
  put(first + second + S::get<1>(p)); // n + 5
  auto t = S::make_tuple(n, 3.0, 'c');
  auto [i, d, c] = t;
  put(i + d + (c == 'c') + S::get<0>(t)); // 2n + 4
  int x = 0;
  double y = 0;
  S::tie(x, y, S::ignore) = t;
  put(x + y); // n + 3
  put(S::apply([](int u, double v, char) { return u * v; }, t)); // 3 n
  auto four = S::tuple_cat(t, S::make_tuple(n + 1));
  put(S::get<2>(four) == 'c' ? S::get<3>(four) : -1); // n + 1
  put((S::make_tuple(1, n) < S::make_tuple(1, 5)) + (S::make_pair(n, 1) == S::make_pair(3, 1)) * 10);
  put(S::plus<int>()(n, 2) * S::multiplies<>()(3, 0.5) + S::negate<>()(n)); // 1.5 n + 3 - n
  put(S::exchange(x, 7) * 10 + x); // 10 n + 7
  S::complex<double> turn = S::complex<double>(0, 1) * S::complex<double>(0, n);
  put(S::complex<double>(1, n).real() + abs(S::complex<double>(3, 4)) + turn.real()); // 6 - n
  S::complex<float> q = S::complex<float>(n, 1) / S::complex<float>(0, 1);
  put(q.real() * 1000 + q.imag() + norm(q) * 0); // 1000 - n
  put(S::round(1000 * exp(S::complex<double>(0, 1)).imag()) + conj(q).imag()); // 841 + n
  put(sum({n, 2, 3}) + weigh(a.data(), S::make_index_sequence<3>()));
  put(kind(n) * 10 + kind(1.0f));
  put(S::sqrt(16.0f) + S::abs(-n) + S::fabs(-0.5));
  int buffer[4];
  S::fill(buffer, buffer + 4, n);
  S::copy(a.begin(), a.begin() + 2, buffer);
  put(buffer[0] * 100 + buffer[1] * 10 + buffer[3]); // 2 3 n
  out[at * blockDim.x + n] = *S::lower_bound(limits + 0, limits + 4, n);
}

__global__ void newer(double *out) {
  int n = threadIdx.x;
  float one = 1.0f;
  bool same = S::bit_cast<unsigned>(one) == 0x3f800000u;
  out[n] = same ? S::popcount(unsigned(n)) * 100 + S::countl_zero((unsigned char)n) : -1;
  unsigned count = n;
  out[blockDim.x + n] = S::rotl(0x81u, n) + S::bit_ceil(count + 1) * 0.25 + S::has_single_bit(count) * 0.125;
  int v[4] = {n, 1, 2, 3};
  S::span<int> s(v);
  int total = 0;
  for (int x : s.subspan(1, 2)) total += x;
  out[2 * blockDim.x + n] = total + s.size() * 10 + s.back() * 100 + s[0] * 1000;
}
]==]

local function source(namespace, prefix)
  local lines = {}
  for i, name in ipairs(headers) do lines[i] = ("#include <%s%s>"):format(prefix, name) end
  lines[#lines + 1] = "namespace S = " .. namespace .. ";"
  lines[#lines + 1] = "enum class E : short { one };"
  lines[#lines + 1] = "__constant__ double limits[4] = { 0.5, 1.5, 2.5, 100 };"
  return table.concat(lines, "\n") .. "\n" .. body
end

local ways = {
  { "cuda::std", source("cuda::std", "cuda/std/") },
  { "cuda::std, behind the C++ library's headers,", "#include <type_traits>\n#include <tuple>\n#include <limits>\n" ..
    source("cuda::std", "cuda/std/") },
  { "cuda::std, without the C++ library,", source("cuda::std", "cuda/std/"), { "-nostdinc++" } },
  { "std, without the C++ library,", source("std", ""), { "-nostdinc++" } },
}

for _, way in ipairs(ways) do
  describe(way[1], function()
    local m = mw.compile { source = way[2], options = way[3] }
    local threads = 8

    it("has the types and functions that device code uses", function()
      local out = mw.zeros(19 * threads, "double")
      m.k(1, threads)(out)
      for n = 0, threads - 1 do
        local got = {}
        for i = 0, 18 do got[i + 1] = out[i * threads + n + 1] end
        local less = (n < 5 and 1 or 0) + (n == 3 and 10 or 0)
        assert.same({
          5025, 15 * n, math.max(n, 3) * 100 + math.min(n, 3) + math.max(1, math.min(n, 2)) * 0.5, n + 5, 2 * n + 4,
          n + 3, 3 * n, n + 1, less, (n + 2) * 1.5 - n, 10 * n + 7, 6 - n, 1000 - n, 841 + n, n + 5 + 3 + 2, 12,
          4.5 + n, 230 + n, n == 0 and 0.5 or n == 1 and 1.5 or n == 2 and 2.5 or 100,
        }, got)
      end
    end)

    it("has those of C++20 that CUDA has earlier", function()
      local out = mw.zeros(3 * threads, "double")
      m.newer(1, threads)(out)
      for n = 0, threads - 1 do
        local ones, width, ceil = 0, 0, 1
        for bit = 0, 7 do
          if n >> bit & 1 == 1 then ones, width = ones + 1, bit + 1 end
        end
        while ceil < n + 1 do ceil = ceil * 2 end
        assert.equal(ones * 100 + 8 - width, out[n + 1])
        local turned = (0x81 << n | 0x81 >> (32 - n)) & 0xffffffff
        assert.equal(turned + ceil * 0.25 + (ones == 1 and 0.125 or 0), out[threads + n + 1])
        assert.equal(3 + 40 + 300 + 1000 * n, out[2 * threads + n + 1])
      end
    end)
  end)
end

-- The text of a header that is for where clang's own are not installed.
local function fallback(name)
  local file = assert(io.open(os.getenv("MOONWARP_HOME") .. "/share/moonwarp/device/fallback/" .. name))
  local text = file:read "*a"
  file:close()
  return text
end

it("stddef.h of our own, for where clang's is not installed, suits the C++ library", function()
  local m = mw.compile { headers = { ["stddef.h"] = fallback "stddef.h" }, source = [[
    #include <cstddef>
    #include <utility>
    struct pair { char a; double b; };
    __global__ void k(int *p) {
      std::nullptr_t none = nullptr;
      int *q = none;
      p[0] = offsetof(pair, b) + sizeof(std::size_t) + (q == NULL) + (alignof(std::max_align_t) > 4);
    }]] }
  local p = mw.zeros(1, "int")
  m.k(1, 1)(p)
  assert.equal(18, p[1])
end)

it("stdarg.h, limits.h and stdbool.h of our own suit the C and C++ libraries", function()
  local texts = {}
  for _, name in ipairs { "stdarg.h", "limits.h", "stdbool.h" } do texts[name] = fallback(name) end
  local m = mw.compile { headers = texts, source = [[
    #include <cwchar>
    #include <cstdarg>
    #include <climits>
    #include <memory>
    #include <stdbool.h>
    #ifndef va_start
    #error "stdarg.h was only read in part"
    #endif
    __global__ void k(int *p) {
      std::va_list list;
      bool known = sizeof list == sizeof(va_list) && INT_MAX == 2147483647 && CHAR_BIT == 8;
      p[0] = known && sizeof(std::wint_t) == 4 ? __bool_true_false_are_defined + 1 : 0;
    }]] }
  local p = mw.zeros(1, "int")
  m.k(1, 1)(p)
  assert.equal(2, p[1])
end)
