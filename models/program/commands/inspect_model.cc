#include "weft/models/program/commands/inspect_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <string_view>

#include "weft/autodiff/optimizers/optimizers.h"
#include "weft/core/error.h"
#include "weft/core/parallel.h"
#include "weft/core/world/shard_tree.h"
#include "weft/graph/functions/shards.h"
#include "weft/models/fields/numbers.h"
#include "weft/models/hf/published.h"
#include "weft/models/program/limits/machine.h"
#include "weft/models/program/limits/step_cost.h"
#include "weft/models/program/terminal/console.h"
#include "weft/models/program/terminal/usage_error.h"

namespace weft::program {
namespace {

/// Returns the FLOPs of all layers according to the textbook formula. Each layer needs, per token,
/// 2 FLOPs for each of its 12 d^2 weights, and 4 n d FLOPs for queries times keys and probabilities
/// times values. Cross-attention in a decoder adds 4 d^2 weights and another 4 n d FLOPs.
double stack_flops(const hf::PublishedModel& model, const ModelInspection& inspection) {
  const auto layers = static_cast<double>(model.layers), d = static_cast<double>(model.width);
  const auto n = static_cast<double>(model.modality == hf::Modality::image ? model.patches + 1
                                                                           : inspection.seq);
  const double tokens = static_cast<double>(inspection.batch) * n;
  const double stack = tokens * layers * (24 * d * d + 4 * n * d);
  const double cross = tokens * layers * (8 * d * d + 4 * n * d);
  return model.modality == hf::Modality::text_to_text ? 2 * stack + cross : stack;
}

/// Returns the FLOPs of a forward pass according to the textbook formula. The head adds 2 FLOPs for
/// each of its weights, per token of a text or once per image.
double textbook_flops(const hf::PublishedModel& model, const hf::Model& built,
                      const ModelInspection& inspection) {
  const double stack = stack_flops(model, inspection);
  const auto logits = built.outputs.find("logits");
  if (logits == built.outputs.end()) return stack;
  const Shape& shape = logits->second.shape();
  const double classes = static_cast<double>(shape[shape.rank() - 1].evaluate({}));
  const std::int64_t rows =
      inspection.batch * (model.modality == hf::Modality::image ? 1 : inspection.seq);
  return stack + 2 * static_cast<double>(rows) * static_cast<double>(model.width) * classes;
}

NamedSizes sizes_of(const hf::InputTypes& inputs) {
  NamedSizes sizes;
  for (const auto& [name, type] : inputs) sizes.emplace_back(name, type.second);
  return sizes;
}

void print_plan(std::string_view what, const Plan& plan, double textbook_flops) {
  const MemoryReport memory = plan.memory();
  const double flops = plan.cost().flops;
  say("{}\n", what);
  say("  FLOPs            {} ({:.2f} x the textbook's {})\n", short_number(flops),
      flops / textbook_flops, short_number(textbook_flops));
  say("  working memory   {}, {} of variables\n",
      short_bytes(static_cast<double>(memory.arena + memory.outputs)),
      short_bytes(static_cast<double>(memory.variables)));
}

/// A training step of the model class that has a loss (PublishedModel::trained).
struct Training {
  Training(const hf::PublishedModel& model, const hf::InputTypes& inputs, int shards)
      : student(hf::build_model(graph, model.config, inputs, model.trained)) {
    const Value of_shard = student.outputs.at("loss");
    const Value loss = shards > 1 ? shard_mean(of_shard) : of_shard;
    const TrainingStep step = adamw(loss, graph.parameters(), {.step = {.clip_norm = 1}});
    program.output("loss", loss).shards({.count = shards}).update(step.updates);
  }
  Graph graph;
  hf::Model student;
  Program program = Program("train");
};

/// Prints the prediction for one training step on several ranks.
void print_ranks(const hf::PublishedModel& model, const hf::InputTypes& inputs,
                 const ModelInspection& inspection) {
  const int ranks = static_cast<int>(inspection.ranks);
  const int shards = inspection.shards > 0
                         ? static_cast<int>(inspection.shards)
                         : static_cast<int>(std::bit_ceil(static_cast<unsigned>(ranks)));
  constexpr double kShareOfPeak = 0.8;
  const double flops =
      inspection.gflops > 0 ? 1e9 * inspection.gflops : kShareOfPeak * fma_peak(hardware_threads());
  try {
    check_shards(shards, ranks);
  } catch (const ArgumentError& e) {
    throw UsageError(e.what());
  }
  const Training training(model, inputs, shards);
  const StepCost cost =
      cost_of_step(training.program, sizes_of(inputs), parse_precision(inspection.precision));
  const StepPrediction step = predict_step(cost, ranks, shards, flops, inspection.network);
  say("training step of {} shards on {} ranks (--bandwidth {}/s, --latency {:g} us, {} FLOP/s "
      "each)\n",
      shards, ranks, short_bytes(inspection.network.bytes_per_second),
      1e6 * inspection.network.latency, short_number(flops));
  say("  sent per rank    {}\n", short_bytes(step.bytes_sent));
  say("  memory per rank  {}: parameters {}, optimizer {}, gradient sums {}, working memory {}\n",
      short_bytes(step.bytes()), short_bytes(step.parameters), short_bytes(step.state),
      short_bytes(step.sums), short_bytes(step.arena));
  if (ranks > 1 && std::has_single_bit(static_cast<unsigned>(ranks))) {
    const OwnedSumsPrediction owned = predict_owned_sums(cost, ranks, shards);
    say("  with a budget    gradient sums {}, kept only by their owners; {} sent per rank\n",
        short_bytes(owned.sums), short_bytes(owned.bytes_sent));
  }
  say("  time             {:.3g} s: {:.3g} s computing {} of the shards, {:.3g} s sending, of "
      "which {:.3g} s overlap with computing\n",
      step.seconds(), step.compute, step.shards_of_busiest, step.communicate, step.hidden);
}

}  // namespace

int inspect_model(const ModelInspection& wanted) {
  ModelInspection inspection = wanted;
  const hf::PublishedModel* model = nullptr;
  try {
    model = &hf::find_published_model(inspection.model);
  } catch (const ArgumentError& e) {
    throw UsageError(e.what());
  }
  if (model->modality == hf::Modality::image && wanted.seq > 0) {
    throw UsageError(fmt::format("{} reads images of {} x {}: --seq does not apply", model->name,
                                 model->image_size, model->image_size));
  }
  constexpr std::int64_t kDefaultSeq = 128;
  if (inspection.seq == 0) inspection.seq = kDefaultSeq;
  const hf::InputTypes inputs = hf::published_inputs(*model, inspection.batch, inspection.seq);
  Graph graph;
  const hf::Model built = hf::build_model(graph, model->config, inputs, model->architecture);
  const std::int64_t parameters = hf::count_parameters(graph);
  const auto layers = static_cast<double>(model->layers), d = static_cast<double>(model->width);
  const double matrices = 12 * d * d * layers;
  const bool image = model->modality == hf::Modality::image;
  say("{}: {}\n", model->name, model->architecture);
  say("parameters         {} ({} in float32)\n", grouped(parameters),
      short_bytes(4 * static_cast<double>(parameters)));
  say("  textbook         12 d^2 = {} in each of {} layers of width d = {}: {} in all\n",
      short_number(12 * d * d), model->layers, model->width, short_number(matrices));

  const Precision precision = parse_precision(inspection.precision);
  Program forward("forward");
  for (const char* name : {"logits", "last_hidden_state"}) {
    const auto output = built.outputs.find(name);
    if (output == built.outputs.end()) continue;
    forward.output(name, output->second);
    break;
  }
  const std::string size = image ? fmt::format("{} images of {} x {}", inspection.batch,
                                               model->image_size, model->image_size)
                                 : fmt::format("{} x {}", inspection.batch, inspection.seq);
  print_plan("forward pass of " + size, *plan_of(forward, sizes_of(inputs), {}, precision),
             textbook_flops(*model, built, inspection));

  const hf::InputTypes labelled =
      hf::published_inputs(*model, inspection.batch, inspection.seq, true);
  const Training training(*model, labelled, 1);
  const std::string as = model->trained == model->architecture ? "" : " as " + model->trained;
  print_plan("training step" + as + " with AdamW and clipping (backward is twice a forward pass)",
             *plan_of(training.program, sizes_of(labelled), {}, precision),
             3 * textbook_flops(*model, training.student, inspection));
  if (inspection.ranks > 0) print_ranks(*model, labelled, inspection);
  return 0;
}

}  // namespace weft::program
