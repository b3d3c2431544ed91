// Greedy search and sampling.
#include <fmt/format.h>

#include <algorithm>

#include "weft/core/error.h"
#include "weft/models/generate/sampling.h"
#include "weft/models/generate/search.h"

namespace weft {
namespace {

bool ends_with(std::span<const std::int64_t> ids, const TokenIds& end) {
  return ids.size() >= end.size() &&
         std::equal(end.begin(), end.end(), ids.end() - static_cast<long>(end.size()));
}

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
          std::any_of(options_.stop_sequences.begin(), options_.stop_sequences.end(),
                      [&](const TokenIds& end) { return ends_with(fresh, end); }))
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
