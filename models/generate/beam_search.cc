// Beam search with the rules of Hugging Face transformers.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "weft/core/error.h"
#include "weft/models/generate/next_id.h"
#include "weft/models/generate/search.h"

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

struct Candidate {
  double sum;
  std::int64_t row, id;
};

/// The state of one prompt.
struct Prompt {
  Finished finished;
  std::size_t reported;  // number of ids, including those of the start, that have become final
  bool done = false;
};

class BeamSearch final : public Search {
 public:
  BeamSearch(StepModel& model, const SearchStarts& starts, const GenerationOptions& options)
      : Search(model, starts, options), beams_(static_cast<std::size_t>(options.beams)) {
    for (const PromptRules& rules : prompts_) {
      states_.push_back({Finished(options_, rules), rows_.front().size()});
      sums_.push_back(0);  // rows are identical at the start: use only the first
      sums_.insert(sums_.end(), beams_ - 1, -1e9);
    }
  }

  void step(std::deque<GeneratedToken>& tokens) override {
    if (std::all_of(states_.begin(), states_.end(), [](const Prompt& p) { return p.done; }))
      return finish(tokens);
    run_model();
    std::vector<TokenIds> next;
    std::vector<double> next_sums;
    parents_.clear();
    const auto extend_row = [&](std::size_t row, std::int64_t id, double sum) {
      next.push_back(rows_[row]);
      next.back().push_back(id);
      next_sums.push_back(sum);
      parents_.push_back(static_cast<std::int64_t>(row));
    };
    for (std::size_t p = 0; p < states_.size(); ++p) {
      Prompt& state = states_[p];
      const std::size_t first = p * beams_;
      if (state.done) {
        for (std::size_t b = 0; b < beams_; ++b) extend_row(first + b, options_.pad_id, 0);
        continue;
      }
      find_candidates(p);
      for (std::size_t rank = 0; rank < candidates_.size() && next.size() < first + beams_;
           ++rank) {
        const Candidate& c = candidates_[rank];
        const auto row = static_cast<std::size_t>(c.row);
        if (!options_.is_end(c.id)) {
          extend_row(row, c.id, c.sum);
        } else if (rank < beams_) {
          state.finished.add(rows_[row], c.sum, true);
        }
      }
      // If the vocabulary is smaller than the number of beams, some beams have no candidate.
      while (next.size() < first + beams_) extend_row(first, options_.pad_id, kForbidden);
      state.done = state.finished.done(candidates_.front().sum, prompts_[p].length(rows_[first]));
    }
    rows_ = std::move(next);
    sums_ = std::move(next_sums);
    for (std::size_t p = 0; p < states_.size(); ++p) {
      if (states_[p].done) continue;
      if (options_.results == 1) report_stable_ids(p, tokens);
      if (prompts_[p].is_full(rows_[p * beams_])) end_prompt(p);
    }
  }

  bool stop(std::int64_t row) override {
    const std::int64_t p = row / options_.results;
    if (states_.at(static_cast<std::size_t>(p)).done) return false;
    if (options_.results == 1) end_prompt(static_cast<std::size_t>(p));
    return true;
  }

 private:
  /// Sets candidates_ to the best continuations of the rows of one prompt, best first. There are
  /// enough for `beams` rows to continue even if all end ids are among them.
  void find_candidates(std::size_t p) {
    candidates_.clear();
    for (std::size_t r = p * beams_; r < (p + 1) * beams_; ++r) {
      std::vector<double>& scores = scores_;
      read_logits(logits(r), fmt::format("row {}", r), scores);
      log_softmax(options_.suppressed, scores);
      apply_rules(options_, prompts_[p].lengths, prompts_[p].without_padding(rows_[r]), scores);
      for (std::int64_t id = 0; id < vocab(); ++id)
        candidates_.push_back(
            {sums_[r] + scores[static_cast<std::size_t>(id)], static_cast<std::int64_t>(r), id});
    }
    const std::size_t ends = options_.stop_ids.size() + (options_.eos_id >= 0 ? 1 : 0);
    const std::size_t count =
        std::min(std::max<std::size_t>(2, 1 + ends) * beams_, candidates_.size());
    std::partial_sort(candidates_.begin(), candidates_.begin() + static_cast<std::ptrdiff_t>(count),
                      candidates_.end(), [](const Candidate& a, const Candidate& b) {
                        if (a.sum != b.sum) return a.sum > b.sum;
                        return a.row != b.row ? a.row < b.row : a.id < b.id;
                      });
    candidates_.resize(count);
  }

  /// Reports the ids that the prompt's result certainly has: the common prefix of all sequences
  /// that may still become the result.
  void report_stable_ids(std::size_t p, std::deque<GeneratedToken>& tokens) {
    const TokenIds& first = rows_[p * beams_];
    std::size_t same = first.size();
    const auto compare = [&](const TokenIds& other) {
      const auto most = static_cast<std::ptrdiff_t>(std::min(same, other.size()));
      same = static_cast<std::size_t>(
          std::mismatch(first.begin(), first.begin() + most, other.begin()).first - first.begin());
    };
    for (std::size_t b = 1; b < beams_; ++b) compare(rows_[p * beams_ + b]);
    for (const Hypothesis& other : states_[p].finished.kept()) compare(other.ids);
    for (std::size_t& reported = states_[p].reported; reported < same;)
      tokens.push_back({static_cast<std::int64_t>(p), first[reported++]});
  }

  /// Ends the search for a prompt: its running beams are results as well.
  void end_prompt(std::size_t p) {
    for (std::size_t b = p * beams_; b < (p + 1) * beams_; ++b)
      states_[p].finished.add(rows_[b], sums_[b], false);
    states_[p].done = true;
  }

  /// Sets the result and reports the ids that have not been reported before.
  void finish(std::deque<GeneratedToken>& tokens) {
    for (std::size_t p = 0; p < states_.size(); ++p) {
      for (std::size_t i = 0; i < static_cast<std::size_t>(options_.results); ++i) {
        const Hypothesis& h = states_[p].finished.kept().at(i);
        if (h.score == kForbidden) {
          throw DataError(fmt::format(
              "there are only {} possible sequences, but results is {}: request fewer results, or "
              "allow longer sequences or more ids",
              i, options_.results));
        }
        const auto ids = prompts_[p].without_padding(h.ids);
        TokenIds& sequence = result_.sequences.emplace_back(ids.begin(), ids.end());
        // Hugging Face transformers always appends the first end id, even if another one was
        // generated.
        if (h.ended)
          sequence.push_back(options_.eos_id >= 0 ? options_.eos_id : options_.stop_ids.front());
        result_.scores.push_back(h.score);
        const auto row = static_cast<std::int64_t>(result_.scores.size()) - 1;
        for (auto at = states_[p].reported - static_cast<std::size_t>(prompts_[p].padding);
             at < sequence.size(); ++at)
          tokens.push_back({row, sequence[at]});
      }
    }
    finished_ = true;
  }

  const std::size_t beams_;
  std::vector<double> sums_;  // sums of log-probabilities of rows_
  std::vector<Prompt> states_;
  std::vector<Candidate> candidates_;
};

}  // namespace

std::unique_ptr<Search> make_beam_search(StepModel& model, const SearchStarts& starts,
                                         const GenerationOptions& options) {
  return std::make_unique<BeamSearch>(model, starts, options);
}

}  // namespace weft
