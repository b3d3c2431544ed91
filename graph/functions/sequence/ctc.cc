#include "weft/graph/functions/sequence/ctc.h"

#include <fmt/format.h>

#include <limits>

#include "weft/core/error.h"
#include "weft/graph/control/scan.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/index.h"
#include "weft/graph/functions/math.h"
#include "weft/graph/functions/reduce.h"
#include "weft/graph/functions/reduced_loss.h"
#include "weft/graph/functions/sequence/log_space.h"
#include "weft/graph/functions/sequence/row_lengths.h"
#include "weft/graph/functions/shape.h"

namespace weft {
namespace {

void check_logits(const Value& logits, std::int64_t blank, const char* function,
                  SourceLocation loc) {
  Graph& graph = logits.graph();
  if (logits.dtype() != DType::f32 && logits.dtype() != DType::f64) {
    graph.fail(DTypeError(fmt::format("logits must be f32 or f64, but is {}; use cast()",
                                      logits.type().str())),
               function, {logits}, loc);
  }
  if (logits.rank() != 3) {
    graph.fail(ShapeError(fmt::format("logits must be [batch, time, classes], but is {}",
                                      logits.shape().str())),
               function, {logits}, loc);
  }
  const Dim& classes = logits.shape()[2];
  if (blank < 0 || (classes.is_constant() && blank >= classes.constant())) {
    graph.fail(ArgumentError(fmt::format("blank is {}, but must be one of the {} classes of logits",
                                         blank, classes.str())),
               function, {logits}, loc);
  }
}

void check_targets(const Value& logits, const Value& targets, SourceLocation loc) {
  Graph& graph = logits.graph();
  if (targets.dtype() != DType::i32 && targets.dtype() != DType::i64) {
    graph.fail(
        DTypeError(fmt::format("targets must be i32 or i64, but is {}", targets.type().str())),
        "ctc_loss", {logits, targets}, loc);
  }
  if (targets.rank() != 2 || !graph.facts().equal(targets.shape()[0], logits.shape()[0])) {
    graph.fail(ShapeError(fmt::format("targets must be [{}, longest target], but is {}",
                                      logits.shape()[0].str(), targets.shape().str())),
               "ctc_loss", {logits, targets}, loc);
  }
}

// Returns the logarithms of the probabilities of classes `ids` [batch, n] at all steps, as f64
// [time, batch, n]. They are computed in f64: the loss of a good model is a sum of many logarithms
// close to 0, which would be lost in the rounding of f32.
Value log_probabilities(const Value& logits, const Value& ids, const RowLengths& steps) {
  const Dim &batch = logits.shape()[0], &time = logits.shape()[1];
  const Value x = steps.given ? where(unsqueeze(steps.mask(), 2), logits, 0) : logits;
  const Value top = cast(stop_gradient(max(x, {2}, true)), DType::f64);
  const Value log_total = log(sum(exp(cast(x, DType::f64) - top), {2}, true));
  const Value at = broadcast_to(unsqueeze(ids, 1), Shape{batch, time, ids.shape()[1]});
  const Value picked = cast(take_along_axis(x, at, 2), DType::f64) - top - log_total;
  return permute(log_scores(picked), {1, 0, 2});
}

// The probabilities, as logarithms, of all alignments up to a step: `blank` [batch, n + 1] if the
// last class is the blank after k labels, and `label` [batch, n + 1] if it is label k, which does
// not exist for k = 0.
struct Alignments {
  Value blank, label;
};

// An alignment ends with the blank after label k if it continues this blank or label k. It ends
// with label k + 1 if it continues this label or the blank before it, or, unless both labels are
// equal, label k.
Alignments step(const Alignments& now, const Value& differs, const Value& log_p) {
  const Dim width = log_p.shape()[1];
  const Value either = log_add(now.blank, now.label);
  const Value from = where(differs, either, now.blank);
  const Value entering = pad(slice(from, 1, {.begin = Dim(0), .end = width - Dim(1)}),
                             {{0, 0}, {1, 0}}, {.value = kLogZero});
  return {either + slice(log_p, 1, {.begin = Dim(0), .end = Dim(1)}),
          log_add(now.label, entering) + log_p};
}

// Returns ln p(targets) [batch] as f64.
Value log_likelihood(const Value& logits, const Value& targets, const RowLengths& steps,
                     const RowLengths& labels, std::int64_t blank) {
  Graph& graph = logits.graph();
  const Dim &batch = targets.shape()[0], width = labels.longest + Dim(1);
  const Value ids = valid_ids(targets, labels, "targets", logits.shape()[2] - Dim(1), blank, blank);
  const Value blanks = full(graph, ids.dtype(), {batch, Dim(1)}, static_cast<double>(blank));
  const Value all = concat({blanks, ids}, 1);
  const Value next = concat({ids, blanks}, 1);
  const Value start = full(graph, DType::f64, {batch, width}, kLogZero);
  const Value first = where(equal(iota(graph, {batch, width}, 1), 0), 0, start);
  const ScanResult end = scan(
      graph, {first, start}, {log_probabilities(logits, all, steps)}, {not_equal(all, next)},
      [](Graph&, const ScanElements& in) {
        const Alignments now = step({in.carries[0], in.carries[1]}, in.operands[0], in.elements[0]);
        return ScanStep{{now.blank, now.label}};
      },
      {.lengths = steps.for_scan(), .segment = 1, .name = "ctc"});
  const Value both = log_add(end.carries[0], end.carries[1]);
  return squeeze(take_along_axis(both, unsqueeze(labels.lengths, 1), 1), {1});
}

}  // namespace

Value ctc_loss(Arg logits, Arg targets, OptionalArg input_lengths, OptionalArg target_lengths,
               const CtcOptions& options) {
  const Value x = logits.value("ctc_loss"), t = targets.value("ctc_loss");
  const SourceLocation loc = logits.location();
  Graph& graph = x.graph();
  graph.check_owned(t, "targets", loc);
  check_logits(x, options.blank, "ctc_loss", loc);
  check_targets(x, t, loc);
  const Graph::Frame frame(graph, "ctc_loss", loc);
  const RowLengths steps =
      row_lengths(input_lengths, x, x.shape()[1], "input_lengths", "ctc_loss", loc);
  const RowLengths labels =
      row_lengths(target_lengths, x, t.shape()[1], "target_lengths", "ctc_loss", loc);

  const Value log_p = log_likelihood(x, t, steps, labels, options.blank);
  const double impossible = options.zero_infinity ? 0 : std::numeric_limits<double>::infinity();
  const Value loss = cast(where(is_log_zero(log_p), impossible, -log_p), x.dtype());
  const bool per_label =
      options.reduction == Reduction::mean || options.reduction == Reduction::shard_mean;
  return reduced(per_label ? loss / cast(maximum(labels.lengths, 1), x.dtype()) : loss,
                 options.reduction, "ctc_loss", loc);
}

CtcDecoded ctc_greedy_decode(Arg logits, OptionalArg input_lengths, std::int64_t blank) {
  const Value x = logits.value("ctc_greedy_decode");
  const SourceLocation loc = logits.location();
  Graph& graph = x.graph();
  check_logits(x, blank, "ctc_greedy_decode", loc);
  const Graph::Frame frame(graph, "ctc_greedy_decode", loc);
  const Dim &batch = x.shape()[0], &time = x.shape()[1];
  const RowLengths steps =
      row_lengths(input_lengths, x, time, "input_lengths", "ctc_greedy_decode", loc);

  const Value best = argmax(x, 2);
  const Value before = slice(pad(best, {{0, 0}, {1, 0}}, {.value = static_cast<double>(blank)}), 1,
                             {.begin = Dim(0), .end = time});
  const Value is_id =
      logical_and(steps.mask(), logical_and(not_equal(best, blank), not_equal(best, before)));
  const Value count = cumsum(cast(is_id, DType::i64), 1);
  // All other steps write to an additional last column.
  const Value column = where(is_id, count - 1, dim_value(graph, time));
  const Value ids = scatter_add(zeros(graph, DType::i64, {batch, time + Dim(1)}), column,
                                where(is_id, best, 0), 1);
  return {slice(ids, 1, {.begin = Dim(0), .end = time}), sum(cast(is_id, DType::i64), {1})};
}

}  // namespace weft
