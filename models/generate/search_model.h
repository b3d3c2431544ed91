// The model interface that greedy search and beam search use. Internal to search().
#pragma once

#include <vector>

#include "weft/models/generate/logits_rules.h"
#include "weft/models/generate/search.h"

namespace WEFT_API weft {

/// Runs a DecodeStep for sequences that grow by one id at a time, and checks its results.
class SearchModel {
 public:
  SearchModel(const DecodeStep& step, const GenerationOptions& options)
      : step_(step), options_(options) {}

  /// Computes the logits of the next id in each row. Row r continues row parents[r] of the previous
  /// call.
  void run(const std::vector<TokenIds>& rows, const TokenIds& parents);
  std::int64_t vocab() const { return logits_.size(1); }
  /// Returns the logits of a row in double precision. Throws DataError if a logit is NaN or the
  /// largest logit is infinite.
  std::vector<double> logits(std::size_t row) const;

 private:
  const DecodeStep& step_;
  const GenerationOptions& options_;
  Tensor logits_;
  std::size_t seen_ = 0;
};

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

/// Greedy search and sampling: extends each row by its most likely id or by a sampled id.
SearchResult sample_rows(SearchModel& model, const SearchStarts& starts,
                         const std::vector<PromptRules>& prompts, const GenerationOptions& options,
                         const OnToken& on_token);
/// Beam search, for options.beams above 1.
SearchResult beam_search(SearchModel& model, const SearchStarts& starts,
                         const std::vector<PromptRules>& prompts, const GenerationOptions& options,
                         const OnToken& on_token);

}  // namespace weft
