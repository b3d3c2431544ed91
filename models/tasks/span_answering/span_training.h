// Training and evaluation of question answering models.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/graph/run/session.h"
#include "weft/models/data/formats/squad.h"
#include "weft/models/inputs/text_reader.h"
#include "weft/models/metrics/squad_f1.h"
#include "weft/models/tasks/span_answering/span_answerer.h"
#include "weft/models/training/trainer.h"

namespace WEFT_API weft {

/// A context window, and the tokens of the answer in the window.
struct SpanRow {
  TextRow text;
  std::int32_t start = 0, end = 0;  // 0: [CLS], the window does not contain the answer
};

/// Questions as training rows: all windows for every question, made in the same way as for weft
/// answer. If a question has several answers, the first is the target.
struct SpanRows {
  std::vector<SpanRow> rows;
  std::int64_t questions = 0;
  std::int64_t unseen = 0;  // number of answers that are not completely in any window
};
/// Returns the training rows of `data`. If a question leaves no room for its context in a window,
/// throws an ArgumentError that names the question.
SpanRows span_rows(const SpanAnswerer& model, const SquadData& data);

struct SpanAnsweringScores {
  double loss = 0;  // mean over the windows
  SquadScores answers;
  std::vector<Answer> found;  // one per evaluated question
};
/// Evaluates the model on `most` evenly spaced questions (0 = all questions). Answers are computed
/// as in answer(), with the model's window settings. If the data contain questions without an
/// answer, the model may also predict that there is no answer. Throws DataError if there are no
/// questions. Also throws the same exceptions as span_rows().
SpanAnsweringScores score_spans(Session& session, const SpanAnswerer& model, const SquadData& data,
                                std::int64_t most = 0);

/// Converts scores to an Evaluation with the loss, "exact_match" and "f1".
Evaluation evaluation_of(const SpanAnsweringScores& scores);

/// Returns the training task. Training runs in epochs over the windows; each epoch is shuffled
/// independently. Evaluations use `held_out`, which may be empty. All arguments must outlive the
/// task.
TrainTask span_answering_task(Session& session, const SpanAnswerer& model, const SpanRows& train,
                              const SquadData& held_out);

/// Returns up to `most` evenly spaced questions, one per line, each with the model's answer and the
/// expected answer.
std::string format_answers(Session& session, const SpanAnswerer& model, const SquadData& data,
                           std::int64_t most);

}  // namespace weft
