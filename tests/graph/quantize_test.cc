#include "weft/graph/weights/quantize.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <map>
#include <set>

#include "weft/graph/functions.h"
#include "weft/graph/passes/pipeline.h"
#include "weft/graph/run/session.h"
#include "weft/ops/kernels/gemm/bf16_split/choose.h"
#include "weft/tests/samples/sample_data.h"
#include "weft/tests/support/messages.h"

namespace weft {
namespace {

// A network whose embedding is tied to the output head. The two layers in between have one matrix
// in each layout.
struct TiedNet {
  Graph graph;
  std::shared_ptr<VariableStore> store = std::make_shared<VariableStore>();
  Value ids, logits;
  Variable table, in_out, out_in, bias;
  Program predict{"predict"};

  TiedNet() {
    ids = graph.input("ids", DType::i32, {"batch", "seq"});
    const VariableOptions normal{.initializer = Initializer::normal(0.5)};
    table = graph.variable("table", DType::f32, {50, 32}, normal);
    graph.alias("head", table);
    in_out = graph.variable("up.weight", DType::f32, {32, 72}, normal);
    bias = graph.variable("up.bias", DType::f32, {72}, normal);
    out_in = graph.variable("down.weight", DType::f32, {32, 72}, normal);
    const Value h = tanh(linear(take(table, ids, 0), in_out, bias, LinearLayout::in_out));
    logits = matmul(linear(h, out_in), table, {.transpose_b = true});
    predict.output("logits", logits);
    Session(graph, store, {.seed = 3}).initialise();
  }
};

std::set<std::string> ops_after_passes(const Program& program) {
  std::set<std::string> names;
  const Module module = run_passes(clone_program(program));
  for (const Node* node : module.program.nodes()) names.insert(node->op().name);
  return names;
}

Tensor logits(Graph& graph, const std::shared_ptr<VariableStore>& store, const Program& program,
              std::int64_t rows) {
  Session session(graph, store, {.threads = 2});
  return session.run(program, {{"ids", sample_indices({rows, 3}, 4, 50).to(DType::i32)}})["logits"];
}

double relative_error(const Tensor& actual, const Tensor& expected) {
  BOOST_REQUIRE((actual.sizes() == expected.sizes()));
  double error = 0, size = 0;
  for (std::int64_t i = 0; i < actual.numel(); ++i) {
    error += std::pow(actual.at(i) - expected.at(i), 2);
    size += std::pow(expected.at(i), 2);
  }
  return std::sqrt(error / size);
}

constexpr WeightFormat kWeightFormats[] = {WeightFormat::bf16, WeightFormat::int8,
                                           WeightFormat::int4, WeightFormat::q8_0};

template <class E, class F>
void check_message(const F& run, const std::string& part) {
  BOOST_CHECK_EXCEPTION(run(), E, testing::message_contains({part}));
}

BOOST_AUTO_TEST_SUITE(quantizing)

BOOST_AUTO_TEST_CASE(quantised_models_give_close_results_and_contain_no_float_matrix) {
  TiedNet net;
  const std::pair<WeightFormat, double> formats[] = {{WeightFormat::bf16, 0.01},
                                                     {WeightFormat::int8, 0.03},
                                                     {WeightFormat::q8_0, 0.03},
                                                     {WeightFormat::int4, 0.4}};
  for (const auto& [format, bound] : formats) {
    BOOST_TEST_CONTEXT(weight_format_name(format)) {
      const QuantizedModel model = quantize({net.predict}, *net.store, {.weights = format});
      BOOST_TEST(model.weights.size() == 3U);
      for (const std::int64_t rows : {1, 20}) {
        const double error =
            relative_error(logits(*model.graph, model.store, model.programs[0], rows),
                           logits(net.graph, net.store, net.predict, rows));
        BOOST_TEST(error < bound);
        BOOST_TEST(error > 0);
      }
      if (format == WeightFormat::bf16) continue;
      const auto ops = ops_after_passes(model.programs[0]);
      BOOST_TEST(!ops.contains("dequantize"));
      BOOST_TEST(!ops.contains("matmul"));
      BOOST_TEST(ops.contains("quantized_take"));
    }
  }
}

BOOST_AUTO_TEST_CASE(passes_change_only_the_order_of_sums) {
  TiedNet net;
  for (const WeightFormat format : kWeightFormats) {
    const QuantizedModel model = quantize({net.predict}, *net.store, {.weights = format});
    const Program& program = model.programs[0];
    const NamedTensors feeds = {{"ids", sample_indices({2, 3}, 4, 50).to(DType::i32)}};
    Session folded(*model.graph, model.store);
    Session plain(*model.graph, model.store, {.passes = false});
    BOOST_TEST(relative_error(folded.run(program, feeds)["logits"],
                              plain.run(program, feeds)["logits"]) < 1e-6);
  }
}

BOOST_AUTO_TEST_CASE(rows_of_bf16_tables_are_selected_before_they_are_widened) {
  TiedNet net;
  const QuantizedModel model =
      quantize({net.predict}, *net.store, {.weights = WeightFormat::bf16, .patterns = {"table"}});
  const Module module = run_passes(clone_program(model.programs[0]));
  for (const Node* node : module.program.nodes()) {
    if (node->op().name == "take") BOOST_TEST((node->type(0).dtype == DType::bf16));
  }
}

// A model with a key-value cache. The program `step` writes new rows into the cache, and `move`
// reorders its rows.
struct Caching {
  Graph graph;
  std::shared_ptr<VariableStore> store = std::make_shared<VariableStore>();
  Program step{"step"}, move{"move"};

  Caching() {
    const Value x = graph.input("x", DType::f32, {2, 2, 1, 4});
    const Value position = graph.input("position", DType::i64, {});
    const Value rows = graph.input("rows", DType::i64, {2});
    const Variable w =
        graph.variable("w", DType::f32, {4, 4}, {.initializer = Initializer::normal(0.5)});
    const Value zero = graph.scalar(DType::i64, 0);
    const Value at = stack({zero, zero, position, zero}, 0);
    Value all[2];
    for (const char* name : {"keys", "values"}) {
      const Variable cache = graph.variable(name, DType::f32, {2, 2, graph.dim("capacity"), 4},
                                            {.kind = VariableKind::cache});
      all[name == std::string("values")] = dynamic_update_slice(cache, x, at);
      step.update(cache, all[name == std::string("values")]);
      move.update(cache, take(cache, rows, 0));
    }
    const Value lengths = broadcast_to(position + 1, {2});
    step.output("y", matmul(attention(x, all[0], all[1], {.lengths = lengths}), w));
    Session(graph, store, {.seed = 3}).initialise();
  }
};

BOOST_AUTO_TEST_CASE(only_caches_are_narrowed) {
  Graph graph;
  const Value x = graph.input("x", DType::bf16, {2, 4});
  const Value more = graph.input("more", DType::f32, {1, 4});
  const Value at = graph.input("at", DType::i64, {2});
  const Variable w = graph.variable("w", DType::f32, {4, 4});
  const Value y = dynamic_update_slice(cast(x, DType::f32), more, at);
  const Program p = Program("p").output("y", y).output("z", matmul(y, w));
  const auto store = std::make_shared<VariableStore>();
  Session(graph, store).initialise();
  const QuantizedModel model =
      quantize({p}, *store, {.weights = WeightFormat::bf16, .caches = CacheFormat::bf16});
  Session session(*model.graph, model.store);
  const NamedTensors feeds = {{"x", Tensor::zeros(DType::bf16, {2, 4})},
                              {"more", Tensor::full(DType::f32, {1, 4}, 0.1)},
                              {"at", Tensor::of<std::int64_t>({2}, {1, 0})}};
  BOOST_TEST(session.run(model.programs[0], feeds)["y"].data<float>()[4] == 0.1f);
}

// Checks caches in `format`, which programs read through the op `widening`.
void check_narrow_caches(CacheFormat format, DType dtype, const char* widening, double most) {
  Caching net;
  const QuantizedModel model =
      quantize({net.step, net.move}, *net.store, {.weights = WeightFormat::bf16, .caches = format});
  BOOST_TEST(model.narrow_caches == 2U);
  for (const char* name : {"keys", "values"})
    BOOST_TEST((model.graph->find_variable(name).dtype() == dtype));
  BOOST_TEST(quantize({net.step}, *net.store).narrow_caches == 0U);
  // After the passes, no node widens a cache.
  for (const Program& program : model.programs) {
    const Module module = run_passes(clone_program(program));
    for (const Node* node : module.program.nodes()) {
      if (node->op().name == widening) BOOST_TEST((node->input(0).dtype() != dtype));
    }
  }
  BOOST_TEST(ops_after_passes(model.programs[0]).contains("attention_narrow"));

  const QuantizedModel wide =
      quantize({net.step, net.move}, *net.store, {.weights = WeightFormat::bf16});
  Session narrow(*model.graph, model.store), plain(*model.graph, model.store, {.passes = false});
  Session exact(*wide.graph, wide.store);
  const RunOptions capacity{.dims = {{"capacity", 6}}};
  for (std::int64_t position = 0; position < 6; ++position) {
    if (position == 3) {
      const NamedTensors rows = {{"rows", Tensor::of<std::int64_t>({2}, {1, 1})}};
      narrow.run(model.programs[1], rows), plain.run(model.programs[1], rows);
      exact.run(wide.programs[1], rows);
    }
    const NamedTensors feeds = {
        {"x", sample_uniform({2, 2, 1, 4}, static_cast<std::uint32_t>(position))},
        {"position", Tensor::scalar(DType::i64, static_cast<double>(position))}};
    const Tensor y = narrow.run(model.programs[0], feeds, capacity)["y"];
    BOOST_TEST(relative_error(y, plain.run(model.programs[0], feeds, capacity)["y"]) < 1e-6);
    const double error = relative_error(y, exact.run(wide.programs[0], feeds, capacity)["y"]);
    BOOST_TEST(error < most);
    BOOST_TEST(error > 0);
  }
}

BOOST_AUTO_TEST_CASE(caches_are_stored_and_read_as_bf16) {
  check_narrow_caches(CacheFormat::bf16, DType::bf16, "cast", 0.01);
}

BOOST_AUTO_TEST_CASE(caches_are_stored_and_read_as_rows_of_int8) {
  check_narrow_caches(CacheFormat::int8, DType::i8, "unpack_int8_rows", 0.02);
}

BOOST_AUTO_TEST_CASE(int8_caches_are_widened_if_parts_of_their_rows_are_read_or_written) {
  Graph graph;
  const Variable cache =
      graph.variable("cache", DType::f32, {3, 40}, {.kind = VariableKind::cache});
  const Variable w = graph.variable("w", DType::f32, {2, 4});
  const Value x = graph.input("x", DType::f32, {3, "columns"});
  const Value from = graph.input("from", DType::i64, {}), zero = graph.scalar(DType::i64, 0);
  const Value y = take(cache, graph.input("index", DType::i64, {2}), 1);
  const Program read = Program("read").output("y", y).output("z", matmul(y, w));
  const Program write =
      Program("write").update(cache, dynamic_update_slice(cache, x, stack({zero, from}, 0)));
  const auto store = std::make_shared<VariableStore>();
  Session(graph, store).initialise();
  const QuantizedModel model = quantize({read, write}, *store, {.caches = CacheFormat::int8});
  BOOST_TEST(model.narrow_caches == 1U);
  for (const bool passes : {true, false}) {
    Session session(*model.graph, model.store, {.passes = passes});
    const auto put = [&](const Tensor& values, double column) {
      session.run(model.programs[1], {{"x", values}, {"from", Tensor::scalar(DType::i64, column)}});
    };
    const Tensor whole = sample_uniform({3, 40}, 1), part = sample_uniform({3, 5}, 2);
    put(whole, 0);
    put(part, 30);
    const Tensor got =
        session.run(model.programs[0], {{"index", Tensor::of<std::int64_t>({2}, {39, 32})}})["y"];
    BOOST_TEST_REQUIRE((got.sizes() == Sizes{3, 2}));
    for (std::int64_t i = 0; i < 3; ++i) {
      BOOST_TEST(std::abs(got.at(2 * i) - whole.at(40 * i + 39)) < 0.01);
      BOOST_TEST(std::abs(got.at(2 * i + 1) - part.at(5 * i + 2)) < 0.01);
    }
  }
}

BOOST_AUTO_TEST_CASE(cache_formats_have_names) {
  for (const CacheFormat format : {CacheFormat::f32, CacheFormat::bf16, CacheFormat::int8})
    BOOST_TEST((parse_cache_format(cache_format_name(format)) == format));
  BOOST_CHECK_EXCEPTION(parse_cache_format("int4"), ArgumentError, [](const ArgumentError& e) {
    return std::string_view(e.what()).starts_with("unknown cache format 'int4'");
  });
}

BOOST_AUTO_TEST_CASE(bf16_matrices_have_one_row_per_output_and_are_multiplied_without_widening) {
  TiedNet net;
  const QuantizedModel model = quantize({net.predict}, *net.store, {.weights = WeightFormat::bf16});
  for (const char* name : {"up.weight", "down.weight", "table"}) {
    const Tensor before = net.store->tensor(name), after = model.store->tensor(name);
    const bool swapped = std::string(name) == "up.weight";
    BOOST_TEST((after.sizes() == (swapped ? Sizes{72, 32} : before.sizes())));
    for (std::int64_t i = 0; i < after.numel(); ++i) {
      const std::int64_t from = swapped ? i % 32 * 72 + i / 32 : i;
      BOOST_REQUIRE_EQUAL(after.at(i), to_float(to_bfloat16(before.data<float>()[from])));
    }
  }
  const auto ops = ops_after_passes(model.programs[0]);
  BOOST_TEST(!ops.contains("permute"));
}

BOOST_AUTO_TEST_CASE(names_kinds_and_aliases_are_preserved) {
  TiedNet net;
  const QuantizedModel model =
      quantize({net.predict}, *net.store, {.weights = WeightFormat::int4, .patterns = {"t*"}});
  Graph& g = *model.graph;
  BOOST_TEST(!g.has_variable("table"));
  BOOST_TEST((g.find_variable("head.q") == g.find_variable("table.q")));
  BOOST_TEST((g.find_variable("head.scale") == g.find_variable("table.scale")));
  BOOST_TEST(!g.find_variable("table.q").info().trainable);
  BOOST_TEST((g.find_variable("up.weight").dtype() == DType::f32));
  // Unchanged variables share their memory with the original; converted variables report their
  // sizes.
  BOOST_TEST(model.store->tensor("up.bias").raw() == net.store->tensor("up.bias").raw());
  BOOST_REQUIRE(model.weights.size() == 1U);
  BOOST_TEST(model.weights[0].name == "table");
  BOOST_TEST(model.weights[0].type == "f32[50, 32]");
  BOOST_TEST(model.weights[0].bytes_before == 50U * 32 * 4);
  BOOST_TEST(model.weights[0].bytes_after == 64U * (16 + 2));
}

BOOST_AUTO_TEST_CASE(matrices_with_unsupported_uses_are_not_quantised) {
  Graph g;
  const Value x = g.input("x", DType::f32, {2, 8});
  const Variable both = g.variable("both", DType::f32, {8, 8});
  const Variable added = g.variable("added", DType::f32, {8, 8});
  const Variable plain = g.variable("plain", DType::f32, {8, 8});
  Program p("p");
  p.output("y", matmul(matmul(x, both), both, {.transpose_b = true}) + matmul(x, added + 1) +
                    matmul(x, plain));
  auto store = std::make_shared<VariableStore>();
  Session(g, store).initialise();
  const QuantizedModel model = quantize({p}, *store);
  BOOST_REQUIRE(model.weights.size() == 1U);
  BOOST_TEST(model.weights[0].name == "plain");
}

BOOST_AUTO_TEST_CASE(products_keep_their_own_precision) {
  const kernels::ForcedBf16Unit forced(kernels::Bf16Unit::emulated_amx);
  Graph g;
  const Variable w =
      g.variable("w", DType::f32, {70, 40}, {.initializer = Initializer::normal(0.3)});
  const Value x = g.input("x", DType::f32, {33, 70});
  const MatmulOptions precise{.precision = Precision::highest};
  const Program p = Program("p")
                        .output("exact", matmul(x, w, precise))
                        .output("fused", relu(matmul(-x, w, precise)))
                        .output("usual", matmul(x, w));
  auto store = std::make_shared<VariableStore>();
  Session(g, store, {.seed = 3}).initialise();
  const QuantizedModel model = quantize({p}, *store, {.weights = WeightFormat::int8});
  const auto run = [&](Precision precision) {
    return Session(*model.graph, model.store, {.precision = precision})
        .run(model.programs[0], {{"x", sample_uniform({33, 70}, 5)}});
  };
  const Results medium = run(Precision::medium), highest = run(Precision::highest);
  for (const char* name : {"exact", "fused"})
    BOOST_TEST(bitwise_equal(medium[name], highest[name]), name);
  BOOST_TEST(!bitwise_equal(medium["usual"], highest["usual"]));
}

BOOST_AUTO_TEST_CASE(a_graph_lists_its_quantised_weights) {
  TiedNet net;
  BOOST_TEST(quantized_weights(net.graph).empty());
  for (const WeightFormat format : kWeightFormats) {
    const QuantizedModel model = quantize({net.predict}, *net.store, {.weights = format});
    const QuantizedWeights weights = quantized_weights(*model.graph);
    BOOST_TEST(weights.size() == 3U);
    for (const char* name : {"table", "up.weight", "down.weight"}) {
      const QuantizedWeight& weight = weights.at(name);
      BOOST_TEST((weight.format == format));
      if (format != WeightFormat::bf16)
        BOOST_TEST((weight_format(*quantized_format(format)) == format));
      BOOST_TEST((weight.shape() == net.graph.find_variable(name).shape()));
      BOOST_TEST(weight.out_in == (name != std::string("up.weight")));
      for (const std::string& kept : stored_names(name, format))
        BOOST_TEST(model.store->contains(kept));
    }
  }
}

BOOST_AUTO_TEST_CASE(dequantised_matrices_requantise_to_the_same_bits) {
  TiedNet net;
  for (const WeightFormat format : {WeightFormat::bf16, WeightFormat::int8, WeightFormat::q8_0}) {
    const QuantizedModel model = quantize({net.predict}, *net.store, {.weights = format});
    const QuantizedModel floats = dequantize(model.programs, *model.store);
    BOOST_TEST(quantized_weights(*floats.graph).empty());
    BOOST_TEST((floats.graph->find_variable("head") == floats.graph->find_variable("table")));
    BOOST_REQUIRE(floats.weights.size() == 3U);
    BOOST_TEST(floats.weights[0].name == "table");
    BOOST_TEST(floats.weights[0].type == weight_format_name(format));
    BOOST_TEST(floats.weights[0].bytes_after == 50U * 32 * 4);
    for (const std::string& name : net.store->names()) {
      const Tensor before = net.store->tensor(name), after = floats.store->tensor(name);
      BOOST_REQUIRE((after.sizes() == before.sizes()));
      BOOST_TEST(relative_error(after, before) < 0.02);
    }
    BOOST_TEST(relative_error(logits(*floats.graph, floats.store, floats.programs[0], 20),
                              logits(*model.graph, model.store, model.programs[0], 20)) < 1e-6);
    const QuantizedModel again = quantize(floats.programs, *floats.store, {.weights = format});
    for (const std::string& name : stored_names("up.weight", format))
      BOOST_TEST(bitwise_equal(again.store->tensor(name), model.store->tensor(name)));
  }
}

BOOST_AUTO_TEST_CASE(programs_can_use_stored_quantised_weights_without_float_values) {
  TiedNet net;
  const QuantizedModel model = quantize({net.predict}, *net.store, {.weights = WeightFormat::int4});
  const RewrittenPrograms made = with_quantized({net.predict}, quantized_weights(*model.graph));
  // The programs read the stored values of the quantised model.
  BOOST_TEST(bitwise_equal(logits(*made.graph, model.store, made.programs[0], 4),
                           logits(*model.graph, model.store, model.programs[0], 4)));
  check_message<ArgumentError>(
      [&] {
        with_quantized({net.predict}, {{"side", {}}});
      },
      "no parameter side");
  check_message<ArgumentError>(
      [&] {
        with_quantized({net.predict}, {{"table", {WeightFormat::int8, 32, 49, true}}});
      },
      "table is f32[50, 32]: int8[49, 32] cannot replace it");
}

BOOST_AUTO_TEST_CASE(inputs_of_products_are_rounded_and_lookups_are_not) {
  TiedNet net;
  for (const WeightFormat format : {WeightFormat::int8, WeightFormat::int4, WeightFormat::q8_0}) {
    BOOST_TEST_CONTEXT(weight_format_name(format)) {
      const QuantizedModel floats = quantize({net.predict}, *net.store, {.weights = format});
      const QuantizedModel model = quantize({net.predict}, *net.store,
                                            {.weights = format,
                                             .activations = ActivationFormat::int8,
                                             .activation_scales = {{"down.weight", 0.0078125F}}});
      std::size_t rounded = 0;
      for (const Node* node : model.programs[0].nodes()) {
        if (node->op().name == "matmul")
          BOOST_TEST(node->input(0).node().op().name == "fake_quantize");
        rounded += node->op().name == "fake_quantize" ? 1 : 0;
        if (node->op().name == "take") BOOST_TEST(node->input(0).node().op().name == "dequantize");
      }
      BOOST_TEST(rounded == 3U);
      for (const auto& [name, weight] : quantized_weights(*model.graph)) {
        BOOST_TEST((weight.activations == ActivationFormat::int8), name);
        BOOST_TEST(weight.activation_scale == (name == "down.weight" ? 0.0078125F : 0), name);
      }
      BOOST_TEST(count_rounded_inputs(quantized_weights(*floats.graph)) == 0U);
      const double error =
          relative_error(logits(*model.graph, model.store, model.programs[0], 20),
                         logits(*floats.graph, floats.store, floats.programs[0], 20));
      BOOST_TEST(error < 0.02);
      BOOST_TEST(error > 1e-4);
      // The weights are those of the model with float inputs.
      for (const std::string& name : stored_names("up.weight", format))
        BOOST_TEST(bitwise_equal(model.store->tensor(name), floats.store->tensor(name)));
      // Dequantised matrices read float inputs again.
      const QuantizedModel wide = dequantize(model.programs, *model.store, {"*.weight"});
      std::map<std::string, std::size_t> count;
      for (const Node* node : wide.programs[0].nodes()) ++count[node->op().name];
      BOOST_TEST(count["fake_quantize"] == 1U);
      BOOST_TEST(count["matmul"] == 3U);
      // Another model takes over the formats with their scales.
      const RewrittenPrograms made = with_quantized({net.predict}, quantized_weights(*model.graph));
      BOOST_TEST(bitwise_equal(logits(*made.graph, model.store, made.programs[0], 4),
                               logits(*model.graph, model.store, model.programs[0], 4)));
    }
  }
}

BOOST_AUTO_TEST_CASE(matrices_can_be_kept_in_bf16) {
  TiedNet net;
  const QuantizedModel model = quantize({net.predict}, *net.store,
                                        {.weights = WeightFormat::int4, .keep = {"up.*", "table"}});
  for (const ConvertedWeight& converted : model.weights) {
    const bool kept = converted.name != "down.weight";
    BOOST_TEST((converted.weight.format == (kept ? WeightFormat::bf16 : WeightFormat::int4)));
    BOOST_TEST(
        (quantized_weights(*model.graph).at(converted.name).format == converted.weight.format));
    if (kept) BOOST_TEST(converted.bytes_after * 2 == converted.bytes_before);
  }
  check_message<ArgumentError>(
      [&] { quantize({net.predict}, *net.store, {.keep = {"side"}}); },
      "pattern 'side' matches no matrix that can be kept in bf16; the candidates are: table, "
      "up.weight, down.weight");
}

BOOST_AUTO_TEST_CASE(invalid_activation_formats_are_rejected) {
  TiedNet net;
  using Options = QuantizeOptions;
  constexpr ActivationFormat kInt8 = ActivationFormat::int8;
  const std::pair<Options, std::string> cases[] = {
      {{.weights = WeightFormat::bf16, .activations = kInt8},
       "bf16 weights cannot be combined with int8 activations"},
      {{.activation_scales = {{"table", 1}}},
       "static scales of activations require the activation format int8"},
      {{.activations = kInt8, .activation_scales = {{"side", 1}}},
       "there is a static scale for side, which does not exist: use the names of matrices"},
      {{.activations = kInt8, .activation_scales = {{"table", 0}}},
       "the static scale of table must be in [2^-100, 2^100], not 0"},
      {{.activations = kInt8, .activation_scales = {{"table", 0x1p-101F}}},
       "the static scale of table must be in [2^-100, 2^100], not 3.9443"},
      {{.activations = kInt8, .activation_scales = {{"table", 0x1p101F}}},
       "the static scale of table must be in [2^-100, 2^100], not 2.5353"}};
  for (const auto& [options, message] : cases) {
    check_message<ArgumentError>(
        [&, &options = options] { quantize({net.predict}, *net.store, options); }, message);
  }
  const QuantizedWeights narrow = {
      {"table", {WeightFormat::bf16, 32, 50, true, 0, ActivationFormat::int8}}};
  check_message<ArgumentError>(
      [&] { with_quantized({net.predict}, narrow); },
      "table is bf16: only inputs of int8, q8_0 and int4 matrices can be rounded to int8");
  check_message<ArgumentError>([&] { parse_activation_format("int4"); },
                               "unknown activation format 'int4'");
}

BOOST_AUTO_TEST_CASE(invalid_requests_are_rejected) {
  TiedNet net;
  check_message<ArgumentError>([&] { dequantize({net.predict}, *net.store); },
                               "read no quantised weights");
  const Value step = net.table.value() * 0.5;
  const Program train = Program("train").output("logits", net.logits).update(net.table, step);
  check_message<ArgumentError>(
      [&] {
        quantize({net.predict, train}, *net.store, {.weights = WeightFormat::int4});
      },
      "program 'train' updates table: trained weights cannot be int4");
  BOOST_TEST(quantize({train}, *net.store, {.patterns = {"up.*"}}).weights.size() == 1U);
  check_message<ArgumentError>(
      [&] { quantize({net.predict}, *net.store, {.patterns = {"*.bias"}}); },
      "pattern '*.bias' matches no matrix that can be converted; the candidates are: table, "
      "up.weight, down.weight");
  check_message<ArgumentError>([&] { quantize({Program("p")}, *net.store); }, "no programs");
  check_message<ArgumentError>(
      [&] { parse_weight_format("int2"); },
      "unknown weight format 'int2' (did you mean 'int8'?); available: bf16, int8, q8_0, int4");
  Tensor bad = net.store->tensor("up.weight").clone();
  bad.mutable_data<float>()[7] = NAN;
  net.store->set("up.weight", bad);
  check_message<DataError>([&] { quantize({net.predict}, *net.store); },
                           "up.weight: weight [0, 7] is nan");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
