#include "weft/models/generate/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "weft/core/error.h"
#include "weft/models/generate/sampling.h"
#include "weft/models/generate/stop_texts.h"

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

namespace {

class RowSearch final : public Search {
 public:
  RowSearch(StepModel& model, const SearchStarts& starts, const GenerationOptions& options)
      : Search(model, starts, options), start_(rows_.front().size()), done_(rows_.size()) {
    result_.sequences.resize(rows_.size());
  }

  void step(std::deque<GeneratedToken>& tokens) override {
    run_model();
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      if (done_[r]) {
        rows_[r].push_back(options_.pad_id);
        continue;
      }
      const PromptRules& prompt = prompt_of(r);
      const std::int64_t id = next_id(r, prompt);
      rows_[r].push_back(id);
      tokens.push_back({static_cast<std::int64_t>(r), id});
      const auto fresh = std::span<const std::int64_t>(rows_[r]).subspan(start_);
      if (options_.is_end(id) || prompt.is_full(rows_[r]) ||
          ends_with_any(fresh, options_.stop_sequences))
        finish(r);
    }
  }

  bool stop(std::int64_t row) override {
    const auto r = static_cast<std::size_t>(row);
    if (done_.at(r)) return false;
    finish(r);
    return true;
  }

 private:
  const PromptRules& prompt_of(std::size_t row) const {
    return prompts_[row / static_cast<std::size_t>(options_.results)];
  }

  std::int64_t next_id(std::size_t r, const PromptRules& prompt) {
    std::vector<double>& scores = logits(r);
    apply_rules(options_, prompt.lengths, prompt.without_padding(rows_[r]), scores);
    const auto best = std::max_element(scores.begin(), scores.end());
    if (*best == kForbidden) {
      throw DataError(fmt::format(
          "the options exclude every id in the vocabulary after {} ids in row {}: no id can be "
          "generated",
          prompt.length(rows_[r]), r));
    }
    if (!options_.sampling) return best - scores.begin();
    filter_scores(*options_.sampling, scores);
    return sample_id(scores, options_.sampling->seed,
                     options_.sampling->first_row + static_cast<std::int64_t>(r),
                     prompt.length(rows_[r]) - prompt.lengths.start);
  }

  void finish(std::size_t r) {
    const auto ids = prompt_of(r).without_padding(rows_[r]);
    result_.sequences[r].assign(ids.begin(), ids.end());
    done_[r] = true;
    finished_ = std::find(done_.begin(), done_.end(), false) == done_.end();
  }

  std::size_t start_;  // number of ids per row, including padding, before the first new id
  std::vector<bool> done_;
};

}  // namespace

std::unique_ptr<Search> make_row_search(StepModel& model, const SearchStarts& starts,
                                        const GenerationOptions& options) {
  return std::make_unique<RowSearch>(model, starts, options);
}

}  // namespace weft
