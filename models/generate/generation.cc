#include "weft/models/generate/generation.h"

#include <algorithm>

#include "weft/models/generate/search.h"

namespace weft {

std::int64_t rows_per_prompt(const GenerationOptions& options) {
  return std::max(options.beams, options.results);
}

Generation::Generation(StepModel& model, const SearchStarts& starts,
                       const GenerationOptions& options)
    : search_(options.beams > 1 ? make_beam_search(model, starts, options)
                                : make_row_search(model, starts, options)) {
  for (const PromptRules& prompt : search_->prompts())
    rows_.insert(rows_.end(), static_cast<std::size_t>(options.results),
                 {static_cast<std::size_t>(prompt.lengths.start)});
}
Generation::Generation(Generation&&) noexcept = default;
Generation& Generation::operator=(Generation&&) noexcept = default;
Generation::~Generation() = default;

std::optional<GeneratedToken> Generation::next() {
  for (;;) {
    while (ready_.empty()) {
      if (search_->is_finished()) return std::nullopt;
      search_->step(ready_);
    }
    const GeneratedToken token = ready_.front();
    ready_.pop_front();
    Row& row = rows_[static_cast<std::size_t>(token.row)];
    if (row.stopped) continue;
    ++row.length;
    return token;
  }
}

bool Generation::stop(std::int64_t row) {
  rows_.at(static_cast<std::size_t>(row)).stopped = true;
  const bool running = search_->stop(row);
  return running || std::any_of(ready_.begin(), ready_.end(),
                                [&](const GeneratedToken& token) { return token.row == row; });
}

SearchResult Generation::run() {
  while (next()) {
  }
  SearchResult result = search_->result();
  for (std::size_t r = 0; r < rows_.size(); ++r)
    if (rows_[r].stopped) result.sequences[r].resize(rows_[r].length);
  return result;
}

Tensor ids_tensor(const std::vector<TokenIds>& rows) {
  TokenIds flat;
  for (const TokenIds& row : rows) flat.insert(flat.end(), row.begin(), row.end());
  return Tensor::of<std::int64_t>(
      {static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(rows.front().size())},
      flat);
}

std::vector<TokenIds> ids_rows(const Tensor& ids) {
  std::vector<TokenIds> rows;
  for (std::int64_t r = 0; r < ids.size(0); ++r) {
    const std::int64_t* row = ids.data<std::int64_t>() + r * ids.size(1);
    rows.emplace_back(row, row + ids.size(1));
  }
  return rows;
}

void pad_to_longest(std::vector<TokenIds>& sequences, std::int64_t pad_id, std::int64_t group) {
  const std::size_t step = group == 0 ? sequences.size() : static_cast<std::size_t>(group);
  for (std::size_t first = 0; first < sequences.size(); first += step) {
    const std::size_t end = std::min(first + step, sequences.size());
    std::size_t longest = 0;
    for (std::size_t i = first; i < end; ++i) longest = std::max(longest, sequences[i].size());
    for (std::size_t i = first; i < end; ++i) sequences[i].resize(longest, pad_id);
  }
}

}  // namespace weft
