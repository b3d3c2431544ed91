#include "weft/models/tasks/span_answering/span_windows.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "weft/models/data/batching/by_length.h"
#include "weft/models/tasks/common/run_checked.h"
#include "weft/models/training/run_distributed.h"

namespace weft {
namespace {

/// Number of tokens per batch.
constexpr std::int64_t kAnswerBatchTokens = 4096;

/// Candidate answers from all windows of one context.
struct Found {
  std::vector<Answer> candidates;
  /// Score of "no answer": the minimum over all windows.
  double none = std::numeric_limits<double>::infinity();
};

/// Adds a candidate for every start token in a window, each with the best end token.
void add_candidates(const SpanWindow& window, std::span<const float> start,
                    std::span<const float> end, std::int64_t most_tokens, Found& found) {
  found.none = std::min(found.none, static_cast<double>(start[0]) + end[0]);
  for (std::size_t i = 0; i < window.spans.size(); ++i) {
    if (!window.in_context(i)) continue;
    const std::size_t last =
        std::min(window.spans.size(), i + static_cast<std::size_t>(most_tokens));
    std::size_t best = i;
    for (std::size_t j = i; j < last; ++j) {
      if (window.in_context(j) && end[j] > end[best]) best = j;
    }
    found.candidates.push_back({.begin = window.spans[i].begin,
                                .end = window.spans[best].end,
                                .score = static_cast<double>(start[i]) + end[best]});
  }
}

/// Removes whitespace, which tokens may contain, from both ends of the answer, and sets the text of
/// the answer.
void trim(Answer& answer, std::string_view context) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::string_view part = context.substr(answer.begin, answer.end - answer.begin);
  const std::size_t first = part.find_first_not_of(kBlank);
  if (first != std::string_view::npos) {
    answer.end = answer.begin + part.find_last_not_of(kBlank) + 1;
    answer.begin += first;
  }
  answer.text = context.substr(answer.begin, answer.end - answer.begin);
}

/// Returns the best non-overlapping candidates, or the answer "none".
std::vector<Answer> best_of(Found found, std::string_view context, const AnswerOptions& options) {
  std::vector<Answer>& all = found.candidates;
  std::stable_sort(all.begin(), all.end(),
                   [](const Answer& a, const Answer& b) { return a.score > b.score; });
  const bool asked = options.no_answer.has_value();
  const double top = std::max(all.empty() ? found.none : all.front().score,
                              asked ? found.none : -std::numeric_limits<double>::infinity());
  std::vector<Answer> kept;
  const auto overlaps = [&](const Answer& a) {
    return std::any_of(kept.begin(), kept.end(),
                       [&](const Answer& b) { return a.begin < b.end && b.begin < a.end; });
  };
  double sum = asked ? std::exp(found.none - top) : 0;
  for (const Answer& candidate : all) sum += std::exp(candidate.score - top);
  const bool none = asked && (all.empty() || all.front().score - found.none < *options.no_answer);
  if (none)
    return {{.none = true, .score = found.none, .probability = std::exp(found.none - top) / sum}};
  for (Answer& candidate : all) {
    if (std::ssize(kept) >= options.most) break;
    trim(candidate, context);
    if (overlaps(candidate)) continue;
    candidate.probability = std::exp(candidate.score - top) / sum;
    kept.push_back(std::move(candidate));
  }
  return kept;
}

}  // namespace

std::vector<SpanWindow> span_windows(const TextReader& reader, std::size_t number,
                                     const Question& question, const SpanReading& how) {
  std::vector<SpanWindow> windows;
  for (Encoding& e : reader.windows(question.question, question.context, how.window, how.stride)) {
    windows.push_back({number,
                       {std::move(e.ids), std::move(e.type_ids)},
                       std::move(e.spans),
                       std::move(e.sequences)});
  }
  return windows;
}

SpanTargets span_targets(std::span<const SpanWindow> windows, std::size_t begin, std::size_t end) {
  // The part of the answer within a window: the tokens, and the bytes that they cover.
  struct Part {
    SpanTargets::Ends ends;
    std::size_t begin = std::numeric_limits<std::size_t>::max(), end = 0;
  };
  std::vector<Part> parts;
  Part whole;  // the bytes covered by tokens in any window; some bytes may not belong to a token
  for (const SpanWindow& window : windows) {
    Part& part = parts.emplace_back();
    for (std::size_t i = 0; i < window.spans.size(); ++i) {
      const Span& span = window.spans[i];
      if (!window.in_context(i) || span.end <= begin || span.begin >= end) continue;
      if (part.end == 0) part.ends.start = static_cast<std::int32_t>(i);
      part.ends.end = static_cast<std::int32_t>(i);
      part.begin = std::min<std::size_t>(part.begin, span.begin);
      part.end = std::max<std::size_t>(part.end, span.end);
    }
    whole.begin = std::min(whole.begin, part.begin);
    whole.end = std::max(whole.end, part.end);
  }
  SpanTargets targets;
  for (const Part& part : parts) {
    const bool all = part.end > 0 && part.begin == whole.begin && part.end == whole.end;
    targets.ends.push_back(all ? part.ends : SpanTargets::Ends{});
    targets.seen |= all;
  }
  return targets;
}

std::vector<std::vector<Answer>> answer_windows(Session& session, const SpanAnswerer& model,
                                                std::span<const Question> questions,
                                                std::span<const SpanWindow> windows,
                                                const SpanReading& how,
                                                const AnswerOptions& options,
                                                const LogitsCallback& on_logits) {
  const TextReader reader = model.reader();
  std::vector<std::size_t> lengths;
  for (const SpanWindow& window : windows) lengths.push_back(window.row.ids.size());
  std::vector<Found> found(questions.size());
  const std::vector<std::vector<std::size_t>> batches =
      batches_by_tokens(lengths, kAnswerBatchTokens);
  run_distributed(
      session, model.program("answer"), std::ssize(batches),
      [&](std::int64_t b) {
        std::vector<const TextRow*> rows;
        for (const std::size_t w : batches[static_cast<std::size_t>(b)])
          rows.push_back(&windows[w].row);
        return reader.inputs(rows);
      },
      [&](std::int64_t b, const Results& results) {
        check_results(results);
        const std::vector<std::size_t>& batch = batches[static_cast<std::size_t>(b)];
        const auto length = static_cast<std::size_t>(results["start"].size(1));
        for (std::size_t r = 0; r < batch.size(); ++r) {
          const SpanWindow& window = windows[batch[r]];
          const auto logits = [&](const char* name) {
            return results[name].span<float>().subspan(r * length, window.spans.size());
          };
          add_candidates(window, logits("start"), logits("end"), how.answer_tokens,
                         found[window.question]);
          if (on_logits) on_logits(batch[r], logits("start"), logits("end"));
        }
      });
  std::vector<std::vector<Answer>> answers;
  for (std::size_t q = 0; q < questions.size(); ++q)
    answers.push_back(best_of(std::move(found[q]), questions[q].context, options));
  return answers;
}

}  // namespace weft
