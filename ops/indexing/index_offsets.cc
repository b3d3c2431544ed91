// The op require_offsets. It checks the offsets at which the parts of a list begin, because the ops
// that use these offsets cannot check them.
#include <fmt/format.h>

#include "weft/ops/indexing/index_kernel.h"
#include "weft/ops/indexing/shape_kernel.h"

namespace weft {
namespace {

std::vector<ValueType> infer_offsets(const InferContext& c) {
  c.require_index(0, "offsets");
  c.require_rank(0, 1, "offsets");
  return {c.input(0)};
}

Kernel offsets_kernel(const KernelRequest& r) {
  Kernel kernel;
  kernel.phases.push_back(clone_phase(r.inputs[0], 0));
  kernel.check = [dtype = r.inputs[0].dtype, parts = r.inputs[0].numel(),
                  count = r.attributes.dim("count").constant()](const KernelRun& run) {
    if (parts == 0 && count > 0) {
      throw DataError(fmt::format(
          "there are no offsets, but {} elements: the first part begins at offset 0", count));
    }
    std::int64_t before = 0;
    for (std::int64_t i = 0; i < parts; ++i) {
      const std::int64_t offset = read_index(run.inputs[0], dtype, i);
      if (i == 0 && offset != 0) {
        throw DataError(
            fmt::format("offset {} at position 0 must be 0: the first part begins there", offset));
      }
      if (offset < before) {
        throw DataError(fmt::format(
            "offset {} at position {} is less than {} at position {}: offsets must be ascending",
            offset, i, before, i - 1));
      }
      if (offset > count) {
        throw DataError(fmt::format(
            "offset {} at position {} is out of range: there are {} elements", offset, i, count));
      }
      before = offset;
    }
  };
  return kernel;
}

}  // namespace

void add_offset_ops(OpSet& ops) {
  OpRecord offsets;
  offsets.name = "require_offsets";
  offsets.doc =
      "Returns offsets if they are in ascending order, start at 0 and do not exceed `count`. They "
      "may be empty only if `count` is 0. Otherwise, a data error names the position and the "
      "values.";
  offsets.inputs = {{"offsets"}};
  offsets.attributes = {{"count", Dim(), true}};
  offsets.inplace = {{0, 0}};
  offsets.infer = infer_offsets;
  offsets.kernel = offsets_kernel;
  offsets.cost = movement_cost;
  offsets.gradient = Gradient::none;
  offsets.no_gradient_reason = "its operand holds integers";
  ops.add(std::move(offsets));
}

}  // namespace weft
