#include "weft/models/program/inspect_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <string_view>
#include <vector>

#include "weft/autodiff/optimizer.h"
#include "weft/core/error.h"
#include "weft/core/parallel.h"
#include "weft/graph/plan/bind.h"
#include "weft/graph/plan/specialise.h"
#include "weft/models/fields/numbers.h"
#include "weft/models/hf/published.h"
#include "weft/models/program/bench/machine.h"
#include "weft/models/program/commands.h"
#include "weft/models/program/console.h"

namespace weft::program {
namespace {

/// The textbook's FLOPs of all layers. Per layer and token: 2 for each of 12 d^2 weights, and 4 n d
/// for queries times keys and probabilities times values. A decoder that looks at an encoder has 4
/// d^2 weights and as much attention more.
double stack_flops(const hf::PublishedModel& model, const ModelInspection& inspection) {
  const auto layers = static_cast<double>(model.layers), d = static_cast<double>(model.width);
  const auto n = static_cast<double>(model.modality == hf::Modality::image ? model.patches + 1
                                                                           : inspection.seq);
  const double tokens = static_cast<double>(inspection.batch) * n;
  const double stack = tokens * layers * (24 * d * d + 4 * n * d);
  const double cross = tokens * layers * (8 * d * d + 4 * n * d);
  return model.modality == hf::Modality::text_to_text ? 2 * stack + cross : stack;
}

/// The plan of a program for inputs of these types: nothing runs, no variable gets memory.
std::shared_ptr<const Plan> plan_of(const Program& program, const hf::InputTypes& inputs,
                                    const ModelInspection& inspection) {
  const auto compiled = compile(program, {});
  std::vector<FeedType> feeds;
  for (const auto& [name, type] : inputs) feeds.push_back({name, type.first, type.second});
  return specialise(compiled, bind_symbols(*compiled, feeds, {}),
                    {.precision = parse_precision(inspection.precision)});
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

/// What ops of that name read as their operand `i`.
std::vector<Value> read_by(std::string_view op, std::size_t i, const Program& program) {
  std::vector<Value> values;
  for (const Node* node : program.nodes()) {
    if (node->op().name == op) values.push_back(node->inputs()[i]);
  }
  return values;
}
bool has(const std::vector<Value>& values, const Value& v) {
  return std::find(values.begin(), values.end(), v) != values.end();
}

/// The line of one training step on several ranks.
void print_ranks(const ModelInspection& inspection, const Program& train, const Plan& plan) {
  const int ranks = static_cast<int>(inspection.ranks);
  const int shards = inspection.shards > 0
                         ? static_cast<int>(inspection.shards)
                         : static_cast<int>(std::bit_ceil(static_cast<unsigned>(ranks)));
  constexpr double kShareOfPeak = 0.8;
  const double flops =
      inspection.gflops > 0 ? 1e9 * inspection.gflops : kShareOfPeak * fma_peak(hardware_threads());
  StepCost cost{.shard_flops = plan.cost().flops,
                .arena_bytes = static_cast<double>(plan.memory().arena)};
  const std::vector<Value> tables = read_by("take", 0, train),
                           factors = read_by("matmul", 1, train);
  for (const Variable& v : train.variables()) {
    const VariableInfo& info = v.info();
    const auto elements = static_cast<double>(info.type.shape.numel().constant());
    const double bytes = elements * static_cast<double>(dtype_size(info.type.dtype));
    if (info.kind == VariableKind::optimizer) cost.state_bytes += bytes;
    if (info.kind == VariableKind::parameter)
      (info.trainable ? cost.parameter_bytes : cost.frozen_bytes) += bytes;
    if (!info.trainable || !has(tables, v.value())) continue;
    cost.table_bytes += bytes;
    if (!has(factors, v.value())) cost.rows_bytes += bytes;
  }
  const StepPrediction step = [&] {
    try {
      return predict_step(cost, ranks, shards, flops, inspection.network);
    } catch (const ArgumentError& e) {
      throw UsageError(e.what());
    }
  }();
  say("training step of {} shards on {} ranks (--bandwidth {}/s, --latency {:g} us, {} FLOP/s "
      "each)\n",
      shards, ranks, short_bytes(inspection.network.bytes_per_second),
      1e6 * inspection.network.latency, short_number(flops));
  say("  sent by each     {}\n", short_bytes(step.bytes_sent));
  say("  memory of each   {}: parameters {}, optimizer {}, sums of gradients {}, working memory "
      "{}\n",
      short_bytes(step.bytes()), short_bytes(step.parameters), short_bytes(step.state),
      short_bytes(step.sums), short_bytes(step.arena));
  say("  time             {:.3g} s: {:.3g} s computing {} of the shards, {:.3g} s sending, "
      "of which {:.3g} s while shards are computed\n",
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
    throw UsageError(fmt::format("{} reads images of {} x {}: --seq has no meaning for it",
                                 model->name, model->image_size, model->image_size));
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

  double textbook = stack_flops(*model, inspection);
  const auto logits = built.outputs.find("logits");
  if (logits != built.outputs.end()) {
    const Shape& shape = logits->second.shape();
    // The head reads every token of a text, and one vector of an image.
    const std::int64_t rows = inspection.batch * (image ? 1 : inspection.seq);
    textbook += 2 * static_cast<double>(rows) * d *
                static_cast<double>(shape[shape.rank() - 1].evaluate({}));
  }
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
  print_plan("forward pass of " + size, *plan_of(forward, inputs, inspection), textbook);

  const hf::InputTypes labelled =
      hf::published_inputs(*model, inspection.batch, inspection.seq, true);
  // A model without a head has no loss; that of an image needs labels of another shape.
  if (logits == built.outputs.end() || image) {
    if (inspection.ranks == 0) return 0;
    throw UsageError(fmt::format("--ranks predicts a training step, and {} has no loss here: {}",
                                 model->name,
                                 image ? "of models that read images none is planned"
                                       : "it has no head; name a model with one"));
  }
  Graph training;
  const hf::Model student = hf::build_model(training, model->config, labelled, model->architecture);
  const Value loss = student.outputs.at("loss");
  const TrainingStep step = adamw(loss, training.parameters(), {.step = {.clip_norm = 1}});
  Program train("train");
  train.output("loss", loss).update(step.updates);
  const auto step_plan = plan_of(train, labelled, inspection);
  print_plan("training step with AdamW and clipping (backward is twice a forward pass)", *step_plan,
             3 * textbook);
  if (inspection.ranks > 0) print_ranks(inspection, train, *step_plan);
  return 0;
}

}  // namespace weft::program
