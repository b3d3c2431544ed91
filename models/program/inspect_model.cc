#include "weft/models/program/inspect_model.h"

#include <fmt/format.h>

#include "weft/autodiff/optimizer.h"
#include "weft/core/error.h"
#include "weft/graph/plan/bind.h"
#include "weft/graph/plan/specialise.h"
#include "weft/models/hf/published.h"
#include "weft/models/program/commands.h"
#include "weft/models/program/console.h"

namespace weft::program {
namespace {

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
  fmt::print("{}\n", what);
  fmt::print("  FLOPs            {} ({:.2f} x the textbook's {})\n", short_number(flops),
             flops / textbook_flops, short_number(textbook_flops));
  fmt::print("  working memory   {}, {} of variables\n",
             short_bytes(static_cast<double>(memory.arena + memory.outputs)),
             short_bytes(static_cast<double>(memory.variables)));
}

}  // namespace

int inspect_model(const ModelInspection& inspection) {
  const hf::PublishedModel* model = nullptr;
  try {
    model = &hf::find_published_model(inspection.model);
  } catch (const ArgumentError& e) {
    throw UsageError(e.what());
  }
  const hf::InputTypes inputs = hf::published_inputs(*model, inspection.batch, inspection.seq);
  Graph graph;
  const hf::Model built = hf::build_model(graph, model->config, inputs, model->architecture);
  const std::int64_t parameters = hf::count_parameters(graph);
  const auto layers = static_cast<double>(model->layers), d = static_cast<double>(model->width);
  const double matrices = 12 * d * d * layers;
  fmt::print("{}: {}\n", model->name, model->architecture);
  fmt::print("parameters         {} ({} in float32)\n", grouped(parameters),
             short_bytes(4 * static_cast<double>(parameters)));
  fmt::print("  textbook         12 d^2 = {} in each of {} layers of width d = {}: {} in all\n",
             short_number(12 * d * d), model->layers, model->width, short_number(matrices));

  // Per layer and token: 2 FLOPs for each of 12 d^2 weights, and 4 n d for queries times keys and
  // probabilities times values; then the products with the vocabulary, where there is a head.
  const auto tokens = static_cast<double>(inspection.batch * inspection.seq);
  const auto n = static_cast<double>(inspection.seq);
  double textbook = tokens * (2 * matrices + layers * 4 * n * d);
  const auto logits = built.outputs.find("logits");
  if (logits != built.outputs.end()) {
    const Shape& shape = logits->second.shape();
    textbook += 2 * tokens * d * static_cast<double>(shape[shape.rank() - 1].evaluate({}));
  }
  Program forward("forward");
  for (const char* name : {"logits", "last_hidden_state"}) {
    const auto output = built.outputs.find(name);
    if (output == built.outputs.end()) continue;
    forward.output(name, output->second);
    break;
  }
  print_plan(fmt::format("forward pass of {} x {}", inspection.batch, inspection.seq),
             *plan_of(forward, inputs, inspection), textbook);

  const hf::InputTypes labelled =
      hf::published_inputs(*model, inspection.batch, inspection.seq, true);
  if (logits == built.outputs.end()) return 0;  // a model without a head has no loss
  Graph training;
  const hf::Model student = hf::build_model(training, model->config, labelled, model->architecture);
  const Value loss = student.outputs.at("loss");
  const TrainingStep step = adamw(loss, training.parameters(), {.step = {.clip_norm = 1}});
  Program train("train");
  train.output("loss", loss).update(step.updates);
  print_plan("training step with AdamW and clipping (backward is twice a forward pass)",
             *plan_of(train, labelled, inspection), 3 * textbook);
  return 0;
}

}  // namespace weft::program
