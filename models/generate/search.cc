#include "weft/models/generate/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "weft/core/error.h"

namespace weft {
namespace {

using Ids = std::vector<std::int64_t>;
constexpr double kNever = -std::numeric_limits<double>::infinity();

Tensor tensor_of(const std::vector<Ids>& rows, std::size_t begin) {
  const std::size_t width = rows.front().size() - begin;
  std::vector<std::int64_t> flat;
  for (const Ids& row : rows)
    flat.insert(flat.end(), row.begin() + static_cast<std::ptrdiff_t>(begin), row.end());
  return Tensor::of<std::int64_t>(
      {static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(width)}, flat);
}

std::vector<double> log_softmax(const float* logits, std::int64_t n, const Ids& never) {
  std::vector<double> scores(logits, logits + n);
  for (const std::int64_t id : never) scores[static_cast<std::size_t>(id)] = kNever;
  const double most = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (const double s : scores) sum += std::exp(s - most);
  for (double& s : scores) s -= most + std::log(sum);
  return scores;
}

/// What the options forbid after `ids`, and what they force.
void apply(const SearchOptions& options, const Ids& ids, std::size_t start,
           std::vector<double>& scores) {
  const auto length = static_cast<std::int64_t>(ids.size());
  if (const std::int64_t n = options.no_repeat_ngram; n > 0 && length >= n) {
    const std::ptrdiff_t tail = n - 1;
    for (auto at = ids.begin(); at + tail < ids.end(); ++at) {
      if (std::equal(at, at + tail, ids.end() - tail))
        scores[static_cast<std::size_t>(at[tail])] = kNever;
    }
  }
  for (const std::int64_t id : options.forbidden) scores[static_cast<std::size_t>(id)] = kNever;
  if (options.eos_id >= 0 && length < options.min_length)
    scores[static_cast<std::size_t>(options.eos_id)] = kNever;
  const auto force = [&](std::int64_t id) {
    std::fill(scores.begin(), scores.end(), kNever);
    scores[static_cast<std::size_t>(id)] = 0;
  };
  if (options.forced_bos_id >= 0 && ids.size() == start) force(options.forced_bos_id);
  if (options.forced_eos_id >= 0 && length == options.max_length - 1) force(options.forced_eos_id);
}

/// The model's word on the last of `rows`, which have `seen` ids that it knows already.
class Model {
 public:
  Model(const DecodeStep& step, const SearchOptions& options) : step_(step), options_(options) {}

  Tensor operator()(const std::vector<Ids>& rows, const std::vector<std::int64_t>& parents) {
    const auto count = static_cast<std::int64_t>(rows.size());
    const Tensor logits = step_(tensor_of(rows, seen_), static_cast<std::int64_t>(seen_),
                                Tensor::of<std::int64_t>({count}, parents));
    seen_ = rows.front().size();
    if (logits.dtype() != DType::f32 || logits.rank() != 2 || logits.size(0) != count)
      throw ShapeError(
          fmt::format("a step must give f32[{}, vocab], not {}", count, logits.type_str()));
    Ids ids = options_.never;
    ids.insert(ids.end(), options_.forbidden.begin(), options_.forbidden.end());
    for (const std::int64_t id : {options_.eos_id, options_.forced_eos_id, options_.forced_bos_id})
      ids.push_back(std::max<std::int64_t>(id, 0));
    for (const std::int64_t id : ids) {
      if (id < 0 || id >= logits.size(1))
        throw ArgumentError(
            fmt::format("the id {} is outside the vocabulary of {}", id, logits.size(1)));
    }
    return logits;
  }

 private:
  const DecodeStep& step_;
  const SearchOptions& options_;
  std::size_t seen_ = 0;
};

/// All as long as the longest.
void fill_up(std::vector<Ids>& rows, std::int64_t pad_id) {
  std::size_t longest = 0;
  for (const Ids& row : rows) longest = std::max(longest, row.size());
  for (Ids& row : rows) row.resize(longest, pad_id);
}

SearchResult greedy(const DecodeStep& step, std::vector<Ids> rows, const SearchOptions& options) {
  Model model(step, options);
  const std::size_t start = rows.front().size();
  std::vector<std::int64_t> same(rows.size());
  for (std::size_t r = 0; r < same.size(); ++r) same[r] = static_cast<std::int64_t>(r);
  std::vector<bool> done(rows.size());
  while (static_cast<std::int64_t>(rows.front().size()) < options.max_length &&
         std::find(done.begin(), done.end(), false) != done.end()) {
    const Tensor logits = model(rows, same);
    const std::int64_t vocab = logits.size(1);
    for (std::size_t r = 0; r < rows.size(); ++r) {
      if (done[r]) {
        rows[r].push_back(options.pad_id);
        continue;
      }
      const float* row = logits.data<float>() + static_cast<std::int64_t>(r) * vocab;
      std::vector<double> scores(row, row + vocab);
      apply(options, rows[r], start, scores);
      const auto best = std::max_element(scores.begin(), scores.end()) - scores.begin();
      rows[r].push_back(best);
      done[r] = best == options.eos_id;
    }
  }
  return {std::move(rows), {}};
}

struct Hypothesis {
  Ids ids;
  double score;
};

/// The finished sequences of one prompt.
class Finished {
 public:
  explicit Finished(const SearchOptions& options) : options_(options) {}

  void add(const Ids& ids, double sum) {
    kept_.push_back({ids, sum / penalty(ids.size())});
    std::stable_sort(kept_.begin(), kept_.end(),
                     [](const Hypothesis& a, const Hypothesis& b) { return a.score > b.score; });
    if (kept_.size() > static_cast<std::size_t>(options_.beams)) kept_.pop_back();
  }
  /// Nothing better can come of a sequence of `length` whose best candidate has this sum.
  bool done(double best_sum, std::size_t length) const {
    if (kept_.size() < static_cast<std::size_t>(options_.beams)) return false;
    return options_.early_stopping || kept_.back().score >= best_sum / penalty(length);
  }
  const std::vector<Hypothesis>& kept() const { return kept_; }

 private:
  double penalty(std::size_t length) const {
    return std::pow(static_cast<double>(length), options_.length_penalty);
  }
  const SearchOptions& options_;
  std::vector<Hypothesis> kept_;  // best first
};

struct Candidate {
  double sum;
  std::int64_t row, id;
};

/// The 2 * beams best continuations of one prompt's rows, best first.
std::vector<Candidate> candidates(const Tensor& logits, const std::vector<Ids>& rows,
                                  const std::vector<double>& sums, std::size_t first_row,
                                  std::size_t start, const SearchOptions& options) {
  const std::int64_t vocab = logits.size(1);
  std::vector<Candidate> all;
  const auto beams = static_cast<std::size_t>(options.beams);
  for (std::size_t r = first_row; r < first_row + beams; ++r) {
    const auto row = static_cast<std::int64_t>(r);
    std::vector<double> scores =
        log_softmax(logits.data<float>() + row * vocab, vocab, options.never);
    apply(options, rows[r], start, scores);
    for (std::int64_t id = 0; id < vocab; ++id)
      all.push_back({sums[r] + scores[static_cast<std::size_t>(id)], row, id});
  }
  const std::size_t count = std::min(2 * beams, all.size());
  std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count), all.end(),
                    [](const Candidate& a, const Candidate& b) {
                      if (a.sum != b.sum) return a.sum > b.sum;
                      return a.row != b.row ? a.row < b.row : a.id < b.id;
                    });
  all.resize(count);
  return all;
}

SearchResult beam_search(const DecodeStep& step, const std::vector<Ids>& starts,
                         const SearchOptions& options) {
  Model model(step, options);
  const std::size_t start = starts.front().size();
  const auto beams = static_cast<std::size_t>(options.beams);
  std::vector<Ids> rows;
  std::vector<double> sums;
  std::vector<std::int64_t> parents;
  for (const Ids& ids : starts) {
    for (std::size_t b = 0; b < beams; ++b) {
      parents.push_back(static_cast<std::int64_t>(rows.size()));
      rows.push_back(ids);
      sums.push_back(b == 0 ? 0 : -1e9);  // one row speaks for all at the start
    }
  }
  std::vector<Finished> finished(starts.size(), Finished(options));
  std::vector<bool> done(starts.size());
  while (static_cast<std::int64_t>(rows.front().size()) < options.max_length &&
         std::find(done.begin(), done.end(), false) != done.end()) {
    const Tensor logits = model(rows, parents);
    std::vector<Ids> next;
    std::vector<double> next_sums;
    parents.clear();
    const auto go_on = [&](std::size_t row, std::int64_t id, double sum) {
      next.push_back(rows[row]);
      next.back().push_back(id);
      next_sums.push_back(sum);
      parents.push_back(static_cast<std::int64_t>(row));
    };
    for (std::size_t p = 0; p < starts.size(); ++p) {
      if (done[p]) {
        for (std::size_t b = 0; b < beams; ++b) go_on(p * beams + b, options.pad_id, 0);
        continue;
      }
      const auto best = candidates(logits, rows, sums, p * beams, start, options);
      for (std::size_t rank = 0; rank < best.size() && next.size() < (p + 1) * beams; ++rank) {
        const Candidate& c = best[rank];
        const auto row = static_cast<std::size_t>(c.row);
        if (c.id != options.eos_id) {
          go_on(row, c.id, c.sum);
        } else if (rank < beams) {
          finished[p].add(rows[row], c.sum);
        }
      }
      // A vocabulary smaller than the beams leaves some without a candidate.
      while (next.size() < (p + 1) * beams) go_on(p * beams, options.pad_id, kNever);
      done[p] = finished[p].done(best.front().sum, rows[p * beams].size());
    }
    rows = std::move(next);
    sums = std::move(next_sums);
  }

  SearchResult result;
  for (std::size_t p = 0; p < starts.size(); ++p) {
    for (std::size_t b = 0; !done[p] && b < beams; ++b)
      finished[p].add(rows[p * beams + b], sums[p * beams + b]);
    for (std::size_t i = 0; i < static_cast<std::size_t>(options.results); ++i) {
      const Hypothesis& h = finished[p].kept().at(i);
      result.sequences.push_back(h.ids);
      if (static_cast<std::int64_t>(h.ids.size()) < options.max_length)
        result.sequences.back().push_back(options.eos_id);
      result.scores.push_back(h.score);
    }
  }
  fill_up(result.sequences, options.pad_id);
  return result;
}

}  // namespace

void SearchOptions::check() const {
  const auto at_least = [](const char* name, std::int64_t value, std::int64_t low) {
    if (value < low)
      throw ArgumentError(fmt::format("{} must be at least {}, not {}", name, low, value));
  };
  at_least("beams", beams, 1);
  at_least("max_length", max_length, 1);
  at_least("min_length", min_length, 0);
  at_least("no_repeat_ngram", no_repeat_ngram, 0);
  at_least("eos_id", eos_id, -1);
  at_least("results", results, 1);
  if (results > beams)
    throw ArgumentError(fmt::format("results must be at most beams, {}, not {}", beams, results));
  if (!std::isfinite(length_penalty))
    throw ArgumentError(fmt::format("length_penalty must be finite, not {}", length_penalty));
}

SearchResult search(const DecodeStep& step, const Tensor& starts, const SearchOptions& options) {
  options.check();
  if (starts.dtype() != DType::i64 || starts.rank() != 2 || starts.numel() == 0)
    throw ShapeError(fmt::format("starts must be i64 [prompts, length] and not empty, not {}",
                                 starts.type_str()));
  std::vector<Ids> rows;
  for (std::int64_t p = 0; p < starts.size(0); ++p) {
    const std::int64_t* ids = starts.data<std::int64_t>() + p * starts.size(1);
    rows.emplace_back(ids, ids + starts.size(1));
  }
  return options.beams == 1 ? greedy(step, std::move(rows), options)
                            : beam_search(step, rows, options);
}

}  // namespace weft
