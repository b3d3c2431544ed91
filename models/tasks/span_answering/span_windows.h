// Windows over long contexts for question answering.
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

/// A question and a window of its context.
struct SpanWindow {
  std::size_t question;  // index of the question
  TextRow row;
  std::vector<Span> spans;              // per token: its byte range in the context
  std::vector<std::int32_t> sequences;  // per token: 1 if it belongs to the context

  /// Returns true if token i is part of the context.
  bool in_context(std::size_t i) const {
    return sequences[i] == 1 && spans[i].end > spans[i].begin;
  }
};

/// Returns all windows of a question. `number` is the index of the question. Throws ArgumentError
/// under the same conditions as TextReader::windows.
std::vector<SpanWindow> span_windows(const TextReader& reader, std::size_t number,
                                     const Question& question, const SpanReading& how);

/// The training targets for an answer in each window of a question.
struct SpanTargets {
  /// The first and last token of the answer in a window, or 0 and 0 ([CLS]) if the window does not
  /// contain the whole answer.
  struct Ends {
    std::int32_t start = 0, end = 0;
  };
  std::vector<Ends> ends;  // one per window
  bool seen = false;       // true if any window contains the whole answer
};
/// Returns the start and end targets for an answer at bytes [begin, end) in the context. If the
/// range is empty, all targets are [CLS].
SpanTargets span_targets(std::span<const SpanWindow> windows, std::size_t begin, std::size_t end);

/// Called with the logits of window w, one start and one end logit per token.
using LogitsCallback =
    std::function<void(std::size_t w, std::span<const float> start, std::span<const float> end)>;

/// Same as answer(), for windows that were already made with the settings in `how`. The settings in
/// `how` take precedence over `options`. `on_logits` may be empty.
std::vector<std::vector<Answer>> answer_windows(Session& session, const SpanAnswerer& model,
                                                std::span<const Question> questions,
                                                std::span<const SpanWindow> windows,
                                                const SpanReading& how,
                                                const AnswerOptions& options,
                                                const LogitsCallback& on_logits = {});

}  // namespace weft
