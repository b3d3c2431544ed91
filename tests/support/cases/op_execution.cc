#include "weft/tests/support/cases/op_execution.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

#include "weft/ops/make_kernel.h"

namespace weft::testing {
namespace {

constexpr std::size_t kScratchAlignment = 64;

std::vector<std::int64_t> chunk_order(std::int64_t chunks, std::uint64_t seed) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(std::max<std::int64_t>(chunks, 0)));
  std::iota(order.rbegin(), order.rend(), 0);
  if (seed != 0) std::shuffle(order.begin(), order.end(), std::mt19937_64(seed));
  return order;
}

}  // namespace

bool has_kernel(const OpRecord& op) {
  return !op.has(Trait::leaf) && !op.has(Trait::alias) && !op.has_bodies();
}

OpExecution::OpExecution(const OpRecord& op, const OpSample& sample,
                         const std::vector<Tensor>& like, OpExecutionOptions options)
    : options_(std::move(options)) {
  request_.attributes = op.complete(sample.attributes);
  request_.precision = options_.precision;
  for (const Tensor& t : sample.inputs) {
    if (!t.defined()) {
      request_.inputs.push_back({DType::f32, {}, false});
    } else {
      request_.inputs.push_back({t.dtype(), t.sizes(), true});
    }
    owned_inputs_.push_back(t.defined() && options_.guard ? guarded_copy(t, *options_.guard) : t);
    inputs_.push_back(t.defined() ? owned_inputs_.back().raw() : nullptr);
  }
  for (std::size_t o = 0; o < like.size(); ++o) {
    const bool wanted = !options_.wanted || options_.wanted(o);
    request_.outputs.push_back({like[o].dtype(), like[o].sizes(), wanted});
    results_.push_back(options_.guard
                           ? guarded_empty(like[o].dtype(), like[o].sizes(), *options_.guard)
                           : Tensor::empty(like[o].dtype(), like[o].sizes()));
    outputs_.push_back(wanted ? results_.back().mutable_raw() : nullptr);
  }
  if (options_.inplace) {
    const auto out = static_cast<std::size_t>(options_.inplace->first);
    const auto in = static_cast<std::size_t>(options_.inplace->second);
    const Tensor& source = sample.inputs[in];
    if (source.bytes() > 0) std::memcpy(outputs_[out], source.raw(), source.bytes());
    inputs_[in] = outputs_[out];
  }
  kernel_ = make_kernel(op, request_);
  const Guard guard = options_.guard.value_or(Guard::after);
  shared_ = std::make_unique<GuardedMemory>(kernel_.shared_scratch, guard, kScratchAlignment);
  slot_ = std::make_unique<GuardedMemory>(kernel_.slot_scratch, guard, kScratchAlignment);
}

void OpExecution::execute() {
  std::memset(shared_->data(), 0xA5, shared_->bytes());
  const KernelRun run{inputs_.data(), outputs_.data(), shared_->data(), slot_->data()};
  std::vector<DType> dtypes;
  for (const OperandSpec& spec : request_.inputs) dtypes.push_back(spec.dtype);
  check_data(kernel_, dtypes, inputs_.data());
  for (const Phase& phase : kernel_.phases) {
    for (const std::int64_t c : chunk_order(phase.chunks, options_.shuffle_seed)) {
      std::memset(slot_->data(), 0x5A, slot_->bytes());
      phase.body(run, c);
    }
  }
}

bool OpExecution::scratch_intact() const {
  return shared_->pattern_intact() && slot_->pattern_intact();
}

}  // namespace weft::testing
