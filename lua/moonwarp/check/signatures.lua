-- The parameters of each public function; arguments.lua describes the notation. Words after -- are added to the error
-- for too many arguments.
--
-- Not listed are functions that loops call most, which check their arguments themselves: a:get, a:set, k(grid, block),
-- k:each, k:cooperative, k:cluster, k:dependent, launches and launch:bind.

local M = { classes = {} }

local memory = "array|pitched|cuda_array"
local place = "{x: integer, y: integer, z: integer, level: integer}"
local region = ("{to: %s, from: %s, width: integer, height: integer, depth: integer}"):format(place, place)
local pad = "width: integer|table, options?: {mode: string, value: any}"

local own = "what: {map: string, combine: string, init: string|number, finish: string, accumulator: string, "
  .. "dtype: dtype, module: module, preamble: string}"

M.mw = {
  time = "",
  type = "value: any",
  tensor_map = "array: array, options: table",
  occupancy = "what: {threads: integer, registers: integer, shared: integer, capability: string}",
  cdiv = "a: integer, b: integer",
  array = "data: any, dtype?: dtype",
  complex = "re: number, im?: number",
  real = "a: array",
  imag = "a: array",
  full = "shape: integer|table, value: any, dtype?: dtype",
  zeros_like = "a: array, dtype?: dtype",
  ones_like = "a: array, dtype?: dtype",
  full_like = "a: array, value: any, dtype?: dtype",
  empty_like = "a: array, dtype?: dtype",
  linspace = "first: number, last: number, count: integer, dtype?: dtype",
  from_bytes = "bytes: string, dtype?: dtype",
  from_dlpack = "tensor: any, options?: any",
  check_memory = "on?: boolean",
  check = "f: function, options?: {checks: string|table, schedule: string, seed: integer}",
  allow_race = "...: string",
  measure = "kernel: kernel, grid: integer|table, block: integer|table, shared?: integer, " ..
    "options?: {capability: string}",
  debug = "kernel: kernel, grid: integer|table, block: integer|table, shared?: integer, " ..
    "options?: {blocks: table, most: integer}",
  load = "path: path",
  try_load = "path: path",
  stream = "options?: {priority: integer, nonblocking: boolean}",
  default_stream = "",
  stream_priorities = "",
  event = "options?: {timing: boolean, blocking: boolean}",
  poll = "",
  with = "stream?: stream|device, f: function, ...: any",
  graph = "",
  capture = "stream: stream|function, f?: any, ...: any",
  copy_region = ("target: %s, source: %s, region?: %s"):format(memory, memory, region),
  pitched = "height: integer, width: integer, dtype?: dtype",
  cuda_array = "data?: any, spec?: {kind: string, dtype: dtype, width: integer, height: integer, depth: integer, "
    .. "layers: integer, levels: integer}",
  texture = "source: any, options?: table",
  surface = "array: cuda_array, options?: {level: integer}",
  gl_buffer = "name: integer, options?: {dtype: dtype, access: string}",
  gl_image = "name: integer, target?: string|integer, options?: {access: string}",
  read_image = "path: path, dtype?: dtype",
  try_read_image = "path: path, dtype?: dtype",
  write_image = "path: path, array: array",
  try_write_image = "path: path, array: array",
  use = "device?: device|string, options?: {capability: string}",
  try_use = "device?: device|string, options?: {capability: string}",
  device = "name?: string|device, options?: {capability: string}",
  devices = "numbers?: table",
  capability = "name: string",
  capabilities = "",
  doctor = "",
  synchronize = "device?: device",
  on_print = "f?: function",
  limit = "name: name, value?: number",
  memory = "",
  trace_memory = "on: boolean",
  properties = "",
  random = "seed?: any, kind?: string, options?: {ordering: string, offset: integer, dimensions: integer}",
  seed = "seed?: any, kind?: string",
  rand = "...: any",
  randn = "...: any",
  randint = "low: integer, high: integer, ...: any",
  randperm = "n: integer",
  concat = "list: table, options?: any",
  stack = "list: table, options?: any",
  split = "a: array, where: integer|table, axis?: integer",
  tile = "a: array, ...: any",
  repeat_each = "a: array, counts: integer|table|array, axis?: integer",
  roll = "a: array, shift: integer|table, axis?: integer|table",
  pad = "a: array, " .. pad,
  meshgrid = "...: any",
  eye = "n: integer, m?: any, options?: any",
  tri = "n: integer, m?: any, options?: any",
  tril = "a: array, k?: integer",
  triu = "a: array, k?: integer",
  diag = "a: array, k?: integer",
  trace = "a: array, options?: any",
  compress = "condition: array|table, a: array, options?: {axis: integer, out: array}",
  nonzero = "a: array",
  sort = "a: array, options?: any",
  argsort = "a: array, options?: any",
  topk = "a: array, k: integer, options?: any",
  unique = "a: array, options?: any",
  searchsorted = "a: array, values: any, options?: any",
  bincount = "a: array, options?: any",
  histogram = "a: array, options?: any",
  mm = "a: array, b: array, options?: {out: array}",
  dot = "a: array, b: array",
  outer = "a: array, b: array",
  convolve = "a: array, b: array, options?: any",
  correlate = "a: array, b: array, options?: any",
  matvec = "a: array, b: array",
  vecmat = "a: array, b: array",
  vecdot = "a: array, b: array, options?: {axis: integer}",
  vdot = "a: array, b: array",
  inner = "a: array, b: array",
  kron = "a: array, b: array",
  tensordot = "a: array, b: array, axes?: integer|table",
  einsum = "spec: string, ...: any",
  load_npy = "path: path",
  load_npz = "path: path",
  save_npy = "path: path, array: array",
  save_npz = "path: path, arrays: table",
  read_csv = "path: path, options?: {header: boolean, delimiter: string, dtype: dtype, skip: integer}",
  write_csv = "path: path, array: array, options?: {header: table, delimiter: string}",
  read_wav = "path: path",
  write_wav = "path: path, array: array, rate: integer, options?: {format: string}",
  where = "condition: any, a?: any, b?: any, options?: {out: array}",
  map = "text: string|table, arguments?: table, options?: {out: array|table, dtype: dtype}",
  lazy = "x: any", source = "f: function|string, ...: any",
  fuse = "f: function",
  reduce = own,
  scan = own,
}

local shape = "shape?: integer|table"
local filled = shape .. ", options?: {out: array}"
local real = shape .. ", options?: {dtype: dtype, out: array}"
local normal = shape .. ", options?: {dtype: dtype, mean: number, std: number, out: array}"
local scaled = shape .. ", options?: {dtype: dtype, scale: number, out: array}"

-- mw.random's generators, which are tables.
M.generator = {
  bits = filled,
  uniform = real,
  normal = normal,
  lognormal = normal,
  poisson = shape .. ", options?: {lambda: number, out: array}",
  integers = "low: integer, high: integer, " .. filled,
  bernoulli = "p: number, " .. filled,
  exponential = scaled,
  gamma = "a: number, " .. scaled,
  beta = "a: number, b: number, " .. real,
  binomial = "n: integer, p: number, " .. filled,
  choice = "from: integer|array, " .. shape .. ", options?: {replace: boolean, weights: table|array}",
  shuffle = "a: array",
  permutation = "n: integer",
  jump = "n: integer",
  split = "count: integer",
  save = "",
}

local reduce = "options?: {axis: integer|table, keepdims: boolean, keys: array|table, out: array}"
local variance = "options?: {axis: integer|table, keepdims: boolean, keys: array|table, out: array, ddof: number}"
local scan = "options?: {axis: integer, keys: array|table, out: array}"

M["mw.linalg"] = {
  solve = "a: array, b: array",
  inv = "a: array",
  det = "a: array",
  slogdet = "a: array",
  cholesky = "a: array",
  qr = "a: array",
  svd = "a: array, options?: {full: boolean}",
  svdvals = "a: array",
  eigh = "a: array",
  eigvalsh = "a: array",
  eig = "a: array",
  eigvals = "a: array",
  lstsq = "a: array, b: array, options?: any",
  pinv = "a: array, options?: any",
  norm = "a: array, options?: any",
  matrix_rank = "a: array, options?: any",
  cond = "a: array, options?: any",
  matrix_power = "a: array, n: integer",
}

local transforms = "a: array, options?: any"
local several = "a: array, options?: {axes: table, shape: table, norm: string}"

M["mw.fft"] = {
  fft = transforms, ifft = transforms, rfft = transforms, irfft = transforms, fft2 = several, ifft2 = several,
  rfft2 = several, irfft2 = several, fftn = several, ifftn = several, rfftn = several, irfftn = several,
  fftshift = "a: array, axes?: integer|table",
  ifftshift = "a: array, axes?: integer|table",
  fftfreq = "n: integer, distance?: number",
  rfftfreq = "n: integer, distance?: number",
}

local out = "options?: {out: array}"

-- Communicators of mw.nccl, which are tables.
M.nccl_communicator = {
  allreduce = "a: array|number, operation?: string, " .. out,
  reduce = "a: array, operation?: string, root?: integer, " .. out,
  broadcast = "a: array, root?: integer",
  allgather = "a: array, " .. out,
  reduce_scatter = "a: array, operation?: string, " .. out,
  send = "a: array, to: integer",
  recv = "a: array, from: integer",
  sendrecv = "a: array, to: integer, b: array, from: integer",
  gather = "a: array, root?: integer, " .. out,
  scatter = "a?: array, root?: integer, " .. out,
  alltoall = "a: array, " .. out,
  barrier = "",
  split = "color?: integer, key?: integer",
  dup = "",
  limit = "seconds: number",
  abort = "reason?: string",
  free = "",
}

local folded = "options?: {axis: integer|table, keepdims: boolean}"
local along = "options?: {axis: integer}"
local spread = "options?: {axis: integer|table, keepdims: boolean, ddof: number}"

-- Distributed arrays and layouts, which are tables.
M.dist_array = {
  to = "dtype: dtype",
  copy = "",
  with = "part: array",
  gather = "root?: integer",
  redistribute = "layout: table",
  transpose = "first?: integer, second?: integer, layout?: table",
  exchange = "width: integer|table, options?: {boundary: string}",
  stencil = "width: integer|table, f: function, options?: {boundary: string}",
  sum = folded, prod = folded, mean = folded, min = folded, max = folded, any = folded, all = folded,
  count_nonzero = folded,
  cumsum = along, cumprod = along, sort = along, argmax = folded, argmin = folded, var = spread, std = spread,
  median = "options: {axis: integer, keepdims: boolean}",
  mm = "b: table",
  save_npy = "path: path",
}

M["mw.dist"] = {
  layout = "comm: table, shape: integer|table, options?: {axis: integer, grid: table, block: integer|table}",
  full = "layout: table, value: any, dtype?: dtype",
  zeros = "layout: table, dtype?: dtype",
  ones = "layout: table, dtype?: dtype",
  wrap = "layout: table, part: array",
  from = "layout: table, a: array",
  scatter = "layout: table, a?: any, root?: integer, dtype?: dtype",
  positions = "layout: table, axis?: integer, dtype?: dtype",
  map = "text: string|table, values: table, options?: {dtype: dtype}",
  fuse = "f: function",
  uniform = "layout: table, generator: any, options?: table",
  normal = "layout: table, generator: any, options?: table",
  bits = "layout: table, generator: any",
  fft = "d: table, options?: {axis: integer, norm: string}",
  ifft = "d: table, options?: {axis: integer, norm: string}",
  fftn = "d: table, options?: {axes: table, norm: string}",
  ifftn = "d: table, options?: {axes: table, norm: string}",
  load_npy = "comm: table, path: path, options?: {axis: integer, grid: table, block: integer|table}",
  load_npz = "comm: table, path: path, options?: {axis: integer, grid: table, block: integer|table}",
  save_npz = "path: path, list: table",
  npy_shape = "path: path",
}

M["mw.nccl"] = {
  library = "",
  unique_id = "",
  init_all = "devices: integer|table, options?: {timeout: number}",
  run = "devices: integer|table, f: function, options?: {timeout: number}",
  group = "f: function",
  init = "options: {comm: table, file: path, id: string, rank: integer, size: integer, timeout: number}",
}

M.classes.array = {
  letter = "a",
  copy_from = "source: any",
  to = "dtype: dtype|device",
  reshape = "...: any",
  as = "dtype: dtype",
  sub = "first: integer, last?: integer",
  show = "options?: {width: integer, height: integer, graphics: string, file: path}",
  plot = "options?: table",
  fill = "value: any",
  copy = "",
  totable = "",
  bytes = "",
  sum = reduce, prod = reduce, mean = reduce, min = reduce, max = reduce, argmin = reduce, argmax = reduce,
  any = reduce, all = reduce, count_nonzero = reduce,
  real = "", imag = "",
  split = "where: integer|table, axis?: integer",
  tile = "...: any",
  repeat_each = "counts: integer|table|array, axis?: integer",
  roll = "shift: integer|table, axis?: integer|table",
  pad = pad,
  tril = "k?: integer",
  triu = "k?: integer",
  diag = "k?: integer",
  trace = "options?: any",
  var = variance, std = variance,
  norm = "options?: {axis: integer|table, keepdims: boolean, keys: array|table, out: array, ord: number}",
  median = "options?: {axis: integer|table, keepdims: boolean, out: array}",
  quantile = "q: number|table|array, options?: {axis: integer|table, keepdims: boolean, out: array}",
  cumsum = scan, cumprod = scan,
  take = "indices: array|table|integer, options?: {axis: integer, out: array}",
  put = "indices: array|table|integer, values: any",
  gather = "axis: integer|array|table, indices?: array|table, options?: {out: array}",
  scatter_add = "...: any",
  compress = "condition: array|table, options?: {axis: integer, out: array}",
  nonzero = "",
  dlpack = "options?: any",
  diff = "options?: {n: integer, axis: integer, out: array}",
  assign = "value: any",
  contiguous = "",
  permute = "...: any",
  transpose = "first?: any, second?: any",
  squeeze = "...: any",
  expand = "axis: any",
  broadcast_to = "...: any",
  flip = "...: any",
  sort = "options?: any",
  argsort = "options?: any",
  topk = "k: integer, options?: any",
  unique = "options?: any",
  searchsorted = "values: any, options?: any",
  bincount = "options?: any",
  histogram = "options?: any",
  mm = "b: array, options?: {out: array}",
  dot = "b: array",
  outer = "b: array",
  matvec = "b: array",
  host = "",
  free = "",
}

M.classes.pitched = {
  letter = "p",
  copy_from = "data: any, region?: " .. region,
  fill = "value: any",
  array = "",
  totable = "",
  bytes = "",
  free = "",
}

M.classes.cuda_array = {
  letter = "c",
  copy_from = "data: any, region?: " .. region,
  array = "level?: integer",
  totable = "level?: integer",
  bytes = "level?: integer",
  free = "",
}

M.classes.texture = { letter = "t", free = "" }
M.classes.surface = { letter = "s", free = "" }

M.classes.graphics = {
  letter = "r",
  map = "stream?: stream",
  unmap = "stream?: stream",
  part = "layer?: integer, level?: integer",
  whole = "",
  free = "",
}

M.classes.module = {
  letter = "m",
  save = "path: path",
  log = "",
  kernel = "name: name",
  symbol = "name: name",
  dtype = "name: name",
  names = "",
}

M.classes.kernel = { letter = "k", signature = "" }

M.classes.symbol = {
  letter = "v",
  get = "",
  set = "value: any",
  bytes = "",
  set_bytes = "bytes: string, offset?: integer",
}

M.classes.device = {
  letter = "d",
  synchronize = "",
  can_access_peer = "other: device",
  enable_peer_access = "other: device",
  disable_peer_access = "other: device",
  reset = "",
  limit = "name: name, value?: number",
  memory = "",
  properties = "",
}

M.classes.stream = {
  letter = "s",
  synchronize = "",
  query = "",
  record = "event?: event",
  wait = "other: event|stream",
  call = "f: function",
  free = "",
}

M.classes.event = {
  letter = "e",
  record = "where?: stream",
  synchronize = "",
  query = "",
  free = "",
}

M.classes.graph = {
  letter = "g",
  add = "after?: table, f: function|launch, ...: any",
  kernel = "after?: table, launch: launch, ...: any",
  copy = ("after?: table, target: %s, source: any"):format(memory),
  fill = "after?: table, array: array, value: any",
  call = "after?: table, f: function",
  condition = "value?: integer",
  conditional = "after?: table, kind: string, condition: integer, bodies?: integer",
  node = "i: integer",
  nodes = "", dot = "", empty = "after?: table",
  depend = "node: integer, on: integer",
  instantiate = "",
}

M.classes.graph_exec = {
  letter = "x",
  launch = "where?: stream",
  set = "node: integer, what: bound|graph",
  update = "from: graph",
  free = "",
}

M["mw.mpi"] = {
  world = "",
  wait = "requests: table",
  limit = "seconds?: number",
  check = "on?: boolean",
  report = "", available = "",
}

return M
