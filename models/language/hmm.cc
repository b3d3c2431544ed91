#include "weft/models/language/hmm.h"

#include <fmt/format.h>

#include "weft/core/error.h"
#include "weft/graph/control/scan.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/index.h"
#include "weft/graph/functions/math.h"
#include "weft/graph/functions/reduce.h"
#include "weft/graph/functions/shape.h"

namespace weft {
namespace {

void check(const HmmParameters& p, const Value& symbols, const char* function, SourceLocation loc) {
  const Graph& graph = symbols.graph();
  const auto fail = [&](const std::string& what) {
    throw ShapeError(fmt::format("{}: {}\n  {}", function, what, graph.describe_source(loc)));
  };
  if (symbols.rank() != 2) {
    fail(fmt::format("symbols must be [batch, time], but are {}", symbols.type().str()));
  }
  if (p.start.rank() != 1) {
    fail(fmt::format("start must be [states], but is {}", p.start.type().str()));
  }
  const Dim states = p.start.shape()[0];
  if (!(p.transition.shape() == Shape{states, states})) {
    fail(fmt::format("transition must be [{0}, {0}], but is {1}", states.str(),
                     p.transition.type().str()));
  }
  if (p.emission.rank() != 2 || !(p.emission.shape()[0] == states)) {
    fail(fmt::format("emission must be [{}, symbols], but is {}", states.str(),
                     p.emission.type().str()));
  }
}

// Log probabilities of the symbols in each state. The scores of the first symbol include the start
// probabilities.
struct EmissionScores {
  Value first;  // [batch, states]
  Value rest;   // [time - 1, batch, states]
};

EmissionScores emission_scores(const HmmParameters& p, const Value& symbols) {
  const Value emitted = take(transpose(p.emission), transpose(symbols));
  EmissionScores emissions;
  emissions.first = p.start + select(emitted, 0, Dim(0));
  emissions.rest = slice(emitted, 0, {.begin = Dim(1), .end = emitted.shape()[0]});
  return emissions;
}

// Returns the number of loop steps for each row: all symbols but the first.
OptionalArg remaining_steps(const HmmOptions& options) {
  return options.lengths.present() ? OptionalArg(options.lengths.value() - 1) : OptionalArg();
}

}  // namespace

Value hmm_log_likelihood(const HmmParameters& p, Arg arg, const HmmOptions& options,
                         SourceLocation loc) {
  const Value symbols = arg.value("hmm_log_likelihood");
  Graph& graph = symbols.graph();
  const Graph::Frame frame(graph, "hmm_log_likelihood", loc);
  check(p, symbols, "hmm_log_likelihood", loc);
  const EmissionScores emissions = emission_scores(p, symbols);
  const ScanResult forward = scan(
      graph, {emissions.first}, {emissions.rest}, {p.transition},
      [](Graph&, const ScanElements& in) {
        // The scores of all transitions, [batch, from, to].
        const Value scores = unsqueeze(in.carries[0], 2) + in.operands[0];
        return ScanStep{{logsumexp(scores, {1}) + in.elements[0]}};
      },
      {.lengths = remaining_steps(options), .name = "hmm.forward"}, loc);
  return logsumexp(forward.carries[0], {1});
}

HmmParameters hmm_m_step(const std::vector<Value>& counts) {
  if (counts.size() != 3) {
    throw ArgumentError(fmt::format(
        "hmm_m_step requires three tensors of counts, but {} were passed", counts.size()));
  }
  const auto normalised = [](const Value& c) {
    const Value total = sum(c, {-1}, true);
    const Value width = dim_value(c.graph(), c.shape()[c.rank() - 1], c.dtype());
    const Value uniform = broadcast_to(-log(width), c.shape());
    const Value rows = broadcast_to(greater(total, 0), c.shape());
    // log 0 is -inf: transitions and emissions that never occur become impossible.
    return where(rows, log(c) - log(total), uniform);
  };
  return {normalised(counts[0]), normalised(counts[1]), normalised(counts[2])};
}

Value hmm_best_path(const HmmParameters& p, Arg arg, const HmmOptions& options,
                    SourceLocation loc) {
  const Value symbols = arg.value("hmm_best_path");
  Graph& graph = symbols.graph();
  const Graph::Frame frame(graph, "hmm_best_path", loc);
  check(p, symbols, "hmm_best_path", loc);
  const EmissionScores emissions = emission_scores(p, symbols);
  const ScanResult forward = scan(
      graph, {emissions.first}, {emissions.rest}, {p.transition},
      [](Graph&, const ScanElements& in) {
        const Value scores = unsqueeze(in.carries[0], 2) + in.operands[0];
        const Value best = max(scores, {1}) + in.elements[0];
        return ScanStep{{best}, {argmax(scores, 1)}};
      },
      {.lengths = remaining_steps(options), .name = "hmm.viterbi"}, loc);
  const Value last = argmax(forward.carries[0], 1);  // [batch]
  // Backtrack along the best transitions. Positions after the end of a row have the row's last
  // state.
  const Value from = forward.outputs[0];  // [time - 1, batch, states]
  const ScanResult back = scan(
      graph, {last}, {from}, {},
      [](Graph&, const ScanElements& in) {
        const Value state = unsqueeze(in.carries[0], 1);
        const Value before = squeeze(take_along_axis(in.elements[0], state, 1), {1});
        return ScanStep{{before}, {in.carries[0]}};
      },
      {.reverse = true, .lengths = remaining_steps(options), .name = "hmm.path"}, loc);
  const Value path = concat({unsqueeze(back.carries[0], 0), back.outputs[0]}, 0);
  return transpose(path);
}

}  // namespace weft
