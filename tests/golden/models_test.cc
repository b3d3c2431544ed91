// Complete models with reference weights: outputs, hidden states (fetched by name), the loss and
// all gradients match the reference. Training runs of ten steps match it too.
#include <fmt/core.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <fstream>
#include <optional>
#include <set>

#include "golden_folder.h"
#include "weft/autodiff/gradients.h"
#include "weft/autodiff/optimizers/optimizers.h"
#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/models/hf/folder.h"
#include "weft/ops/kernels/gemm/bf16_split/choose.h"

namespace weft::golden {
namespace {

using nlohmann::json;
using Tensors = std::map<std::string, Tensor>;
namespace fs = std::filesystem;

// Collects the largest error and a description of all differences.
struct Comparison {
  double worst = 0;
  std::string problem;

  void add(const std::string& what, double error, double tolerance) {
    worst = std::max(worst, error);
    if (!(error <= tolerance)) {
      problem += fmt::format("{} error={:.3g} tolerance={:.3g}; ", what, error, tolerance);
    }
  }
};

void load_weights(Session& session, Graph& graph, const hf::Model& model, const Tensors& weights) {
  const TensorMap tensors(weights.begin(), weights.end());
  for (const auto& [variable, tensor] : hf::match_weights(model, graph, tensors, "the case"))
    session.set_value(variable.name(), tensor);
}

std::string read_text(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Returns the tensors whose names start with `prefix`, which is removed from the names.
NamedTensors feeds_of(const Tensors& tensors, const std::string& prefix = "") {
  NamedTensors feeds;
  for (const auto& [name, tensor] : tensors) {
    if (name.starts_with(prefix)) feeds.emplace_back(name.substr(prefix.size()), tensor);
  }
  return feeds;
}

hf::Model build(Graph& graph, const fs::path& folder, const json& description,
                const NamedTensors& feeds) {
  const TensorMap tensors(feeds.begin(), feeds.end());
  return hf::build_model(graph, read_text(folder / "config.json"), hf::input_types(tensors),
                         description.at("class"));
}

// Returns `t` [batch, seq, ...] with all rows set to 0 for which mask [batch, seq] is 0.
Tensor keep_rows(const Tensor& t, const Tensor& mask) {
  if (!mask.defined() || t.rank() < 2 || t.size(0) != mask.size(0) || t.size(1) != mask.size(1)) {
    return t;
  }
  Tensor kept = t.clone();
  const std::int64_t row = t.numel() / std::max<std::int64_t>(1, mask.numel());
  for (std::int64_t i = 0; i < mask.numel(); ++i) {
    if (mask.at(i) != 0) continue;
    std::fill_n(kept.mutable_data<float>() + i * row, row, 0.0f);
  }
  return kept;
}

// Returns the loss of the class. Classes without a loss have that of the case: the sum of the mean
// squares of two outputs.
Value loss_of(const hf::Model& model) {
  const auto found = model.outputs.find("loss");
  if (found != model.outputs.end()) return found->second;
  return mean(square(model.outputs.at("pooler_output"))) +
         mean(square(model.outputs.at("last_hidden_state")));
}

Comparison run_model(const fs::path& folder, const json& description) {
  const json tolerance = read_json(folder / "tolerance.json");
  const Tensors inputs = read_tensors(folder / "inputs.safetensors");
  const Tensors reference = read_tensors(folder / "outputs.safetensors");
  const NamedTensors feeds = feeds_of(inputs);

  Graph graph;
  const hf::Model model = build(graph, folder, description, feeds);
  const Value loss = loss_of(model);
  Program program("case");
  program.output("loss", loss);
  const auto parameters = graph.parameters();
  const auto grads = gradients(loss, parameters, {.unreachable = Unreachable::zeros});
  for (std::size_t i = 0; i < parameters.size(); ++i)
    program.output("grad." + parameters[i].name(), grads[i]);
  // All outputs except the loss are fetched by their names in the graph.
  std::vector<std::string> fetch;
  for (const auto& [name, value] : model.outputs) {
    if (name != "loss") fetch.push_back(name);
  }
  Session session(graph, {.threads = 2});
  const TensorMap weights = hf::read_folder(folder.string()).weights;
  load_weights(session, graph, model, {weights.begin(), weights.end()});
  const Results results = session.run(program, feeds, {.fetch = fetch});
  TensorMap gradient;
  for (const Variable& parameter : parameters)
    gradient[parameter.name()] = results["grad." + parameter.name()];
  gradient = hf::file_tensors(model, std::move(gradient));
  const Tensor valid = model.valid_rows.defined()
                           ? inputs.at(model.valid_rows.node().attributes().text("name"))
                           : Tensor();

  Comparison comparison;
  // Exporting the weights returns exactly the tensors that were loaded.
  for (const auto& [name, tensor] : hf::export_weights(model, graph, *session.store())) {
    const auto it = weights.find(name);
    if (it == weights.end() || !bitwise_equal(it->second.to(tensor.dtype()), tensor))
      comparison.problem += "export differs from the file for " + name + "; ";
  }
  const json& suggested = tolerance.at("suggested");
  // Cases with half-precision weights have no gradients.
  const json about = tolerance.at("float32_vs_float64").value("grads", json::object());
  const std::set<std::string> zero_gradients =
      about.value("zero_up_to_rounding", std::set<std::string>());
  const double largest_gradient = about.value("max_abs_over_all_params", 0.0);
  for (const auto& [name, expected] : reference) {
    const double forward = suggested.at("forward_rel_to_max");
    const std::string parameter = name.starts_with("grad.") ? name.substr(5) : std::string();
    if (!parameter.empty() && !gradient.contains(parameter)) {
      comparison.problem += "no output " + name + "; ";
    } else if (name == "loss") {
      comparison.add(name, relative_error(results[name], expected), suggested.at("loss_rel"));
    } else if (!name.starts_with("grad.")) {
      if (model.outputs.count(name) == 0) {
        comparison.problem += "no output " + name + "; ";
        continue;
      }
      comparison.add(name,
                     relative_error(keep_rows(results[name], valid), keep_rows(expected, valid)),
                     forward);
    } else if (zero_gradients.contains(parameter)) {
      comparison.add(name, relative_error(gradient.at(parameter), expected, largest_gradient),
                     suggested.at("grad_rel_to_global_max"));
    } else {
      comparison.add(name, relative_error(gradient.at(parameter), expected),
                     suggested.at("grad_rel_to_own_param_max"));
    }
  }
  return comparison;
}

Comparison run_training_at(Precision precision, const fs::path& folder, const json& train) {
  const Tensors inputs = read_tensors(folder / "inputs.safetensors");
  const Tensors start = read_tensors(folder / "model.safetensors");
  const Tensors final = read_tensors(folder / "final.safetensors");

  Graph graph;
  const hf::Model model = build(graph, folder, train, feeds_of(inputs, "batch0."));
  const Value loss = model.outputs.at("loss");
  const json &optimizer = train.at("optimizer"), &schedule = train.at("schedule");
  const std::string decayed = optimizer.at("decay_applies_to");
  const TrainingStep step =
      adamw(loss, graph.parameters(),
            {.lr = warmup_cosine(schedule.at("base_lr"), schedule.at("warmup_steps"),
                                 schedule.at("total_steps"), {.shift = schedule.at("shift")}),
             .beta1 = optimizer.at("betas").at(0),
             .beta2 = optimizer.at("betas").at(1),
             .eps = optimizer.at("eps"),
             .weight_decay = optimizer.at("weight_decay"),
             .decay = decayed.starts_with("every") ? Decay::everything : Decay::matrices,
             .step = {.clip_norm = train.at("clip").at("max_norm")}});
  Program program("train");
  program.output("loss", loss)
      .output("lr", step.learning_rate)
      .output("norm", step.gradient_norm)
      .update(step)
      .precision(precision);
  Session session(graph, {.threads = 2});
  load_weights(session, graph, model, start);

  Comparison comparison;
  const json& suggested = train.at("tolerance").at("suggested");
  // The tolerances in the cases are chosen for float32 products, which have a root-mean-square
  // error of at most 1.2e-6 (with up to 4096 terms). Products at Precision::high have an error of
  // about 4.4e-6 (docs/precision.md), for which twice the tolerance is enough in these runs.
  const double allowed = precision == Precision::highest ? 1 : 2;
  for (int s = 0; s < train.at("steps").get<int>(); ++s) {
    const std::string prefix = fmt::format("batch{}.", train.at("batch_at_step").at(s).get<int>());
    const NamedTensors feeds = feeds_of(inputs, prefix);
    const Results results = session.run(program, feeds);
    const auto compare = [&](const char* name, const json& expected, double tolerance) {
      const double reference = expected.at(s), actual = results[name].at(0);
      const double error = std::abs(actual - reference) / std::max(std::abs(reference), 1e-12);
      comparison.add(fmt::format("{} of step {}", name, s), reference == actual ? 0 : error,
                     tolerance);
    };
    compare("loss", train.at("loss"), allowed * suggested.at("loss_rel").get<double>());
    compare("norm", train.at("grad_norm_before_clip"),
            allowed * suggested.at("grad_norm_rel").get<double>());
    compare("lr", train.at("lr"), 1e-9);
  }
  const json& noise = train.at("tolerance").at("noise_elements");
  for (const auto& [name, expected] : final) {
    const Tensor actual = session.value(model.names.ours(name));
    if (actual.sizes() != expected.sizes()) {
      comparison.problem += name + " has other sizes; ";
      continue;
    }
    const Tensor& before = start.at(name);
    double movement = 0, error = 0;
    for (std::int64_t i = 0; i < expected.numel(); ++i) {
      bool skip = false;
      if (noise.contains(name)) {
        for (const json& range : noise.at(name)) {
          skip =
              skip || (i >= range.at(0).get<std::int64_t>() && i < range.at(1).get<std::int64_t>());
        }
      }
      if (skip) continue;
      movement = std::max(movement, std::abs(expected.at(i) - before.at(i)));
      const double d = std::abs(expected.at(i) - actual.at(i));
      error = std::isnan(d) ? HUGE_VAL : std::max(error, d);
    }
    comparison.add(name, error == 0 ? 0 : error / movement,
                   suggested.at("param_err_over_movement"));
  }
  return comparison;
}

Comparison run_training(const fs::path& folder, const json& train) {
  return run_training_at(Precision::highest, folder, train);
}

// Returns the matrix unit for the tests: AMX, which is emulated if the CPU does not have it.
// Products of all shapes are forced onto this unit, even if the table for this CPU would select
// fused multiply-adds.
kernels::Bf16Unit matrix_unit() {
  return kernels::bf16_unit_available(kernels::Bf16Unit::amx) ? kernels::Bf16Unit::amx
                                                              : kernels::Bf16Unit::emulated_amx;
}

// Runs every product on a matrix unit as six bfloat16 products, which reach float32 accuracy.
Comparison run_model_on_matrix_unit(const fs::path& folder, const json& description) {
  const kernels::ForcedBf16Unit forced(matrix_unit());
  return run_model(folder, description);
}

// Runs every product on a matrix unit as three bfloat16 products.
Comparison run_training_at_high(const fs::path& folder, const json& train) {
  const kernels::ForcedBf16Unit forced(matrix_unit());
  return run_training_at(Precision::high, folder, train);
}

using Runner = Comparison (*)(const fs::path&, const json&);

bool run_all(const std::vector<fs::path>& cases, Runner run, const char* what) {
  Report report;
  for (const fs::path& path : cases) {
    const std::string name = path.parent_path().filename().string();
    const json description = read_json(path);
    const std::string family = description.at("family");
    if (!is_supported(path.parent_path())) {
      report.skip(name, family);
      continue;
    }
    try {
      const Comparison c = run(path.parent_path(), description);
      if (c.problem.empty()) {
        report.ok(name, c.worst);
      } else {
        report.fail(name, c.problem);
      }
    } catch (const std::exception& e) {
      report.fail(name, e.what());
    }
  }
  return report.finish(what);
}

BOOST_AUTO_TEST_CASE(models_match_the_reference) {
  BOOST_TEST(run_all(find_model_cases("*", "case.json"), run_model, "golden models"));
}

BOOST_AUTO_TEST_CASE(models_on_a_matrix_unit_match_the_reference) {
  BOOST_TEST(run_all(find_cases("*", "case.json"), run_model_on_matrix_unit,
                     "golden models on a matrix unit"));
}

BOOST_AUTO_TEST_CASE(training_runs_match_the_reference) {
  BOOST_TEST(run_all(find_cases("train-*", "train.json"), run_training, "golden training runs"));
}

BOOST_AUTO_TEST_CASE(training_runs_at_high_precision_match_the_reference) {
  BOOST_TEST(run_all(find_cases("train-*", "train.json"), run_training_at_high,
                     "golden training runs at high"));
}

}  // namespace
}  // namespace weft::golden
