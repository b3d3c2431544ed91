// Samples of the operations in ops/sequence/attention.cc.
#include <limits>

#include "weft/ops/sequence/attention_op.h"
#include "weft/tests/samples/op_samples.h"
#include "weft/tests/samples/sample_data.h"

namespace weft {
namespace attention_op {
namespace {

struct SampleSizes {
  std::int64_t b = 2, h = 2, hkv = 2, lq = 5, lk = 5, d = 3, dv = 4;
};

OpSample basic(const SampleSizes& s, Attributes attributes = {}) {
  OpSample sample;
  sample.inputs.resize(kOperands);
  sample.inputs[kQ] = sample_uniform({s.b, s.h, s.lq, s.d}, 1);
  sample.inputs[kK] = sample_uniform({s.b, s.hkv, s.lk, s.d}, 2);
  sample.inputs[kV] = sample_uniform({s.b, s.hkv, s.lk, s.dv}, 3);
  attributes.set("scale", 0.6);
  sample.attributes = std::move(attributes);
  return sample;
}

Tensor alternating_mask(Sizes sizes) {
  const std::int64_t n = num_elements(sizes);
  Tensor mask = Tensor::empty(DType::boolean, std::move(sizes));
  for (std::int64_t i = 0; i < n; ++i) mask.mutable_data<bool>()[i] = i % 3 != 1;
  return mask;
}

// In all samples, every query has a visible key, because finite differences are not defined for lse
// = -inf. Queries without visible keys are tested in tests/ops.
std::vector<OpSample> samples() {
  std::vector<OpSample> all;
  const auto add = [&](OpSample sample) -> OpSample& {
    return all.emplace_back(std::move(sample));
  };
  add(basic({}));
  add(basic({.lq = 3, .lk = 6}, {{"causal", true}}));
  add(basic({.h = 4, .hkv = 2, .lq = 4, .lk = 7}, {{"window", std::int64_t{3}}}));
  {
    OpSample& s = add(basic({.h = 3, .hkv = 1}));  // broadcast bias and mask
    s.inputs[kBias] = sample_uniform({1, 3, 5, 5}, 4);
    s.inputs[kMask] = alternating_mask({2, 1, 1, 5});
  }
  {
    OpSample& s = add(basic({.lq = 4}));  // one bias value per key
    s.inputs[kBias] = sample_uniform({2, 1, 1, 5}, 4);
    s.inputs[kMask] = alternating_mask({1, 2, 4, 5});
  }
  {
    OpSample& s = add(basic({.lq = 4, .lk = 6}, {{"causal", true}}));
    s.inputs[kOffsetBias] = sample_uniform({2, 9}, 5);
  }
  {
    OpSample& s = add(basic({.lq = 2, .lk = 7}, {{"causal", true}}));  // decoding with a cache
    s.inputs[kOffsetBias] = sample_uniform({2, 13}, 5);
    s.inputs[kLengths] = Tensor::of<std::int64_t>({2}, {4, 7});
    s.inputs[kQStart] = Tensor::of<std::int64_t>({2}, {2, 5});
  }
  {
    OpSample& s = add(basic({.lq = 4, .lk = 5}));  // relative key positions, as in BERT and DeBERTa
    s.inputs[kRowBias] = sample_uniform({2, 2, 4, 3}, 6);
    s.inputs[kRowIndex] = sample_indices({4, 5}, 7, 3);
    s.inputs[kColBias] = sample_uniform({2, 2, 5, 4}, 8);
    s.inputs[kColIndex] = sample_indices({4, 5}, 9, 4).to(DType::i32);
  }
  {
    OpSample& s = add(basic({}));  // padding
    s.inputs[kLengths] = Tensor::of<std::int32_t>({2}, {2, 5});
  }
  {
    OpSample& s = add(basic({}, {{"dropout", 0.3}, {"stream", std::int64_t{5}}}));
    s.inputs[kKey] = Tensor::of<std::int64_t>({2}, {42, 3});
  }
  {
    // Rows of a larger cache, one of which is used twice.
    OpSample& s = add(basic({.b = 3, .h = 4, .hkv = 2, .lq = 2, .lk = 6}, {{"causal", true}}));
    for (const int operand : {kK, kV}) {
      Sizes sizes = s.inputs[operand].sizes();
      sizes[0] = 5;
      s.inputs[operand] = sample_uniform(sizes, 13 + static_cast<unsigned>(operand));
    }
    s.inputs[kColBias] = sample_uniform({3, 4, 6, 4}, 8);
    s.inputs[kColIndex] = sample_indices({2, 6}, 9, 4);
    s.inputs[kLengths] = Tensor::of<std::int64_t>({3}, {6, 4, 2});
    s.inputs[kQStart] = Tensor::of<std::int64_t>({3}, {4, 2, 0});
    s.inputs[kKvRows] = Tensor::of<std::int32_t>({3}, {4, 1, 4});
  }
  {
    OpSample& s = add(basic({.h = 4, .hkv = 2, .lq = 4, .lk = 6},
                            {{"causal", true}, {"soft_cap", 0.5}, {"window", std::int64_t{4}}}));
    s.inputs[kBias] = sample_uniform({2, 4, 4, 6}, 4);
  }
  add(basic({.lq = 5, .lk = 8}, {{"causal", true}, {"chunk", std::int64_t{3}}}));
  {
    OpSample& s = add(basic({.h = 4, .hkv = 2, .lq = 3}, {{"causal", true}}));
    s.inputs[kSinks] = sample_uniform({4}, 10);
  }
  {
    OpSample& s = add(basic({.lk = 6}, {{"soft_cap", 1.5}, {"chunk", std::int64_t{4}}}));
    s.inputs[kQStart] = Tensor::of<std::int64_t>({2}, {0, 1});
    s.inputs[kLengths] = Tensor::of<std::int64_t>({2}, {6, 5});
    s.inputs[kSinks] = sample_uniform({2}, 10);
  }
  {
    OpSample& s = add(basic({}, {{"dropout", 0.3}, {"stream", std::int64_t{5}}}));
    s.inputs[kKey] = Tensor::of<std::int64_t>({2}, {42, 3});
    s.inputs[kSinks] = sample_uniform({2}, 10);
    s.inputs[kOffsetBias] = sample_uniform({2, 9}, 5);
  }
  {
    // Ring buffers of 4 keys, one of which continues at its beginning.
    OpSample& s = add(basic({.h = 4, .lq = 2, .lk = 4},
                            {{"causal", true}, {"window", std::int64_t{3}}, {"ring", Dim(9)}}));
    s.inputs[kMask] = alternating_mask({2, 1, 1, 9});
    s.inputs[kLengths] = Tensor::of<std::int64_t>({2}, {9, 2});
    s.inputs[kQStart] = Tensor::of<std::int64_t>({2}, {7, 0});
  }
  {
    // Blocks of 4 keys of a cache, one of which two texts share; text 1 has one block.
    OpSample& s = add(basic({.b = 3, .h = 4, .hkv = 2, .lq = 2, .lk = 4}, {{"causal", true}}));
    for (const int operand : {kK, kV}) {
      Sizes sizes = s.inputs[operand].sizes();
      sizes[0] = 5;
      s.inputs[operand] = sample_uniform(sizes, 17 + static_cast<unsigned>(operand));
    }
    s.inputs[kLengths] = Tensor::of<std::int64_t>({3}, {8, 3, 5});
    s.inputs[kQStart] = Tensor::of<std::int64_t>({3}, {6, 1, 3});
    s.inputs[kKvRows] = Tensor::of<std::int64_t>({3, 2}, {4, 1, 0, -1, 4, 3});
  }
  {
    // Texts of 2, 0, 1 and 4 tokens without padding.
    OpSample& s = add(basic({.b = 1, .h = 4, .hkv = 2, .lq = 7, .lk = 7}));
    s.inputs[kOffsets] = Tensor::of<std::int64_t>({5}, {0, 2, 2, 3, 7});
  }
  {
    OpSample& s = add(basic({.lq = 6, .lk = 6}, {{"causal", true},
                                                 {"window", std::int64_t{3}},
                                                 {"soft_cap", 0.8},
                                                 {"chunk", std::int64_t{4}}}));
    s.inputs[kSinks] = sample_uniform({2}, 10);
    s.inputs[kOffsetBias] = sample_uniform({2, 11}, 5);
    s.inputs[kOffsets] = Tensor::of<std::int32_t>({3}, {0, 1, 6});
  }
  {
    OpSample& s = add(basic({.b = 1, .lq = 0, .lk = 0}));
    s.inputs[kOffsets] = Tensor::of<std::int64_t>({1}, {0});
  }
  add(basic({.lq = 0}));
  add(basic({.b = 0}));
  return all;
}

/// Returns rows of int8 with a scale each.
Tensor packed(const Tensor& rows) {
  return evaluate_op(builtin_ops_if_linked()->at("pack_int8_rows"), {rows}, {})[0];
}

std::vector<OpSample> narrow_samples() {
  std::vector<OpSample> all = samples();
  OpSample token = basic({.lq = 1, .lk = 70, .d = 37, .dv = 65}, {{"causal", true}});
  token.inputs[kLengths] = Tensor::of<std::int64_t>({2}, {70, 41});
  token.inputs[kQStart] = Tensor::of<std::int64_t>({2}, {69, 40});
  all.push_back(std::move(token));
  all.push_back(basic({.h = 4, .lq = 66, .lk = 150, .d = 20, .dv = 16}));
  const std::size_t count = all.size();
  all.reserve(2 * count);
  for (std::size_t i = 0; i < count; ++i) all.push_back(all[i]);
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (const int operand : {kK, kV}) {
      Tensor& rows = all[i].inputs[operand];
      rows = i < count ? rows.to(DType::bf16) : packed(rows);
    }
  }
  for (std::size_t i = 0; i < 2 * count; ++i) {
    OpSample sample = all[i];
    sample.inputs[kQ] = sample.inputs[kQ].to(DType::bf16);
    all.push_back(std::move(sample));
  }
  return all;
}

std::vector<OpSample> grad_samples() {
  std::vector<OpSample> all;
  const OpRecord& forward = builtin_ops_if_linked()->at("attention");
  for (OpSample& sample : samples()) {
    if (sample.inputs[kKvRows].defined() || sample.attributes.find("ring") != nullptr) continue;
    const std::vector<Tensor> outputs = evaluate_op(forward, sample.inputs, sample.attributes);
    const Tensor sinks = sample.inputs[kSinks], offsets = sample.inputs[kOffsets];
    sample.inputs.resize(kGradOperands);
    OpSample grad;
    grad.inputs = {sample_uniform(outputs[0].sizes(), 11), outputs[0], outputs[1]};
    grad.inputs.insert(grad.inputs.end(), sample.inputs.begin(), sample.inputs.end());
    grad.attributes = std::move(sample.attributes);
    grad.inputs.resize(kGradOffsets + 1);
    if (all.size() % 2 == 1) grad.inputs[kGradLse] = sample_uniform(outputs[1].sizes(), 12);
    grad.inputs[kGradSinks] = sinks;
    grad.inputs[kGradOffsets] = offsets;
    all.push_back(std::move(grad));
  }
  return all;
}

std::vector<OpSample> grad_narrow_samples() {
  std::vector<OpSample> all = grad_samples();
  for (OpSample& sample : all) {
    for (const int operand : {1, kGradFirst + kQ, kGradFirst + kK, kGradFirst + kV}) {
      Tensor& t = sample.inputs[static_cast<std::size_t>(operand)];
      t = t.to(DType::bf16);
    }
  }
  return all;
}

/// Returns the types of valid operands with B 2, H 4, Hkv 2, Lq 3, Lk 5, D 6 and Dv 7.
std::vector<ValueType> legal() {
  std::vector<ValueType> types = {
      {DType::f32, {2, 4, 3, 6}}, {DType::f32, {2, 2, 5, 6}}, {DType::f32, {2, 2, 5, 7}}};
  return types;
}

OpErrorSample wrong(int operand, ValueType type, std::string message, Attributes attributes = {}) {
  OpErrorSample sample;
  sample.inputs = legal();
  sample.inputs.resize(std::max<std::size_t>(3, static_cast<std::size_t>(operand) + 1));
  sample.inputs[static_cast<std::size_t>(operand)] = std::move(type);
  attributes.set("scale", 1.0);
  sample.attributes = std::move(attributes);
  sample.message = std::move(message);
  return sample;
}

/// Like wrong() for kv_rows: all operands before it are given.
OpErrorSample wrong_kv_rows(ValueType type, std::string message) {
  const std::int64_t keys = type.shape.rank() == 2 ? 10 : 5;
  OpErrorSample sample = wrong(kKvRows, std::move(type), std::move(message));
  const auto set = [&](int operand, DType dtype, const Shape& shape) {
    sample.inputs[static_cast<std::size_t>(operand)] = {dtype, shape};
  };
  set(kBias, DType::f32, {1, 1, 1, 1});
  set(kMask, DType::boolean, {1, 1, 1, 1});
  set(kOffsetBias, DType::f32, {4, 9});
  set(kRowBias, DType::f32, {2, 4, 3, 2});
  set(kColBias, DType::f32, {2, 4, keys, 2});
  for (const int operand : {kRowIndex, kColIndex}) set(operand, DType::i64, {3, keys});
  for (const int operand : {kLengths, kQStart, kKey}) set(operand, DType::i64, {2});
  return sample;
}

OpErrorSample ring_of_blocks() {
  OpErrorSample sample =
      wrong(kKvRows, {DType::i64, {2, 2}},
            "ring buffers of keys cannot be combined with several kv_rows", {{"ring", Dim(9)}});
  sample.inputs[kLengths] = {DType::i64, {2}};
  return sample;
}

std::vector<OpErrorSample> error_samples() {
  const ValueType q{DType::f32, {2, 4, 3, 6}};
  return {
      wrong(kQ, {DType::i32, {2, 4, 3, 6}}, "q must be f32 or f64, but is i32"),
      wrong(kQ, {DType::f32, {2, 3, 6}}, "q must have 4 axes"),
      wrong(kK, {DType::f64, {2, 2, 5, 6}}, "k must be f32, but is f64"),
      wrong(kK, {DType::f32, {3, 2, 5, 6}}, "batch (axis 0) of q and k: 2 and 3 differ"),
      wrong(kV, {DType::f32, {3, 2, 5, 7}}, "batch (axis 0) of k and v: 2 and 3 differ"),
      wrong(kV, {DType::f32, {2, 4, 5, 7}}, "heads (axis 1) of k and v: 2 and 4 differ"),
      wrong(kV, {DType::f32, {2, 2, 4, 7}}, "length (axis 2) of k and v: 5 and 4 differ"),
      wrong(kK, {DType::f32, {2, 2, 5, 8}}, "head size (axis 3) of q and k: 6 and 8 differ"),
      wrong(kQ, {DType::f32, {2, 3, 3, 6}},
            "heads of q (axis 1), 3, must be a multiple of heads of k, 2"),
      wrong(kQ, q, "dropout must be in [0, 1), but is 1", {{"dropout", 1.0}}),
      wrong(kQ, q, "dropout 0.5 requires the operand 'key'", {{"dropout", 0.5}}),
      wrong(kQ, q, "window must be positive, or 0 for no window, but is -1",
            {{"window", std::int64_t{-1}}}),
      wrong(kQ, q, "chunk must be positive, or 0 for no chunk, but is -2",
            {{"chunk", std::int64_t{-2}}}),
      wrong(kQ, q, "ring must be the number of keys, or 0 without ring buffers, but is -3",
            {{"ring", Dim(-3)}}),
      wrong(kQ, q, "ring buffers of keys require the operand 'lengths'", {{"ring", Dim(9)}}),
      wrong(kQ, q,
            "soft_cap must be from 1.2e-38 to 3.4e+38, the range of floats, or 0 for no cap, but "
            "is -1",
            {{"soft_cap", -1.0}}),
      wrong(kQ, q,
            "soft_cap must be from 1.2e-38 to 3.4e+38, the range of floats, or 0 for no cap, but "
            "is inf",
            {{"soft_cap", std::numeric_limits<double>::infinity()}}),
      wrong(kQ, q, "or 0 for no cap, but is 1e+39", {{"soft_cap", 1e39}}),
      wrong(kQ, q, "or 0 for no cap, but is 1e-50", {{"soft_cap", 1e-50}}),
      wrong_kv_rows({DType::i64, {3}}, "kv_rows must have shape [2], but has [3]"),
      wrong_kv_rows({DType::i64, {3, 2}}, "batch (axis 0) of kv_rows and q: 3 and 2 differ"),
      wrong_kv_rows({DType::f32, {2, 2}}, "kv_rows must be i32 or i64, but is f32"),
      ring_of_blocks(),
  };
}

std::vector<OpErrorSample> narrow_error_samples() {
  const ValueType k{DType::bf16, {2, 2, 5, 6}}, v{DType::bf16, {2, 2, 5, 7}};
  const Attributes attributes{{"scale", 1.0}};
  return {
      {legal(), attributes, "k must be bf16, but is f32"},
      {{{DType::f64, {2, 4, 3, 6}}, k, v}, attributes, "q must be f32, but is f64"},
      {{{DType::f32, {2, 4, 3, 6}}, k, {DType::f32, {2, 2, 5, 7}}},
       attributes,
       "v must be bf16, but is f32"},
      {{{DType::f32, {2, 4, 3, 6}}, {DType::i8, {2, 2, 5, 10}}, v},
       attributes,
       "v must be i8, but is bf16"},
      {{{DType::f32, {2, 4, 3, 6}}, {DType::i8, {2, 2, 5, 10}}, {DType::i8, {2, 2, 5, 3}}},
       attributes,
       "rows of int8 end with a scale of 4 bytes, but the last axis of v has 3 elements"},
      {{{DType::f32, {2, 4, 3, 6}}, {DType::i8, {2, 2, 5, 6}}, {DType::i8, {2, 2, 5, 6}}},
       attributes,
       "head size (axis 3) of q and k: 6 and 2 differ"},
  };
}

std::vector<OpErrorSample> grad_narrow_error_samples() {
  const ValueType g{DType::f32, {2, 4, 3, 7}}, out{DType::bf16, {2, 4, 3, 7}};
  const ValueType lse{DType::f32, {2, 4, 3}};
  const ValueType q{DType::bf16, {2, 4, 3, 6}}, k{DType::bf16, {2, 2, 5, 6}},
      v{DType::bf16, {2, 2, 5, 7}};
  const Attributes attributes{{"scale", 1.0}};
  const ValueType wide{DType::f32, {2, 4, 3, 6}};
  return {
      {{g, out, lse, wide, k, v}, attributes, "q must be bf16, but is f32"},
      {{g, g, lse, q, k, v}, attributes, "out must be bf16, but is f32"},
      {{out, out, lse, q, k, v}, attributes, "g must be f32, but is bf16"},
  };
}

std::vector<OpErrorSample> grad_error_samples() {
  const auto sample = [](int operand, ValueType type, std::string message) {
    OpErrorSample s;
    s.inputs = {{DType::f32, {2, 4, 3, 7}}, {DType::f32, {2, 4, 3, 7}}, {DType::f32, {2, 4, 3}}};
    for (ValueType& t : legal()) s.inputs.push_back(std::move(t));
    s.inputs[static_cast<std::size_t>(operand)] = std::move(type);
    s.attributes = {{"scale", 1.0}};
    s.message = std::move(message);
    return s;
  };
  OpErrorSample ring = sample(0, {DType::f32, {2, 4, 3, 7}}, "ring must be 0, but is 9");
  ring.attributes.set("ring", Dim(9));
  return {
      ring,
      sample(0, {DType::f32, {2, 4, 3, 6}}, "g must have shape [2, 4, 3, 7], but has [2, 4, 3, 6]"),
      sample(1, {DType::f64, {2, 4, 3, 7}}, "out must be f32, but is f64"),
      sample(2, {DType::f32, {2, 4, 5}}, "lse must have shape [2, 4, 3], but has [2, 4, 5]"),
      sample(3, {DType::f32, {2, 3, 3, 6}}, "heads of q (axis 1), 3, must be a multiple"),
  };
}

}  // namespace
}  // namespace attention_op

void add_samples(AttentionOps, OpSamples& all) {
  all.add("attention", attention_op::samples, attention_op::error_samples);
  all.add("attention_narrow", attention_op::narrow_samples, attention_op::narrow_error_samples);
  all.add("attention_grad", attention_op::grad_samples, attention_op::grad_error_samples);
  all.add("attention_grad_narrow", attention_op::grad_narrow_samples,
          attention_op::grad_narrow_error_samples);
}

}  // namespace weft
