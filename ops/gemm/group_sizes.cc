#include "weft/ops/gemm/group_sizes.h"

#include <fmt/format.h>

#include "weft/core/error.h"
#include "weft/ops/indexing/index_kernel.h"

namespace weft {

Dim group_count(const InferContext& c, int input) {
  c.require_index(input, "sizes");
  c.require_rank(input, 1, "sizes");
  return c.shape(input)[0];
}

std::function<void(const KernelRun&)> group_check(const KernelRequest& request, std::size_t input,
                                                  std::int64_t rows) {
  const OperandSpec& sizes = request.inputs[input];
  return [dtype = sizes.dtype, groups = sizes.numel(), input, rows](const KernelRun& run) {
    std::int64_t left = rows;
    for (std::int64_t group = 0; group < groups; ++group) {
      const std::int64_t size = read_index(run.inputs[input], dtype, group);
      if (size < 0) {
        throw DataError(
            fmt::format("the size of group {} is {}, but must not be negative", group, size));
      }
      if (size > left) {
        throw DataError(
            fmt::format("the groups have more rows than there are: group {} has size {}, but only "
                        "{} of {} rows are left; reduce the sizes",
                        group, size, left, rows));
      }
      left -= size;
    }
  };
}

double read_share(double rows, double groups) { return rows < groups ? rows / groups : 1; }

}  // namespace weft
