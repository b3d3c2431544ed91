#include "weft/ops/fusion/fused_kernel.h"

#include <memory>

#include "weft/ops/elementwise.h"
#include "weft/ops/fusion/fused_program.h"
#include "weft/ops/reductions/reduce_kernel.h"

namespace weft {
namespace {

TileProgram program_of(const KernelRequest& request) {
  return TileProgram::parse(request.attributes.text("program"), request.ops);
}

double bytes_of(const std::vector<OperandSpec>& operands) {
  double bytes = 0;
  for (const OperandSpec& spec : operands) {
    if (!spec.present) continue;
    bytes += static_cast<double>(spec.numel()) * static_cast<double>(dtype_size(spec.dtype));
  }
  return bytes;
}

}  // namespace

Sizes program_sizes(const TileProgram& program, const std::vector<OperandSpec>& inputs) {
  const std::vector<char> whole = whole_inputs(program);
  Sizes sizes;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    if (whole[i]) continue;
    const Sizes& own = inputs[i].sizes;
    if (own.size() > sizes.size()) sizes.insert(sizes.begin(), own.size() - sizes.size(), 1);
    const std::size_t lead = sizes.size() - own.size();
    for (std::size_t axis = 0; axis < own.size(); ++axis) {
      if (own[axis] != 1) sizes[lead + axis] = own[axis];
    }
  }
  return sizes;
}

Kernel make_fused_kernel(const KernelRequest& request) {
  TileProgram program = program_of(request);
  std::vector<char> needed;
  for (std::size_t r = 0; r < program.results.size(); ++r) needed.push_back(request.has_output(r));
  const Sizes& sizes = request.outputs[0].sizes;
  const auto fused = std::make_shared<const FusedProgram>(std::move(program), request.inputs, sizes,
                                                          needed, FusedProgram::Results::stored);
  Kernel kernel =
      elementwise::make_kernel(fused->numel(), fused->ns_per_element(),
                               [fused](const KernelRun& run, std::int64_t begin, std::int64_t end) {
                                 fused->run(run, begin, end);
                               });
  kernel.slot_scratch = fused->scratch();
  return kernel;
}

Cost fused_cost(const KernelRequest& request) {
  return {static_cast<double>(request.outputs[0].numel()) *
              static_cast<double>(program_of(request).steps.size()),
          bytes_of(request.inputs) + bytes_of(request.outputs)};
}

Kernel make_fused_reduce_kernel(const KernelRequest& request) {
  TileProgram program = program_of(request);
  const Sizes sizes = program_sizes(program, request.inputs);
  const auto fused = std::make_shared<const FusedProgram>(
      std::move(program), request.inputs, sizes, std::vector<char>{1}, FusedProgram::Results::rows);
  KernelRequest reduce = request;
  reduce.inputs = {{request.outputs[0].dtype, sizes, true}};
  const std::string& name = request.attributes.text("reduction");
  ElementSource source;
  source.scratch = fused->scratch();
  source.ns_per_element = fused->ns_per_element();
  source.make = [fused](const KernelRun& run, std::int64_t begin, std::int64_t n, void* row) {
    KernelRun into = run;
    into.outputs = &row;
    fused->run(into, begin, begin + n, begin);
  };
  const auto kind = name == "max"   ? kernels::Reduction::max
                    : name == "min" ? kernels::Reduction::min
                                    : kernels::Reduction::sum;
  return make_reduce_kernel(reduce, kind, request.attributes.integers("axes"), name == "mean",
                            &source);
}

Cost fused_reduce_cost(const KernelRequest& request) {
  const TileProgram program = program_of(request);
  const auto numel = static_cast<double>(num_elements(program_sizes(program, request.inputs)));
  return {numel * static_cast<double>(program.steps.size() + 1),
          bytes_of(request.inputs) + bytes_of(request.outputs)};
}

}  // namespace weft
