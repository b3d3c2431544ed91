// The model as greedy and beam search see it. Internal to search.
#pragma once

#include <vector>

#include "weft/models/generate/logits_rules.h"
#include "weft/models/generate/search.h"

namespace WEFT_API weft {

/// Runs a DecodeStep for sequences that grow by one id at a time, and checks what it gives.
class SearchModel {
 public:
  SearchModel(const DecodeStep& step, const GenerationOptions& options)
      : step_(step), options_(options) {}

  /// Scores of what follows each row, of which row r went on from row parents[r].
  void run(const std::vector<TokenIds>& rows, const TokenIds& parents);
  std::int64_t vocab() const { return logits_.size(1); }
  /// The logits of a row in double. Throws DataError where they are not numbers.
  std::vector<double> logits(std::size_t row) const;

 private:
  const DecodeStep& step_;
  const GenerationOptions& options_;
  Tensor logits_;
  std::size_t seen_ = 0;
};

/// A row's sequence without its padding, and what holds for its prompt.
struct PromptRules {
  std::int64_t padding;
  LengthRules lengths;

  std::span<const std::int64_t> counted(const TokenIds& row) const {
    return std::span(row).subspan(static_cast<std::size_t>(padding));
  }
  std::int64_t length(const TokenIds& row) const {
    return static_cast<std::int64_t>(row.size()) - padding;
  }
  bool full(const TokenIds& row) const { return length(row) >= lengths.max; }
};

/// Takes the likeliest, or draws.
SearchResult follow_rows(SearchModel& model, const SearchStarts& starts,
                         const std::vector<PromptRules>& prompts, const GenerationOptions& options,
                         const OnToken& on_token);
SearchResult beam_search(SearchModel& model, const SearchStarts& starts,
                         const std::vector<PromptRules>& prompts, const GenerationOptions& options,
                         const OnToken& on_token);

}  // namespace weft
