#include "weft/testing/model_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "weft/core/error.h"
#include "weft/testing/first_change.h"
#include "weft/testing/precision_spread.h"

namespace weft::testing {
namespace {

NamedTensors run_once(Graph& graph, const Program& program, const RunSetup& setup,
                      const NamedTensors& feeds, int threads = 1) {
  Session session(graph, {.seed = setup.seed, .threads = threads});
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
  // Finds the first node with rows that change if they are computed without the other rows, and
  // describes the node before it that mixes rows. The result of that node need not have rows: it
  // may be a mean over the rows.
  std::string first_mixing_node(std::int64_t begin, std::int64_t end) const {
    if (program_.shards().count > 1) return "";  // the interpreter has no shards
    const std::string found =
        first_changed_node(graph_, program_, program_.roots(), setup_, feeds_of(begin, end),
                           [&](const ValueType&, const Tensor& whole, const Tensor& alone) {
                             return change(whole, alone, begin, end - begin);
                           });
    return found.empty() ? "" : "\n  the first node that mixes rows is " + found;
  }

  // Compares a value of a run with all rows and of a run with rows [begin, begin + count). An axis
  // has rows if its size is proportional to the number of rows.
  Change change(const Tensor& whole, const Tensor& alone, std::int64_t begin,
                std::int64_t count) const {
    if (whole.rank() != alone.rank()) return Change::none;
    std::vector<Tensor> candidates = {whole};
    bool has_rows = false;
    for (int axis = 0; axis < whole.rank(); ++axis) {
      if (whole.size(axis) == alone.size(axis)) continue;
      if (whole.size(axis) % rows_ != 0 || whole.size(axis) / rows_ * count != alone.size(axis))
        return Change::none;  // not comparable
      has_rows = true;
      std::vector<Tensor> parts;
      for (const Tensor& t : candidates) {
        for (Tensor& rows : rows_of(t, axis, begin, count)) parts.push_back(std::move(rows));
      }
      candidates = std::move(parts);
    }
    const bool same = std::any_of(candidates.begin(), candidates.end(), [&](const Tensor& rows) {
      return static_cast<bool>(expect_close(alone, rows, spread_.value(tolerance_)));
    });
    return same ? Change::none : has_rows ? Change::fault : Change::allowed;
  }

  // Returns the elements of rows [begin, begin + count) along an axis. If the axis merges the batch
  // with others, [outer, batch, inner], returns one candidate for each possible size of `outer`.
  std::vector<Tensor> rows_of(const Tensor& t, int axis, std::int64_t begin,
                              std::int64_t count) const {
    const std::int64_t per_row = t.size(axis) / rows_;
    std::vector<Tensor> found;
    for (std::int64_t outer = 1; outer <= per_row; ++outer) {
      if (per_row % outer != 0) continue;
      const std::int64_t inner = per_row / outer;
      Sizes apart = t.sizes(), together = t.sizes();
      apart[static_cast<std::size_t>(axis)] = outer;
      apart.insert(apart.begin() + axis + 1, {rows_, inner});
      together[static_cast<std::size_t>(axis)] = per_row * count;
      found.push_back(part(t.reshape(apart), axis + 1, begin, begin + count).reshape(together));
    }
    return found;
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

/// Returns the axis with the size `symbol`, or with a symbol of this name in a body. Returns -1 if
/// there is no such axis or more than one.
int axis_of(const ValueType& type, const SymbolPtr& symbol) {
  int found = -1;
  for (int axis = 0; symbol != nullptr && axis < type.shape.rank(); ++axis) {
    const SymbolPtr size = type.shape[axis].as_symbol();
    if (size == nullptr || size->name != symbol->name) continue;
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
  const std::string found = first_changed_node(
      graph, program, {output}, setup, changed,
      [&](const ValueType& type, const Tensor& whole, const Tensor& other) {
        const int axis = axis_of(type, time);
        if (axis < 0) return expect_same_bits(other, whole) ? Change::none : Change::allowed;
        return expect_same_bits(part(other, axis, 0, t + 1), part(whole, axis, 0, t + 1))
                   ? Change::none
                   : Change::fault;
      });
  if (!found.empty()) return "\n  the first node that depends on later positions is " + found;
  return "\n  it is computed by " + describe_node(output);
}

/// Returns why rows depend on the batch: the program mixes them, or their last bits differ.
std::string explain_dependence(Graph& graph, const Program& program, const RunSetup& setup,
                               std::string_view batch) {
  const Outcome rows = check_rows(graph, program, setup, batch);
  if (rows) {
    return "\n  only the last bits differ: does a kernel choose its order of summation by the "
           "number of rows although KernelRequest::batch_invariant is set?";
  }
  const std::size_t node = rows.message().find("\n  the first node that mixes rows is ");
  return node == std::string::npos ? "\n  the program mixes rows: " + rows.message()
                                   : rows.message().substr(node);
}

}  // namespace

Outcome check_state_changes(Graph& graph, const Program& program, const RunSetup& setup,
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

Outcome check_batch_invariance(Graph& graph, const Program& program, const RunSetup& setup,
                               std::string_view batch) {
  const SymbolPtr symbol = graph.dim(batch).as_symbol();
  const auto has_rows = [&](const Shape& shape) { return begins_with(shape, symbol); };
  std::int64_t rows = 0;
  for (const auto& [name, tensor] : setup.feeds) {
    if (has_rows(graph.find_input(name).shape())) rows = tensor.size(0);
  }
  if (rows < 2) {
    return Outcome::fail(fmt::format(
        "check_batch_invariance needs feeds with at least 2 rows along '{}', but they have {}",
        batch, rows));
  }
  Program invariant = program;
  invariant.batch_invariant();
  const NamedTensors whole = run_once(graph, invariant, setup, setup.feeds);
  const auto compare = [&](std::int64_t begin, std::int64_t size, int threads) {
    NamedTensors feeds = setup.feeds;
    for (auto& [name, tensor] : feeds) {
      if (has_rows(graph.find_input(name).shape())) tensor = part(tensor, 0, begin, begin + size);
    }
    const NamedTensors some = run_once(graph, invariant, setup, feeds, threads);
    for (std::size_t o = 0; o < whole.size(); ++o) {
      const auto& [name, tensor] = whole[o];
      if (!has_rows(program.outputs()[o].second.shape())) continue;
      const Outcome found = expect_same_bits(some[o].second, part(tensor, 0, begin, begin + size));
      if (!found) {
        return Outcome::fail(fmt::format(
            "output '{}' of rows {} to {} depends on the other rows of a batch of {} (with {}): "
            "{}{}",
            name, begin, begin + size - 1, rows, threads == 1 ? "1 thread" : "2 threads",
            found.message(), explain_dependence(graph, invariant, setup, batch)));
      }
    }
    return Outcome::pass();
  };
  for (std::int64_t size = 1; size <= rows; ++size) {
    for (const std::int64_t begin : {std::int64_t{0}, rows - size}) {
      const int threads = size == rows || begin > 0 ? 2 : 1;
      if (const Outcome found = compare(begin, size, threads); !found) return found;
    }
  }
  return Outcome::pass();
}

Outcome check_causal(Graph& graph, const Program& program, const RunSetup& setup,
                     const std::string& input, const std::string& output) {
  const auto fed = std::find_if(setup.feeds.begin(), setup.feeds.end(),
                                [&](const auto& f) { return f.first == input; });
  if (fed == setup.feeds.end() || fed->second.rank() < 2) {
    return Outcome::fail(fmt::format("check_causal needs a feed '{}' with at least 2 axes", input));
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

Outcome check_finite(Graph& graph, const Program& program, const RunSetup& setup) {
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
