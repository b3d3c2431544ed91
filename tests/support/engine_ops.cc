#include "weft/tests/support/engine_ops.h"

#include <fmt/format.h>

#include <cstring>
#include <functional>

namespace weft::testing {
namespace {

constexpr std::int64_t kGrain = 64;

std::vector<ValueType> infer_same(const InferContext& c) { return {c.input(0)}; }
std::vector<ValueType> infer_scalar(const InferContext& c) { return {{c.dtype(0), Shape{}}}; }

std::vector<ValueType> infer_add(const InferContext& c) {
  c.require_shape(1, c.shape(0), "b");
  return {c.input(0)};
}

Phase elementwise(std::int64_t n, std::function<void(const KernelRun&, std::int64_t)> each) {
  const std::int64_t chunks = chunk_count(n, kGrain);
  return {.chunks = chunks,
          .body =
              [=](const KernelRun& run, std::int64_t chunk) {
                const ChunkRange r = chunk_range(n, chunks, chunk);
                for (std::int64_t i = r.begin; i < r.end; ++i) each(run, i);
              },
          .cost_ns = static_cast<double>(n) * 100};
}

Kernel add_kernel(const KernelRequest& q) {
  Kernel k;
  k.phases.push_back(elementwise(q.outputs[0].numel(), [](const KernelRun& run, std::int64_t i) {
    run.out<float>(0)[i] = run.in<float>(0)[i] + run.in<float>(1)[i];
  }));
  return k;
}

Kernel scale_kernel(const KernelRequest& q) {
  const auto factor = static_cast<float>(q.attributes.real("factor"));
  Kernel k;
  k.phases.push_back(
      elementwise(q.outputs[0].numel(), [factor](const KernelRun& run, std::int64_t i) {
        run.out<float>(0)[i] = run.in<float>(0)[i] * factor;
      }));
  return k;
}

Kernel sum_kernel(const KernelRequest& q) {
  const std::int64_t n = q.inputs[0].numel(), chunks = chunk_count(n, kGrain);
  Kernel k;
  k.shared_scratch = static_cast<std::size_t>(chunks) * sizeof(float);
  k.phases.push_back({.chunks = chunks,
                      .body =
                          [=](const KernelRun& run, std::int64_t chunk) {
                            const ChunkRange r = chunk_range(n, chunks, chunk);
                            float sum = 0;
                            for (std::int64_t i = r.begin; i < r.end; ++i)
                              sum += run.in<float>(0)[i];
                            reinterpret_cast<float*>(run.shared_scratch)[chunk] = sum;
                          },
                      .cost_ns = static_cast<double>(n) * 100});
  k.phases.push_back({.chunks = 1, .body = [=](const KernelRun& run, std::int64_t) {
                        float sum = 0;
                        for (std::int64_t i = 0; i < chunks; ++i) {
                          sum += reinterpret_cast<const float*>(run.shared_scratch)[i];
                        }
                        *run.out<float>(0) = sum;
                      }});
  return k;
}

Kernel pick_kernel(const KernelRequest& q) {
  const std::int64_t n = q.inputs[0].numel();
  Kernel k;
  k.check = [n](const KernelRun& run) {
    const std::int64_t i = *run.in<std::int64_t>(1);
    if (i < 0 || i >= n) throw DataError(fmt::format("index {} is not in 0..{}", i, n - 1));
  };
  k.phases.push_back({.chunks = 1, .body = [](const KernelRun& run, std::int64_t) {
                        *run.out<float>(0) = run.in<float>(0)[*run.in<std::int64_t>(1)];
                      }});
  return k;
}

Kernel fail_kernel(const KernelRequest& q) {
  const auto when = static_cast<float>(q.attributes.real("when"));
  const std::size_t bytes = static_cast<std::size_t>(q.inputs[0].numel()) * sizeof(float);
  Kernel k;
  k.phases.push_back({.chunks = 1, .body = [=](const KernelRun& run, std::int64_t) {
                        if (run.in<float>(0)[0] == when) throw DataError("asked to fail");
                        std::memcpy(run.outputs[0], run.inputs[0], bytes);
                      }});
  return k;
}

Kernel places_kernel(const KernelRequest&) {
  Kernel k;
  k.phases.push_back({.chunks = 1, .body = [](const KernelRun& run, std::int64_t) {
                        const auto one_if = [](bool is) { return is ? 1.0F : 0.0F; };
                        *run.out<float>(0) = one_if(run.inputs[0] != nullptr) +
                                             one_if(run.shared_scratch != nullptr) +
                                             one_if(run.slot_scratch != nullptr);
                      }});
  return k;
}

Kernel overrun_kernel(const KernelRequest& q) {
  const std::size_t bytes = static_cast<std::size_t>(q.inputs[0].numel()) * sizeof(float);
  Kernel k;
  k.phases.push_back({.chunks = 1, .body = [=](const KernelRun& run, std::int64_t) {
                        std::memcpy(run.outputs[0], run.inputs[0], bytes);
                        static_cast<char*>(run.outputs[0])[bytes] = 1;
                      }});
  return k;
}

Kernel visit_kernel(const KernelRequest& q) {
  const std::size_t bytes =
      static_cast<std::size_t>(q.inputs[0].numel()) * dtype_size(q.inputs[0].dtype);
  Kernel k;
  k.phases.push_back({.chunks = 1, .body = [=](const KernelRun& run, std::int64_t) {
                        (*reinterpret_cast<std::function<void()>*>(*run.in<std::int64_t>(1)))();
                        std::memcpy(run.outputs[0], run.inputs[0], bytes);
                      }});
  return k;
}

OpRecord record(std::string name, std::vector<InputSpec> inputs,
                std::vector<ValueType> (*infer)(const InferContext&),
                Kernel (*kernel)(const KernelRequest&)) {
  OpRecord r;
  r.name = std::move(name);
  r.doc = "A test op.";
  r.inputs = std::move(inputs);
  r.infer = infer;
  r.kernel = kernel;
  r.gradient = Gradient::none;
  r.no_gradient_reason = "it is only used in tests of execution";
  return r;
}

}  // namespace

std::shared_ptr<const OpSet> engine_ops() {
  auto ops = std::make_shared<OpSet>(*builtin_ops());
  OpRecord add = record("t_add", {{"a"}, {"b"}}, infer_add, add_kernel);
  add.inplace = {{0, 0}, {0, 1}};
  ops->add(std::move(add));
  OpRecord scale = record("t_scale", {{"x"}}, infer_same, scale_kernel);
  scale.inplace = {{0, 0}};
  scale.attributes = {{"factor", 1.0, true}};
  ops->add(std::move(scale));
  ops->add(record("t_sum", {{"x"}}, infer_scalar, sum_kernel));
  ops->add(record("t_pick", {{"x"}, {"index"}}, infer_scalar, pick_kernel));
  OpRecord fail = record("t_fail", {{"x"}}, infer_same, fail_kernel);
  fail.attributes = {{"when", 0.0, true}};
  ops->add(std::move(fail));
  ops->add(record("t_visit", {{"x"}, {"visitor"}}, infer_same, visit_kernel));
  ops->add(record("t_places", {{"x"}}, infer_scalar, places_kernel));
  ops->add(record("t_overrun", {{"x"}}, infer_same, overrun_kernel));
  return ops;
}

}  // namespace weft::testing
