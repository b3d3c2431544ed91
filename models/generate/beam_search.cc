// Beam search with the rules of Hugging Face transformers.
#include <algorithm>
#include <cmath>
#include <span>

#include "weft/models/generate/search_model.h"

namespace weft {
namespace {

void log_softmax(const TokenIds& suppressed, std::vector<double>& scores) {
  for (const std::int64_t id : suppressed) scores[static_cast<std::size_t>(id)] = kForbidden;
  const double most = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (const double s : scores) sum += std::exp(s - most);
  for (double& s : scores) s -= most + std::log(sum);
}

struct Hypothesis {
  TokenIds ids;
  double score;
  bool ended;
};

/// The best finished sequences for one prompt, at most `beams` of them.
class Finished {
 public:
  Finished(const GenerationOptions& options, const PromptRules& rules)
      : options_(options), rules_(rules) {}

  void add(const TokenIds& ids, double sum, bool ended) {
    kept_.push_back({ids, sum / penalty(rules_.length(ids)), ended});
    std::stable_sort(kept_.begin(), kept_.end(),
                     [](const Hypothesis& a, const Hypothesis& b) { return a.score > b.score; });
    if (kept_.size() > static_cast<std::size_t>(options_.beams)) kept_.pop_back();
  }
  /// Returns true if the running sequences, which have `length` ids, can no longer improve the
  /// result. `best_sum` is the sum of log-probabilities of their best candidate.
  bool done(double best_sum, std::int64_t length) const {
    if (kept_.size() < static_cast<std::size_t>(options_.beams)) return false;
    switch (options_.early_stopping) {
      case EarlyStopping::first: return true;
      case EarlyStopping::heuristic: break;
      case EarlyStopping::never:
        // A positive penalty favours long sequences, so assume the maximum length.
        if (options_.length_penalty > 0) length = rules_.lengths.max;
        break;
    }
    return kept_.back().score >= best_sum / penalty(length);
  }
  const std::vector<Hypothesis>& kept() const { return kept_; }

 private:
  double penalty(std::int64_t length) const {
    return std::pow(static_cast<double>(length), options_.length_penalty);
  }
  const GenerationOptions& options_;
  const PromptRules& rules_;
  std::vector<Hypothesis> kept_;  // best first
};

/// Reports ids of a prompt's result as soon as they are final, while beams are still running. These
/// ids are the common prefix of all sequences that may still become the result.
class StablePrefix {
 public:
  /// `start`: number of ids that all sequences start from.
  explicit StablePrefix(std::size_t start) : emitted_(start) {}

  /// Passes the ids that have become final to the callback. Returns false once the callback has
  /// returned false.
  template <class Emit>
  bool emit(std::span<const TokenIds> running, const std::vector<Hypothesis>& finished,
            Emit&& emit) {
    const TokenIds& first = running.front();
    std::size_t same = first.size();
    const auto compare = [&](const TokenIds& other) {
      const auto most = static_cast<std::ptrdiff_t>(std::min(same, other.size()));
      same = static_cast<std::size_t>(
          std::mismatch(first.begin(), first.begin() + most, other.begin()).first - first.begin());
    };
    for (const TokenIds& other : running) compare(other);
    for (const Hypothesis& other : finished) compare(other.ids);
    while (emitted_ < same && !stopped_) stopped_ = !emit(first[emitted_++]);
    return !stopped_;
  }
  /// Reports the remaining ids of the final result, from which the `padding` leading ids were
  /// already removed. If the callback has returned false, truncates the result after the last
  /// reported id.
  template <class Emit>
  void emit_rest(TokenIds& result, std::int64_t padding, Emit&& emit) {
    auto emitted = emitted_ - static_cast<std::size_t>(padding);
    while (emitted < result.size() && !stopped_) stopped_ = !emit(result[emitted++]);
    if (stopped_) result.resize(emitted);
  }

 private:
  std::size_t emitted_;
  bool stopped_ = false;
};

struct Candidate {
  double sum;
  std::int64_t row, id;
};

/// Returns the best continuations of the rows of one prompt, best first. There are enough for
/// `beams` rows to continue even if all end ids are among them.
std::vector<Candidate> candidates(const SearchModel& model, const std::vector<TokenIds>& rows,
                                  const std::vector<double>& sums, std::size_t first_row,
                                  const PromptRules& prompt, const GenerationOptions& options) {
  std::vector<Candidate> all;
  const auto beams = static_cast<std::size_t>(options.beams);
  for (std::size_t r = first_row; r < first_row + beams; ++r) {
    std::vector<double> scores = model.logits(r);
    log_softmax(options.suppressed, scores);
    apply_rules(options, prompt.lengths, prompt.without_padding(rows[r]), scores);
    for (std::int64_t id = 0; id < model.vocab(); ++id)
      all.push_back(
          {sums[r] + scores[static_cast<std::size_t>(id)], static_cast<std::int64_t>(r), id});
  }
  const std::size_t ends = options.stop_ids.size() + (options.eos_id >= 0 ? 1 : 0);
  const std::size_t count = std::min(std::max<std::size_t>(2, 1 + ends) * beams, all.size());
  std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count), all.end(),
                    [](const Candidate& a, const Candidate& b) {
                      if (a.sum != b.sum) return a.sum > b.sum;
                      return a.row != b.row ? a.row < b.row : a.id < b.id;
                    });
  all.resize(count);
  return all;
}

}  // namespace

SearchResult beam_search(SearchModel& model, const SearchStarts& starts,
                         const std::vector<PromptRules>& prompts, const GenerationOptions& options,
                         const OnToken& on_token) {
  const auto beams = static_cast<std::size_t>(options.beams);
  std::vector<TokenIds> rows;
  std::vector<double> sums;
  TokenIds parents;
  std::vector<Finished> finished;
  std::vector<StablePrefix> stable_prefixes;
  for (std::size_t p = 0; p < starts.ids.size(); ++p) {
    finished.emplace_back(options, prompts[p]);
    stable_prefixes.emplace_back(starts.ids[p].size());
    for (std::size_t b = 0; b < beams; ++b) {
      parents.push_back(static_cast<std::int64_t>(rows.size()));
      rows.push_back(starts.ids[p]);
      sums.push_back(b == 0 ? 0 : -1e9);  // rows are identical at the start: use only the first
    }
  }
  std::vector<bool> done(starts.ids.size());
  while (std::find(done.begin(), done.end(), false) != done.end()) {
    model.run(rows, parents);
    std::vector<TokenIds> next;
    std::vector<double> next_sums;
    parents.clear();
    const auto extend_row = [&](std::size_t row, std::int64_t id, double sum) {
      next.push_back(rows[row]);
      next.back().push_back(id);
      next_sums.push_back(sum);
      parents.push_back(static_cast<std::int64_t>(row));
    };
    for (std::size_t p = 0; p < prompts.size(); ++p) {
      const std::size_t first = p * beams;
      if (done[p]) {
        for (std::size_t b = 0; b < beams; ++b) extend_row(first + b, options.pad_id, 0);
        continue;
      }
      const auto best = candidates(model, rows, sums, first, prompts[p], options);
      for (std::size_t rank = 0; rank < best.size() && next.size() < first + beams; ++rank) {
        const Candidate& c = best[rank];
        const auto row = static_cast<std::size_t>(c.row);
        if (!options.is_end(c.id)) {
          extend_row(row, c.id, c.sum);
        } else if (rank < beams) {
          finished[p].add(rows[row], c.sum, true);
        }
      }
      // If the vocabulary is smaller than the number of beams, some beams have no candidate.
      while (next.size() < first + beams) extend_row(first, options.pad_id, kForbidden);
      done[p] = finished[p].done(best.front().sum, prompts[p].length(rows[first]));
      if (done[p]) continue;
      const auto running = std::span(next).subspan(first, beams);
      const bool wants_more =
          !on_token || stable_prefixes[p].emit(running, finished[p].kept(), [&](auto id) {
            return on_token(static_cast<std::int64_t>(p), id);
          });
      if (wants_more && !prompts[p].is_full(next[first])) continue;
      for (std::size_t b = first; b < first + beams; ++b)
        finished[p].add(next[b], next_sums[b], false);
      done[p] = true;
    }
    rows = std::move(next);
    sums = std::move(next_sums);
  }

  SearchResult result;
  for (std::size_t p = 0; p < prompts.size(); ++p) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(options.results); ++i) {
      const Hypothesis& h = finished[p].kept().at(i);
      const auto ids = prompts[p].without_padding(h.ids);
      result.sequences.emplace_back(ids.begin(), ids.end());
      // Hugging Face transformers always appends the first end id, even if another one was
      // generated.
      if (h.ended)
        result.sequences.back().push_back(options.eos_id >= 0 ? options.eos_id
                                                              : options.stop_ids.front());
      result.scores.push_back(h.score);
      if (on_token)
        stable_prefixes[p].emit_rest(result.sequences.back(), prompts[p].padding, [&](auto id) {
          return on_token(static_cast<std::int64_t>(p), id);
        });
    }
  }
  return result;
}

}  // namespace weft
