// Scalar models of random numbers and keys.
#include <string>

#include "weft/tests/reference/random.h"
#include "weft/tests/reference/scalar_ops.h"

namespace weft::testing {
namespace {

RandomStream stream_of(const ScalarCall& call) {
  return {static_cast<std::uint64_t>(element(call.in[0], 0).integer),
          static_cast<std::uint32_t>(call.attributes.integer("stream")),
          static_cast<std::uint32_t>(element(call.in[0], 1).integer)};
}

void draw(const ScalarCall& call, std::vector<NumberTensor>& out) {
  const RandomStream stream = stream_of(call);
  const DType dtype = out[0].dtype;
  for (std::int64_t i = 0; i < out[0].numel(); ++i) {
    const auto at = static_cast<std::uint64_t>(i);
    Number& n = out[0].elements[static_cast<std::size_t>(i)];
    if (call.op.name == "random_normal") {
      const Real x = reference_normal(stream, at);
      n = approximate(x, dtype == DType::f32 ? 1 : 16, x == 0 ? 1 : x, dtype);
    } else if (call.op.name == "random_bernoulli") {
      n = number_of_integer(reference_bernoulli(stream, at, call.attributes.real("p")) ? 1 : 0);
    } else if (dtype == DType::f32) {
      n = number_of(reference_uniform_f32(stream, at));
    } else {
      n = number_of(reference_uniform_f64(stream, at));
    }
  }
}

void key_advance(const ScalarCall& call, std::vector<NumberTensor>& out) {
  const auto runs = static_cast<std::uint64_t>(element(call.in[0], 1).integer);
  out[0].elements[0] = element(call.in[0], 0);
  out[0].elements[1] = number_of_integer(static_cast<std::int64_t>(runs + 1));
}

void key_fold(const ScalarCall& call, std::vector<NumberTensor>& out) {
  const auto index = static_cast<std::uint64_t>(element(call.in[1], 0).integer);
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(index >> (8 * i) & 0xFF);
  const auto seed = static_cast<std::uint64_t>(element(call.in[0], 0).integer);
  out[0].elements[0] = number_of_integer(static_cast<std::int64_t>(stable_hash(bytes, seed)));
  out[0].elements[1] = element(call.in[0], 1);
}

}  // namespace

void add_random_models(ScalarModels& models) {
  models["random_uniform"] = models["random_normal"] = models["random_bernoulli"] = draw;
  models["key_advance"] = key_advance;
  models["key_fold"] = key_fold;
}

}  // namespace weft::testing
