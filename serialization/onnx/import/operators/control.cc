// Branches and loops.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "weft/core/error.h"
#include "weft/graph/control/cond.h"
#include "weft/graph/control/scan.h"
#include "weft/graph/functions.h"
#include "weft/serialization/onnx/import/graph_import.h"
#include "weft/serialization/onnx/import/operators.h"
#include "weft/serialization/onnx/import/operators/dims.h"

namespace weft::onnx {
namespace {

// Loops with more steps are not unrolled.
constexpr std::int64_t kMaxUnrolled = 4096;

std::vector<ImportedValue> imported(const std::vector<Value>& values) {
  return {values.begin(), values.end()};
}

// Returns the values as tensors, for bodies that Weft's control-flow operations run.
std::vector<Value> tensors_of(const std::vector<ImportedValue>& values) {
  std::vector<Value> tensors;
  for (const ImportedValue& value : values) {
    if (value.kind != ImportedValue::Kind::tensor) {
      throw FormatError(
          "sequences and optional values in a branch or loop whose path depends on data are not "
          "supported");
    }
    tensors.push_back(value.tensor);
  }
  return tensors;
}

// Conditions and trip counts may have one axis of size 1.
Value control_scalar(Value x) { return x.rank() == 0 ? x : reshape(x, Shape()); }

// Returns a bool that is known when the file is read.
std::optional<bool> known_bool(NodeImport& n, const ImportedValue& value) {
  const std::optional<Tensor> tensor = n.known(value.tensor);
  if (!tensor) return std::nullopt;
  if (tensor->numel() != 1)
    throw FormatError(fmt::format("the condition has {} elements instead of one", tensor->numel()));
  return tensor->at(0) != 0;
}

// -- If -------------------------------------------------------------------------------------------

std::vector<ImportedValue> if_branch(NodeImport& n) {
  const auto& then = n.body("then_branch");
  const auto& otherwise = n.body("else_branch");
  const auto branch = [&](bool taken) {
    return n.import().body(taken ? then : otherwise, {},
                           taken ? "the branch then_branch" : "the branch else_branch");
  };
  const Value condition = n.input(0);
  if (const auto taken = known_bool(n, condition)) return branch(*taken);
  try {
    GraphImport::Attempt attempt(n.import().file());
    const std::vector<Value> results = cond(
        control_scalar(condition), {},
        [&](Graph&, const std::vector<Value>&) { return tensors_of(branch(true)); },
        [&](Graph&, const std::vector<Value>&) { return tensors_of(branch(false)); },
        {.name = "If"});
    attempt.keep();
    return imported(results);
  } catch (const Error&) {
    n.fix_input(0);  // branches of different types are possible if the condition is known
    throw;
  }
}

// -- Loop -----------------------------------------------------------------------------------------

// Thrown by the body of a scan if the condition of the loop may become false.
struct MayEnd {};

class LoopImport {
 public:
  explicit LoopImport(NodeImport& n) : n_(n), body_(n.body("body")) {
    if (n.has(0)) trip_count_ = n.input(0);
    if (n.has(1)) condition_ = n.input(1);
    for (std::size_t i = 2; i < n.input_count(); ++i) carries_.push_back(n.any_input(i));
    outputs_ = body_.output_size() - 1 - static_cast<int>(carries_.size());
    if (outputs_ < 0) {
      throw FormatError(fmt::format("the body has {} outputs, but the loop has {} carried values",
                                    body_.output_size(), carries_.size()));
    }
  }

  std::vector<ImportedValue> read() {
    std::string reason;
    const std::optional<bool> starts =
        condition_.defined() ? known_bool(n_, condition_) : std::optional<bool>(true);
    const bool is_for_loop = starts == std::optional<bool>(true) && trip_count_.defined();
    if (is_for_loop) {
      if (const auto steps = n_.import().file().known.dims(trip_count_);
          steps && steps->size() == 1) {
        try {
          return as_scan(steps->front());
        } catch (const MayEnd&) {
          reason = "its condition may become false";
        } catch (const Error& e) {
          reason = e.what();
        }
      }
    }
    if (starts) {
      if (auto results = unrolled(*starts)) return std::move(*results);
    }
    if (outputs_ == 0 && std::all_of(carries_.begin(), carries_.end(), [](const ImportedValue& v) {
          return v.kind == ImportedValue::Kind::tensor;
        })) {
      try {
        return as_while();
      } catch (const Error& e) {
        if (reason.empty()) reason = e.what();
      }
    }
    if (n_.has(0)) n_.fix_input(0);
    if (n_.has(1)) n_.fix_input(1);
    throw FormatError(fmt::format(
        "a Loop whose number of steps depends on data, and that has stacked outputs or carries "
        "that change their shape, is not supported{}{}",
        reason.empty() ? "" : ": ", reason));
  }

 private:
  // Returns the outputs of the body: the condition, the carries, and elements of stacked outputs.
  std::vector<ImportedValue> step(Value index, Value condition,
                                  const std::vector<ImportedValue>& carries) {
    std::vector<ImportedValue> inputs = {declared(0, index), declared(1, condition)};
    inputs.insert(inputs.end(), carries.begin(), carries.end());
    return n_.import().body(body_, inputs, "the body of Loop");
  }

  // The body may declare the scalars with one axis of size 1.
  Value declared(int input, Value scalar) const {
    if (input >= body_.input_size()) return scalar;
    const auto& type = body_.input(input).type().tensor_type();
    return type.shape().dim_size() == 1 ? reshape(scalar, Shape{1}) : scalar;
  }

  Value truth(bool value) { return n_.graph().constant(Tensor::scalar(DType::boolean, value)); }

  std::vector<ImportedValue> as_scan(const Dim& steps) {
    GraphImport::Attempt attempt(n_.import().file());
    const auto result = scan(
        n_.graph(), tensors_of(carries_), {}, {},
        [&](Graph&, const ScanElements& in) {
          const auto outputs = tensors_of(step(in.index, truth(true), imported(in.carries)));
          if (condition_.defined() && known_bool(n_, outputs[0]) != std::optional<bool>(true))
            throw MayEnd();
          const auto stacked = outputs.begin() + 1 + static_cast<std::ptrdiff_t>(carries_.size());
          return ScanStep{{outputs.begin() + 1, stacked}, {stacked, outputs.end()}};
        },
        {.length = AxisSize(max(steps, Dim(0))), .name = "Loop"});
    attempt.keep();
    std::vector<ImportedValue> results = imported(result.carries);
    results.insert(results.end(), result.outputs.begin(), result.outputs.end());
    return results;
  }

  // Returns nullopt if the number of steps is not known.
  std::optional<std::vector<ImportedValue>> unrolled(bool starts) {
    std::int64_t limit = std::numeric_limits<std::int64_t>::max();
    if (trip_count_.defined()) {
      const auto known = n_.known(trip_count_);
      if (!known || known->numel() != 1) return std::nullopt;
      limit = known->to(DType::i64).data<std::int64_t>()[0];
    }
    bool condition = starts;
    std::vector<ImportedValue> carries = carries_;
    std::vector<std::vector<Value>> stacked(static_cast<std::size_t>(outputs_));
    for (std::int64_t i = 0; i < limit && condition; ++i) {
      if (i == kMaxUnrolled) return std::nullopt;
      const auto outputs =
          step(n_.graph().constant(Tensor::scalar(DType::i64, static_cast<double>(i))),
               truth(condition), carries);
      if (condition_.defined()) {
        const auto next = known_bool(n_, outputs[0]);
        if (!next) return std::nullopt;
        condition = *next;
      }
      const auto first = outputs.begin() + 1 + static_cast<std::ptrdiff_t>(carries_.size());
      carries.assign(outputs.begin() + 1, first);
      const std::vector<Value> elements = tensors_of({first, outputs.end()});
      for (std::size_t k = 0; k < elements.size(); ++k) stacked[k].push_back(elements[k]);
    }
    for (std::size_t k = 0; k < stacked.size(); ++k)
      carries.push_back(stacked[k].empty() ? nothing(static_cast<int>(k)) : stack(stacked[k]));
    return carries;
  }

  // Returns a stacked output of a loop without steps.
  Value nothing(int output) {
    const auto& type =
        body_.output(1 + static_cast<int>(carries_.size()) + output).type().tensor_type();
    const auto dtype = dtype_of_number(type.elem_type());
    Sizes sizes = {0};
    for (const auto& dim : type.shape().dim()) {
      if (!dim.has_dim_value()) n_.unsupported("no steps and an output of unknown shape");
      sizes.push_back(dim.dim_value());
    }
    if (!dtype || !type.has_shape()) n_.unsupported("no steps and an output of unknown type");
    return zeros(n_.graph(), *dtype, Shape(sizes));
  }

  // The carries of the while loop are the number of the step, the condition and the carries.
  std::vector<ImportedValue> as_while() {
    GraphImport::Attempt attempt(n_.import().file());
    Graph& graph = n_.graph();
    std::vector<Value> carries = {graph.scalar(DType::i64, 0),
                                  condition_.defined() ? control_scalar(condition_) : truth(true)};
    for (const Value& carry : tensors_of(carries_)) carries.push_back(carry);
    const Value steps = trip_count_.defined() ? control_scalar(trip_count_) : Value();
    std::vector<Value> results = while_loop(
        graph, carries,
        [&](Graph&, const std::vector<Value>& in) {
          const Value more = steps.defined() ? in[0] < steps : truth(true);
          return std::vector<Value>{logical_and(in[1], more)};
        },
        [&](Graph&, const std::vector<Value>& in) {
          const std::vector<Value> outputs =
              tensors_of(step(in[0], in[1], imported({in.begin() + 2, in.end()})));
          std::vector<Value> next = {in[0] + 1,
                                     condition_.defined() ? control_scalar(outputs[0]) : in[1]};
          next.insert(next.end(), outputs.begin() + 1, outputs.end());
          return next;
        },
        std::numeric_limits<std::int64_t>::max(), {.name = "Loop"});
    attempt.keep();
    return imported({results.begin() + 2, results.end()});
  }

  NodeImport& n_;
  const onnx_proto::Graph& body_;
  Value trip_count_, condition_;  // undefined if absent
  std::vector<ImportedValue> carries_;
  int outputs_ = 0;  // the number of stacked outputs
};

std::vector<ImportedValue> loop(NodeImport& n) { return LoopImport(n).read(); }

// -- Scan -----------------------------------------------------------------------------------------

std::vector<std::int64_t> scan_setting(NodeImport& n, const char* name, std::size_t count) {
  const auto values = n.integers(name).value_or(std::vector<std::int64_t>(count));
  if (values.size() != count) {
    throw FormatError(
        fmt::format("attribute '{}' has {} elements instead of {}", name, values.size(), count));
  }
  return values;
}

Value move_axis(Value x, int from, int to) {
  std::vector<int> order(static_cast<std::size_t>(x.rank()));
  for (int i = 0; i < x.rank(); ++i) order[static_cast<std::size_t>(i)] = i;
  order.erase(order.begin() + from);
  order.insert(order.begin() + to, from);
  return from == to ? x : permute(x, order);
}

// Runs the scan over axis 0 of the sequences. Returns the final states and the stacked outputs.
std::vector<Value> run_scan(NodeImport& n, const std::vector<Value>& states,
                            const std::vector<Value>& sequences, bool reverse) {
  const auto& body = n.body("body");
  const ScanResult result =
      scan(n.graph(), states, sequences, {},
           [&](Graph&, const ScanElements& in) {
             std::vector<ImportedValue> inputs = imported(in.carries);
             inputs.insert(inputs.end(), in.elements.begin(), in.elements.end());
             const std::vector<Value> outputs =
                 tensors_of(n.import().body(body, inputs, "the body of Scan"));
             if (outputs.size() < states.size())
               throw FormatError("the body has fewer outputs than state variables");
             const auto stacked = outputs.begin() + static_cast<std::ptrdiff_t>(states.size());
             return ScanStep{{outputs.begin(), stacked}, {stacked, outputs.end()}};
           },
           {.reverse = reverse, .name = "Scan"});
  std::vector<Value> results = result.carries;
  results.insert(results.end(), result.outputs.begin(), result.outputs.end());
  return results;
}

std::size_t scan_inputs(NodeImport& n, std::size_t operands) {
  const std::int64_t count = n.integer("num_scan_inputs");
  if (count < 1 || static_cast<std::uint64_t>(count) > operands)
    throw FormatError(
        fmt::format("num_scan_inputs is {}, but there are {} operands", count, operands));
  return static_cast<std::size_t>(count);
}

// Opset 8: all operands have a batch axis before the axis of the sequence.
std::vector<ImportedValue> scan_of_batch(NodeImport& n) {
  if (n.has(0)) n.unsupported("sequence_lens");
  const std::vector<Value> operands = n.inputs(1);
  const std::size_t count = scan_inputs(n, operands.size()), states = operands.size() - count;
  const auto directions = scan_setting(n, "directions", count);
  const bool reverse = directions[0] == 1;
  if (std::any_of(directions.begin(), directions.end(),
                  [&](std::int64_t d) { return d != directions[0]; }))
    n.unsupported("sequences in different directions");
  const ScanResult rows = scan(
      n.graph(), {}, operands, {},
      [&](Graph&, const ScanElements& in) {
        const auto first = in.elements.begin() + static_cast<std::ptrdiff_t>(states);
        return ScanStep{
            {}, run_scan(n, {in.elements.begin(), first}, {first, in.elements.end()}, reverse)};
      },
      {.name = "Scan.batch"});
  return imported(rows.outputs);
}

std::vector<ImportedValue> scan_sequences(NodeImport& n) {
  if (n.opset() < 9) return scan_of_batch(n);
  const std::vector<Value> operands = n.inputs();
  const std::size_t count = scan_inputs(n, operands.size()), states = operands.size() - count;
  const auto axes = scan_setting(n, "scan_input_axes", count);
  const auto directions = scan_setting(n, "scan_input_directions", count);
  const bool reverse = std::all_of(directions.begin(), directions.end(),
                                   [](std::int64_t direction) { return direction == 1; });
  std::vector<Value> sequences;
  for (std::size_t i = 0; i < count; ++i) {
    const Value x = operands[states + i];
    const Value moved = move_axis(x, n.normalised_axis(axes[i], x.rank()), 0);
    sequences.push_back(directions[i] == 1 && !reverse ? flip(moved, {0}) : moved);
  }
  for (const Value& sequence : sequences) require_equal(n, sequences[0].size(0), sequence.size(0));
  std::vector<Value> results =
      run_scan(n, {operands.begin(), operands.begin() + static_cast<std::ptrdiff_t>(states)},
               sequences, reverse);
  const auto output_axes = scan_setting(n, "scan_output_axes", results.size() - states);
  const auto output_directions = scan_setting(n, "scan_output_directions", results.size() - states);
  for (std::size_t i = states; i < results.size(); ++i) {
    Value& y = results[i];
    if ((output_directions[i - states] == 1) != reverse) y = flip(y, {0});
    y = move_axis(y, 0, n.normalised_axis(output_axes[i - states], y.rank()));
  }
  return imported(results);
}

constexpr Operator kControl[] = {
    {"If", 1, if_branch}, {"Loop", 1, loop}, {"Scan", 8, scan_sequences}};

}  // namespace

std::span<const Operator> control_operators() { return kControl; }

}  // namespace weft::onnx
