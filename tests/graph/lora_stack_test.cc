// Adapters that each row of a batch chooses.
#include "weft/graph/weights/lora_stack.h"

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/graph/weights/quantize.h"
#include "weft/tests/samples/sample_data.h"
#include "weft/tests/support/messages.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(lora_stack)
namespace {

constexpr std::int64_t kVocab = 11, kWidth = 40, kInner = 24;

/// Two products of every token, in both layouts, and a tied head for the wanted tokens.
struct Net {
  Graph graph;
  std::shared_ptr<VariableStore> store = std::make_shared<VariableStore>();
  Program program{"slots"};

  Net() {
    const Value tokens = graph.input("tokens", DType::i64, {"rows", "new"});
    const VariableOptions normal{.initializer = Initializer::normal(0.5)};
    const Variable table = graph.variable("table", DType::f32, {kVocab, kWidth}, normal);
    const Variable up = graph.variable("up", DType::f32, {kWidth, kInner}, normal);
    const Variable down = graph.variable("down", DType::f32, {kWidth, kInner}, normal);
    const Value h = take(table, tokens, 0);
    const Value y = h + matmul(relu(matmul(h, up)), down, {.transpose_b = true});
    const Value wanted = graph.input("slot_wanted", DType::i64, {"results"});
    program.batch_invariant().output(
        "logits", matmul(take(flatten(y, 0, 1), wanted, 0), table, {.transpose_b = true}));
    Session(graph, store, {.seed = 3}).initialise();
  }
};

LoraAdapters::Adapter adapter(std::int64_t inputs, std::int64_t outputs, std::int64_t rank,
                              std::uint64_t seed) {
  return {sample_uniform({rank, inputs}, seed).to(DType::f32),
          sample_uniform({outputs, rank}, seed + 1).to(DType::f32),
          {}};
}

/// Three adapters of different matrices and ranks.
NamedAdapters three_adapters() {
  LoraAdapters first, second, third;
  first.scale = 0.7;
  first.adapters["up"] = adapter(kWidth, kInner, 3, 1);
  first.adapters["down"] = adapter(kInner, kWidth, 2, 3);
  first.lookups["table"] = adapter(kVocab, kWidth, 2, 13);
  second.scale = 2;
  second.adapters["up"] = adapter(kWidth, kInner, 8, 5);
  second.adapters["up"].scale = 0.25;
  second.adapters["table"] = adapter(kWidth, kVocab, 4, 7);
  third.scale = 1.5;
  third.adapters["down"] = adapter(kInner, kWidth, 1, 9);
  third.lookups["table"] = adapter(kVocab, kWidth, 5, 11);
  return {{"first", first}, {"second", second}, {"third", third}};
}

/// Runs texts of three tokens, which begin with the number of their row, and returns the logits
/// after their last and their second tokens.
class Runner {
 public:
  Runner(Graph& graph, std::shared_ptr<VariableStore> store, const Program& program)
      : session_(graph, std::move(store), {.seed = 5, .threads = 2}), program_(program) {}

  Tensor operator()(const std::vector<std::int64_t>& texts,
                    const std::vector<std::int64_t>& adapters = {}) {
    const std::int64_t rows = std::ssize(texts);
    std::vector<std::int64_t> ids;
    for (const std::int64_t text : texts) {
      for (const std::int64_t id : {text, text * 3 + 1, std::int64_t{7}})
        ids.push_back(id % kVocab);
    }
    std::vector<std::int64_t> wanted;
    for (std::int64_t row = 0; row < rows; ++row) wanted.push_back(row * 3 + 2);
    for (std::int64_t row = 0; row < rows; ++row) wanted.push_back(row * 3 + 1);
    NamedTensors feeds = {{"tokens", Tensor::of<std::int64_t>({rows, 3}, ids)},
                          {"slot_wanted", Tensor::of<std::int64_t>({2 * rows}, wanted)}};
    if (!adapters.empty())
      feeds.emplace_back(kAdaptersInput, Tensor::of<std::int64_t>({rows}, adapters));
    return session_.run(program_, feeds)["logits"];
  }

 private:
  Session session_;
  Program program_;
};

/// Returns both rows of logits of a text.
std::vector<float> row(const Tensor& logits, std::int64_t index) {
  std::vector<float> both;
  for (const std::int64_t at : {index, index + logits.size(0) / 2}) {
    const auto one = logits.span<float>().subspan(static_cast<std::size_t>(at * kVocab), kVocab);
    both.insert(both.end(), one.begin(), one.end());
  }
  return both;
}

void check_rows(const std::vector<Program>& programs, const VariableStore& store,
                const std::shared_ptr<VariableStore>& shared) {
  const NamedAdapters adapters = three_adapters();
  const AdaptedModel stacked = stack_lora(programs.front(), store, adapters);
  Runner run(*stacked.graph, stacked.store, stacked.programs.front());
  Runner base(*programs.front().graph(), shared, programs.front());
  const std::vector<std::int64_t> texts = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  const std::vector<std::int64_t> chosen = {2, 0, 1, 3, 0, 2, 2, 1, 3, 3, 2, 0};
  const Tensor together = run(texts, chosen), plain = base(texts);
  for (std::int64_t k = 0; k <= 3; ++k) {
    std::optional<AdaptedModel> only;
    if (k > 0) {
      TrainedAdapters trained;
      const LoraAdapters& values = adapters[static_cast<std::size_t>(k - 1)].second;
      trained.values = values;
      for (const auto& [name, one] : values.adapters)
        trained.options.shapes[name] = {one.a.size(0),
                                        values.scale_of(one) * static_cast<double>(one.a.size(0))};
      for (const auto& [name, one] : values.lookups)
        trained.options.lookups[name] = {one.a.size(0),
                                         values.scale_of(one) * static_cast<double>(one.a.size(0))};
      only = add_lora(programs, store, trained);
    }
    for (std::size_t i = 0; i < texts.size(); ++i) {
      if (chosen[i] != k) continue;
      BOOST_TEST_CONTEXT("text " << texts[i] << " with adapter " << k) {
        const std::vector<float> got = row(together, static_cast<std::int64_t>(i));
        // Alone and in a batch, whatever the others choose: the same bits.
        BOOST_TEST((row(run({texts[i]}, {k}), 0) == got));
        if (!only) {
          BOOST_TEST((row(plain, static_cast<std::int64_t>(i)) == got));
          continue;
        }
        BOOST_TEST((row(plain, static_cast<std::int64_t>(i)) != got));
        const std::vector<float> expected =
            row(Runner(*only->graph, only->store, only->programs.front())({texts[i]}), 0);
        for (std::size_t v = 0; v < got.size(); ++v)
          BOOST_TEST(std::abs(got[v] - expected[v]) < 1e-4F * (1 + std::abs(expected[v])));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(rows_choose_adapters_without_changing_other_rows) {
  Net net;
  check_rows({net.program}, *net.store, net.store);
}

BOOST_AUTO_TEST_CASE(rows_choose_adapters_of_quantised_matrices) {
  Net net;
  const QuantizedModel base = quantize({net.program}, *net.store,
                                       {.weights = WeightFormat::int8,
                                        .activations = ActivationFormat::int8,
                                        .patterns = {"up", "down"}});
  check_rows(base.programs, *base.store, base.store);
}

BOOST_AUTO_TEST_CASE(adapters_that_do_not_fit_are_rejected_by_name) {
  Net net;
  NamedAdapters adapters = three_adapters();
  adapters[1].second.adapters["sideways"] = adapter(4, 4, 1, 1);
  BOOST_CHECK_EXCEPTION(stack_lora(net.program, *net.store, adapters), ArgumentError,
                        testing::says("adapter second: there is an adapter for sideways, which is "
                                      "not a weight matrix of the model"));
  adapters = three_adapters();
  adapters[2].second.adapters["down"] = adapter(kWidth, kInner, 2, 1);
  BOOST_CHECK_EXCEPTION(
      stack_lora(net.program, *net.store, adapters), ArgumentError,
      testing::says(
          "adapter third: the adapter of down has A f32[2, 40] and B f32[24, 2]; a matrix "
          "with 24 inputs and 40 outputs needs f32[rank, 24] and f32[40, rank]"));
  Graph graph;
  Program other("other");
  other.output("y", matmul(graph.input("x", DType::f32, {"rows", 4}),
                           graph.variable("w", DType::f32, {4, 4})));
  BOOST_CHECK_EXCEPTION(stack_lora(other, *net.store, adapters), ArgumentError,
                        testing::says("the program 'other' has no input 'tokens'"));
}

BOOST_AUTO_TEST_CASE(numbers_of_adapters_that_do_not_exist_are_data_errors) {
  Net net;
  const AdaptedModel stacked = stack_lora(net.program, *net.store, three_adapters());
  Runner run(*stacked.graph, stacked.store, stacked.programs.front());
  BOOST_CHECK_THROW(run({1, 2}, {1, 5}), DataError);
  BOOST_CHECK_THROW(run({1, 2}, {-1, 1}), DataError);
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
