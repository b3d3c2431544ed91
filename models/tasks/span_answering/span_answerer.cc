#include "weft/models/tasks/span_answering/span_answerer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "weft/core/error.h"
#include "weft/models/data/by_length.h"
#include "weft/models/trained/folder_encoder.h"

namespace weft {
namespace {

/// Tokens that are computed together.
constexpr std::int64_t kBatchTokens = 4096;

/// A window onto a question's context.
struct Window {
  std::size_t question;
  TextRow row;
  std::vector<Span> spans;              // bytes of the context
  std::vector<std::int32_t> sequences;  // 1: the context
};

/// What windows onto one context have found.
struct Found {
  std::vector<Answer> candidates;
  double none = std::numeric_limits<double>::infinity();  // the least over all windows
};

/// The best end for every begin in a window.
void look(const Window& window, std::span<const float> start, std::span<const float> end,
          std::int64_t most_tokens, Found& found) {
  found.none = std::min(found.none, static_cast<double>(start[0]) + end[0]);
  const auto in_context = [&](std::size_t i) {
    return window.sequences[i] == 1 && window.spans[i].end > window.spans[i].begin;
  };
  for (std::size_t i = 0; i < window.spans.size(); ++i) {
    if (!in_context(i)) continue;
    const std::size_t last =
        std::min(window.spans.size(), i + static_cast<std::size_t>(most_tokens));
    std::size_t best = i;
    for (std::size_t j = i; j < last; ++j) {
      if (in_context(j) && end[j] > end[best]) best = j;
    }
    found.candidates.push_back({.begin = window.spans[i].begin,
                                .end = window.spans[best].end,
                                .score = static_cast<double>(start[i]) + end[best]});
  }
}

/// Bytes without the blanks that tokens bring along.
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

/// The best of all windows that do not overlap, or that there is none.
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

std::vector<Window> windows_of(const TextReader& reader, std::span<const Question> questions,
                               const AnswerOptions& options) {
  std::vector<Window> windows;
  for (std::size_t q = 0; q < questions.size(); ++q) {
    for (Encoding& e : reader.windows(questions[q].question, questions[q].context, options.window,
                                      options.stride)) {
      windows.push_back({q,
                         {std::move(e.ids), std::move(e.type_ids)},
                         std::move(e.spans),
                         std::move(e.sequences)});
    }
  }
  return windows;
}

}  // namespace

const ModelLayout& SpanAnswerer::file_layout() {
  static const ModelLayout layout =
      ModelLayout{.kind = "model that answers questions", .programs = {"answer"}, .plan_cache = 64}
          .config(&SpanAnswerer::config)
          .tokenizer(&SpanAnswerer::tokenizer)
          .part(kReadingPart, "weft.reading", &SpanAnswerer::reading);
  return layout;
}

void SpanAnswerer::check() const { check_vocabulary(config, tokenizer, reading); }

std::unique_ptr<SpanAnswerer> span_answerer_of(const hf::Folder& folder,
                                               const FolderTokenizer& text) {
  auto model = std::make_unique<SpanAnswerer>();
  auto found = read_folder_encoder(*model->graph, folder, text,
                                   {.endings = {"ForQuestionAnswering"}, .pairs = true});
  if (!found) return nullptr;
  model->task = "span-answering";
  model->add_program("answer")
      .precision(model->settings.precision)
      .output("start", found->output("start_logits"))
      .output("end", found->output("end_logits"));
  found->into(*model);
  return model;
}

std::vector<std::vector<Answer>> answer(Session& session, const SpanAnswerer& model,
                                        std::span<const Question> questions,
                                        const AnswerOptions& options) {
  if (options.most < 1 || options.most_tokens < 1 || options.stride < 0)
    throw ArgumentError(
        fmt::format("{} answers of {} tokens, in windows with {} in common: nothing "
                    "can be found so",
                    options.most, options.most_tokens, options.stride));
  const TextReader reader(model.config, model.tokenizer, model.reading);
  const std::vector<Window> windows = windows_of(reader, questions, options);
  std::vector<std::size_t> lengths;
  for (const Window& window : windows) lengths.push_back(window.row.ids.size());
  std::vector<Found> found(questions.size());
  for (const std::vector<std::size_t>& batch : batches_by_tokens(lengths, kBatchTokens)) {
    std::vector<const TextRow*> rows;
    for (const std::size_t w : batch) rows.push_back(&windows[w].row);
    const Results results = session.run(model.program("answer"), reader.inputs(rows));
    const auto length = static_cast<std::size_t>(results["start"].size(1));
    for (std::size_t r = 0; r < batch.size(); ++r) {
      const Window& window = windows[batch[r]];
      look(window, results["start"].span<float>().subspan(r * length, length),
           results["end"].span<float>().subspan(r * length, length), options.most_tokens,
           found[window.question]);
    }
  }
  std::vector<std::vector<Answer>> answers;
  for (std::size_t q = 0; q < questions.size(); ++q)
    answers.push_back(best_of(std::move(found[q]), questions[q].context, options));
  return answers;
}

}  // namespace weft
