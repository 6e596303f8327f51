-- What functions and attributes of NumPy and PyTorch are called here, where their names differ.

local M = {}

local text = [[
  astype a:to(dtype)|view a:as(dtype)|T a:permute()|size a.count|numel a.count|ndim a.rank|dim a.rank|item a[1]
  tolist a:totable()|tobytes a:bytes()|numpy a:totable()|ravel a:reshape(-1)|flatten a:reshape(-1)
  swapaxes a:transpose(i, j)|moveaxis a:permute(…)|expand_dims a:expand(axis)|unsqueeze a:expand(axis)
  newaxis a:expand(axis)|flipud a:flip(1)|fliplr a:flip(2)|ascontiguousarray a:contiguous()|asarray mw.array
  concatenate mw.concat({a, b}, axis)|cat mw.concat({a, b}, axis)|append mw.concat {a, b}|vstack mw.concat({a, b}, 1)
  hstack mw.concat({a, b}, 2)|dstack mw.concat({a, b}, 3)|column_stack mw.stack({a, b}, 2)|identity mw.eye(n)
  array_split a:split(cuts, axis)|matmul a:mm(b)|bmm a:mm(b)|mv a:mm(v)|power mw.pow|float_power mw.pow
  arcsin mw.asin|arccos mw.acos|arctan mw.atan|arctan2 mw.atan2|arcsinh mw.asinh|arccosh mw.acosh|arctanh mw.atanh
  absolute mw.abs|true_divide mw.divide|invert mw.bnot|around mw.round|deg2rad mw.radians|rad2deg mw.degrees
  clamp mw.clip|less mw.lt|less_equal mw.le|greater mw.gt|greater_equal mw.ge|equal mw.eq|not_equal mw.ne
  logical_and mw.land|logical_or mw.lor|logical_xor mw.lxor|logical_not mw.lnot|bitwise_and mw.band|bitwise_or mw.bor
  bitwise_xor mw.bxor|bitwise_not mw.bnot|amax a:max()|amin a:min()|nanmax a:max()|nanmin a:min()
  nanargmax a:argmax()|nanargmin a:argmin()|percentile a:quantile(q / 100)|argwhere a:nonzero()
  flatnonzero a:reshape(-1):nonzero()|take_along_axis a:gather(axis, indices)|index_select a:take(indices, {axis = i})
  masked_select a[mask]|masked_fill a[mask] = value|put_along_axis a:put(indices, values)|save mw.save_npy
  savez mw.save_npz|loadtxt mw.read_csv|genfromtxt mw.read_csv|savetxt mw.write_csv
  conjugate mw.conj|cumulative_sum a:cumsum()|cumulative_prod a:cumprod()|permute_dims a:permute(…)
  pi math.pi|inf math.huge|nan 0 / 0|digitize a:searchsorted(x, {side = "right"}), a are the bins|hist a:histogram(n)
  partition a:topk(n)|argpartition a:topk(n)|lexsort a:argsort(), by the last key first
]]

---What a name is here; nil for others.
M.names = {}
for entry in text:gmatch "[^|\n]+" do
  local name, here = entry:match "^%s*(%S+) (.*)$"
  if name then M.names[name] = here end
end

return M
