// The op require_range. It checks lengths and class ids before ops use them, so that error messages
// name the operand of the user.
#include <fmt/format.h>

#include "weft/ops/indexing/index_kernel.h"
#include "weft/ops/indexing/shape_kernel.h"

namespace weft {
namespace {

std::vector<ValueType> infer_range(const InferContext& c) {
  c.require_index(0, "x");
  if (c.has(1)) {
    c.require_index(1, "lengths");
    c.require_rank(0, 2, "x with lengths");
    c.require_shape(1, Shape{c.shape(0)[0]}, "lengths");
  }
  return {c.input(0)};
}

Kernel range_kernel(const KernelRequest& r) {
  Kernel kernel;
  kernel.phases.push_back(clone_phase(r.inputs[0], 0));
  const DType lengths = r.has_input(1) ? r.inputs[1].dtype : DType::i64;
  kernel.check = [x = r.inputs[0], lengths, has_lengths = r.has_input(1),
                  name = r.attributes.text("name"), last = r.attributes.dim("last").constant(),
                  excluded = r.attributes.integer("excluded")](const KernelRun& run) {
    const std::int64_t count = x.numel();
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t value = read_index(run.inputs[0], x.dtype, i);
      if (value >= 0 && value <= last && value != excluded) continue;
      if (has_lengths && i % x.sizes[1] >= read_index(run.inputs[1], lengths, i / x.sizes[1])) {
        continue;
      }
      const std::string at = x.sizes.empty() ? "" : index_text(i, x.sizes);
      const std::string allowed =
          last < 0 ? "no value is valid" : fmt::format("it must be from 0 to {}", last);
      throw DataError(
          fmt::format("{}{} is {}, but {}{}", name, at, value, allowed,
                      excluded < 0 ? "" : fmt::format(" and must not be {}", excluded)));
    }
  };
  return kernel;
}

}  // namespace

void add_range_ops(OpSet& ops) {
  OpRecord range;
  range.name = "require_range";
  range.doc =
      "Returns x if all elements are in [0, last] and none is `excluded` (a negative value "
      "excludes nothing). If there are lengths, elements x[i][j] with j >= lengths[i] are not "
      "checked. "
      "Otherwise, a data error names the operand, `name`, the position and the value.";
  range.inputs = {{"x"}, {"lengths", Arity::optional}};
  range.attributes = {
      {"name", std::string(), true}, {"last", Dim(), true}, {"excluded", std::int64_t{-1}}};
  range.inplace = {{0, 0}};
  range.infer = infer_range;
  range.kernel = range_kernel;
  range.cost = movement_cost;
  range.gradient = Gradient::none;
  range.no_gradient_reason = "its operand holds integers";
  ops.add(std::move(range));
}

}  // namespace weft
