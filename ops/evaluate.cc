#include <fmt/format.h>

#include "weft/core/floating_point.h"
#include "weft/ops/make_kernel.h"
#include "weft/ops/operands.h"

namespace weft {

std::vector<Tensor> evaluate_op(const OpRecord& op, const std::vector<Tensor>& inputs,
                                const Attributes& attributes) {
  return evaluate_op(op, inputs, attributes, Precision::highest);
}

std::vector<Tensor> evaluate_op(const OpRecord& op, const std::vector<Tensor>& inputs,
                                const Attributes& attributes, Precision precision) {
  // Use the same floating-point environment as for chunks, regardless of the caller's environment.
  const DefaultFloatingPoint environment;
  std::vector<bool> given;
  for (const Tensor& t : inputs) given.push_back(t.defined());
  check_operands(op, given);
  KernelRequest request;
  const Attributes complete = op.complete(attributes);
  std::vector<ValueType> types(inputs.size());
  std::vector<const ValueType*> type_pointers(inputs.size(), nullptr);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    OperandSpec spec;
    spec.present = inputs[i].defined();
    if (spec.present) {
      spec.dtype = inputs[i].dtype();
      spec.sizes = inputs[i].sizes();
      types[i] = {spec.dtype, Shape(spec.sizes)};
      type_pointers[i] = &types[i];
    }
    request.inputs.push_back(std::move(spec));
  }
  const DimFacts facts;
  const auto outputs = op.infer(InferContext(op.name, type_pointers, complete, facts));
  request.attributes = complete.evaluate(Bindings{});
  request.precision = precision;
  if (op.has(Trait::alias)) return {inputs.at(0).reshape(outputs.at(0).shape.constant())};
  if (op.kernel == nullptr) {
    throw ArgumentError(fmt::format("op {} has no kernel and cannot be evaluated alone", op.name));
  }

  std::vector<Tensor> results;
  std::vector<void*> out;
  for (const ValueType& t : outputs) {
    request.outputs.push_back({t.dtype, t.shape.constant(), true});
    results.push_back(Tensor::empty(t.dtype, request.outputs.back().sizes));
    out.push_back(results.back().mutable_raw());
  }
  std::vector<const void*> in;
  for (const Tensor& t : inputs) in.push_back(t.defined() ? t.raw() : nullptr);

  const Kernel kernel = make_kernel(op, request);
  if (kernel.exchange) {
    throw StateError(fmt::format(
        "op {} requires several ranks: run it in a Session with a World (SessionOptions::world)",
        op.name));
  }
  const auto shared = Buffer::allocate(kernel.shared_scratch);
  const auto slot = Buffer::allocate(kernel.slot_scratch);
  const KernelRun run{in.data(), out.data(), shared->data(), slot->data()};
  std::vector<DType> dtypes;
  for (const OperandSpec& spec : request.inputs) dtypes.push_back(spec.dtype);
  check_data(kernel, dtypes, in.data());
  for (const Phase& phase : kernel.phases) {
    for (std::int64_t c = 0; c < phase.chunks; ++c) phase.body(run, c);
  }
  return results;
}

}  // namespace weft
