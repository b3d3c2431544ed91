#include "weft/models/generate/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "weft/core/error.h"
#include "weft/models/generate/sampling.h"
#include "weft/models/generate/search_model.h"

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

bool ends_with(std::span<const std::int64_t> ids, const TokenIds& end) {
  return ids.size() >= end.size() &&
         std::equal(end.begin(), end.end(), ids.end() - static_cast<long>(end.size()));
}

}  // namespace

std::int64_t rows_per_prompt(const GenerationOptions& options) {
  return std::max(options.beams, options.results);
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

void SearchModel::run(const std::vector<TokenIds>& rows, const TokenIds& parents) {
  const auto count = static_cast<std::int64_t>(rows.size());
  std::vector<TokenIds> added;
  for (const TokenIds& row : rows)
    added.emplace_back(row.begin() + static_cast<std::ptrdiff_t>(seen_), row.end());
  logits_ = step_(ids_tensor(added), static_cast<std::int64_t>(seen_),
                  Tensor::of<std::int64_t>({count}, parents));
  seen_ = rows.front().size();
  if (logits_.dtype() != DType::f32 || logits_.rank() != 2 || logits_.size(0) != count) {
    throw ShapeError(
        fmt::format("a decode step must return f32[{}, vocab], not {}", count, logits_.type_str()));
  }
  for (const std::int64_t id : referenced_ids(options_)) {
    if (id < 0 || id >= vocab())
      throw ArgumentError(fmt::format("id {} is outside the vocabulary (size {})", id, vocab()));
  }
}

std::vector<double> SearchModel::logits(std::size_t row) const {
  const float* first = logits_.data<float>() + static_cast<std::int64_t>(row) * vocab();
  std::vector<double> result(first, first + vocab());
  const bool numbers =
      std::none_of(result.begin(), result.end(), [](double x) { return std::isnan(x); });
  if (!numbers || !std::isfinite(*std::max_element(result.begin(), result.end())))
    throw DataError("the model's logits are not finite: training may have diverged");
  return result;
}

SearchResult sample_rows(SearchModel& model, const SearchStarts& starts,
                         const std::vector<PromptRules>& prompts, const GenerationOptions& options,
                         const OnToken& on_token) {
  const auto each = static_cast<std::size_t>(rows_per_prompt(options));
  std::vector<TokenIds> rows;
  TokenIds same;
  for (const TokenIds& ids : starts.ids) {
    for (std::size_t i = 0; i < each; ++i) {
      same.push_back(static_cast<std::int64_t>(rows.size()));
      rows.push_back(ids);
    }
  }
  std::vector<bool> done(rows.size());
  SearchResult result;
  result.sequences.resize(rows.size());
  const std::size_t start = rows.front().size();
  for (bool more = true; more;) {
    model.run(rows, same);
    more = false;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      if (done[r]) {
        rows[r].push_back(options.pad_id);
        continue;
      }
      const PromptRules& prompt = prompts[r / each];
      const auto row = static_cast<std::int64_t>(r);
      std::vector<double> scores = model.logits(r);
      apply_rules(options, prompt.lengths, prompt.without_padding(rows[r]), scores);
      const auto best = std::max_element(scores.begin(), scores.end());
      if (*best == kForbidden) {
        throw DataError(fmt::format(
            "the options exclude every id in the vocabulary after {} ids in row {}: no id can be "
            "generated",
            prompt.length(rows[r]), row));
      }
      std::int64_t id = best - scores.begin();
      if (options.sampling) {
        filter_scores(*options.sampling, scores);
        id = sample_id(scores, options.sampling->seed, options.sampling->first_row + row,
                       prompt.length(rows[r]) - prompt.lengths.start);
      }
      rows[r].push_back(id);
      const auto fresh = std::span<const std::int64_t>(rows[r]).subspan(start);
      bool ends = options.is_end(id) || prompt.is_full(rows[r]);
      for (const TokenIds& end : options.stop_sequences) ends = ends || ends_with(fresh, end);
      if (options.stop && options.stop(row, fresh)) ends = true;
      if (on_token && !on_token(row, id)) ends = true;
      done[r] = ends;
      more = more || !ends;
      if (ends) {
        const auto without_padding = prompt.without_padding(rows[r]);
        result.sequences[r].assign(without_padding.begin(), without_padding.end());
      }
    }
  }
  return result;
}

SearchResult search(const DecodeStep& step, const SearchStarts& starts,
                    const GenerationOptions& options, const OnToken& on_token) {
  options.check();
  if (on_token && options.beams > 1 && options.results > 1)
    throw ArgumentError(
        "on_token is not supported if beam search returns several results, because they are known "
        "only at "
        "the end");
  if (starts.ids.empty() || starts.ids.front().empty())
    throw ArgumentError("starts must not be empty");
  std::vector<PromptRules> prompts;
  for (std::size_t p = 0; p < starts.ids.size(); ++p) {
    const std::int64_t padding = starts.padding.empty() ? 0 : starts.padding.at(p);
    const auto length = static_cast<std::int64_t>(starts.ids[p].size()) - padding;
    if (starts.ids[p].size() != starts.ids.front().size() || padding < 0 || length < 1)
      throw ArgumentError(
          "all starts must have the same length and at least one id that is not padding");
    prompts.push_back({padding, length_rules(options, length)});
    if (prompts.back().lengths.max <= length) {
      throw ArgumentError(
          fmt::format("the prompt has {} tokens and {} is {}: there is no room for new tokens",
                      length, options.max_new >= 0 ? "max_new" : "max_length",
                      options.max_new >= 0 ? options.max_new : options.max_length));
    }
  }
  SearchModel model(step, options);
  return options.beams == 1 ? sample_rows(model, starts, prompts, options, on_token)
                            : beam_search(model, starts, prompts, options, on_token);
}

SearchResult search(const DecodeStep& step, const Tensor& starts, const GenerationOptions& options,
                    const OnToken& on_token) {
  if (starts.dtype() != DType::i64 || starts.rank() != 2 || starts.numel() == 0)
    throw ShapeError(fmt::format("starts must be a non-empty i64 [prompts, length] tensor, not {}",
                                 starts.type_str()));
  return search(step, SearchStarts{ids_rows(starts)}, options, on_token);
}

}  // namespace weft
