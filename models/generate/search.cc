#include "weft/models/generate/search.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/core/error.h"
#include "weft/models/generate/next_id.h"

namespace weft {

Search::Search(StepModel& model, const SearchStarts& starts, const GenerationOptions& options)
    : options_(options), model_(model) {
  check_options(options);
  if (starts.ids.empty() || starts.ids.front().empty())
    throw ArgumentError("starts must not be empty");
  for (std::size_t p = 0; p < starts.ids.size(); ++p) {
    const std::int64_t padding = starts.padding.empty() ? 0 : starts.padding.at(p);
    const auto length = static_cast<std::int64_t>(starts.ids[p].size()) - padding;
    if (starts.ids[p].size() != starts.ids.front().size() || padding < 0 || length < 1)
      throw ArgumentError(
          "all starts must have the same length and at least one id that is not padding");
    prompts_.push_back({padding, checked_length_rules(options, length)});
    PromptRules& rules = prompts_.back();
    const auto ids = rules.without_padding(starts.ids[p]);
    if (options.encoder_no_repeat_ngram) {
      rules.lengths.source =
          starts.sources.empty() ? TokenIds(ids.begin(), ids.end()) : starts.sources.at(p);
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
  if (seen_ == 0) check_ids(options_, vocab());
  seen_ = rows_.front().size();
}

std::span<const float> Search::logits(std::size_t row) const {
  const auto size = static_cast<std::size_t>(vocab());
  return logits_.span<float>().subspan(row * size, size);
}

namespace {

class RowSearch final : public Search {
 public:
  RowSearch(StepModel& model, const SearchStarts& starts, const GenerationOptions& options)
      : Search(model, starts, options), done_(rows_.size()) {
    if (options.constraint) constraints_.assign(rows_.size(), ConstraintState(options.constraint));
    result_.sequences.resize(rows_.size());
    if (options.log_probabilities) result_.scores.resize(rows_.size());
  }

  void step(std::deque<GeneratedToken>& tokens) override {
    run_model();
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      if (done_[r]) {
        rows_[r].push_back(options_.pad_id);
        continue;
      }
      const PromptRules& prompt = prompt_of(r);
      const bool scored = !result_.scores.empty();
      ConstraintState* constraint = constraints_.empty() ? nullptr : &constraints_[r];
      const ScoredToken token = next_id(options_, prompt.lengths, prompt.without_padding(rows_[r]),
                                        static_cast<std::int64_t>(r), fmt::format("row {}", r),
                                        logits(r), scores_, scored ? 0 : -1, constraint)
                                    .token;
      if (scored) result_.scores[r] += token.log_probability;
      rows_[r].push_back(token.id);
      tokens.push_back({static_cast<std::int64_t>(r), token.id});
      if (finish_of(options_, prompt.lengths, prompt.without_padding(rows_[r]), constraint))
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

  void finish(std::size_t r) {
    const auto ids = prompt_of(r).without_padding(rows_[r]);
    result_.sequences[r].assign(ids.begin(), ids.end());
    done_[r] = true;
    finished_ = std::find(done_.begin(), done_.end(), false) == done_.end();
  }

  std::vector<bool> done_;
  std::vector<ConstraintState> constraints_;  // of the rows; empty without a constraint
};

}  // namespace

std::unique_ptr<Search> make_row_search(StepModel& model, const SearchStarts& starts,
                                        const GenerationOptions& options) {
  return std::make_unique<RowSearch>(model, starts, options);
}

}  // namespace weft
