#include "weft/tests/random_programs/examination.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "weft/core/error.h"
#include "weft/graph/text/text.h"
#include "weft/serialization/checkpoint.h"
#include "weft/tests/serialization/file_bytes.h"

namespace weft::testing {

void Examination::compare(const std::string& check, const Trace& got, bool may_be_reordered,
                          std::size_t first, std::size_t count) {
  if (failure_) return;
  if (got.error.empty() != base_.error.empty() ||
      got.error.substr(0, got.error.find(':')) != base_.error.substr(0, base_.error.find(':'))) {
    fail(check + " error", fmt::format("\"{}\" instead of \"{}\"", got.error, base_.error));
    return;
  }
  if (got.steps.size() != std::min(count, base_.steps.size() - first)) {
    fail(check, "the number of runs differs");
    return;
  }
  const auto equal = [&](std::size_t step, const std::string& name, const Tensor& a,
                         const Tensor& b) {
    if (same(a, b)) return true;
    if (!reordered_ || !may_be_reordered) return false;
    if (!spread_) spread_.emplace(inlined_->program, c_, base_);
    return spread_->allows(step, name, a, b);
  };
  for (std::size_t s = 0; s < got.steps.size(); ++s) {
    const std::size_t step = first + s;
    const auto list = [&](const NamedTensors& a, const NamedTensors& b, const char* what) {
      for (const auto& [name, tensor] : a) {
        const Tensor expected = find_tensor(b, name);
        if (!expected.defined() || equal(step, name, tensor, expected)) continue;
        fail(check, fmt::format("{} {} of run {}: {}", what, name, step,
                                first_difference(tensor, expected)));
        return;
      }
    };
    list(got.steps[s].outputs, base_.steps[step].outputs, "output");
    list(got.steps[s].variables, base_.steps[step].variables, "variable");
  }
}

void Examination::variant(const std::string& check, const Program& program,
                          const SessionOptions& options, const std::vector<std::string>& fetch) {
  if (!wanted(check)) return;
  guarded(check, [&] {
    Session session(*program.graph(), options);
    set_variables(session, c_.variables);
    Trace trace;
    run_into(trace, session, program, c_, 0, fetch);
    compare(check, trace, options.passes);
  });
}

void Examination::run_variants() {
  const Program& p = c_.module.program;
  variant("passes on", p, {.threads = 1, .verify = true});
  if (sometimes(0.5)) variant("passes off", p, {.threads = 2, .passes = false, .verify = true});
  if (sometimes(0.6)) {
    variant("poisoned and shuffled", p,
            {.threads = 3, .verify = true, .poison = true, .shuffle_seed = 1 + random_.word()});
  }
  if (sometimes(0.3)) {
    variant("poisoned without passes", p,
            {.threads = 2, .passes = false, .verify = true, .poison = true, .shuffle_seed = 7});
  }
  if (sometimes(0.3)) variant("five threads", p, {.threads = 5, .verify = true});
  if (sometimes(0.3)) variant("prepacked", p, {.threads = 1, .prepack = true, .verify = true});
  if (sometimes(0.2)) {
    variant("one plan, own keys", p, {.threads = 1, .plan_cache = 1, .own_keys = true});
  }
  if (sometimes(0.3) && p.graph()->functions().empty()) {
    std::vector<std::string> names;
    // Only fetch nodes of the program. Fetching any other node (or another output of a call) may
    // draw random numbers, which would advance the key.
    const auto nodes = p.nodes();
    for (const auto& [name, value] : p.graph()->names()) {
      if (std::find(nodes.begin(), nodes.end(), value.node_pointer()) != nodes.end())
        names.push_back(name);
    }
    variant("fetched", p, {.threads = 1, .verify = true}, names);
  }
  if (sometimes(0.4) && parsed_) variant("from text", parsed_->program, {.threads = 1});
  if (wanted("into") && sometimes(0.2)) guarded("into", [&] { check_into(); });
  if (wanted("check finite") && sometimes(0.2)) guarded("check finite", [&] { check_finite(); });
  if (wanted("memory budget") && sometimes(0.5)) guarded("memory budget", [&] { check_budget(); });
}

// All outputs of a run are written into caller-provided tensors with other contents.
void Examination::check_into() {
  const Program& p = c_.module.program;
  Session session(*p.graph(), {.threads = 1, .verify = true});
  set_variables(session, c_.variables);
  Trace trace;
  trace.error = base_.error;
  for (std::size_t r = 0; r < base_.steps.size(); ++r) {
    NamedTensors into;
    for (const auto& [name, value] : p.outputs()) {
      const Tensor& expected = find_tensor(base_.steps[r].outputs, name);
      Tensor target = Tensor::full(expected.dtype(), expected.sizes(), 1);
      into.emplace_back(name, target);
    }
    session.run(p, c_.runs[r].feeds, {.into = into, .dims = dims_of(c_.runs[r], *p.graph())});
    trace.steps.push_back({into, variables_of(session, p), {}});
  }
  compare("into", trace);
}

// Checking for non-finite values must not change results, and must not report anything if all
// values are finite.
void Examination::check_finite() {
  const Program& p = c_.module.program;
  Session session(*p.graph(), {.threads = 1, .check_finite = true, .verify = true});
  set_variables(session, c_.variables);
  Trace trace;
  run_into(trace, session, p, c_);
  if (trace.error != base_.error && trace.error.starts_with("DataError") && !all_finite_) {
    for (std::size_t r = 0; r < trace.steps.size(); ++r) {
      const Trace one{{trace.steps[r]}, base_.error, {}};
      compare("check finite", one, true, r, 1);
    }
    return;
  }
  compare("check finite", trace);
}

void Examination::check_budget() {
  const Program& p = c_.module.program;
  SessionOptions options{
      .threads = 2, .memory_budget = 1, .verify = true, .poison = sometimes(0.5)};
  std::size_t whole = 0, least = 0;  // sizes for the largest run
  {
    Session session(*p.graph(), options);
    for (const CaseRun& run : c_.runs) {
      try {
        session.plan(p, sizes_of(run.feeds), {.dims = dims_of(run, *p.graph())});
      } catch (const ArgumentError& e) {
        // "its arena needs N bytes (...) with everything computed once and at least N bytes"
        const std::string what = e.what();
        const auto number = [&](const char* after) {
          const std::size_t at = what.find(after);
          return at == std::string::npos ? std::size_t{0}
                                         : std::stoull(what.substr(at + std::strlen(after)));
        };
        whole = std::max<std::size_t>(whole, number("its arena needs "));
        least = std::max<std::size_t>(least, number("and at least "));
      } catch (const Error&) {
        return;  // all ways of running report this error
      }
    }
  }
  if (least == 0) return;
  if (least < whole) ++examined_.budgets;
  options.memory_budget = least;
  Session session(*p.graph(), options);
  set_variables(session, c_.variables);
  Trace trace;
  run_into(trace, session, p, c_);
  compare("memory budget", trace);
}

void Examination::check_file() {
  // Caches are not saved in files.
  if (!sometimes(0.3) || !base_.error.empty() || has_cache()) return;
  const TemporaryFolder folder;
  const std::string path = folder / "case.weft";
  Trace trace;
  {
    const Program& p = c_.module.program;
    Session session(*p.graph(), {.threads = 1});
    set_variables(session, c_.variables);
    Case first = {{nullptr, p}, c_.variables, {c_.runs[0]}};
    run_into(trace, session, p, first);
    save_checkpoint(path, session, {p});
  }
  const Checkpoint loaded = load_checkpoint(path, {.verify = true});
  const Program& p = loaded.programs().at(0);
  const std::string text = to_text(c_.module.program, {.inline_elements = std::int64_t{1} << 40});
  if (to_text(p, {.inline_elements = std::int64_t{1} << 40}) != text)
    fail("file", "the text of the loaded program differs");
  Session session(loaded.graph(), loaded.store(), {.threads = 2});
  run_into(trace, session, p, c_, 1);
  compare("file", trace);
}

void Examination::check_static() {
  if (c_.module.graph->symbols().empty() || !base_.error.empty() || !sometimes(0.6)) return;
  NamedTensors variables = c_.variables;
  for (std::size_t r = 0; r < c_.runs.size(); ++r) {
    const CaseRun& run = c_.runs[r];
    CloneOptions options;
    std::map<const Symbol*, std::int64_t> sizes;
    for (const SymbolPtr& s : c_.module.graph->symbols()) {
      for (const auto& [name, size] : run.dims) {
        if (s->name == name) sizes[s.get()] = size;
      }
    }
    options.map_symbol = [&](const SymbolPtr& s) -> std::optional<Dim> {
      const auto it = sizes.find(s.get());
      return it == sizes.end() ? std::nullopt : std::optional(Dim(it->second));
    };
    Trace trace;
    try {
      const Module fixed = clone_program(c_.module.program, options);
      Session session(*fixed.graph, {.threads = 1, .passes = r % 2 == 0});
      set_variables(session, variables);
      Case one = {{nullptr, fixed.program}, variables, {{run.feeds, {}}}};
      run_into(trace, session, fixed.program, one);
    } catch (const Error& e) {
      fail("static error", e.what());
      return;
    }
    compare("static", trace, true, r, 1);
    if (failure_) return;
    for (const auto& [name, tensor] : base_.steps[r].variables) {
      for (auto& [key, value] : variables) {
        if (key == name) value = tensor;
      }
    }
  }
}

}  // namespace weft::testing
