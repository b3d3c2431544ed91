// Evaluates one op at a given precision.
#pragma once

#include <cstring>
#include <string_view>
#include <vector>

#include "weft/ops/op.h"

namespace weft::testing {

/// Like evaluate_op(), but with a kernel created for `precision`, chunks in reverse order and
/// scratch memory filled with a pattern. If `constant` is not negative, it is the index of an input
/// that is marked as a constant weight, so that the kernel may request a packed copy of it.
inline std::vector<Tensor> evaluate_at(Precision precision, std::string_view name,
                                       const std::vector<Tensor>& inputs,
                                       const Attributes& attributes, int constant = -1,
                                       bool batch_invariant = false) {
  const OpRecord& op = builtin_ops()->at(name);
  KernelRequest request;
  request.attributes = op.complete(attributes).evaluate(Bindings{});
  request.precision = precision;
  request.batch_invariant = batch_invariant;
  std::vector<ValueType> types(inputs.size());
  std::vector<const ValueType*> pointers(inputs.size(), nullptr);
  std::vector<const void*> in;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const bool present = inputs[i].defined();
    in.push_back(present ? inputs[i].raw() : nullptr);
    request.inputs.push_back(present ? OperandSpec{inputs[i].dtype(), inputs[i].sizes()}
                                     : OperandSpec{DType::f32, {}, false});
    request.inputs.back().constant = static_cast<int>(i) == constant;
    if (!present) continue;
    types[i] = {inputs[i].dtype(), Shape(inputs[i].sizes())};
    pointers[i] = &types[i];
  }
  const DimFacts facts;
  std::vector<Tensor> results;
  std::vector<void*> out;
  for (const ValueType& t : op.infer(InferContext(op.name, pointers, request.attributes, facts))) {
    request.outputs.push_back({t.dtype, t.shape.constant()});
    results.push_back(Tensor::empty(t.dtype, request.outputs.back().sizes));
    out.push_back(results.back().mutable_raw());
  }
  const Kernel kernel = op.kernel(request);
  const auto shared = Buffer::allocate(kernel.shared_scratch);
  const auto slot = Buffer::allocate(kernel.slot_scratch);
  std::memset(shared->data(), 0xA5, shared->bytes());
  const auto packed = Buffer::allocate(kernel.packed ? kernel.packed->bytes : 0);
  std::memset(packed->data(), 0xA5, packed->bytes());
  for (std::int64_t chunk = kernel.packed ? kernel.packed->chunks : 0; chunk-- > 0;) {
    kernel.packed->pack(in[kernel.packed->input], packed->data(), chunk);
  }
  for (const Phase& phase : kernel.phases) {
    for (std::int64_t chunk = phase.chunks; chunk-- > 0;) {
      std::memset(slot->data(), 0x5A, slot->bytes());
      phase.body({in.data(), out.data(), shared->data(), slot->data(),
                  kernel.packed ? packed->data() : nullptr},
                 chunk);
    }
  }
  return results;
}

}  // namespace weft::testing
