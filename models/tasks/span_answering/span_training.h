// Training models that answer questions, and what they are worth.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/graph/run/session.h"
#include "weft/models/data/squad.h"
#include "weft/models/metrics/squad_f1.h"
#include "weft/models/tasks/span_answering/span_answerer.h"
#include "weft/models/train/trainer.h"
#include "weft/models/trained/text_reader.h"

namespace WEFT_API weft {

/// A window onto a context, and the tokens of it that answer.
struct SpanRow {
  TextRow text;
  std::int32_t start = 0, end = 0;  // 0: [CLS], the answer is not there
};

/// Questions as a model learns them: of each all windows, as weft answer makes them. Of several
/// answers the first counts.
struct SpanRows {
  std::vector<SpanRow> rows;
  std::int64_t questions = 0;
  std::int64_t unseen = 0;  // answers that are in no window as a whole
};
/// Throws ArgumentError that names the question where one leaves a window no room for its context.
SpanRows span_rows(const SpanAnswerer& model, const SquadData& data);

struct SpanAnsweringScores {
  double loss = 0;  // mean over the windows
  SquadScores answers;
  std::vector<Answer> found;  // of every question that was measured
};
/// On `most` of the questions, evenly spread (0: on all). Answers are found as answer() does, with
/// the windows that the model was trained with; that there is none is an answer where the data have
/// a question without. Throws DataError where there are no questions, and as span_rows().
SpanAnsweringScores score_spans(Session& session, const SpanAnswerer& model, const SquadData& data,
                                std::int64_t most = 0);

/// The loss, "exact_match" and "f1".
Evaluation evaluation_of(const SpanAnsweringScores& scores);

/// Training in epochs of windows, each in an order of its own; evaluation on `held_out`, which may
/// have no questions. Everything must outlive the task.
TrainTask span_answering_task(Session& session, const SpanAnswerer& model, const SpanRows& train,
                              const SquadData& held_out);

/// Questions, evenly spread, with what the model answers and what is right: a line each.
std::string shown_answers(Session& session, const SpanAnswerer& model, const SquadData& data,
                          std::int64_t most);

}  // namespace weft
