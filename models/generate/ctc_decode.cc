#include "weft/models/generate/ctc_decode.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <unordered_map>

#include "weft/core/error.h"

namespace weft {
namespace {

constexpr double kImpossible = -std::numeric_limits<double>::infinity();

double log_sum(double a, double b) {
  if (a < b) std::swap(a, b);
  return b == kImpossible ? a : a + std::log1p(std::exp(b - a));
}

// Logits and the number of valid steps of each row.
class CtcRows {
 public:
  CtcRows(const Tensor& logits, const Tensor& lengths, std::int64_t blank, const char* function)
      : logits_(logits), function_(function) {
    if (!logits.defined() || logits.rank() != 3) {
      throw ShapeError(fmt::format("{}: logits must be [batch, time, classes], but are {}",
                                   function,
                                   logits.defined() ? to_string(logits.sizes()) : "undefined"));
    }
    if (logits.dtype() != DType::f32 && logits.dtype() != DType::f64) {
      throw DTypeError(fmt::format("{}: logits must be f32 or f64, but are {}", function,
                                   dtype_name(logits.dtype())));
    }
    if (blank < 0 || blank >= classes()) {
      throw ArgumentError(
          fmt::format("{}: blank is {}, but must be one of the {} classes of logits", function,
                      blank, classes()));
    }
    if (lengths.defined()) read_lengths(lengths);
  }

  std::int64_t batch() const { return logits_.size(0); }
  std::int64_t classes() const { return logits_.size(2); }
  std::int64_t steps(std::int64_t row) const {
    return lengths_.empty() ? logits_.size(1) : lengths_[static_cast<std::size_t>(row)];
  }

  // Sets `out` to the logarithms of the probabilities of all classes.
  void log_probabilities(std::int64_t row, std::int64_t step, std::vector<double>& out) const {
    const std::int64_t begin = (row * logits_.size(1) + step) * classes();
    out.resize(static_cast<std::size_t>(classes()));
    const auto read = [&](const auto* x) { std::copy_n(x + begin, classes(), out.begin()); };
    if (logits_.dtype() == DType::f32) {
      read(logits_.data<float>());
    } else {
      read(logits_.data<double>());
    }
    const double top = *std::max_element(out.begin(), out.end());
    double total = 0;
    for (const double x : out) total += std::exp(x - top);
    if (!std::isfinite(total) || !std::isfinite(top)) {
      throw DataError(
          fmt::format("{}: the logits of row {}, step {} have no softmax: they contain "
                      "NaN or +inf, or all are -inf",
                      function_, row, step));
    }
    for (double& x : out) x -= top + std::log(total);
  }

 private:
  void read_lengths(const Tensor& lengths) {
    if (lengths.dtype() != DType::i32 && lengths.dtype() != DType::i64) {
      throw DTypeError(fmt::format("{}: input_lengths must be i32 or i64, but are {}", function_,
                                   dtype_name(lengths.dtype())));
    }
    if (lengths.sizes() != Sizes{batch()}) {
      throw ShapeError(
          fmt::format("{}: input_lengths must be [{}], one length for each row, but are {}",
                      function_, batch(), to_string(lengths.sizes())));
    }
    for (std::int64_t row = 0; row < batch(); ++row) {
      const std::int64_t length = lengths.dtype() == DType::i32 ? lengths.data<std::int32_t>()[row]
                                                                : lengths.data<std::int64_t>()[row];
      if (length < 0 || length > logits_.size(1)) {
        throw DataError(fmt::format("{}: input_lengths[{}] is {}, but it must be from 0 to {}",
                                    function_, row, length, logits_.size(1)));
      }
      lengths_.push_back(length);
    }
  }

  const Tensor& logits_;
  const char* function_;
  std::vector<std::int64_t> lengths_;  // empty if all steps are valid
};

// A prefix in the beam. Probabilities are logarithms.
struct Prefix {
  std::int64_t node = 0;       // in the tree of prefixes
  double blank = kImpossible;  // alignments that end with the blank
  double label = kImpossible;  // alignments that end with the last id
  double extra = 0;            // scores of the scorer and bonuses
  // The scores of extensions, which later steps need again.
  std::unordered_map<std::int64_t, double> extensions = {};

  double total() const { return log_sum(blank, label); }
};

// The beam search over one row.
class PrefixSearch {
 public:
  PrefixSearch(const CtcBeamOptions& options, std::int64_t classes)
      : options_(options), classes_(classes), order_(static_cast<std::size_t>(classes)) {
    std::iota(order_.begin(), order_.end(), std::int64_t{0});
    beam_.push_back({.blank = 0});
  }

  // Extends the prefixes by one step, with these logarithms of probabilities.
  void step(const std::vector<double>& log_p) {
    const std::span<const std::int64_t> candidates = likely_classes(log_p);
    std::vector<Prefix> next;
    std::vector<Extension> extensions;
    find_children();
    std::vector<char> taken(static_cast<std::size_t>(classes_));
    taken[at(options_.blank)] = 1;
    for (std::size_t i = 0; i < beam_.size(); ++i) {
      Prefix& p = beam_[i];
      const Node& node = nodes_[at(p.node)];
      Prefix same{.node = p.node, .extra = p.extra};
      same.blank = p.total() + log_p[at(options_.blank)];
      if (node.parent >= 0) {
        same.label = p.label + log_p[at(node.id)];
        const std::int64_t parent = nodes_[at(node.parent)].in_beam;
        if (parent >= 0) {
          same.label = log_sum(same.label, extended(beam_[at(parent)], node.id, log_p));
        }
      }
      for (const std::int64_t child : children_[i]) taken[at(child)] = 1;
      for (const std::int64_t id : candidates) {
        if (taken[at(id)] != 0) continue;
        const double label = extended(p, id, log_p);
        if (label == kImpossible) continue;
        const double extra = p.extra + extension_score(p, id);
        if (extra != kImpossible) extensions.push_back({i, id, label, extra});
      }
      for (const std::int64_t child : children_[i]) taken[at(child)] = 0;
      next.push_back(std::move(same));
    }
    keep_best(std::move(next), extensions);
  }

  std::vector<CtcHypothesis> results() {
    std::vector<CtcHypothesis> all;
    for (const Prefix& p : beam_) {
      CtcHypothesis h{ids_of(p.node), p.total(), p.total() + p.extra};
      if (options_.scorer) h.score += weighted_score(h.ids, std::nullopt);
      all.push_back(std::move(h));
    }
    std::stable_sort(all.begin(), all.end(), [](const CtcHypothesis& a, const CtcHypothesis& b) {
      return a.score > b.score;
    });
    if (std::ssize(all) > options_.results) all.resize(at(options_.results));
    return all;
  }

 private:
  struct Node {
    std::int64_t parent = -1, id = -1;  // the root is the empty prefix
    std::int64_t in_beam = -1;          // index in beam_, or -1
  };
  // A prefix of the beam with one more id.
  struct Extension {
    std::size_t from;
    std::int64_t id;
    double label, extra;
  };

  static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

  // Returns the probability of alignments of `p` followed by `id`. A repeated id is a new id only
  // after a blank.
  double extended(const Prefix& p, std::int64_t id, const std::vector<double>& log_p) const {
    return (id == nodes_[at(p.node)].id ? p.blank : p.total()) + log_p[at(id)];
  }

  double extension_score(Prefix& p, std::int64_t id) {
    if (!options_.scorer) return options_.length_bonus;
    const auto [entry, is_new] = p.extensions.try_emplace(id, 0.0);
    if (is_new) entry->second = weighted_score(ids_of(p.node), id);
    return entry->second + options_.length_bonus;
  }

  double weighted_score(const TokenIds& prefix, std::optional<std::int64_t> next) const {
    const double score = options_.scorer(prefix, next);
    if (std::isnan(score)) {
      throw ArgumentError(
          fmt::format("ctc_prefix_beam_search: the scorer returned NaN for {} after {} ids",
                      next ? fmt::format("id {}", *next) : "the end", prefix.size()));
    }
    return options_.scorer_weight == 0 ? 0 : options_.scorer_weight * score;
  }

  // Returns the classes that may extend prefixes.
  std::span<const std::int64_t> likely_classes(const std::vector<double>& log_p) {
    const std::int64_t most = options_.top_classes;
    if (most == 0 || most >= classes_ - 1) return order_;
    // The blank is last, because it extends no prefix.
    const auto is_likelier = [&](std::int64_t a, std::int64_t b) {
      if ((a == options_.blank) != (b == options_.blank)) return b == options_.blank;
      return log_p[at(a)] != log_p[at(b)] ? log_p[at(a)] > log_p[at(b)] : a < b;
    };
    std::partial_sort(order_.begin(), order_.begin() + most, order_.end(), is_likelier);
    return {order_.data(), at(most)};
  }

  // Finds the extensions of each prefix of the beam that are in the beam, too.
  void find_children() {
    children_.assign(beam_.size(), {});
    for (const Prefix& p : beam_) {
      const Node& node = nodes_[at(p.node)];
      if (node.parent < 0) continue;
      const std::int64_t parent = nodes_[at(node.parent)].in_beam;
      if (parent >= 0) children_[at(parent)].push_back(node.id);
    }
  }

  // Sets the beam to the best of the prefixes `same` and of the extensions.
  void keep_best(std::vector<Prefix> same, const std::vector<Extension>& extensions) {
    struct Candidate {
      double score;
      std::size_t index;  // same[index], or extensions[index - same.size()]
    };
    std::vector<Candidate> all;
    for (std::size_t i = 0; i < same.size(); ++i) {
      const double total = same[i].total();
      if (total != kImpossible) all.push_back({total + same[i].extra, i});
    }
    for (std::size_t i = 0; i < extensions.size(); ++i) {
      all.push_back({extensions[i].label + extensions[i].extra, same.size() + i});
    }
    const std::size_t count = std::min(all.size(), at(options_.beams));
    std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count), all.end(),
                      [](const Candidate& a, const Candidate& b) {
                        return a.score != b.score ? a.score > b.score : a.index < b.index;
                      });
    std::vector<Prefix> best;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t index = all[i].index;
      if (index < same.size()) {
        same[index].extensions = std::move(beam_[index].extensions);
        best.push_back(std::move(same[index]));
      } else {
        const Extension& e = extensions[index - same.size()];
        best.push_back(
            {.node = child_of(beam_[e.from].node, e.id), .label = e.label, .extra = e.extra});
      }
    }
    for (const Prefix& p : beam_) nodes_[at(p.node)].in_beam = -1;
    beam_ = std::move(best);
    for (std::size_t i = 0; i < beam_.size(); ++i) {
      nodes_[at(beam_[i].node)].in_beam = static_cast<std::int64_t>(i);
    }
  }

  // Returns the node of a prefix. Each prefix has one node, even if it left the beam and comes
  // back.
  std::int64_t child_of(std::int64_t parent, std::int64_t id) {
    const auto [entry, is_new] =
        child_nodes_.try_emplace(parent * classes_ + id, std::ssize(nodes_));
    if (is_new) nodes_.push_back({.parent = parent, .id = id});
    return entry->second;
  }

  TokenIds ids_of(std::int64_t node) const {
    TokenIds ids;
    for (; nodes_[at(node)].parent >= 0; node = nodes_[at(node)].parent) {
      ids.push_back(nodes_[at(node)].id);
    }
    std::reverse(ids.begin(), ids.end());
    return ids;
  }

  const CtcBeamOptions& options_;
  const std::int64_t classes_;
  std::vector<std::int64_t> order_;  // the classes
  std::vector<Node> nodes_{Node{.in_beam = 0}};
  std::unordered_map<std::int64_t, std::int64_t> child_nodes_;  // by parent * classes + id
  std::vector<Prefix> beam_;
  std::vector<std::vector<std::int64_t>> children_;  // one list of ids per prefix of the beam
};

void check_options(const CtcBeamOptions& o) {
  const auto fail = [](const char* name, std::int64_t value, const char* wanted) {
    throw ArgumentError(
        fmt::format("ctc_prefix_beam_search: {} is {}, but must be {}", name, value, wanted));
  };
  if (o.beams < 1) fail("beams", o.beams, "at least 1");
  if (o.results < 1) fail("results", o.results, "at least 1");
  if (o.results > o.beams) fail("results", o.results, "at most `beams`");
  if (!std::isfinite(o.scorer_weight) || !std::isfinite(o.length_bonus)) {
    throw ArgumentError(
        fmt::format("ctc_prefix_beam_search: scorer_weight {} and length_bonus {} "
                    "must be finite",
                    o.scorer_weight, o.length_bonus));
  }
  if (o.top_classes < 0) fail("top_classes", o.top_classes, "0 or positive");
}

}  // namespace

std::vector<CtcHypothesis> ctc_greedy_decode(const Tensor& logits, const Tensor& input_lengths,
                                             std::int64_t blank) {
  const CtcRows rows(logits, input_lengths, blank, "ctc_greedy_decode");
  std::vector<CtcHypothesis> results;
  std::vector<double> log_p;
  for (std::int64_t row = 0; row < rows.batch(); ++row) {
    CtcHypothesis h;
    std::int64_t before = blank;
    for (std::int64_t step = 0; step < rows.steps(row); ++step) {
      rows.log_probabilities(row, step, log_p);
      const auto best = std::max_element(log_p.begin(), log_p.end());
      const std::int64_t id = best - log_p.begin();
      h.log_probability += *best;
      if (id != blank && id != before) h.ids.push_back(id);
      before = id;
    }
    h.score = h.log_probability;
    results.push_back(std::move(h));
  }
  return results;
}

std::vector<std::vector<CtcHypothesis>> ctc_prefix_beam_search(const Tensor& logits,
                                                               const Tensor& input_lengths,
                                                               const CtcBeamOptions& options) {
  check_options(options);
  const CtcRows rows(logits, input_lengths, options.blank, "ctc_prefix_beam_search");
  std::vector<std::vector<CtcHypothesis>> results;
  std::vector<double> log_p;
  for (std::int64_t row = 0; row < rows.batch(); ++row) {
    PrefixSearch search(options, rows.classes());
    for (std::int64_t step = 0; step < rows.steps(row); ++step) {
      rows.log_probabilities(row, step, log_p);
      search.step(log_p);
    }
    results.push_back(search.results());
  }
  return results;
}

}  // namespace weft
