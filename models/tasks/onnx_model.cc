#include "weft/models/tasks/onnx_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "weft/core/closest.h"
#include "weft/core/error.h"
#include "weft/serialization/onnx/onnx.h"

namespace weft {
namespace {

constexpr const char* kLogits = "logits";

/// Returns the logits of a cross-entropy in `evaluate`, or an undefined Value.
Value logits_of(const TrainedModel& model) {
  const Program* evaluate = model.find_program("evaluate");
  if (evaluate == nullptr) return {};
  for (Node* node : evaluate->nodes()) {
    if (node->op().name == "cross_entropy") return node->input(0);
  }
  return {};
}

Program logits_program(const TrainedModel& model, const Value& logits) {
  Program program(kLogits);
  program.take_options(model.program("evaluate"));
  return program.output(kLogits, logits);
}

}  // namespace

Program onnx_program(const TrainedModel& model, const std::string& name) {
  std::vector<std::string> known;
  bool caches = false;
  for (const std::string& found : model.layout().programs) {
    if (found == "evaluate" || !model.has_program(found)) continue;
    const bool updates = model.program(found).updates().size() > 0;
    caches |= updates;
    if (!updates) known.push_back(found);
  }
  const Value logits = logits_of(model);
  if (name.empty() && !known.empty() && !(caches && logits.defined()))
    return model.program(known.front());
  if (logits.defined()) {
    if (name.empty() || name == kLogits) return logits_program(model, logits);
    known.emplace_back(kLogits);
  }
  if (std::find(known.begin(), known.end(), name) != known.end()) return model.program(name);
  if (model.has_program(name) && name != "evaluate") {
    throw ArgumentError(fmt::format(
        "program {} of a {} updates caches or parameters, which an ONNX file cannot do{}", name,
        model.layout().kind,
        known.empty() ? "" : fmt::format(": export {}", fmt::join(known, ", "))));
  }
  throw ArgumentError(
      fmt::format("a {}: {}", model.layout().kind, unknown_name("program", name, known)));
}

void save_onnx(const std::string& path, const TrainedModel& model, const std::string& name,
               std::int64_t opset) {
  const Program program = onnx_program(model, name);
  OnnxWriteOptions options{
      .opset = opset, .graph_name = program.name(), .description = model.layout().kind};
  for (Attachment& part : attachments_of(*without_training(model))) {
    if (part.name == kClassesPart) options.metadata["labels"] = part.bytes;
    options.attachments.push_back(std::move(part));
  }
  write_onnx(path, program, *model.store, options);
}

}  // namespace weft
