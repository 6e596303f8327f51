-- Runs a function on several ranks: those of MPI, if mpirun or srun started this process; else four emulated ones.

local mw = require "moonwarp"

return function(f)
  for _, name in ipairs { "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK" } do
    if os.getenv(name) then return f(mw.mpi.world()) end
  end
  mw.nccl.run(tonumber(os.getenv "RANKS") or 4, f)
end
