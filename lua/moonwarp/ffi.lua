-- The binding for LuaJIT: the raw table (its contract stands in src/lua/core.c), made with the FFI and no C module.
--
-- Each file of ffi/ is the counterpart of the file of that name in src/lua/, function by function: what one of them
-- does, messages included, the other does too (spec/lua/binding_spec.lua compares the tables, the suite runs on both).
-- Like there, the library checks and this converts. How the objects are made stands in ffi/class.lua.

-- Loaded again (package.loaded cleared, say), the objects of the first time must stay ours: one table a Lua state.
local registry = debug.getregistry()
if registry["moonwarp.ffi"] then return registry["moonwarp.ffi"] end

local library = require "moonwarp.ffi.library"
local class = require "moonwarp.ffi.class"
local lazy_loading = require "moonwarp.ffi.lazy_loading"
local put_off = lazy_loading.put_off
local ffi = require "ffi"

local raw = {
  classes = class.methods,
  properties = class.properties,
  version = ffi.string(library.C.mw_version()),
  type = class.type,
  is = class.is,
  time = function() return library.C.mw_time() end,
}

for _, name in ipairs { "error", "convert.value", "convert.dtype", "device", "array.array", "array.facts" } do
  for key, value in pairs(require("moonwarp.ffi." .. name).raw) do raw[key] = value end
end

-- The other files are loaded on the first call of one of these functions or methods (ffi/lazy_loading.lua).
put_off(raw, "array.bulk_conversion", { "array_from", "array_assign", "array_convert" },
  { array = { "totable", "bytes" } })
put_off(raw, "array.elementwise", { "elementwise_new", "elementwise_text", "elementwise_run", "array_operator",
  "sources_begin", "sources_end" })
put_off(raw, "array.dlpack", { "array_to_dlpack", "array_from_dlpack" })
put_off(raw, "array.fourier", { "fourier_library", "array_fourier" })
put_off(raw, "array.tensor_map", { "tensor_map" })
put_off(raw, "array.linear", { "linear_library", "array_product", "array_factor" })
put_off(raw, "array.host_view", {}, { array = { "host" } })
put_off(raw, "module.module", { "compile", "source_read", "load", "compile_seconds" })
put_off(raw, "module.launch", { "launch_block", "launch_clusters", "kernel_launch", "kernel_run", "call_site" })
put_off(raw, "stream", {
  "stream_new", "stream_default", "stream_priorities", "stream_use", "stream_in_use", "event_new",
  "poll",
})
put_off(raw, "memory", {
  "memory_new", "memory_free", "memory_free_in", "memory_register", "memory_unregister", "memory_find", "memory_live",
  "memory_copy", "memory_fill", "memory_get", "memory_set", "memory_bytes", "memory_set_bytes", "memory_array",
  "pointer",
})
put_off(raw, "bytes", { "bytes_read", "bytes_write", "bytes_checksum", "bytes_checksum_join",
  "bytes_inflate" })
put_off(raw, "texture.image", { "image_read", "image_write", "image_texels" })
put_off(raw, "texture.texture_memory", { "pitched_new", "cuda_array_new", "cuda_array_level", "box_copy" })
put_off(raw, "texture.texture", { "texture_new", "surface_new" })
put_off(raw, "graph", {
  "graph_new", "graph_capture", "graph_capture_end", "graph_condition", "graph_conditional", "stream_capturing",
})
put_off(raw, "texture.graphics", {
  "graphics_buffer", "graphics_image", "graphics_map", "graphics_unmap", "graphics_devices",
})
put_off(raw, "communicator", {
  "communicator_library", "communicator_id", "communicator_new", "communicator_split", "communicator_rank",
  "communicator_queue", "communicator_group", "communicator_abort", "communicator_limit", "communicator_free",
})
put_off(raw, "watch", { "watch_begin", "watch_end", "watch_result" })
put_off(raw, "cache", { "cache_info", "cache_clear", "cache_limit" })
put_off(raw, "capability", { "capabilities", "capability" })
put_off(raw, "check", { "check_begin", "check_end" })
put_off(raw, "mpi.communicator", {
  "mpi_report", "mpi_world", "mpi_facts", "mpi_split", "mpi_dup", "mpi_cartesian", "mpi_dims", "mpi_free", "mpi_abort",
  "mpi_watch", "mpi_agree", "mpi_compare",
})
put_off(raw, "mpi.message", {
  "mpi_send", "mpi_send_bytes", "mpi_receive", "mpi_receive_any", "mpi_wait", "mpi_release", "mpi_received",
  "mpi_place", "mpi_probe", "mpi_quick",
})
put_off(raw, "mpi.collective", { "mpi_reduces", "mpi_collect", "mpi_begin" })
put_off(raw, "mpi.window", { "mpi_window_new", "mpi_window_free", "mpi_window_access", "mpi_window_epoch" })
put_off(raw, "mpi.file", {
  "mpi_file_open", "mpi_file_close", "mpi_file_move", "mpi_file_view", "mpi_file_size", "mpi_file_resize",
  "mpi_file_sync",
})
lazy_loading.settle()

-- The Lua layer looks at each class's methods when there are more of them.
function lazy_loading.added()
  if raw.methods_added then raw.methods_added() end
end

registry["moonwarp.ffi"] = raw
return raw
