// Windows onto long texts, through which a model answers questions about them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "weft/graph/run/session.h"
#include "weft/models/tasks/span_answering/span_answerer.h"

namespace WEFT_API weft {

/// A window onto a question's context.
struct SpanWindow {
  std::size_t question;  // its number
  TextRow row;
  std::vector<Span> spans;              // bytes of the context
  std::vector<std::int32_t> sequences;  // 1: the context

  /// Whether token i is a part of the context.
  bool in_context(std::size_t i) const {
    return sequences[i] == 1 && spans[i].end > spans[i].begin;
  }
};

/// All windows of a question, whose number is `number`. Throws ArgumentError as
/// TextReader::windows.
std::vector<SpanWindow> span_windows(const TextReader& reader, std::size_t number,
                                     const Question& question, const SpanReading& how);

/// What an answer is in each of the windows of one question.
struct SpanTargets {
  /// Tokens of a window, both within the answer; 0 and 0 ([CLS]) where not all of it is there.
  struct Ends {
    std::int32_t start = 0, end = 0;
  };
  std::vector<Ends> ends;  // of each window
  bool seen = false;       // in one of them at least
};
/// Of bytes [begin, end) of the context; of none of them all targets are [CLS].
SpanTargets span_targets(std::span<const SpanWindow> windows, std::size_t begin, std::size_t end);

/// Is told what the model says of window w: a logit of every token of it.
using SeeLogits =
    std::function<void(std::size_t w, std::span<const float> start, std::span<const float> end)>;

/// answer() by windows of the questions that were made already, as `how` says; of the options only
/// what is no part of that counts.
std::vector<std::vector<Answer>> answer_through(Session& session, const SpanAnswerer& model,
                                                std::span<const Question> questions,
                                                std::span<const SpanWindow> windows,
                                                const SpanReading& how,
                                                const AnswerOptions& options,
                                                const SeeLogits& see = {});

}  // namespace weft
