#include "weft/tests/bench/prepared_op.h"

#include "weft/core/random.h"

namespace weft::bench {
namespace {

/// Returns the cost of ops without a cost function: one FLOP per output element, and the bytes of
/// all operands.
Cost default_cost(const KernelRequest& request) {
  Cost cost;
  const auto bytes = [](const OperandSpec& spec) {
    return static_cast<double>(spec.numel()) * static_cast<double>(dtype_size(spec.dtype));
  };
  for (const OperandSpec& spec : request.inputs) {
    if (spec.present) cost.bytes += bytes(spec);
  }
  for (const OperandSpec& spec : request.outputs) {
    cost.flops += static_cast<double>(spec.numel());
    cost.bytes += bytes(spec);
  }
  return cost;
}

}  // namespace

PreparedOp::PreparedOp(std::string_view op, std::vector<Tensor> inputs,
                       const Attributes& attributes, int threads, Precision precision, int constant)
    : inputs_(std::move(inputs)), workers_({.threads = threads}) {
  const OpRecord& record = builtin_ops()->at(op);
  KernelRequest request;
  request.precision = precision;
  request.attributes = record.complete(attributes).evaluate(Bindings{});
  std::vector<ValueType> types(inputs_.size());
  std::vector<const ValueType*> type_pointers(inputs_.size(), nullptr);
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const Tensor& t = inputs_[i];
    in_.push_back(t.defined() ? t.raw() : nullptr);
    if (!t.defined()) {
      request.inputs.push_back({DType::f32, {}, false});
      continue;
    }
    request.inputs.push_back({t.dtype(), t.sizes(), true, static_cast<int>(i) == constant});
    types[i] = {t.dtype(), Shape(t.sizes())};
    type_pointers[i] = &types[i];
  }
  const DimFacts facts;
  for (const ValueType& type :
       record.infer(InferContext(record.name, type_pointers, request.attributes, facts))) {
    request.outputs.push_back({type.dtype, type.shape.constant(), true});
    outputs_.push_back(Tensor::empty(type.dtype, request.outputs.back().sizes));
    out_.push_back(outputs_.back().mutable_raw());
  }
  kernel_ = record.kernel(request);
  cost_ = record.cost != nullptr ? record.cost(request) : default_cost(request);
  shared_ = Buffer::allocate(kernel_.shared_scratch);
  packed_ = Buffer::allocate(kernel_.packed ? kernel_.packed->bytes : 0);
  for (std::int64_t chunk = kernel_.packed ? kernel_.packed->chunks : 0; chunk-- > 0;) {
    kernel_.packed->pack(in_[kernel_.packed->input], packed_->data(), chunk);
  }
  for (int s = 0; s < workers_.slots(); ++s) {
    slots_.push_back(Buffer::allocate(kernel_.slot_scratch));
  }
}

void PreparedOp::run() {
  for (const Phase& phase : kernel_.phases) {
    const auto body = [&](std::int64_t chunk, int slot) {
      phase.body({in_.data(), out_.data(), shared_->data(),
                  slots_[static_cast<std::size_t>(slot)]->data(), packed_->data()},
                 chunk);
    };
    workers_.for_chunks(phase.chunks, body, phase.cost_ns);
  }
}

Tensor random_tensor(const Sizes& sizes) {
  Tensor t = Tensor::empty(DType::f32, sizes);
  const RandomStream stream{.seed = 1};
  float* out = t.mutable_data<float>();
  for (std::int64_t i = 0; i < t.numel(); ++i) {
    out[i] = 2 * uniform_float(stream.word(static_cast<std::uint64_t>(i))) - 1;
  }
  return t;
}

Tensor random_ids(const Sizes& sizes, std::int64_t bound) {
  Tensor t = Tensor::empty(DType::i32, sizes);
  const RandomStream stream{.seed = 2};
  auto* out = t.mutable_data<std::int32_t>();
  for (std::int64_t i = 0; i < t.numel(); ++i) {
    out[i] = static_cast<std::int32_t>(stream.word(static_cast<std::uint64_t>(i)) % bound);
  }
  return t;
}

void report(benchmark::State& state, const Cost& cost) {
  using benchmark::Counter;
  state.counters["FLOP"] = Counter(cost.flops, Counter::kIsIterationInvariantRate);
  state.counters["bytes"] = Counter(cost.bytes, Counter::kIsIterationInvariantRate);
}

void measure(benchmark::State& state, std::string_view op, std::vector<Tensor> inputs,
             const Attributes& attributes, int threads) {
  PreparedOp prepared(op, std::move(inputs), attributes, threads);
  prepared.run();  // warm-up, which also touches all memory
  for (auto _ : state) prepared.run();
  report(state, prepared.cost());
}

std::vector<int> thread_counts() {
  const int all = hardware_threads();
  return all > 1 ? std::vector<int>{1, all} : std::vector<int>{1};
}

}  // namespace weft::bench
