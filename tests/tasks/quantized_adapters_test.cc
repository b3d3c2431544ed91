// Adapters on quantised weights: `weft quantize`, `weft train --from --lora-rank`, `weft merge`.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>

#include "weft/models/tasks/quantize_model.h"
#include "weft/models/tasks/tasks.h"
#include "weft/models/training/lora_file.h"
#include "weft/tests/support/messages.h"
#include "weft/tests/support/program_shell.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(quantized_adapters)
namespace {

/// A shell with a small language model, base.weft, and helpers for quantisation, training and
/// evaluation.
class QuantizedShell {
 public:
  QuantizedShell() {
    run("train gpt --layers 2 --heads 2 --width 32 --context 16 --batch 8 --steps 20 --lr 0.01 "
        "--warmup 2 --seed 4 --threads 1 --text " +
        path("text.txt") + " --out " + path("base.weft"));
  }
  std::string path(const std::string& name) const { return shell_.path(name); }
  Outcome operator()(const std::string& arguments) const { return shell_(arguments); }
  /// Runs a command that must succeed and returns its output.
  std::string run(const std::string& arguments) const {
    const Outcome outcome = shell_(arguments);
    BOOST_TEST_CONTEXT(arguments << "\n" << outcome.out << outcome.err) {
      BOOST_REQUIRE(outcome.code == 0);
    }
    return outcome.out;
  }
  void quantize(const std::string& options) const {
    run("quantize " + path("base.weft") + " --force --out " + path("small.weft") + " " + options);
  }
  std::string training(const std::string& from, const std::string& out, int steps = 40) const {
    return "train gpt --steps " + std::to_string(steps) +
           " --warmup 2 --lr 0.02 --batch 8 --eval-every 20 --seed 5 "
           "--threads 1 --text " +
           path("text.txt") + " --from " + path(from) + " --out " + path(out);
  }
  double loss(const std::string& file) const {
    const std::string out = run("evaluate " + path(file) + " --text " + path("text.txt"));
    return std::strtod(out.c_str() + out.find("loss ") + 5, nullptr);
  }

 private:
  Shell shell_;
};

/// Checks that the quantised matrices in `tuned` equal those in `base`, and that the file contains
/// no float copies of them.
void check_quantised_weights_unchanged(const std::string& base, const std::string& tuned) {
  const Checkpoint small = load_checkpoint(base), file = load_checkpoint(tuned);
  const QuantizedWeights weights = quantized_weights(small.graph());
  BOOST_TEST(weights.size() > 5U);
  BOOST_TEST((quantized_weights(file.graph()).size() == weights.size()));
  for (const auto& [name, weight] : weights) {
    for (const std::string& kept : stored_names(name, weight.format))
      BOOST_TEST(bitwise_equal(file.tensors().at(kept), small.tensors().at(kept)), kept);
    if (weight.format != WeightFormat::bf16) BOOST_TEST(!file.tensors().contains(name));
  }
  // Apart from these matrices, the file contains only the adapters, with two moments each, and
  // counters.
  std::size_t adapters = 0, rest = 0;
  for (const auto& [name, tensor] : file.tensors()) {
    const bool adapter = name.find(".lora_") != std::string::npos;
    if (adapter) adapters += tensor.bytes();
    if (!adapter && !small.tensors().contains(name)) rest += tensor.bytes();
  }
  BOOST_TEST(adapters > 0U);
  BOOST_TEST(rest < 256U);
}

BOOST_AUTO_TEST_CASE(adapters_are_trained_on_frozen_weights_in_any_format) {
  const QuantizedShell weft;
  for (const std::string format : {"int8", "int4", "q8_0", "bf16"}) {
    BOOST_TEST_CONTEXT(format) {
      weft.quantize("--weights " + format + (format == "int4" ? " --caches bf16" : ""));
      const std::string output =
          weft.run(weft.training("small.weft", "tuned.weft") + " --force --lora-rank 4");
      BOOST_TEST(contains(output, "on quantised weights"));
      BOOST_TEST(weft.loss("tuned.weft") < weft.loss("small.weft") - 0.05);
      check_quantised_weights_unchanged(weft.path("small.weft"), weft.path("tuned.weft"));
      const Outcome text =
          weft("generate " + weft.path("tuned.weft") + " --prompt all --tokens 8 --seed 1");
      BOOST_TEST(text.code == 0, text.err);
      const LoraAdapters adapters = load_lora(weft.path("tuned.lora.safetensors"));
      BOOST_TEST(adapters.quantized.size() == adapters.adapters.size());
      for (const auto& [name, kept] : adapters.quantized)
        BOOST_TEST(weight_format_name(kept) == format, name);
    }
  }
}

BOOST_AUTO_TEST_CASE(quantising_a_model_with_adapters_keeps_the_adapters) {
  const QuantizedShell weft;
  weft.run(weft.training("base.weft", "tuned.weft") + " --lora-rank 4");
  const std::string quantize =
      "quantize " + weft.path("tuned.weft") + " --out " + weft.path("small.weft");
  weft.run(quantize + " --weights int8");
  const LoraAdapters adapters = load_lora(weft.path("tuned.lora.safetensors"));
  const Checkpoint small = load_checkpoint(weft.path("small.weft"));
  const QuantizedWeights weights = quantized_weights(small.graph());
  BOOST_TEST(weights.size() >= adapters.adapters.size());
  for (const auto& [name, adapter] : adapters.adapters) {
    BOOST_TEST(weights.contains(name), name);
    BOOST_TEST(bitwise_equal(small.tensors().at(name + ".lora_a"), adapter.a), name);
    BOOST_TEST(bitwise_equal(small.tensors().at(name + ".lora_b"), adapter.b), name);
  }
  BOOST_TEST(std::abs(weft.loss("small.weft") - weft.loss("tuned.weft")) < 0.01);
  check_error(weft(quantize + " --force --only '*.lora_a'"), 1,
              "pattern '*.lora_a' matches no matrix that can be converted");
}

BOOST_AUTO_TEST_CASE(a_resumed_adapter_run_on_quantised_weights_is_bit_exact) {
  const QuantizedShell weft;
  weft.quantize("--weights int4 --caches bf16");
  const std::string dropout = " --lora-rank 2 --lora-dropout 0.2";
  weft.run(weft.training("small.weft", "whole.weft", 12) + dropout);
  weft.run(weft.training("small.weft", "half.weft", 12) + dropout + " --stop-after 5");
  weft.run("train gpt --threads 1 --text " + weft.path("text.txt") + " --resume " +
           weft.path("half.weft"));
  const auto whole = load_any_model(weft.path("whole.weft")).model,
             half = load_any_model(weft.path("half.weft")).model;
  BOOST_TEST(whole->can_train());
  BOOST_TEST(whole->history.train == half->history.train);
  for (const auto& [name, tensor] : whole->store->snapshot())
    BOOST_TEST(bitwise_equal(tensor, half->store->tensor(name)), name);
  // The caches are still bfloat16.
  for (const Variable& v : whole->graph->variables())
    BOOST_TEST((v.info().kind != VariableKind::cache || v.dtype() == DType::bf16), v.name());
}

BOOST_AUTO_TEST_CASE(adapters_on_quantised_weights_are_merged_into_float_weights) {
  const QuantizedShell weft;
  weft.quantize("--weights int8");
  weft.run(weft.training("small.weft", "tuned.weft") + " --lora-rank 4");
  const std::string merge = " --adapters " + weft.path("tuned.lora.safetensors") + " --out ";
  const double tuned = weft.loss("tuned.weft");
  weft.run("merge " + weft.path("base.weft") + merge + weft.path("floats.weft"));
  BOOST_TEST(std::abs(weft.loss("floats.weft") - tuned) < 0.05);
  BOOST_TEST(load_any_model(weft.path("floats.weft")).model->can_train());
  // Merging the adapters into the quantised model converts its weights back to floats and does not
  // change the loss.
  const std::string output =
      weft.run("merge " + weft.path("small.weft") + merge + weft.path("wide.weft"));
  BOOST_TEST(contains(output, "quantised matrices are now f32"));
  BOOST_TEST(std::abs(weft.loss("wide.weft") - tuned) < 2e-5);
  const auto wide = load_any_model(weft.path("wide.weft")).model;
  BOOST_TEST(!is_quantized(*wide->graph));
  BOOST_TEST(!wide->can_train());
  weft.run(weft.training("wide.weft", "more.weft", 3));
  weft.run("quantize " + weft.path("wide.weft") + " --out " + weft.path("again.weft"));

  check_error(weft("merge " + weft.path("tuned.weft") + merge + weft.path("x.weft")), 1,
              "has unmerged adapters");
  weft.quantize("--weights int4");
  check_error(weft("merge " + weft.path("small.weft") + merge + weft.path("x.weft")), 1,
              "were not trained on the weights");
  weft.run(weft.training("base.weft", "plain.weft", 3) + " --lora-rank 2");
  check_error(weft("merge " + weft.path("small.weft") + " --adapters " +
                   weft.path("plain.lora.safetensors") + " --out " + weft.path("x.weft")),
              1, "merge the adapters into the file from which");
}

BOOST_AUTO_TEST_CASE(errors_for_untrainable_models_suggest_adapters) {
  const QuantizedShell weft;
  weft.quantize("--weights int8 --only '*mlp*'");
  check_error(weft(weft.training("small.weft", "x.weft")), 2, "or train adapters (--lora-rank)");
  check_error(weft("train gpt --text " + weft.path("text.txt") + " --resume " +
                   weft.path("small.weft") + " --out " + weft.path("x.weft")),
              2, "(--from with --lora-rank trains adapters on top of them)");
  // Only some matrices of this model are quantised.
  weft.run(weft.training("small.weft", "mixed.weft", 3) + " --lora-rank 2");
  const LoraAdapters adapters = load_lora(weft.path("mixed.lora.safetensors"));
  BOOST_TEST(!adapters.quantized.empty());
  BOOST_TEST(adapters.quantized.size() < adapters.adapters.size());
  // A reinitialised matrix is stored as floats and trained without an adapter.
  weft.run(weft.training("small.weft", "anew.weft", 3) + " --lora-rank 2 --reinit '*.1.mlp*'");
  const auto reinitialised = load_any_model(weft.path("anew.weft")).model;
  std::size_t floats = 0;
  for (const Variable& v : reinitialised->graph->parameters())
    floats += v.name().find(".lora_") == std::string::npos ? 1 : 0;
  BOOST_TEST(floats > 1U);
}

BOOST_AUTO_TEST_CASE(adapters_are_trained_on_files_quantised_by_earlier_versions) {
  const Shell weft;
  const std::string files = std::string(WEFT_FIXTURES) + "/weft_files/";
  const Outcome outcome =
      weft("train gpt --steps 3 --warmup 1 --threads 1 --lora-rank 2 --text " + files +
           "data/text.txt --from " + files + "gpt-int4.weft --out " + weft.path("tuned.weft"));
  BOOST_TEST(outcome.code == 0, outcome.err);
  check_quantised_weights_unchanged(files + "gpt-int4.weft", weft.path("tuned.weft"));
}

BOOST_AUTO_TEST_CASE(adapters_read_inputs_before_they_are_rounded) {
  const QuantizedShell weft;
  weft.quantize("--weights int8 --activations int8");
  weft.run(weft.training("small.weft", "tuned.weft") + " --lora-rank 4");
  BOOST_TEST(weft.loss("tuned.weft") < weft.loss("small.weft") - 0.05);
  check_quantised_weights_unchanged(weft.path("small.weft"), weft.path("tuned.weft"));
  const auto tuned = load_any_model(weft.path("tuned.weft")).model;
  const QuantizedWeights weights = quantized_weights(*tuned->graph);
  BOOST_TEST(count_rounded_inputs(weights) > 5U);
  std::size_t adapters = 0;
  for (const Program& program : tuned->all_programs()) {
    for (const Node* node : program.nodes()) {
      if (node->op().name != "matmul" || node->input(1).node().op().name != "variable") continue;
      const std::string& name = Variable(node->input(1)).name();
      if (!name.ends_with(".lora_a")) continue;
      ++adapters;
      BOOST_TEST((node->input(0).node().op().name != "fake_quantize"), name);
    }
  }
  BOOST_TEST(adapters > 5U);
  // Merged weights are floats with float inputs.
  weft.run("merge " + weft.path("small.weft") + " --adapters " +
           weft.path("tuned.lora.safetensors") + " --out " + weft.path("wide.weft"));
  BOOST_TEST(std::abs(weft.loss("wide.weft") - weft.loss("tuned.weft")) < 0.01);
  const auto wide = load_any_model(weft.path("wide.weft")).model;
  for (const Program& program : wide->all_programs()) {
    for (const Node* node : program.nodes()) BOOST_TEST(node->op().name != "fake_quantize");
  }
}

BOOST_AUTO_TEST_CASE(the_fewest_matrices_with_the_largest_effect_are_kept_in_bf16) {
  const auto model = load_any_model({std::string(WEFT_FIXTURES) + "/weft_files/gpt.weft"}).model;
  int calls = 0;
  std::map<std::string, double> increase;
  // The loss increases by a given value per matrix that is not bf16.
  const MeasureModel measure = [&](const TrainedModel& measured) {
    ++calls;
    double loss = 1;
    for (const auto& [name, weight] : quantized_weights(*measured.graph))
      loss += weight.format == WeightFormat::bf16 ? 0 : increase[name];
    return Evaluation{loss, {}};
  };
  const auto quantized = [&](double bound) {
    return quantize_model(
        *model, {.weights = {.weights = WeightFormat::int4}, .max_loss_increase = bound}, measure);
  };
  const QuantizedTrainedModel all = quantized(1);
  const std::size_t count = all.report.matrices.size();
  BOOST_TEST_REQUIRE(count > 5U);
  BOOST_TEST(calls == 2);
  BOOST_TEST(*all.report.loss_before == 1);
  for (std::size_t i = 0; i < count; ++i)
    increase[all.report.matrices[i].name] = 0.01 * static_cast<double>(i + 1);
  // The bound allows `few` matrices in int4.
  double bound = 0.005;
  for (std::size_t few = 0; few < 5; ++few, bound += 0.01 * static_cast<double>(few)) {
    const QuantizedTrainedModel some = quantized(bound);
    for (std::size_t i = 0; i < count; ++i) {
      const MatrixReport& matrix = some.report.matrices[i];
      BOOST_TEST((matrix.weights == (i < few ? WeightFormat::int4 : WeightFormat::bf16)),
                 matrix.name);
    }
    BOOST_TEST(std::abs(*some.report.loss_after - (1 + bound - 0.005)) < 1e-9);
  }
  BOOST_CHECK_EXCEPTION(
      quantize_model(*model, {.max_loss_increase = -1}, measure), ArgumentError,
      testing::message_contains({"the bound on the increase of the loss must be finite"}));
  BOOST_CHECK_EXCEPTION(quantize_model(*model, {.max_loss_increase = 1}), ArgumentError,
                        testing::message_contains({"bounds on the loss require calibration data"}));
  BOOST_CHECK_EXCEPTION(quantize_model(*model, {.static_scales = true}, measure), ArgumentError,
                        testing::message_contains({"require the activation format int8"}));
  const MeasureModel worse = [](const TrainedModel& measured) {
    return Evaluation{is_quantized(*measured.graph) ? 2.0 : 1.0, {}};
  };
  BOOST_CHECK_EXCEPTION(
      quantize_model(*model, {.max_loss_increase = 0.5}, worse), DataError,
      testing::message_contains({"increases from 1.00000 to 2.00000 even if all"}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
