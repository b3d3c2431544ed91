// The search methods of Generation: greedy search, sampling and beam search.
#pragma once

#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "weft/models/generate/generation.h"
#include "weft/models/generate/logits_rules.h"

namespace WEFT_API weft {

/// The padding and the length rules of a prompt, which apply to all its rows.
struct PromptRules {
  std::int64_t padding;
  LengthRules lengths;

  std::span<const std::int64_t> without_padding(const TokenIds& row) const {
    return std::span(row).subspan(static_cast<std::size_t>(padding));
  }
  std::int64_t length(const TokenIds& row) const {
    return static_cast<std::int64_t>(row.size()) - padding;
  }
  bool is_full(const TokenIds& row) const { return length(row) >= lengths.max; }
};

/// Rows that grow by one id at a time.
class Search {
 public:
  Search(StepModel& model, const SearchStarts& starts, const GenerationOptions& options);
  Search(const Search&) = delete;
  Search& operator=(const Search&) = delete;
  virtual ~Search() = default;

  /// Runs the model once, extends the rows, and appends the ids that have become final to `tokens`.
  virtual void step(std::deque<GeneratedToken>& tokens) = 0;
  /// Ends the result with index `row`. Returns false if it has already ended.
  virtual bool stop(std::int64_t row) = 0;
  /// Returns true if there is nothing left to do.
  bool is_finished() const { return finished_; }
  /// The sequences. To be called when the search is finished.
  const SearchResult& result() const { return result_; }
  const std::vector<PromptRules>& prompts() const { return prompts_; }

 protected:
  /// Computes the logits of the next id in each row. Row r continues row parents_[r] of the
  /// previous call.
  void run_model();
  std::int64_t vocab() const { return logits_.size(1); }
  /// Returns the logits of a row.
  std::span<const float> logits(std::size_t row) const;

  const GenerationOptions options_;
  std::vector<PromptRules> prompts_;
  std::vector<TokenIds> rows_;  // rows_per_prompt() rows for each prompt, including padding
  TokenIds parents_;
  SearchResult result_;
  bool finished_ = false;
  std::vector<double> scores_;  // a buffer for the scores of a row

 private:
  StepModel& model_;
  std::int64_t number_;  // of this search, to detect that another one has started
  Tensor logits_;
  std::size_t seen_ = 0;  // number of ids per row that the model has processed
};

/// Greedy search and sampling: extends each row by its most likely id or by a sampled id.
std::unique_ptr<Search> make_row_search(StepModel& model, const SearchStarts& starts,
                                        const GenerationOptions& options);
/// Beam search, for options.beams above 1.
std::unique_ptr<Search> make_beam_search(StepModel& model, const SearchStarts& starts,
                                         const GenerationOptions& options);

}  // namespace weft
