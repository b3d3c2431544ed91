// Random number ops, dropout and random keys. A key is i64[2] = {seed, number of runs so far}. A
// random number is a pure function of key, stream and element index, so it never depends on the
// number of threads, the execution order or rematerialisation.
#include <fmt/format.h>

#include "weft/core/random.h"
#include "weft/ops/builtin.h"
#include "weft/ops/elementwise.h"
#include "weft/ops/kernels/elementwise/random.h"

namespace weft {
namespace {

void require_key(const InferContext& c, int i) {
  c.require_dtype(i, DType::i64, "the key {seed, runs}");
  c.require_shape(i, {Dim(2)}, "the key {seed, runs}");
}

std::vector<ValueType> infer_float_draw(const InferContext& c) {
  require_key(c, 0);
  const DType dtype = c.attributes().dtype("dtype");
  if (dtype != DType::f32 && dtype != DType::f64) {
    throw DTypeError(fmt::format("dtype must be f32 or f64, but is {}", dtype_name(dtype)));
  }
  return {{dtype, c.attributes().shape("shape")}};
}

std::vector<ValueType> infer_bernoulli(const InferContext& c) {
  require_key(c, 0);
  const double p = c.attributes().real("p");
  if (!(p >= 0 && p <= 1)) {
    throw ArgumentError(fmt::format("p must be in [0, 1], but is {}", p));
  }
  return {{DType::boolean, c.attributes().shape("shape")}};
}

std::vector<ValueType> infer_dropout(const InferContext& c) {
  c.require_floating(0, "x");
  require_key(c, 1);
  const double rate = c.attributes().real("rate");
  if (!(rate >= 0 && rate < 1)) {
    throw ArgumentError(fmt::format("rate must be in [0, 1), but is {}", rate));
  }
  return {c.input(0)};
}

std::vector<ValueType> infer_key_advance(const InferContext& c) {
  require_key(c, 0);
  return {c.input(0)};
}

std::vector<ValueType> infer_key_fold(const InferContext& c) {
  require_key(c, 0);
  c.require_dtype(1, DType::i64, "index");
  c.require_rank(1, 0, "index");
  return {c.input(0)};
}

RandomStream stream_of(const std::int64_t* key, std::int64_t stream) {
  return {static_cast<std::uint64_t>(key[0]), static_cast<std::uint32_t>(stream),
          static_cast<std::uint32_t>(key[1])};
}

// Returns a kernel with one phase over the elements of output 0, which calls body(run, stream,
// begin, end). `begin` is a multiple of 4.
template <class Fn>
Kernel draw_kernel(const KernelRequest& request, double ns_per_element, Fn body) {
  const std::int64_t n = request.outputs[0].numel();
  const std::int64_t stream = request.attributes.integer("stream");
  Phase phase;
  phase.chunks = chunk_count(n, 16384);
  phase.cost_ns = static_cast<double>(n) * ns_per_element;
  phase.body = [=, chunks = phase.chunks](const KernelRun& run, std::int64_t chunk) {
    const auto [begin, end] = chunk_range(n, chunks, chunk, 1024);
    if (begin < end) body(run, stream_of(run.in<std::int64_t>(0), stream), begin, end);
  };
  Kernel kernel;
  kernel.phases.push_back(std::move(phase));
  return kernel;
}

template <class T>
Kernel make_uniform(const KernelRequest& request) {
  return draw_kernel(
      request, 0.5,
      [](const KernelRun& run, const RandomStream& s, std::int64_t begin, std::int64_t end) {
        kernels::uniform_row(s, begin, end, run.out<T>(0) + begin);
      });
}

Kernel uniform_kernel(const KernelRequest& request) {
  return request.outputs[0].dtype == DType::f32 ? make_uniform<float>(request)
                                                : make_uniform<double>(request);
}

template <class T>
Kernel make_normal(const KernelRequest& request) {
  return draw_kernel(
      request, 20,
      [](const KernelRun& run, const RandomStream& s, std::int64_t begin, std::int64_t end) {
        kernels::normal_row(s, begin, end, run.out<T>(0) + begin);
      });
}

Kernel normal_kernel(const KernelRequest& request) {
  return request.outputs[0].dtype == DType::f32 ? make_normal<float>(request)
                                                : make_normal<double>(request);
}

Kernel bernoulli_kernel(const KernelRequest& request) {
  return draw_kernel(request, 0.5,
                     [p = request.attributes.real("p")](const KernelRun& run, const RandomStream& s,
                                                        std::int64_t begin, std::int64_t end) {
                       kernels::bernoulli_row(s, p, begin, end, run.out<std::uint8_t>(0) + begin);
                     });
}

RowKernel dropout_row(const RowRequest& request) {
  RowKernel row = kernels::dropout_row(request.inputs[0], request.attributes.real("rate"),
                                       request.attributes.integer("stream"));
  row.scalars = request.scalars;
  row.ns_per_element = 0.6;
  return row;
}

Kernel dropout_kernel(const KernelRequest& request) {
  const DType dtype = request.inputs[0].dtype;
  const RowKernel row = dropout_row({{dtype, DType::i64}, dtype, 2u, request.attributes});
  const std::size_t size = dtype_size(dtype);
  return elementwise::make_kernel(
      request.outputs[0].numel(), row.ns_per_element,
      [=](const KernelRun& run, std::int64_t begin, std::int64_t end) {
        const void* const in[] = {elementwise::at(run.inputs[0], begin, size), run.inputs[1]};
        row(in, elementwise::at(run.outputs[0], begin, size), end - begin, begin);
      });
}

Kernel scalar_kernel(void (*body)(const KernelRun&)) {
  Kernel kernel;
  Phase phase;
  phase.body = [body](const KernelRun& run, std::int64_t) { body(run); };
  kernel.phases.push_back(std::move(phase));
  return kernel;
}

Kernel key_advance_kernel(const KernelRequest&) {
  return scalar_kernel([](const KernelRun& run) {
    const std::int64_t seed = run.in<std::int64_t>(0)[0];
    const auto runs = static_cast<std::uint64_t>(run.in<std::int64_t>(0)[1]);
    run.out<std::int64_t>(0)[0] = seed;
    run.out<std::int64_t>(0)[1] = static_cast<std::int64_t>(runs + 1);
  });
}

Kernel key_fold_kernel(const KernelRequest&) {
  return scalar_kernel([](const KernelRun& run) {
    const std::int64_t runs = run.in<std::int64_t>(0)[1];
    const auto seed = static_cast<std::uint64_t>(run.in<std::int64_t>(0)[0]);
    const auto index = static_cast<std::uint64_t>(*run.in<std::int64_t>(1));
    char bytes[8];
    for (int i = 0; i < 8; ++i) bytes[i] = static_cast<char>(index >> (8 * i) & 0xFF);
    run.out<std::int64_t>(0)[0] =
        static_cast<std::int64_t>(stable_hash(std::string_view(bytes, 8), seed));
    run.out<std::int64_t>(0)[1] = runs;
  });
}

constexpr const char* kDrawReason = "random numbers do not depend on anything differentiable";

OpRecord draw_record(std::string name, std::string doc) {
  OpRecord r;
  r.name = std::move(name);
  r.doc = std::move(doc);
  r.inputs = {{"key"}};
  r.attributes = {{"shape", Shape{}, true}, {"stream", std::int64_t{0}, true}};
  r.traits = Trait::random;
  r.gradient = Gradient::none;
  r.no_gradient_reason = kDrawReason;
  return r;
}

void add_draws(OpSet& ops) {
  OpRecord uniform = draw_record("random_uniform",
                                 "Uniform in [0, 1): Philox4x32-10 under the key's seed, counter "
                                 "(element block, stream, runs). f32 uses 24 bits of one word per "
                                 "element, and f64 uses 53 bits of two words.");
  uniform.attributes.push_back({"dtype", DType::f32, true});
  uniform.infer = infer_float_draw;
  uniform.kernel = uniform_kernel;
  ops.add(std::move(uniform));

  OpRecord normal = draw_record("random_normal",
                                "Standard normal (Box and Muller 1958): elements 2i and 2i+1 come "
                                "from words 2i and 2i+1, computed in double.");
  normal.attributes.push_back({"dtype", DType::f32, true});
  normal.infer = infer_float_draw;
  normal.kernel = normal_kernel;
  ops.add(std::move(normal));

  OpRecord bernoulli = draw_record("random_bernoulli",
                                   "True with probability p: element i is true if word i < p "
                                   "* 2^32.");
  bernoulli.attributes.push_back({"p", 0.0, true});
  bernoulli.infer = infer_bernoulli;
  bernoulli.kernel = bernoulli_kernel;
  ops.add(std::move(bernoulli));
}

void add_keys(OpSet& ops) {
  OpRecord advance;
  advance.name = "key_advance";
  advance.doc = "The key for the next run: {seed, runs + 1}.";
  advance.inputs = {{"key"}};
  advance.infer = infer_key_advance;
  advance.kernel = key_advance_kernel;
  advance.inplace = {{0, 0}};
  advance.gradient = Gradient::none;
  advance.no_gradient_reason = "keys are integers";
  ops.add(std::move(advance));

  OpRecord fold;
  fold.name = "key_fold";
  fold.doc = "A separate key for every index: {hash(seed, index), runs}.";
  fold.inputs = {{"key"}, {"index"}};
  fold.infer = infer_key_fold;
  fold.kernel = key_fold_kernel;
  fold.gradient = Gradient::none;
  fold.no_gradient_reason = "keys are integers";
  ops.add(std::move(fold));
}

}  // namespace

void RandomOps::add(OpSet& ops) {
  add_draws(ops);
  OpRecord dropout;
  dropout.name = "dropout";
  dropout.doc =
      "x / (1 - rate) if word i >= rate * 2^32, else 0 (inverted dropout, Srivastava et al. 2014). "
      "The "
      "same key, stream and rate drop the same elements, so the gradient is dropout of the "
      "cotangent.";
  dropout.inputs = {{"x"}, {"key"}};
  dropout.attributes = {{"rate", 0.0, true}, {"stream", std::int64_t{0}, true}};
  dropout.traits = Trait::random;
  dropout.inplace = {{0, 0}};
  dropout.infer = infer_dropout;
  dropout.kernel = dropout_kernel;
  dropout.row = dropout_row;
  ops.add(std::move(dropout));
  add_keys(ops);
}

}  // namespace weft
