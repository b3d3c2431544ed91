#include "weft/graph/functions/sequence/crf.h"

#include <fmt/format.h>

#include <limits>

#include "weft/core/error.h"
#include "weft/graph/control/scan.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/index.h"
#include "weft/graph/functions/math.h"
#include "weft/graph/functions/reduce.h"
#include "weft/graph/functions/sequence/log_space.h"
#include "weft/graph/functions/sequence/row_lengths.h"
#include "weft/graph/functions/shape.h"

namespace weft {
namespace {

// The scores of a batch as f64 without infinities. Emissions after the length of a row are 0.
struct Chain {
  Value emissions;    // [time, batch, tags]
  Value transitions;  // [tags, tags]
  Value start, end;   // [tags]
  RowLengths lengths;
  DType dtype = DType::f32;

  Graph& graph() const { return emissions.graph(); }
  const Dim& time() const { return emissions.shape()[0]; }
  const Dim& batch() const { return emissions.shape()[1]; }
  const Dim& tags() const { return emissions.shape()[2]; }
};

void check_emissions(const Value& x, const char* function, SourceLocation loc) {
  if (x.dtype() != DType::f32 && x.dtype() != DType::f64) {
    x.graph().fail(DTypeError(fmt::format("emissions must be f32 or f64, but is {}; use cast()",
                                          x.type().str())),
                   function, {x}, loc);
  }
  if (x.rank() != 3) {
    x.graph().fail(ShapeError(fmt::format("emissions must be [batch, time, tags], but is {}",
                                          x.shape().str())),
                   function, {x}, loc);
  }
}

Chain make_chain(const Value& x, const CrfTransitions& crf, const OptionalArg& lengths,
                 const char* function, SourceLocation loc) {
  Graph& graph = x.graph();
  const Dim& tags = x.shape()[2];
  const auto scores = [&](const Value& v, const char* name, const Shape& shape) {
    graph.check_owned(v, name, loc);
    if (v.dtype() != x.dtype()) {
      graph.fail(DTypeError(fmt::format("{} must have the dtype of emissions, {}, but is {}", name,
                                        dtype_name(x.dtype()), v.type().str())),
                 function, {x, v}, loc);
    }
    const bool fits = v.rank() == shape.rank() && [&] {
      for (int i = 0; i < shape.rank(); ++i) {
        if (!graph.facts().equal(v.shape()[i], shape[i])) return false;
      }
      return true;
    }();
    if (!fits) {
      graph.fail(
          ShapeError(fmt::format("{} must be {}, but is {}", name, shape.str(), v.shape().str())),
          function, {x, v}, loc);
    }
    return log_scores(v);
  };
  const auto optional = [&](const OptionalArg& v, const char* name) {
    return v.present() ? scores(v.value(), name, {tags}) : zeros(graph, DType::f64, {tags});
  };
  Chain c;
  c.dtype = x.dtype();
  c.transitions = scores(crf.transitions, "transitions", {tags, tags});
  c.start = optional(crf.start, "start");
  c.end = optional(crf.end, "end");
  c.lengths = row_lengths(lengths, x, x.shape()[1], "lengths", function, loc);
  const Value valid = c.lengths.given ? where(unsqueeze(c.lengths.mask(), 2), x, 0) : x;
  c.emissions = permute(log_scores(valid), {1, 0, 2});
  return c;
}

// Returns -inf for scores of forbidden paths, through which no gradient flows.
Value or_minus_infinity(const Value& score, const Value& forbidden) {
  return where(forbidden, -std::numeric_limits<double>::infinity(), score);
}

// Runs `best` over the scores of all transitions to each tag: in every step, the carry [batch,
// tags] becomes best(carry[b, i] + transitions[i, j]) + emissions[b, j].
struct Forward {
  Value last;                  // [batch, tags] after the last valid step, with the end scores
  std::vector<Value> outputs;  // what `outputs` returns, for each step
};
template <class Best, class Outputs>
Forward run_forward(const Chain& c, const char* name, Best best, Outputs outputs) {
  const ScanResult r = scan(
      c.graph(), {zeros(c.graph(), DType::f64, {c.batch(), c.tags()})}, {c.emissions},
      {transpose(c.transitions), c.start},
      [&](Graph&, const ScanElements& in) {
        const Value from = unsqueeze(in.carries[0], 1) + in.operands[0];  // [batch, to, from]
        const Value now = where(equal(in.index, 0), in.operands[1], best(from)) + in.elements[0];
        return ScanStep{{now}, outputs(from, now)};
      },
      {.lengths = c.lengths.for_scan(), .segment = 1, .name = name});
  return {r.carries[0] + c.end, r.outputs};
}

Value log_total(const Value& scores) { return logsumexp(scores, {-1}); }

// Returns the logarithm of the sum over all paths [batch] as f64, and optionally the sums over all
// paths up to each step and tag, [time, batch, tags].
Value log_partition(const Chain& c, Value* prefixes = nullptr) {
  const Forward f = run_forward(c, "crf", log_total, [&](const Value&, const Value& now) {
    return prefixes != nullptr ? std::vector<Value>{now} : std::vector<Value>{};
  });
  if (prefixes != nullptr) *prefixes = f.outputs[0];
  return where(equal(c.lengths.lengths, 0), 0, log_total(f.last));
}

// Returns the score [batch] of the paths `tags` [batch, time] as f64.
Value path_score(const Chain& c, const Value& tags) {
  const Value ids = valid_ids(tags, c.lengths, "tags", c.tags() - Dim(1), 0);
  const Value emitted =
      squeeze(take_along_axis(c.emissions, unsqueeze(transpose(ids), 2), 2), {2});  // [time, batch]
  // The score of the transition to each step is looked up in a flat list, which begins with the
  // start scores, as if they were transitions from an additional tag before tag 0.
  const Value moves = reshape(concat({unsqueeze(c.start, 0), c.transitions}), {-1});
  const Value before = slice(pad(ids + 1, {{0, 0}, {1, 0}}), 1, {.begin = Dim(0), .end = c.time()});
  const Value moved = take(moves, before * dim_value(c.graph(), c.tags(), ids.dtype()) + ids);
  const Value left = take(c.end, ids);
  const Value step = iota(c.graph(), ids.shape(), 1, c.lengths.lengths.dtype());
  const Value is_last = equal(step, unsqueeze(c.lengths.lengths, 1) - 1);
  const Value score = transpose(emitted) + moved + where(is_last, left, 0);
  return sum(where(c.lengths.mask(), score, 0), {1});
}

}  // namespace

Value crf_log_likelihood(Arg emissions, Arg tags, const CrfTransitions& crf, OptionalArg lengths) {
  const char* const name = "crf_log_likelihood";
  const Value x = emissions.value(name), t = tags.value(name);
  const SourceLocation loc = emissions.location();
  Graph& graph = x.graph();
  graph.check_owned(t, "tags", loc);
  check_emissions(x, name, loc);
  if (t.dtype() != DType::i32 && t.dtype() != DType::i64) {
    graph.fail(DTypeError(fmt::format("tags must be i32 or i64, but is {}", t.type().str())), name,
               {x, t}, loc);
  }
  const Shape steps{x.shape()[0], x.shape()[1]};
  if (t.rank() != 2 || !graph.facts().equal(t.shape()[0], steps[0]) ||
      !graph.facts().equal(t.shape()[1], steps[1])) {
    graph.fail(
        ShapeError(fmt::format("tags must be {}, one tag for each step of emissions, but is {}",
                               steps.str(), t.shape().str())),
        name, {x, t}, loc);
  }
  const Graph::Frame frame(graph, name, loc);
  const Chain c = make_chain(x, crf, lengths, name, loc);
  const Value score = path_score(c, t);
  return cast(or_minus_infinity(score - log_partition(c), is_log_zero(score)), c.dtype);
}

Value crf_marginals(Arg emissions, const CrfTransitions& crf, OptionalArg lengths) {
  const char* const name = "crf_marginals";
  const Value x = emissions.value(name);
  const SourceLocation loc = emissions.location();
  check_emissions(x, name, loc);
  const Graph::Frame frame(x.graph(), name, loc);
  const Chain c = make_chain(x, crf, lengths, name, loc);
  Value prefixes;
  const Value total = log_partition(c, &prefixes);
  // The sums over all paths after each step and tag.
  const Value suffixes =
      scan(c.graph(), {broadcast_to(c.end, Shape{c.batch(), c.tags()})}, {c.emissions},
           {c.transitions},
           [](Graph&, const ScanElements& in) {
             const Value to = unsqueeze(in.carries[0] + in.elements[0], 1) + in.operands[0];
             return ScanStep{{log_total(to)}, {in.carries[0]}};
           },
           {.reverse = true, .lengths = c.lengths.for_scan(), .segment = 1, .name = "crf.suffixes"})
          .outputs[0];
  const Value forbidden = is_log_zero(total);
  const Value log_p = prefixes + suffixes - unsqueeze(where(forbidden, 0, total), 1);
  const Value valid = logical_and(c.lengths.mask(), unsqueeze(logical_not(forbidden), 1));
  // Masked before exp(), which may overflow after the length of a row.
  const Value p = exp(where(unsqueeze(transpose(valid), 2), log_p, kLogZero));
  return cast(permute(p, {1, 0, 2}), c.dtype);
}

CrfPath crf_viterbi(Arg emissions, const CrfTransitions& crf, OptionalArg lengths) {
  const char* const name = "crf_viterbi";
  const Value x = emissions.value(name);
  const SourceLocation loc = emissions.location();
  check_emissions(x, name, loc);
  const Graph::Frame frame(x.graph(), name, loc);
  const Chain c = make_chain(x, crf, lengths, name, loc);
  const Forward f = run_forward(
      c, "crf.viterbi", [](const Value& from) { return max(from, {2}); },
      [](const Value& from, const Value&) { return std::vector<Value>{argmax(from, 2)}; });
  const Value score = where(equal(c.lengths.lengths, 0), 0, max(f.last, {1}));
  const ScanResult path =
      scan(c.graph(), {argmax(f.last, 1)}, {f.outputs[0]}, {},
           [](Graph&, const ScanElements& in) {
             const Value before = take_along_axis(in.elements[0], unsqueeze(in.carries[0], 1), 1);
             return ScanStep{{squeeze(before, {1})}, {in.carries[0]}};
           },
           {.reverse = true, .lengths = c.lengths.for_scan(), .name = "crf.path"});
  return {transpose(path.outputs[0]), cast(or_minus_infinity(score, is_log_zero(score)), c.dtype)};
}

}  // namespace weft
