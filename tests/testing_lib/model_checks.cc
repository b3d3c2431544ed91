#include "weft/testing/model_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <unordered_map>
#include <vector>

#include "weft/core/error.h"
#include "weft/testing/precision_spread.h"
#include "weft/tests/support/cases/every_value.h"

namespace weft::testing {
namespace {

NamedTensors run_once(Graph& graph, const Program& program, const RunSetup& setup,
                      const NamedTensors& feeds) {
  Session session(graph, {.seed = setup.seed, .threads = 1});
  set_variables(session, setup);
  const Results results = session.run(program, feeds, {.dims = setup.dims});
  return {results.begin(), results.end()};
}

/// Returns positions `begin` to `end` - 1 of an axis.
Tensor part(const Tensor& t, int axis, std::int64_t begin, std::int64_t end) {
  Sizes sizes = t.sizes();
  const std::int64_t length = sizes[static_cast<std::size_t>(axis)];
  sizes[static_cast<std::size_t>(axis)] = end - begin;
  std::int64_t outer = 1;
  std::size_t inner = dtype_size(t.dtype());
  for (int i = 0; i < t.rank(); ++i) {
    if (i < axis) outer *= t.size(i);
    if (i > axis) inner *= static_cast<std::size_t>(t.size(i));
  }
  Tensor result = Tensor::empty(t.dtype(), sizes);
  const std::size_t row = inner * static_cast<std::size_t>(end - begin);
  for (std::int64_t o = 0; o < outer && row > 0; ++o) {
    std::memcpy(result.mutable_raw() + static_cast<std::size_t>(o) * row,
                t.raw() + static_cast<std::size_t>(o * length + begin) * inner, row);
  }
  return result;
}

/// Returns a copy of `t` in which the positions from `begin` to the end of axis 1 are in reverse
/// order.
Tensor reversed_from(const Tensor& t, std::int64_t begin) {
  Tensor result = t.clone();
  const std::int64_t rows = t.size(0), length = t.size(1);
  std::size_t inner = dtype_size(t.dtype());
  for (int i = 2; i < t.rank(); ++i) inner *= static_cast<std::size_t>(t.size(i));
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t i = begin; i < length; ++i) {
      const std::int64_t from = r * length + (length - 1 - (i - begin));
      std::memcpy(result.mutable_raw() + static_cast<std::size_t>(r * length + i) * inner,
                  t.raw() + static_cast<std::size_t>(from) * inner, inner);
    }
  }
  return result;
}

bool begins_with(const Shape& shape, const SymbolPtr& batch) {
  return shape.rank() > 0 && shape[0].as_symbol() == batch;
}

std::string describe_node(const Value& value) {
  return fmt::format("{}, {}", value.node().op().name, value.graph().where(value.node()));
}

/// Walks from value `at`, which is changed, to a changed operand until there is none, and returns
/// the last value: a node with a changed result and unchanged operands. Constants and sizes, which
/// have no operands, are not causes.
std::size_t origin_of_change(const EveryValue& every, const std::vector<bool>& changed,
                             std::size_t at) {
  std::unordered_map<Value, std::size_t, ValueHash> index;
  for (std::size_t i = 0; i < every.values.size(); ++i) index.emplace(every.values[i], i);
  for (bool moved = true; moved;) {
    moved = false;
    for (const Value& operand : every.values[at].node().inputs()) {
      if (!operand.defined() || operand.node().inputs().empty()) continue;
      const auto it = index.find(operand);
      if (it == index.end() || !changed[it->second]) continue;
      at = it->second;
      moved = true;
      break;
    }
  }
  return at;
}

class Rows {
 public:
  Rows(Graph& graph, const Program& program, const RunSetup& setup, std::string_view batch,
       const Tolerance& tolerance)
      : graph_(graph),
        program_(program),
        setup_(setup),
        batch_(graph.dim(batch).as_symbol()),
        tolerance_(tolerance),
        spread_(graph, program, setup) {
    for (const auto& [name, tensor] : setup.feeds) {
      if (begins_with(graph.find_input(name).shape(), batch_)) rows_ = tensor.size(0);
    }
  }

  Outcome run() const {
    if (rows_ < 2) {
      return Outcome::fail(
          fmt::format("check_rows needs feeds with at least 2 rows along '{}', but they have {}",
                      batch_->name, std::max<std::int64_t>(rows_, 0)));
    }
    const NamedTensors whole = run_once(graph_, program_, setup_, setup_.feeds);
    for (const std::int64_t size : {std::int64_t{1}, std::int64_t{2}}) {
      std::vector<double> sums(whole.size(), 0);
      const std::int64_t pieces = rows_ / size;
      for (std::int64_t p = 0; p < pieces; ++p) {
        const std::int64_t begin = p * size, end = begin + size;
        const std::string what = size == 1
                                     ? fmt::format("row {} of {} alone", begin, rows_)
                                     : fmt::format("rows {} and {} of {}", begin, begin + 1, rows_);
        NamedTensors alone;
        try {
          alone = run_once(graph_, program_, setup_, feeds_of(begin, end));
        } catch (const Error& e) {
          return Outcome::fail(fmt::format("{}: {}", what, e.what()));
        }
        for (std::size_t o = 0; o < whole.size(); ++o) {
          const auto& [name, tensor] = whole[o];
          if (tensor.numel() == 1 && tensor.rank() == 0) sums[o] += alone[o].second.at(0);
          if (!begins_with(program_.outputs()[o].second.shape(), batch_)) continue;
          const Outcome found = expect_close(alone[o].second, part(tensor, 0, begin, end),
                                             spread_.output(tolerance_, name));
          if (!found) {
            return Outcome::fail(fmt::format("{}, output '{}': {}{}", what, name, found.message(),
                                             first_mixing_node(begin, end)));
          }
        }
      }
      if (pieces * size != rows_) continue;
      for (std::size_t o = 0; o < whole.size(); ++o) {
        const auto& [name, tensor] = whole[o];
        if (tensor.rank() != 0 || !is_floating(tensor.dtype())) continue;
        const Tensor mean = Tensor::scalar(DType::f64, sums[o] / static_cast<double>(pieces));
        const Outcome found = expect_close(tensor, mean, spread_.output(tolerance_, name));
        if (!found) {
          return Outcome::fail(fmt::format(
              "output '{}' is {} for {} rows together, but its mean is {} for batches of {}: "
              "is it a sum, or does it mix rows?\n  it is computed by {}{}",
              name, tensor.at(0), rows_, mean.at(0), size,
              describe_node(program_.outputs()[o].second), first_mixing_node(0, size)));
        }
      }
    }
    return Outcome::pass();
  }

 private:
  // Describes the node that mixes rows: the earliest node with changed results, but without changed
  // operands, on the way to the first node whose rows change if they are computed without the other
  // rows. Its result need not have rows: it may be a mean over the rows.
  std::string first_mixing_node(std::int64_t begin, std::int64_t end) const {
    if (program_.shards().count > 1) return "";  // per-shard values cannot be outputs
    const EveryValue every(program_);
    const NamedTensors whole = run_once(graph_, every.program, setup_, setup_.feeds);
    const NamedTensors alone = run_once(graph_, every.program, setup_, feeds_of(begin, end));
    std::vector<bool> changed;
    std::size_t first = every.values.size();
    for (std::size_t i = 0; i < every.values.size(); ++i) {
      const Value& value = every.values[i];
      const std::size_t o = every.output(i);
      changed.push_back(is_changed(value, whole[o].second, alone[o].second, begin, end - begin));
      if (changed[i] && first > i && begins_with(value.shape(), batch_)) first = i;
    }
    if (first == every.values.size()) return "";
    return "\n  the first node that mixes rows is " +
           every.place(origin_of_change(every, changed, first));
  }

  bool has_batch(const Dim& size) const {
    const auto symbols = size.symbols();
    return std::find(symbols.begin(), symbols.end(), batch_) != symbols.end();
  }

  // Returns true if a value differs between a run with all rows and a run with rows [begin, begin +
  // count). Rows are compared along the axis that is the batch, or along axis 0 if its size is a
  // multiple of the batch. Values without such an axis are compared as a whole.
  bool is_changed(const Value& value, const Tensor& whole, const Tensor& alone, std::int64_t begin,
                  std::int64_t count) const {
    for (int axis = 0; axis < value.rank(); ++axis) {
      const std::int64_t per_row = whole.size(axis) / rows_;
      const bool multiple = axis == 0 && has_batch(value.shape()[0]) &&
                            whole.size(0) == per_row * rows_ && alone.size(0) == per_row * count;
      if (!multiple && value.shape()[axis].as_symbol() != batch_) continue;
      const Tensor rows = part(whole, axis, begin * per_row, (begin + count) * per_row);
      return rows.sizes() == alone.sizes() && !expect_close(alone, rows, spread_.value(tolerance_));
    }
    return whole.sizes() == alone.sizes() && !expect_close(alone, whole, spread_.value(tolerance_));
  }

  NamedTensors feeds_of(std::int64_t begin, std::int64_t end) const {
    NamedTensors feeds = setup_.feeds;
    for (auto& [name, tensor] : feeds) {
      if (begins_with(graph_.find_input(name).shape(), batch_))
        tensor = part(tensor, 0, begin, end);
    }
    return feeds;
  }

  Graph& graph_;
  const Program& program_;
  const RunSetup& setup_;
  const SymbolPtr batch_;
  const Tolerance& tolerance_;
  const PrecisionSpread spread_;
  std::int64_t rows_ = -1;
};

/// Returns the program's output `name`, or the graph's value with that name if there is no such
/// output.
Value value_called(const Graph& graph, const Program& program, const std::string& name) {
  for (const auto& output : program.outputs()) {
    if (output.first == name) return output.second;
  }
  return graph.find_named(name);
}

/// Returns the axis of `value` whose size is `symbol`, or -1 if there is no such axis or more than
/// one.
int axis_of(const Value& value, const SymbolPtr& symbol) {
  int found = -1;
  for (int axis = 0; symbol != nullptr && axis < value.rank(); ++axis) {
    if (value.shape()[axis].as_symbol() != symbol) continue;
    if (found >= 0) return -1;
    found = axis;
  }
  return found;
}

/// Describes the first node on which `output` depends and whose values at positions 0 to t of the
/// axis of size `time` change if `changed` is fed. Nodes with two such axes are skipped.
std::string first_leaking_node(Graph& graph, const Program& program, const RunSetup& setup,
                               const NamedTensors& changed, const Value& output,
                               const SymbolPtr& time, std::int64_t t) {
  if (!output.defined() || program.shards().count > 1) return "";
  const EveryValue every(program);
  const NamedTensors whole = run_once(graph, every.program, setup, setup.feeds);
  const NamedTensors other = run_once(graph, every.program, setup, changed);
  const std::vector<Node*> before = reachable_nodes({output});
  std::vector<bool> leaks;
  std::size_t first = every.values.size();
  for (std::size_t i = 0; i < every.values.size(); ++i) {
    const Value& value = every.values[i];
    const int axis = axis_of(value, time);
    const Tensor &a = other[every.output(i)].second, &b = whole[every.output(i)].second;
    leaks.push_back(axis < 0 ? !expect_same_bits(a, b)
                             : !expect_same_bits(part(a, axis, 0, t + 1), part(b, axis, 0, t + 1)));
    if (!leaks[i] || axis < 0 || first < i) continue;
    if (std::find(before.begin(), before.end(), &value.node()) != before.end()) first = i;
  }
  if (first < every.values.size()) {
    return "\n  the first node that depends on later positions is " +
           every.place(origin_of_change(every, leaks, first));
  }
  return "\n  it is computed by " + describe_node(output);
}

}  // namespace

Outcome expect_state_changes(Graph& graph, const Program& program, const RunSetup& setup,
                             const std::vector<std::string>& except) {
  Session session(graph, {.seed = setup.seed, .threads = 1});
  set_variables(session, setup);
  session.initialise();
  const auto before = session.store()->snapshot();
  session.run(program, setup.feeds, {.dims = setup.dims});
  const Updates updates = program.updates();
  std::string same;
  for (const Variable& v : graph.variables()) {
    const VariableInfo& info = v.info();
    const bool state = (info.kind == VariableKind::parameter && info.trainable) ||
                       info.kind == VariableKind::buffer;
    if (!state || std::find(except.begin(), except.end(), info.name) != except.end()) continue;
    if (!expect_same_bits(session.value(info.name), before.at(info.name))) continue;
    const bool updated = std::any_of(updates.begin(), updates.end(),
                                     [&](const auto& u) { return u.first.name() == info.name; });
    const bool buffer = info.kind == VariableKind::buffer;
    same += fmt::format("\n  {} '{}' ({}), {}", buffer ? "buffer" : "parameter", info.name,
                        !updated ? "the program does not update it"
                        : buffer ? "its update does not change its value"
                                 : "its update does not change its value: no gradient reaches it",
                        graph.where(v.value().node()));
  }
  if (same.empty()) return Outcome::pass();
  return Outcome::fail(
      fmt::format("a run of '{}' does not change these variables:{}", program.name(), same));
}

Outcome check_rows(Graph& graph, const Program& program, const RunSetup& setup,
                   std::string_view batch, const Tolerance& tolerance) {
  return Rows(graph, program, setup, batch, tolerance).run();
}

Outcome expect_causal(Graph& graph, const Program& program, const RunSetup& setup,
                      const std::string& input, const std::string& output) {
  const auto fed = std::find_if(setup.feeds.begin(), setup.feeds.end(),
                                [&](const auto& f) { return f.first == input; });
  if (fed == setup.feeds.end() || fed->second.rank() < 2) {
    return Outcome::fail(
        fmt::format("expect_causal needs a feed '{}' with at least 2 axes", input));
  }
  const auto output_of = [&](const NamedTensors& feeds) {
    Session session(graph, {.seed = setup.seed, .threads = 1});
    set_variables(session, setup);
    return session.run(program, feeds, {.fetch = {output}, .dims = setup.dims})[output];
  };
  const SymbolPtr time = graph.find_input(input).shape()[1].as_symbol();
  const Tensor whole = output_of(setup.feeds);
  const std::int64_t length = fed->second.size(1);
  for (std::int64_t t = 0; t + 1 < length; ++t) {
    NamedTensors feeds = setup.feeds;
    feeds[static_cast<std::size_t>(fed - setup.feeds.begin())].second =
        reversed_from(fed->second, t + 1);
    const Outcome found =
        expect_same_bits(part(output_of(feeds), 1, 0, t + 1), part(whole, 1, 0, t + 1));
    if (!found) {
      return Outcome::fail(
          fmt::format("'{}' at positions 0 to {} depends on '{}' at positions {} to {}: {}{}",
                      output, t, input, t + 1, length - 1, found.message(),
                      first_leaking_node(graph, program, setup, feeds,
                                         value_called(graph, program, output), time, t)));
    }
  }
  return Outcome::pass();
}

Outcome expect_finite(Graph& graph, const Program& program, const RunSetup& setup) {
  for (const bool zeros : {true, false}) {
    NamedTensors feeds = setup.feeds;
    for (auto& [name, tensor] : feeds) {
      if (zeros && is_floating(tensor.dtype()))
        tensor = Tensor::zeros(tensor.dtype(), tensor.sizes());
    }
    Session session(graph, {.seed = setup.seed, .threads = 1, .check_finite = true});
    set_variables(session, setup);
    try {
      session.run(program, feeds, {.dims = setup.dims});
    } catch (const DataError& e) {
      return Outcome::fail(fmt::format(
          "{}: {}", zeros ? "with floating-point feeds of 0" : "with the given feeds", e.what()));
    }
  }
  return Outcome::pass();
}

}  // namespace weft::testing
