#include "weft/models/generate/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "weft/core/error.h"

namespace weft {
namespace {

/// Returns every id in the options, so that it can be checked against the vocabulary.
TokenIds referenced_ids(const GenerationOptions& options) {
  TokenIds ids = options.suppressed;
  for (const TokenIds* more :
       {&options.bad_token_ids, &options.bad_first_token_ids, &options.stop_ids})
    ids.insert(ids.end(), more->begin(), more->end());
  for (const auto& sequence : options.bad_token_sequences) ids.push_back(sequence.back());
  for (const auto& [place, id] : options.forced) ids.push_back(id);
  for (const std::int64_t id : {options.eos_id, options.forced_eos_id, options.forced_bos_id})
    ids.push_back(std::max<std::int64_t>(id, 0));
  return ids;
}

}  // namespace

Search::Search(StepModel& model, const SearchStarts& starts, const GenerationOptions& options)
    : options_(options), model_(model) {
  options.check();
  if (options.max_new < 0 && options.max_length == 0)
    throw ArgumentError("max_length is 0: only a TextGenerator has a default length");
  if (!options.stop_texts.empty())
    throw ArgumentError("stop_texts require a tokenizer: use a TextGenerator, or stop_sequences");
  if (starts.ids.empty() || starts.ids.front().empty())
    throw ArgumentError("starts must not be empty");
  for (std::size_t p = 0; p < starts.ids.size(); ++p) {
    const std::int64_t padding = starts.padding.empty() ? 0 : starts.padding.at(p);
    const auto length = static_cast<std::int64_t>(starts.ids[p].size()) - padding;
    if (starts.ids[p].size() != starts.ids.front().size() || padding < 0 || length < 1)
      throw ArgumentError(
          "all starts must have the same length and at least one id that is not padding");
    prompts_.push_back({padding, length_rules(options, length)});
    if (prompts_.back().lengths.max <= length) {
      throw ArgumentError(
          fmt::format("the prompt has {} tokens and {} is {}: there is no room for new tokens",
                      length, options.max_new >= 0 ? "max_new" : "max_length",
                      options.max_new >= 0 ? options.max_new : options.max_length));
    }
    for (std::int64_t i = 0; i < rows_per_prompt(options); ++i) {
      parents_.push_back(std::ssize(rows_));
      rows_.push_back(starts.ids[p]);
    }
  }
  number_ = ++model.searches_;
}

void Search::run_model() {
  if (number_ != model_.searches_) {
    throw ArgumentError(
        "another generation was started with the same model: finish one generation before the next "
        "one starts, or use a Session for each of them");
  }
  const std::int64_t count = std::ssize(rows_);
  std::vector<TokenIds> added;
  for (const TokenIds& row : rows_)
    added.emplace_back(row.begin() + static_cast<std::ptrdiff_t>(seen_), row.end());
  logits_ = model_.step(ids_tensor(added), static_cast<std::int64_t>(seen_),
                        Tensor::of<std::int64_t>({count}, parents_));
  if (logits_.dtype() != DType::f32 || logits_.rank() != 2 || logits_.size(0) != count) {
    throw ShapeError(
        fmt::format("a decode step must return f32[{}, vocab], not {}", count, logits_.type_str()));
  }
  if (seen_ == 0) {
    for (const std::int64_t id : referenced_ids(options_)) {
      if (id < 0 || id >= vocab())
        throw ArgumentError(fmt::format("id {} is outside the vocabulary (size {})", id, vocab()));
    }
  }
  seen_ = rows_.front().size();
}

std::vector<double>& Search::logits(std::size_t row) {
  const float* first = logits_.data<float>() + static_cast<std::int64_t>(row) * vocab();
  scores_.assign(first, first + vocab());
  const bool numbers =
      std::none_of(scores_.begin(), scores_.end(), [](double x) { return std::isnan(x); });
  if (!numbers || !std::isfinite(*std::max_element(scores_.begin(), scores_.end())))
    throw DataError("the model's logits are not finite: training may have diverged");
  return scores_;
}

}  // namespace weft
