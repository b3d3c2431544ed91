// Compares attention with its scalar model, forward and backward, for random masks, windows,
// lengths, query starts, head groups and biases.
#include <boost/test/unit_test.hpp>
#include <limits>

#include "weft/autodiff/rule.h"
#include "weft/graph/ir/graph.h"
#include "weft/ops/kernels/gemm/bf16_split/choose.h"
#include "weft/tests/ops/check_attention.h"
#include "weft/tests/ops/twin.h"
#include "weft/tests/reference/evaluate_graph.h"

namespace weft::testing {
namespace {

constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();

struct AttentionUse {
  std::vector<Tensor> in;
  Attributes attributes;
};

Tensor integers(Choices& c, const std::vector<std::int64_t>& values, bool may_be_narrow) {
  const Tensor t = Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values);
  return may_be_narrow && c.chance(0.3) ? t.to(DType::i32) : t;
}

/// Returns the positions of query 0, one per batch row. All are legal. Without `causal`, some of
/// them are so far beyond the keys that the queries attend to no keys (with a window) or to all of
/// them (without a window).
Tensor starts(Choices& c, std::int64_t batch, std::int64_t lq, std::int64_t lk, bool causal,
              bool extreme) {
  std::vector<std::int64_t> values;
  bool narrow = true;
  for (std::int64_t b = 0; b < batch; ++b) {
    std::int64_t start = c.within(0, causal ? lk - lq : lk + 7);
    if (!causal && extreme && c.chance(0.3)) {
      start = c.one_of({lk + 200, std::numeric_limits<std::int32_t>::max(), kLargest - lq,
                        kLargest - 1, kLargest});
    }
    narrow = narrow && start <= std::numeric_limits<std::int32_t>::max();
    values.push_back(start);
  }
  return integers(c, values, narrow);
}

Sizes broadcast_part(Choices& c, const Sizes& full) {
  Sizes sizes = full;
  for (auto& s : sizes) {
    if (c.chance(0.4)) s = 1;
  }
  return sizes;
}

/// Returns a random legal call of attention. If `large` is true, it has more than one block of
/// queries or keys.
AttentionUse random_use(Choices& c, bool large) {
  const std::int64_t b = c.one_of({0, 1, 1, 1, 2, 3}), hkv = c.one_of({1, 1, 2}),
                     h = hkv * c.one_of({1, 1, 2, 3});
  const std::int64_t lq =
      large ? c.one_of({1, 64, 65, 118, 131}) : c.one_of({0, 1, 1, 2, 3, 5, 17});
  const std::int64_t lk =
      large ? c.one_of({3, 127, 128, 129, 261}) : c.one_of({0, 1, 2, 3, 4, 7, 16, 33});
  const std::int64_t d = c.one_of({0, 1, 2, 3, 5, 8, 16, 19}),
                     dv = c.one_of({0, 1, 2, 4, 7, 16, 21});
  AttentionUse use;
  use.in.resize(16);
  use.in[0] = c.uniform({b, h, lq, d});
  use.in[1] = c.uniform({b, hkv, lk, d});
  use.in[2] = c.uniform({b, hkv, lk, dv});
  const bool causal = c.chance(0.4);
  const Sizes full{b, h, lq, lk};
  if (c.chance(0.25)) use.in[3] = c.uniform(broadcast_part(c, full));
  if (c.chance(0.25)) use.in[4] = c.booleans(broadcast_part(c, full), c.one_of({0, 3, 7}) / 10.0);
  const bool table = c.chance(0.3) && lq + lk > 0;
  if (c.chance(0.4) && (!causal || lk >= lq)) {
    use.in[11] = starts(c, b, lq, lk, causal, !table);
  }
  if (table) {
    std::int64_t entries = lq + lk - 1;
    if (use.in[11].defined()) entries += lk + 7 + c.within(0, 3);
    use.in[5] = c.uniform({h, entries});
  }
  if (c.chance(0.2)) {
    const std::int64_t r = c.within(1, 4);
    use.in[6] = c.uniform({b, h, lq, r});
    use.in[7] = c.indices({lq, lk}, r);
  }
  if (c.chance(0.2)) {
    const std::int64_t r = c.within(1, 4);
    use.in[8] = c.uniform({b, h, lk, r});
    use.in[9] = c.indices({lq, lk}, r);
  }
  if (c.chance(0.4)) {
    std::vector<std::int64_t> lengths;
    for (std::int64_t i = 0; i < b; ++i) lengths.push_back(c.chance(0.3) ? lk : c.within(0, lk));
    use.in[10] = integers(c, lengths, true);
  }
  const std::vector<double> scales = {0.3, 1, -0.7, 0};
  use.attributes = {{"scale", c.one_of(scales)}, {"causal", causal}};
  if (c.chance(0.45)) {
    use.attributes.set("window",
                       c.one_of({1, 2, 3, 4, 9, lk + 1, lk + lq + 1, kLargest - 1, kLargest}));
  }
  if (c.chance(0.2)) {
    use.attributes.set("chunk", c.one_of({1, 2, 5, lk + 1, kLargest - 1, kLargest}));
  }
  if (c.chance(0.25)) use.attributes.set("soft_cap", c.one_of(std::vector<double>{0.2, 1, 30}));
  if (c.chance(0.25)) use.in[14] = c.uniform({h});
  if (c.chance(0.1)) {
    use.in[12] = Tensor::of<std::int64_t>({2}, {7, c.within(0, 1000)});
    use.attributes.set("dropout", 0.25);
    use.attributes.set("stream", std::int64_t{3});
  }
  if (c.chance(0.3)) {
    const std::int64_t rows = c.one_of({1, 2, 5}), parts = c.one_of({1, 2, 3});
    const std::int64_t columns = lk % parts == 0 ? parts : 1, keys = lk / columns;
    use.in[1] = c.uniform({rows, hkv, keys, d});
    use.in[2] = c.uniform({rows, hkv, keys, dv});
    if (columns == 1 && c.chance(0.5)) {
      use.in[13] = c.indices({b}, rows);
    } else {  // a table of blocks, whose rows without visible keys may be any number
      std::vector<std::int64_t> table;
      for (std::int64_t i = 0; i < b * columns; ++i) {
        const bool read =
            !use.in[10].defined() || i % columns * keys < integer_at(use.in[10], i / columns);
        table.push_back(read ? c.within(0, rows - 1) : c.one_of({-1, 0, rows, kLargest}));
      }
      use.in[13] = integers(c, table, true).reshape({b, columns});
    }
  }
  return use;
}

void check_use(const AttentionUse& use) {
  BOOST_TEST_CONTEXT(use_text("attention", use.in, use.attributes)) {
    check_attention(use.in, use.attributes, 2e-5);
    std::vector<Tensor> wide = use.in;
    for (Tensor& t : wide) {
      if (t.defined() && t.dtype() == DType::f32) t = t.to(DType::f64);
    }
    check_attention(wide, use.attributes, 1e-12);
  }
}

/// Returns the outputs of the op's definition (a composition of primitive ops), computed in double.
std::vector<Tensor> defined_outputs(std::string_view name, const std::vector<Tensor>& in,
                                    const Attributes& attributes) {
  Graph graph;
  Feed feed;
  std::vector<Value> inputs;
  for (const Tensor& t : in) {
    inputs.emplace_back();
    if (!t.defined()) continue;
    inputs.back() =
        graph.input(fmt::format("in{}", inputs.size()), ValueType{t.dtype(), Shape(t.sizes())});
    feed[inputs.back()] = t;
  }
  const Node& node = graph.apply(builtin_ops()->at(name), inputs, attributes);
  const auto values = builtin_rules().definition(name)(node, node.inputs(), graph);
  std::vector<Tensor> results;
  for (const Value& v : values) {
    results.push_back(v.defined() ? evaluate_graph({v}, feed)[0] : Tensor::zeros(DType::f64, {0}));
  }
  return results;
}

void check_definition(std::vector<Tensor> in, const Attributes& attributes) {
  for (Tensor& t : in) {
    if (t.defined() && t.dtype() == DType::f32) t = t.to(DType::f64);
  }
  const auto out = defined_outputs("attention", in, attributes);
  if (in.size() > 13 && in[13].defined()) {  // attention_grad has no kv_rows
    const auto r = reference_attention(in, attributes);
    check_close(out[0], r.out, 1e-12, "out");
    check_close(out[1], r.lse, 1e-12, "lse");
    return;
  }
  in.resize(16);
  const Tensor g = sample_uniform(out[0].sizes(), 21).to(DType::f64);
  const auto r = reference_attention(in, attributes, g);
  check_close(out[0], r.out, 1e-12, "out");
  check_close(out[1], r.lse, 1e-12, "lse");
  std::vector<Tensor> grad_in = {g, out[0], out[1]};
  grad_in.insert(grad_in.end(), in.begin(), in.begin() + 13);
  grad_in.resize(17);
  grad_in.push_back(in[14]);
  grad_in.push_back(in[15]);
  const auto grads = defined_outputs("attention_grad", grad_in, attributes);
  check_close(grads[0], r.dq, 1e-12, "dq");
  check_close(grads[1], r.dk, 1e-12, "dk");
  check_close(grads[2], r.dv, 1e-12, "dv");
  check_close(grads[3], r.dbias, 1e-12, "dbias");
  check_close(grads[4], r.doffset_bias, 1e-12, "doffset_bias");
  check_close(grads[5], r.drow_bias, 1e-12, "drow_bias");
  check_close(grads[6], r.dcol_bias, 1e-12, "dcol_bias");
  if (in[14].defined()) check_close(grads[7], r.dsinks, 1e-12, "dsinks");
}

/// Returns the offsets of random texts, of which some are empty.
Tensor text_offsets(Choices& c, std::int64_t tokens) {
  std::vector<std::int64_t> offsets = {0};
  while (offsets.back() < tokens) {
    const std::int64_t length = c.one_of({0, 1, 1, 2, 5, 9, 40, 70, 130, tokens});
    offsets.push_back(std::min(tokens, offsets.back() + length));
  }
  if (c.chance(0.3)) offsets.push_back(tokens);
  return integers(c, offsets, true);
}

/// Returns a random legal call with offsets.
AttentionUse random_texts(Choices& c, bool large) {
  AttentionUse use = random_use(c, large);
  const Tensor& rows = use.in[13];
  const std::int64_t columns = rows.defined() && rows.rank() == 2 ? rows.size(1) : 1;
  const std::int64_t tokens = use.in[2].size(2) * columns;
  const auto resize = [&](std::size_t i, std::size_t axis) {
    if (!use.in[i].defined()) return;
    Sizes sizes = use.in[i].sizes();
    if (sizes[axis] != 1 || i < 3 || i == 6) sizes[axis] = tokens;
    use.in[i] = use.in[i].dtype() == DType::boolean ? c.booleans(sizes, 0.3) : c.uniform(sizes);
  };
  for (const std::size_t i : {0, 3, 4, 6}) resize(i, 2);
  for (const std::size_t i : {3, 4}) resize(i, 3);
  for (const std::size_t i : {1, 2}) {
    Sizes sizes = use.in[i].sizes();
    sizes[0] = use.in[0].size(0);
    sizes[2] = tokens;
    use.in[i] = c.uniform(sizes);
  }
  for (const std::size_t i : {7, 9}) {
    if (use.in[i].defined()) use.in[i] = c.indices({tokens, tokens}, use.in[i - 1].size(3));
  }
  if (use.in[5].defined())
    use.in[5] = tokens > 0 ? c.uniform({use.in[0].size(1), 2 * tokens - 1}) : Tensor();
  for (const std::size_t i : {10, 11, 13}) use.in[i] = Tensor();
  use.in[15] = text_offsets(c, tokens);
  return use;
}

AttentionUse plain(std::int64_t lq, std::int64_t lk) {
  Choices c(5);
  AttentionUse use;
  use.in = {c.uniform({1, 2, lq, 8}), c.uniform({1, 2, lk, 8}), c.uniform({1, 2, lk, 5})};
  use.in.resize(13);
  use.attributes = {{"scale", 0.4}};
  return use;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(attention_twin)

BOOST_AUTO_TEST_CASE(random_calls_match_the_scalar_model) {
  for_random_cases(60, 1000, [](Choices& c) { check_use(random_use(c, false)); });
}

BOOST_AUTO_TEST_CASE(random_calls_with_several_blocks_match_the_scalar_model) {
  for_random_cases(5, 2000, [](Choices& c) { check_use(random_use(c, true)); });
}

BOOST_AUTO_TEST_CASE(random_calls_on_an_emulated_matrix_unit_match_the_scalar_model) {
  const kernels::ForcedBf16Unit forced(kernels::Bf16Unit::emulated_amx);
  for_random_seeds(30, 3000, [](Choices& c) {
    const AttentionUse use = random_use(c, false);
    BOOST_TEST_CONTEXT(use_text("attention", use.in, use.attributes))
    check_attention(use.in, use.attributes, 2e-5);
  });
}

// Second-order gradients use the definition, a composition of primitive ops, so the definition is
// checked separately.
BOOST_AUTO_TEST_CASE(op_definitions_match_the_scalar_model_for_random_calls) {
  for_random_seeds(60, 3500, [](Choices& c) {
    const AttentionUse use = random_use(c, false);
    BOOST_TEST_CONTEXT(use_text("attention", use.in, use.attributes)) {
      check_definition(use.in, use.attributes);
    }
  });
}

BOOST_AUTO_TEST_CASE(random_texts_without_padding_match_the_scalar_model) {
  for_random_cases(40, 5000, [](Choices& c) { check_use(random_texts(c, false)); });
  for_random_cases(6, 5500, [](Choices& c) { check_use(random_texts(c, true)); });
}

BOOST_AUTO_TEST_CASE(texts_on_an_emulated_matrix_unit_match_the_scalar_model) {
  const kernels::ForcedBf16Unit forced(kernels::Bf16Unit::emulated_amx);
  for_random_seeds(20, 6000, [](Choices& c) {
    const AttentionUse use = random_texts(c, false);
    BOOST_TEST_CONTEXT(use_text("attention", use.in, use.attributes))
    check_attention(use.in, use.attributes, 2e-5);
  });
}

BOOST_AUTO_TEST_CASE(the_definition_for_texts_without_padding_matches_the_scalar_model) {
  for_random_seeds(40, 6500, [](Choices& c) {
    const AttentionUse use = random_texts(c, false);
    BOOST_TEST_CONTEXT(use_text("attention", use.in, use.attributes)) {
      check_definition(use.in, use.attributes);
    }
  });
}

BOOST_AUTO_TEST_CASE(queries_beyond_all_keys_attend_to_keys_in_their_window) {
  for (const std::int64_t lq : {1, 3, 70}) {
    for (const std::int64_t start :
         {std::int64_t{0}, std::int64_t{3}, std::int64_t{50}, kLargest - 5, kLargest}) {
      for (const std::int64_t window : {std::int64_t{1}, std::int64_t{4}, kLargest - 4, kLargest}) {
        AttentionUse use = plain(lq, 7);
        use.in[11] = Tensor::of<std::int64_t>({1}, {start});
        use.attributes.set("window", window);
        BOOST_TEST_CONTEXT("start " << start << " window " << window) {
          check_use(use);
          check_definition(use.in, use.attributes);
        }
      }
    }
  }
  // Many more queries than keys, without a start position.
  AttentionUse use = plain(118, 3);
  use.attributes.set("window", std::int64_t{4});
  check_use(use);
}

BOOST_AUTO_TEST_CASE(chunks_at_extreme_positions_match_the_scalar_model) {
  for (const std::int64_t lq : {1, 3, 70}) {
    for (const std::int64_t start :
         {std::int64_t{0}, std::int64_t{5}, std::int64_t{50}, kLargest - 5, kLargest}) {
      for (const std::int64_t chunk : {std::int64_t{1}, std::int64_t{4}, kLargest - 4, kLargest}) {
        AttentionUse use = plain(lq, 7);
        use.in[11] = Tensor::of<std::int64_t>({1}, {start});
        use.attributes.set("chunk", chunk);
        BOOST_TEST_CONTEXT("start " << start << " chunk " << chunk) {
          check_use(use);
          check_definition(use.in, use.attributes);
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(start_positions_near_the_largest_integer_do_not_overflow) {
  AttentionUse use = plain(3, 5);
  use.attributes.set("causal", true);
  for (const std::int64_t start : {std::int64_t{3}, kLargest - 1, kLargest}) {
    use.in[11] = Tensor::of<std::int64_t>({1}, {start});
    BOOST_CHECK_EXCEPTION(evaluate_op(builtin_ops()->at("attention"), use.in, use.attributes),
                          DataError, [&](const DataError& e) {
                            return std::string(e.what()) ==
                                   fmt::format(
                                       "cache overflow: q_start[0] is {} and there "
                                       "are 3 queries, but the cache has room for only 5 keys",
                                       start);
                          });
  }
  use.attributes.set("causal", false);
  use.in[5] = Choices(1).uniform({2, 40});
  use.in[11] = Tensor::of<std::int64_t>({1}, {kLargest});
  BOOST_CHECK_EXCEPTION(
      evaluate_op(builtin_ops()->at("attention"), use.in, use.attributes), DataError,
      [](const DataError& e) {
        return std::string_view(e.what()).ends_with("requires 9223372036854775814");
      });
}

BOOST_AUTO_TEST_CASE(narrow_keys_and_values_match_the_scalar_model) {
  for_random_cases(25, 4000, [](Choices& c) {
    AttentionUse use = random_use(c, c.chance(0.1));
    for (const std::size_t i : {1, 2}) use.in[i] = use.in[i].to(DType::bf16);
    std::vector<Tensor> wide = use.in;
    for (const std::size_t i : {1, 2}) wide[i] = wide[i].to(DType::f32);
    const auto want = reference_attention(wide, use.attributes);
    BOOST_TEST_CONTEXT(use_text("attention_narrow", use.in, use.attributes)) {
      const auto got = evaluate_op(builtin_ops()->at("attention_narrow"), use.in, use.attributes);
      check_close(got[0], want.out, 2e-5, "out");
      check_close(got[1], want.lse, 2e-5, "lse");
    }
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace weft::testing
