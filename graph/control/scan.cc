#include "weft/graph/control/scan.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/core/error.h"
#include "weft/graph/control/scan_node.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/math.h"
#include "weft/graph/functions/shape.h"
#include "weft/graph/ir/draws.h"

namespace weft {
namespace {

using Index = std::size_t;

Dim length_of(Graph& graph, const std::vector<Value>& sequences, const ScanOptions& options,
              SourceLocation loc) {
  if (options.length) {
    const auto* symbol = std::get_if<std::string>(&options.length->value());
    const Dim length =
        symbol != nullptr ? graph.dim(*symbol) : std::get<Dim>(options.length->value());
    if (length.is_constant() && length.constant() < 0) {
      throw ArgumentError(
          fmt::format("scan '{}' has length {}: the number of steps must not be negative\n  {}",
                      options.name, length.constant(), graph.describe_source(loc)));
    }
    return length;
  }
  if (sequences.empty()) {
    throw ArgumentError(
        fmt::format("scan '{}' has no sequences: set its length in ScanOptions::length\n  {}",
                    options.name, graph.describe_source(loc)));
  }
  return sequences[0].rank() > 0 ? sequences[0].shape()[0] : Dim(1);
}

// Appends axes of size 1 to a mask [batch], so that it broadcasts against `like` along axis 0.
Value rows_like(Value mask, const Value& like) {
  for (int axis = 1; axis < like.rank(); ++axis) mask = unsqueeze(mask, axis);
  return mask;
}

// Returns true if the types are equal in every run.
bool have_equal_types(const Value& a, const Value& b) {
  if (a.dtype() != b.dtype() || a.rank() != b.rank()) return false;
  for (int axis = 0; axis < a.rank(); ++axis) {
    if (!a.graph().facts().equal(a.shape()[axis], b.shape()[axis])) return false;
  }
  return true;
}

// Keeps the old carries and sets the outputs to zero in rows in which the sequence has ended.
void mask_rows(ScanStep& step, const ScanElements& in, const Value& lengths) {
  const Value index = lengths.dtype() == DType::i64 ? in.index : cast(in.index, lengths.dtype());
  const Value active = greater(lengths, index);
  for (Index i = 0; i < step.carries.size() && i < in.carries.size(); ++i) {
    Value& next = step.carries[i];
    // Undefined carries and carries of the wrong type are reported later.
    if (!next.defined() || !have_equal_types(next, in.carries[i])) continue;
    next = where(rows_like(active, next), next, in.carries[i]);
  }
  for (Value& v : step.outputs) {
    if (v.defined()) v = where(rows_like(active, v), v, zeros_like(v));
  }
}

class ScanBuilder {
 public:
  ScanBuilder(Graph& graph, ScanNode parts, const ScanBody& body, const ScanOptions& options,
              SourceLocation loc)
      : graph_(graph), parts_(std::move(parts)), body_(body), options_(options), loc_(loc) {}

  ScanResult run() {
    // The index is passed as an additional sequence, which is removed if the body does not read it.
    const Index carries = parts_.carries.size(), index = carries + parts_.sequences.size();
    const Index operands = parts_.operands.size();
    const bool masked = options_.lengths.present();
    parts_.sequences.push_back(arange(graph_, parts_.length, DType::i64, loc_));
    if (masked) {
      parts_.operands.push_back(graph_.capture(
          options_.lengths.value(), fmt::format("scan '{}': lengths", options_.name), loc_));
    }
    const std::vector<ValueType> types = input_types();
    BodyBuilder bodies(graph_, types, input_names(carries, index),
                       {.name = "operand", .first = parts_.operands.size()}, loc_);
    bodies.build(options_.name, fmt::format("the body of scan '{}'", options_.name),
                 [&](Graph& body, const std::vector<Value>& inputs) {
                   return outputs(body, inputs, carries, index, operands);
                 });
    std::vector<bool> removable(types.size(), false);
    removable[index] = true;
    BodyBuilder::Result result =
        bodies.finish(removable, options_.same_draws ? std::nullopt : std::optional(index));
    if (options_.same_draws) parts_.stream = 0;
    if (!result.kept[index]) parts_.sequences.pop_back();
    parts_.operands.insert(parts_.operands.end(), result.operands.begin(), result.operands.end());
    Function& f = result.bodies[0];
    parts_.recompute = options_.segment == 1;
    if (options_.segment > 1) return apply_segments(std::move(f));
    return take(apply_scan(graph_, add_body(graph_, std::move(f), loc_), parts_, loc_));
  }

 private:
  std::vector<ValueType> input_types() const {
    try {
      for (const Value& v : parts_.sequences) {
        if (v.rank() == 0) {
          throw ShapeError(
              fmt::format("a sequence is the scalar {}; scan loops over axis 0 of its sequences",
                          v.type().str()));
        }
      }
      return element_types(parts_);
    } catch (const Error& e) {
      fail(e);
    }
  }

  std::vector<std::string> input_names(Index carries, Index index) const {
    std::vector<std::string> names;
    for (Index i = 0; i < index + 1 + parts_.operands.size(); ++i) {
      names.push_back(i < carries  ? fmt::format("carry{}", i)
                      : i < index  ? fmt::format("element{}", i - carries)
                      : i == index ? std::string("index")
                                   : fmt::format("operand{}", i - index - 1));
    }
    return names;
  }

  // Runs the callback. Returns the new carries and the outputs of the step.
  std::vector<Value> outputs(Graph& body, const std::vector<Value>& inputs, Index carries,
                             Index index, Index operands) const {
    const auto part = [&](Index from, Index count) {
      const auto begin = inputs.begin() + static_cast<std::ptrdiff_t>(from);
      return std::vector<Value>(begin, begin + static_cast<std::ptrdiff_t>(count));
    };
    const ScanElements in = {.carries = part(0, carries),
                             .elements = part(carries, index - carries),
                             .operands = part(index + 1, operands),
                             .index = inputs[index]};
    ScanStep step = body_(body, in);
    if (step.carries.size() != carries) {
      fail(ArgumentError(fmt::format("the body returns {} carries, but the loop has {}",
                                     step.carries.size(), carries)));
    }
    if (options_.lengths.present()) mask_rows(step, in, inputs.back());
    std::vector<Value> result = step.carries;
    result.insert(result.end(), step.outputs.begin(), step.outputs.end());
    return result;
  }

  [[noreturn]] void fail(const Error& e) const {
    std::vector<Value> inputs = parts_.carries;
    inputs.insert(inputs.end(), parts_.sequences.begin(), parts_.sequences.end());
    graph_.fail(e, "scan", inputs, loc_);
  }

  ScanResult take(Node& node) const {
    ScanResult result;
    for (int i = 0; i < node.output_count(); ++i) {
      const bool carry = i < static_cast<int>(parts_.carries.size());
      (carry ? result.carries : result.outputs).push_back(node.output(i));
    }
    return result;
  }

  // Builds a scan over the complete segments, with a scan over the steps of one segment as its
  // body, and a scan over the remaining steps.
  ScanResult apply_segments(Function f);

  Graph& graph_;
  ScanNode parts_;
  const ScanBody& body_;
  const ScanOptions& options_;
  SourceLocation loc_;
};

ScanResult ScanBuilder::apply_segments(Function f) {
  const Dim segment(options_.segment), whole = floor_div(parts_.length, segment) * segment;
  const std::string inner = f.name + ".step";
  const std::vector<ValueType> types = element_types(parts_);
  const Index carries = parts_.carries.size(), operands = carries + parts_.sequences.size();

  Function outer;
  outer.name = f.name;
  outer.body = std::make_unique<Graph>(graph_.shared_ops());
  Graph& body = *outer.body;
  std::vector<ValueType> formals = types;
  std::vector<std::string> names;
  for (Index i = 0; i < formals.size(); ++i) {
    if (i >= carries && i < operands) {
      std::vector<Dim> dims(types[i].shape.begin(), types[i].shape.end());
      dims.insert(dims.begin(), segment);
      formals[i].shape = Shape(std::move(dims));
    }
    names.push_back(f.inputs[i].node().attributes().text("name"));
  }
  outer.inputs = declare_like(graph_, body, formals, names);
  copy_requirements(graph_, body);

  const std::int64_t streams = stream_count(*f.body, f);
  const std::int64_t first = streams > 0 ? graph_.reserve_streams(streams) : 0;
  f.name = inner;
  std::vector<bool> none_removable(f.inputs.size(), false), kept;
  Function copy = without_unused_inputs(f, none_removable, kept);
  ScanNode steps;
  const auto formal = outer.inputs.begin();
  const auto at = [&](Index i) { return formal + static_cast<std::ptrdiff_t>(i); };
  steps.carries.assign(formal, at(carries));
  steps.sequences.assign(at(carries), at(operands));
  steps.operands.assign(at(operands), outer.inputs.end());
  steps.length = segment;
  steps.reverse = parts_.reverse;
  steps.stream = 0;
  Node& inside = apply_scan(body, add_body(body, std::move(copy), loc_), steps, loc_);
  for (int i = 0; i < inside.output_count(); ++i) outer.outputs.push_back(inside.output(i));

  // Run the complete segments and the remaining steps in loop order.
  const std::string segments = add_body(graph_, std::move(outer), loc_);
  const bool rest = !(whole == parts_.length);
  const std::string single = rest ? add_body(graph_, std::move(f), loc_) : std::string();
  std::vector<Value> now = parts_.carries;
  const auto run_segments = [&] {
    ScanNode p = parts_;
    p.carries = now;
    p.recompute = true;
    p.stream = first;
    p.length = floor_div(parts_.length, segment);
    for (Value& v : p.sequences) {
      std::vector<Dim> dims(v.shape().begin() + 1, v.shape().end());
      dims.insert(dims.begin(), {p.length, segment});
      v = reshape(slice(Arg(v, loc_), 0, {.begin = Dim(0), .end = whole}), Shape(std::move(dims)));
    }
    ScanResult result = take(apply_scan(graph_, segments, p, loc_));
    now = result.carries;
    for (Value& v : result.outputs) {
      std::vector<Dim> dims(v.shape().begin() + 2, v.shape().end());
      dims.insert(dims.begin(), whole);
      v = reshape(Arg(v, loc_), Shape(std::move(dims)));
    }
    return result.outputs;
  };
  const auto run_rest = [&] {
    ScanNode p = parts_;
    p.carries = now;
    p.stream = first;
    p.length = parts_.length - whole;
    for (Value& v : p.sequences) {
      v = slice(Arg(v, loc_), 0, {.begin = whole, .end = parts_.length});
    }
    ScanResult result = take(apply_scan(graph_, single, p, loc_));
    now = result.carries;
    return result.outputs;
  };
  ScanResult result;
  std::vector<Value> remainder;
  if (rest && parts_.reverse) remainder = run_rest();
  result.outputs = run_segments();
  if (rest && !parts_.reverse) remainder = run_rest();
  for (Index i = 0; i < remainder.size(); ++i) {
    result.outputs[i] = concat({result.outputs[i], remainder[i]}, 0, loc_);
  }
  result.carries = now;
  return result;
}

}  // namespace

ScanResult scan(Graph& around, const std::vector<Value>& carries,
                const std::vector<Value>& sequences, const std::vector<Value>& operands,
                const ScanBody& body, const ScanOptions& options, SourceLocation loc) {
  Graph& graph = around.building();
  const auto captured = [&](const std::vector<Value>& values, std::string_view what) {
    std::vector<Value> result;
    for (Index i = 0; i < values.size(); ++i) {
      result.push_back(
          graph.capture(values[i], fmt::format("scan '{}': {} {}", options.name, what, i), loc));
    }
    return result;
  };
  ScanNode parts;
  parts.carries = captured(carries, "carry");
  parts.sequences = captured(sequences, "sequence");
  parts.operands = captured(operands, "operand");
  if (options.segment < 0) {
    throw ArgumentError(fmt::format("scan '{}': segment must not be negative, but is {}\n  {}",
                                    options.name, options.segment, graph.describe_source(loc)));
  }
  if (options.same_draws && options.segment > 0) {
    throw ArgumentError(fmt::format("scan '{}': same_draws cannot be combined with segment\n  {}",
                                    options.name, graph.describe_source(loc)));
  }
  Graph::Undo undo(graph);
  parts.length = length_of(graph, sequences, options, loc);
  parts.reverse = options.reverse;
  ScanResult result = ScanBuilder(graph, std::move(parts), body, options, loc).run();
  undo.keep();
  return result;
}

}  // namespace weft
