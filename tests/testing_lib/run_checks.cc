#include "weft/testing/run_checks.h"

#include <fmt/format.h>

#include <exception>
#include <functional>
#include <thread>
#include <vector>

#include "weft/core/error.h"
#include "weft/graph/ir/difference.h"
#include "weft/graph/text/text.h"
#include "weft/serialization/checkpoint.h"
#include "weft/testing/precision_spread.h"
#include "weft/testing/temporary_folder.h"
#include "weft/tests/support/cases/every_value.h"

namespace weft::testing {
namespace {

// All results of a program.
struct Trace {
  std::vector<NamedTensors> outputs;  // one element per run
  TensorMap variables;                // values after the last run
};

RunOptions run_options(const RunSetup& setup) { return {.dims = setup.dims}; }

void run_into(Trace& trace, Session& session, const Program& program, const RunSetup& setup) {
  for (int i = 0; i < setup.runs; ++i) {
    const Results results = session.run(program, setup.feeds, run_options(setup));
    trace.outputs.emplace_back(results.begin(), results.end());
  }
  trace.variables = session.store()->snapshot();
}

Trace trace(Graph& graph, const Program& program, const RunSetup& setup, SessionOptions options) {
  options.seed = setup.seed;
  options.verify = true;
  Session session(graph, options);
  set_variables(session, setup);
  Trace result;
  run_into(result, session, program, setup);
  return result;
}

using Compare = std::function<Outcome(const Tensor& actual, const Tensor& expected)>;

// The comparisons of outputs and of variables, by name.
struct Comparisons {
  std::function<Compare(const std::string&name)> output, variable;
};
Comparisons same_bits() {
  const auto compare = [](const std::string&) { return Compare(expect_same_bits); };
  return {compare, compare};
}

Outcome same(const Trace& actual, const Trace& expected, const std::string& what,
             const Comparisons& compare = same_bits()) {
  for (std::size_t run = 0; run < expected.outputs.size(); ++run) {
    for (std::size_t o = 0; o < expected.outputs[run].size(); ++o) {
      const auto& [name, tensor] = expected.outputs[run][o];
      const Outcome found = compare.output(name)(actual.outputs.at(run).at(o).second, tensor);
      if (!found) {
        return Outcome::fail(
            fmt::format("{}: output '{}' of run {}: {}", what, name, run + 1, found.message()));
      }
    }
  }
  for (const auto& [name, tensor] : expected.variables) {
    const auto found_variable = actual.variables.find(name);
    if (found_variable == actual.variables.end()) {
      return Outcome::fail(fmt::format("{}: variable '{}' is missing", what, name));
    }
    const Outcome found = compare.variable(name)(found_variable->second, tensor);
    if (!found)
      return Outcome::fail(fmt::format("{}: variable '{}': {}", what, name, found.message()));
  }
  return Outcome::pass();
}

// Describes the first node that differs when all values are kept. Runs the program with the options
// `changed` or, if by chance no node differs in that run, with one of `others`.
std::string first_difference(Graph& graph, const Program& program, const RunSetup& setup,
                             SessionOptions changed, const std::vector<SessionOptions>& others,
                             const Compare& compare = expect_same_bits) {
  if (program.shards().count > 1) return "";  // per-shard values cannot be outputs
  std::vector<SessionOptions> variants = {changed};
  variants.insert(variants.end(), others.begin(), others.end());
  try {
    const EveryValue every(program);
    const Trace expected = trace(graph, every.program, setup, {.threads = 1});
    for (const SessionOptions& variant : variants) {
      const Trace actual = trace(graph, every.program, setup, variant);
      for (std::size_t run = 0; run < expected.outputs.size(); ++run) {
        for (std::size_t i = 0; i < every.values.size(); ++i) {
          const std::size_t o = every.output(i);
          const Outcome found =
              compare(actual.outputs[run][o].second, expected.outputs[run][o].second);
          if (found) continue;
          return fmt::format(
              "\n  the first node that differs, when all values are kept, is {}\n  in run {}: {}",
              every.place(i), run + 1, found.message());
        }
      }
    }
  } catch (const Error& e) {
    return fmt::format("\n  a run that keeps all values fails: {}", e.what());
  }
  return "\n  no node differs when all values are kept, which hides faults of fused steps and of "
         "kernels that overwrite an operand before it has been read completely";
}

// Turns an exception into a failed outcome, because the program has already run without one.
Outcome attempt(const std::string& what, const std::function<Outcome()>& run) {
  try {
    return run();
  } catch (const Error& e) {
    return Outcome::fail(fmt::format("{}: {}", what, e.what()));
  }
}

// Runs with a memory budget of three quarters of the arena, or with the smallest larger budget for
// which a plan with rematerialisation exists.
Outcome within_budget(Graph& graph, const Program& program, const RunSetup& setup,
                      const Trace& expected, SessionOptions& options) {
  Session whole(graph, {.seed = setup.seed, .threads = 1});
  set_variables(whole, setup);
  const std::size_t arena =
      whole.plan(program, sizes_of(setup.feeds), run_options(setup))->arena_bytes;
  for (const std::size_t sixteenths : {12, 14, 15}) {
    const std::size_t budget = arena / 16 * sixteenths;
    if (budget == 0) break;
    try {
      options = {.threads = 2, .memory_budget = budget};
      const Trace tight = trace(graph, program, setup, options);
      return same(tight, expected, fmt::format("with a memory budget of {} bytes", budget));
    } catch (const ArgumentError&) {
      // There is no plan for this budget.
    }
  }
  return Outcome::pass();
}

// Lists the program's caches, which are not saved in files.
std::string caches_of(const Program& program) {
  std::string text;
  for (const Variable& v : program.variables()) {
    if (v.info().kind != VariableKind::cache) continue;
    text += fmt::format("\n  '{}' is a cache, and caches are not saved: {}", v.name(),
                        program.graph()->where(v.value().node()));
  }
  return text;
}

}  // namespace

void set_variables(Session& session, const RunSetup& setup) {
  for (const auto& [name, value] : setup.variables) session.set_value(name, value);
}

Outcome check_determinism(Graph& graph, const Program& program, const RunSetup& setup,
                          const Tolerance& passes) {
  const Trace expected = trace(graph, program, setup, {.threads = 1});
  const std::pair<const char*, SessionOptions> variations[] = {
      {"a second time", {.threads = 1}},
      {"with 2 threads", {.threads = 2}},
      {"with 5 threads", {.threads = 5}},
      {"with chunks in a different order", {.threads = 3, .shuffle_seed = 1}},
      // A single order may give the same sums by chance. With one thread, a seed always gives the
      // same order.
      {"with chunks in a different order", {.threads = 1, .shuffle_seed = 2}},
      {"with chunks in a different order", {.threads = 1, .shuffle_seed = 3}},
      {"with chunks in a different order", {.threads = 1, .shuffle_seed = 4}},
      {"with dead memory poisoned", {.threads = 2, .poison = true}},
  };
  std::vector<SessionOptions> others;
  for (const auto& variation : variations) others.push_back(variation.second);
  const auto named = [&](const Outcome& found, const SessionOptions& changed) {
    if (found) return found;
    return Outcome::fail(found.message() +
                         first_difference(graph, program, setup, changed, others));
  };
  for (const auto& [what, options] : variations) {
    Outcome found = attempt(what, [&, &name = what, &changed = options] {
      return named(same(trace(graph, program, setup, changed), expected, name), changed);
    });
    if (!found) return found;
  }
  Outcome tight = attempt("with a smaller memory budget", [&] {
    SessionOptions changed;
    const Outcome found = within_budget(graph, program, setup, expected, changed);
    return named(found, changed);
  });
  if (!tight) return tight;
  const std::string what = "without passes";
  return attempt(what, [&] {
    const SessionOptions changed{.threads = 1, .passes = false};
    const PrecisionSpread spread(graph, program, setup);
    const auto close = [](const Tolerance& tolerance) -> Compare {
      return [tolerance](const Tensor& a, const Tensor& b) {
        return is_floating(b.dtype()) ? expect_close(a, b, tolerance) : expect_same_bits(a, b);
      };
    };
    const Comparisons compare = {
        [&](const std::string& name) { return close(spread.output(passes, name)); },
        [&](const std::string& name) { return close(spread.variable(passes, name)); }};
    Outcome found = same(trace(graph, program, setup, changed), expected, what, compare);
    if (found) return found;
    return Outcome::fail(found.message() + first_difference(graph, program, setup, changed, {},
                                                            close(spread.value(passes))));
  });
}

Outcome check_round_trip(Graph& graph, const Program& program, const RunSetup& setup) {
  const Trace expected = trace(graph, program, setup, {.threads = 1});
  Outcome by_text = attempt("as text", [&] {
    TextConstants constants;
    const std::string text = to_text(program, {.constants = &constants});
    const Module read = parse_text(text, {.ops = graph.shared_ops(), .constants = &constants});
    if (const std::string found = difference(program, read.program); !found.empty()) {
      return Outcome::fail("as text: " + found);
    }
    return same(trace(*read.graph, read.program, setup, {.threads = 1}), expected, "as text");
  });
  if (!by_text) return by_text;
  return attempt("as a file", [&] {
    const TemporaryFolder folder("round_trip");
    Session session(graph, {.seed = setup.seed, .threads = 1});
    set_variables(session, setup);
    session.initialise();
    save_checkpoint(folder.path("program.weft"), session, {program});
    const Checkpoint read =
        load_checkpoint(folder.path("program.weft"), {.ops = graph.shared_ops()});
    const Program& loaded = read.program(program.name());
    if (const std::string found = difference(program, loaded); !found.empty()) {
      return Outcome::fail("as a file: " + found);
    }
    Session other(read.graph(), read.store(), {.threads = 1});
    Trace from_file;
    run_into(from_file, other, loaded, setup);
    return same(from_file, expected, "as a file");
  });
}

Outcome check_resume(Graph& graph, const Program& program, const RunSetup& setup) {
  Session session(graph, {.seed = setup.seed, .threads = 1});
  set_variables(session, setup);
  Trace before, after;
  run_into(before, session, program, setup);
  const TemporaryFolder folder("resume");
  save_checkpoint(folder.path("stopped.weft"), session, {program});
  run_into(after, session, program, setup);
  return attempt("resumed from a file", [&] {
    const Checkpoint read =
        load_checkpoint(folder.path("stopped.weft"), {.ops = graph.shared_ops()});
    Session other(read.graph(), read.store(), {.threads = 1});
    Trace resumed;
    run_into(resumed, other, read.program(program.name()), setup);
    const Outcome found =
        same(resumed, after,
             fmt::format("resumed from a file (runs are numbered from {})", setup.runs + 1));
    return found ? found : Outcome::fail(found.message() + caches_of(program));
  });
}

Outcome check_serving(Graph& graph, const Program& program, const RunSetup& setup, int sessions) {
  for (const auto& update : program.updates()) {
    const VariableInfo& updated = update.first.info();
    if (updated.kind == VariableKind::key || updated.kind == VariableKind::cache) continue;
    return Outcome::fail(
        fmt::format("program '{}' updates variable '{}': only one Session at a time may run it",
                    program.name(), updated.name));
  }
  const Trace expected = trace(graph, program, setup, {.threads = 1});
  const auto store = std::make_shared<VariableStore>();
  {
    Session first(graph, store, {.seed = setup.seed, .threads = 1, .own_keys = true});
    set_variables(first, setup);
    first.initialise();
  }
  std::vector<Trace> traces(static_cast<std::size_t>(sessions));
  std::vector<std::string> errors(traces.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < traces.size(); ++i) {
    threads.emplace_back([&, i] {
      try {
        Session session(graph, store,
                        {.seed = setup.seed, .threads = 1, .own_keys = true, .verify = true});
        run_into(traces[i], session, program, setup);
      } catch (const std::exception& e) {
        errors[i] = e.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < traces.size(); ++i) {
    const std::string what = fmt::format("Session {} of {} over one store", i + 1, sessions);
    if (!errors[i].empty()) return Outcome::fail(fmt::format("{}: {}", what, errors[i]));
    Trace outputs = expected;
    outputs.variables.clear();
    if (Outcome found = same(traces[i], outputs, what); !found) return found;
  }
  return Outcome::pass();
}

}  // namespace weft::testing
