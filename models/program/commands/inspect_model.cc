#include "weft/models/program/commands/inspect_model.h"

#include <fmt/format.h>

#include <bit>
#include <memory>
#include <string_view>

#include "weft/autodiff/optimizers/optimizers.h"
#include "weft/core/error.h"
#include "weft/core/world/shard_tree.h"
#include "weft/graph/functions/shards.h"
#include "weft/graph/weights/parameter_count.h"
#include "weft/models/fields/numbers.h"
#include "weft/models/hf/published.h"
#include "weft/models/program/limits/step_memory.h"
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
  const double keys = model.window > 0 ? static_cast<double>(model.window) : n;
  const double stack = tokens * layers * (24 * d * d + 4 * keys * d);
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

/// Returns the plan of a program, or of one of its shards. No variable is allocated.
std::shared_ptr<const Plan> plan_of(Graph& graph, const Program& program,
                                    const hf::InputTypes& inputs,
                                    const ModelInspection& inspection) {
  Session session(graph, {.threads = 1, .precision = parse_precision(inspection.precision)});
  return session.plan(program, sizes_of(inputs));
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
    const TrainingStep step =
        adamw(loss, graph.parameters(),
              {.step = {.clip_norm = 1, .gradients = {.unreachable = Unreachable::zeros}}});
    program.output("loss", loss).shards({.count = shards}).update(step.updates);
  }
  Graph graph;
  hf::Model student;
  Program program = Program("train");
};

/// Prints the memory and traffic of a training step on several ranks.
void print_ranks(const hf::PublishedModel& model, const hf::InputTypes& inputs,
                 const ModelInspection& inspection) {
  const int ranks = static_cast<int>(inspection.ranks);
  const int shards = inspection.shards > 0
                         ? static_cast<int>(inspection.shards)
                         : static_cast<int>(std::bit_ceil(static_cast<unsigned>(ranks)));
  try {
    check_shards(shards, ranks);
  } catch (const ArgumentError& e) {
    throw UsageError(e.what());
  }
  Training training(model, inputs, shards);
  const auto plan = plan_of(training.graph, training.program, inputs, inspection);
  const StepMemory step = step_memory(training.program, *plan, ranks);
  say("training step of {} shards on {} ranks\n", shards, ranks);
  say("  sent per rank    {}\n", short_bytes(step.sent));
  say("  memory per rank  {}: parameters {}, optimizer {}, gradient sums {}, working memory {}\n",
      short_bytes(step.total()), short_bytes(step.variables - step.optimizer),
      short_bytes(step.optimizer), short_bytes(step.sums), short_bytes(step.working));
  if (ranks > 1 && std::has_single_bit(static_cast<unsigned>(ranks))) {
    const StepMemory owned =
        step_memory(training.program, *plan, ranks, {.gradients = GradientSums::owned});
    say("  with a budget    gradient sums {}, kept only by their owners; {} sent per rank\n",
        short_bytes(owned.sums), short_bytes(owned.sent));
  }
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
  Program forward("forward");
  for (const char* name : {"logits", "last_hidden_state"}) {
    const auto output = built.outputs.find(name);
    if (output == built.outputs.end()) continue;
    forward.output(name, output->second);
    break;
  }
  const std::int64_t active =
      count_active_parameters(forward, graph.dim("batch") * graph.dim("seq"));
  const auto layers = static_cast<double>(model->layers), d = static_cast<double>(model->width);
  const double matrices = 12 * d * d * layers;
  const bool image = model->modality == hf::Modality::image;
  say("{}: {}\n", model->name, model->architecture);
  say("parameters         {} ({} in float32)\n", grouped(parameters),
      short_bytes(4 * static_cast<double>(parameters)));
  if (active < count_parameters(graph)) {
    say("  active           {} per token, with the chosen experts only\n", grouped(active));
  }
  say("  textbook         12 d^2 = {} in each of {} layers of width d = {}: {} in all\n",
      short_number(12 * d * d), model->layers, model->width, short_number(matrices));

  const std::string size = image ? fmt::format("{} images of {} x {}", inspection.batch,
                                               model->image_size, model->image_size)
                                 : fmt::format("{} x {}", inspection.batch, inspection.seq);
  print_plan("forward pass of " + size, *plan_of(graph, forward, inputs, inspection),
             textbook_flops(*model, built, inspection));

  const hf::InputTypes labelled =
      hf::published_inputs(*model, inspection.batch, inspection.seq, true);
  Training training(*model, labelled, 1);
  const std::string as = model->trained == model->architecture ? "" : " as " + model->trained;
  print_plan("training step" + as + " with AdamW and clipping (backward is twice a forward pass)",
             *plan_of(training.graph, training.program, labelled, inspection),
             3 * textbook_flops(*model, training.student, inspection));
  if (inspection.ranks > 0) print_ranks(*model, labelled, inspection);
  return 0;
}

}  // namespace weft::program
