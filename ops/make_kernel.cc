#include "weft/ops/make_kernel.h"

#include <algorithm>

namespace weft {

Kernel make_kernel(const OpRecord& op, const KernelRequest& request) {
  Kernel kernel = op.kernel(request);
  const bool writes =
      std::any_of(request.outputs.begin(), request.outputs.end(),
                  [](const OperandSpec& output) { return output.present && output.numel() > 0; });
  if (!writes && !kernel.exchange) {
    kernel.phases.clear();
    kernel.shared_scratch = kernel.slot_scratch = 0;
    kernel.packed.reset();
  }
  return kernel;
}

Precision precision_for(const Attributes& attributes, Precision otherwise) {
  const Attribute* own = attributes.find("precision");
  const auto* name = own == nullptr ? nullptr : std::get_if<std::string>(own);
  return name == nullptr || name->empty() ? otherwise : parse_precision(*name);
}

void check_data(const Kernel& kernel, const std::vector<DType>& dtypes,
                const void* const* pointers) {
  if (!kernel.check) return;
  std::vector<const void*> integers(dtypes.size(), nullptr);
  for (std::size_t i = 0; i < dtypes.size(); ++i) {
    if (is_integer(dtypes[i])) integers[i] = pointers[i];
  }
  kernel.check(KernelRun{integers.data()});
}

}  // namespace weft
