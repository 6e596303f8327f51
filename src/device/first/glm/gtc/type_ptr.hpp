/* GLM's type_ptr.hpp: some of its functions are declared with qualifiers and defined without them, which nvcc accepts.
   The headers that it includes come before, as they are. */
#include <glm/gtc/quaternion.hpp>
#include <cstring>
#pragma clang force_cuda_host_device begin
#include_next <glm/gtc/type_ptr.hpp>
#pragma clang force_cuda_host_device end
