#include "weft/testing/model_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <vector>

#include "weft/core/error.h"

namespace weft::testing {
namespace {

NamedTensors run_once(Graph& graph, const Program& program, const RunSetup& setup,
                      const NamedTensors& feeds) {
  Session session(graph, {.seed = setup.seed, .threads = 1});
  set_variables(session, setup);
  const Results results = session.run(program, feeds, {.dims = setup.dims});
  return {results.begin(), results.end()};
}

/// Places `begin` to `end` of an axis.
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

/// The places of axis 1 from `begin` on in reverse order.
Tensor reversed_behind(const Tensor& t, std::int64_t begin) {
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

class Rows {
 public:
  Rows(Graph& graph, const Program& program, const RunSetup& setup, std::string_view batch,
       const Tolerance& tolerance)
      : graph_(graph),
        program_(program),
        setup_(setup),
        batch_(graph.dim(batch).as_symbol()),
        tolerance_(tolerance) {
    for (const auto& [name, tensor] : setup.feeds) {
      if (begins_with(graph.find_input(name).shape(), batch_)) rows_ = tensor.size(0);
    }
  }

  Outcome run() const {
    if (rows_ < 2) {
      return Outcome::fail(
          fmt::format("check_rows needs feeds with at least 2 rows along '{}', and has {}",
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
          const Outcome found =
              expect_close(alone[o].second, part(tensor, 0, begin, end), tolerance_);
          if (!found) {
            return Outcome::fail(fmt::format("{}, output '{}': {}", what, name, found.message()));
          }
        }
      }
      if (pieces * size != rows_) continue;
      for (std::size_t o = 0; o < whole.size(); ++o) {
        const auto& [name, tensor] = whole[o];
        if (tensor.rank() != 0 || !is_floating(tensor.dtype())) continue;
        const Tensor mean = Tensor::scalar(DType::f64, sums[o] / static_cast<double>(pieces));
        const Outcome found = expect_close(tensor, mean, tolerance_);
        if (!found) {
          return Outcome::fail(fmt::format(
              "output '{}' is {} for {} rows together, but {} is the mean of it for {} at a time: "
              "is it a sum, or does it mix rows?",
              name, tensor.at(0), rows_, mean.at(0), size));
        }
      }
    }
    return Outcome::pass();
  }

 private:
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
  std::int64_t rows_ = -1;
};

}  // namespace

Outcome expect_state_changes(Graph& graph, const Program& program, const RunSetup& setup,
                             const std::vector<std::string>& but) {
  Session session(graph, {.seed = setup.seed, .threads = 1});
  set_variables(session, setup);
  session.initialise();
  const auto before = session.store()->snapshot();
  session.run(program, setup.feeds, {.dims = setup.dims});
  std::string same;
  for (const Variable& v : graph.variables()) {
    const VariableInfo& info = v.info();
    const bool state = (info.kind == VariableKind::parameter && info.trainable) ||
                       info.kind == VariableKind::buffer;
    if (!state || std::find(but.begin(), but.end(), info.name) != but.end()) continue;
    if (!expect_same_bits(session.value(info.name), before.at(info.name))) continue;
    const bool updated = std::any_of(program.given_updates().begin(), program.given_updates().end(),
                                     [&](const auto& u) { return u.first.name() == info.name; });
    same += fmt::format("\n  {} '{}' ({})",
                        info.kind == VariableKind::buffer ? "buffer" : "parameter", info.name,
                        updated ? "its update gives the value that it had: no gradient reaches it"
                                : "the program does not update it");
  }
  if (same.empty()) return Outcome::pass();
  return Outcome::fail(fmt::format("a run of '{}' leaves as they were:{}", program.name(), same));
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
  const Tensor whole = output_of(setup.feeds);
  const std::int64_t length = fed->second.size(1);
  for (std::int64_t t = 0; t + 1 < length; ++t) {
    NamedTensors feeds = setup.feeds;
    feeds[static_cast<std::size_t>(fed - setup.feeds.begin())].second =
        reversed_behind(fed->second, t + 1);
    const Outcome found =
        expect_same_bits(part(output_of(feeds), 1, 0, t + 1), part(whole, 1, 0, t + 1));
    if (!found) {
      return Outcome::fail(
          fmt::format("'{}' at places 0 to {} changes with '{}' at places {} to {}: {}", output, t,
                      input, t + 1, length - 1, found.message()));
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
      return Outcome::fail(
          fmt::format("{}: {}", zeros ? "with zeros fed" : "with these feeds", e.what()));
    }
  }
  return Outcome::pass();
}

}  // namespace weft::testing
