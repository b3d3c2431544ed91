#include "weft/models/hf/sequence_labels.h"

#include "weft/graph/functions.h"

namespace weft::hf {

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

}  // namespace weft::hf
