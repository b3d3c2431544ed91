#include "weft/models/hf/sequence_labels.h"

#include <fmt/format.h>

#include "weft/core/error.h"
#include "weft/graph/functions.h"

namespace weft::hf {

Problem label_problem(const Request& request, std::int64_t labels) {
  const std::string stated = request.config.text("problem_type");
  if (stated == "regression") return Problem::regression;
  if (stated == "single_label_classification") return Problem::single_label;
  if (stated == "multi_label_classification") return Problem::multi_label;
  if (!stated.empty())
    throw ArgumentError(fmt::format("config.json: unknown problem_type \"{}\"", stated));
  if (labels == 1) return Problem::regression;
  return is_floating(request.dtype("labels")) ? Problem::multi_label : Problem::single_label;
}

Value sequence_label_loss(Request& request, Value logits, std::int64_t classes,
                          std::string_view batch) {
  const int rank = request.rank("labels");
  if (rank < 0) return {};
  const Value labels =
      rank == 1 ? request.input("labels", {batch}) : request.input("labels", {batch, ""});
  const Problem problem = label_problem(request, classes);
  const bool column = problem == Problem::single_label && rank == 2;
  return sequence_loss(problem, logits, column ? select(labels, 1, Dim(0)) : labels);
}

void put_span(Request& request, Model& model, Value scores) {
  const SpanLogits logits = split_span(scores);
  model.outputs["start_logits"] = logits.start;
  model.outputs["end_logits"] = logits.end;
  const Value start = request.input("start_positions", {"batch"});
  const Value end = request.input("end_positions", {"batch"});
  if (start.defined() != end.defined()) {
    throw ArgumentError(
        fmt::format("{} requires both start_positions and end_positions to compute a loss",
                    request.architecture));
  }
  if (start.defined()) model.outputs["loss"] = span_loss(logits, start, end);
}

}  // namespace weft::hf
