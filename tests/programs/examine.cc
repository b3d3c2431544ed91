#include "weft/tests/programs/examine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <set>

#include "weft/autodiff/retype.h"
#include "weft/core/error.h"
#include "weft/graph/passes/pipeline.h"
#include "weft/graph/passes/verify.h"
#include "weft/graph/run/session.h"
#include "weft/graph/text/text.h"
#include "weft/serialization/checkpoint.h"
#include "weft/tests/programs/random_source.h"
#include "weft/tests/reference/interpreter.h"
#include "weft/tests/serialization/temporary_folder.h"

namespace weft::testing {
namespace {

/// What a sequence of runs gave: outputs and variables after each, or the error that ended it.
struct Trace {
  struct Step {
    NamedTensors outputs, variables;
  };
  std::vector<Step> steps;
  std::string error;  // kind and message
};

std::string kind_of(const Error& e) {
  if (dynamic_cast<const DataError*>(&e) != nullptr) return "DataError";
  if (dynamic_cast<const ShapeError*>(&e) != nullptr) return "ShapeError";
  if (dynamic_cast<const DTypeError*>(&e) != nullptr) return "DTypeError";
  if (dynamic_cast<const ArgumentError*>(&e) != nullptr) return "ArgumentError";
  if (dynamic_cast<const StateError*>(&e) != nullptr) return "StateError";
  if (dynamic_cast<const GraphError*>(&e) != nullptr) return "GraphError";
  return "Error";
}

/// The same bits, where one NaN is as good as another.
bool same(const Tensor& a, const Tensor& b) {
  if (bitwise_equal(a, b)) return true;
  if (a.dtype() != b.dtype() || a.sizes() != b.sizes() || !is_floating(a.dtype())) return false;
  const std::size_t size = dtype_size(a.dtype());
  for (std::int64_t i = 0; i < a.numel(); ++i) {
    const std::size_t at = static_cast<std::size_t>(i) * size;
    if (std::memcmp(a.raw() + at, b.raw() + at, size) == 0) continue;
    if (!(std::isnan(a.at(i)) && std::isnan(b.at(i)))) return false;
  }
  return true;
}

/// Close, for passes that may add in another order.
bool close(const Tensor& a, const Tensor& b) {
  if (same(a, b)) return true;
  if (a.dtype() != b.dtype() || a.sizes() != b.sizes()) return false;
  double size = 1e-3;
  for (std::int64_t i = 0; i < a.numel(); ++i) {
    if (std::isfinite(a.at(i))) size = std::max(size, std::fabs(a.at(i)));
  }
  for (std::int64_t i = 0; i < a.numel(); ++i) {
    const double x = a.at(i), y = b.at(i);
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    if (!(std::fabs(x - y) <= 2e-3 * size)) return false;
  }
  return true;
}

std::string first_difference(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.sizes() != b.sizes())
    return fmt::format("{} instead of {}", a.type_str(), b.type_str());
  for (std::int64_t i = 0; i < a.numel(); ++i) {
    const double x = a.at(i), y = b.at(i);
    if (!(x == y) && !(std::isnan(x) && std::isnan(y)))
      return fmt::format("element {} of {} is {} instead of {}", i, a.numel(), x, y);
  }
  return "bits differ";
}

DimValues dims_of(const CaseRun& run, const Graph& graph) {
  DimValues dims;
  for (const auto& [name, size] : run.dims) {
    for (const SymbolPtr& s : graph.symbols()) {
      if (s->name == name) {
        dims.emplace_back(name, size);
        break;
      }
    }
  }
  return dims;
}

/// Without those of inputs that a graph has no more: passes drop what nobody needs.
NamedTensors feeds_of(const CaseRun& run, const Graph& graph) {
  NamedTensors feeds;
  for (const auto& [name, tensor] : run.feeds) {
    if (graph.find_input(name).defined()) feeds.emplace_back(name, tensor);
  }
  return feeds;
}

void set_variables(Session& session, const NamedTensors& variables) {
  for (const auto& [name, tensor] : variables) {
    if (session.graph().has_variable(name)) session.set_value(name, tensor);
  }
}

NamedTensors variables_of(Session& session, const Program& program) {
  NamedTensors values;
  for (const Variable& v : program.variables())
    values.emplace_back(v.name(), session.value(v.name()));
  return values;
}

NamedTensors copies(const Results& results) {
  NamedTensors all;
  for (const auto& [name, tensor] : results) all.emplace_back(name, tensor.clone());
  return all;
}

/// Runs from `first` on in a Session.
void run_into(Trace& trace, Session& session, const Program& program, const Case& c,
              std::size_t first = 0, const std::vector<std::string>& fetch = {}) {
  for (std::size_t r = first; r < c.runs.size(); ++r) {
    try {
      const Results results = session.run(
          program, c.runs[r].feeds, {.fetch = fetch, .dims = dims_of(c.runs[r], session.graph())});
      trace.steps.push_back({copies(results), variables_of(session, program)});
    } catch (const Error& e) {
      trace.error = kind_of(e);
      trace.error += std::string(": ") + e.what();
      return;
    }
  }
}

class Examination {
 public:
  Examination(const Case& c, std::uint64_t seed, Examined& examined, const std::string& only)
      : c_(c), random_(seed), all_(seed == 0 || !only.empty()), only_(only), examined_(examined) {}

  std::optional<Failure> run() {
    if (wanted("verify")) guarded("verify", [&] { verify_program(c_.module.program); });
    if (wanted("text") || wanted("from text")) guarded("text", [&] { check_text(); });
    guarded("base", [&] { run_base(); });
    // Needed by all comparisons of bits: it finds out whether a pass adds in another order.
    if (!only_.starts_with("node")) guarded("optimised", [&] { check_passes(); });
    if (!failure_) run_variants();
    if (wanted("file")) guarded("file", [&] { check_file(); });
    if (wanted("static")) guarded("static", [&] { check_static(); });
    if (wanted("gradient")) guarded("gradient", [&] { check_gradients(); });
    if (wanted("draws")) guarded("draws", [&] { check_draws(); });
    return failure_;
  }

 private:
  bool wanted(const std::string& check) const {
    return !failure_ && (only_.empty() || only_.starts_with(check));
  }
  /// Whether a costlier check is done this time.
  bool sometimes(double p) { return all_ || random_.chance(p); }

  void fail(std::string check, std::string message) {
    if (!failure_) failure_ = Failure{std::move(check), std::move(message)};
  }
  void guarded(const std::string& check, const std::function<void()>& body) {
    if (failure_) return;
    try {
      body();
    } catch (const std::exception& e) {
      fail(check + " throws", e.what());
    }
  }

  // -- Text ---------------------------------------------------------------------------------------

  void check_text() {
    const std::string text = to_text(c_.module.program, {.inline_elements = std::int64_t{1} << 40});
    parsed_ = std::make_unique<Module>(parse_text(text));
    const std::string again = to_text(parsed_->program, {.inline_elements = std::int64_t{1} << 40});
    if (text != again) fail("text", "the text of what was parsed is another");
  }

  // -- Every node
  // -----------------------------------------------------------------------------------

  /// The program with every value of its graph as an output "value ID OUTPUT".
  static Program with_all_values(const Program& program) {
    Program all = program;
    for (Node* node : program.nodes()) {
      for (int o = 0; o < node->output_count(); ++o)
        all.output(fmt::format("value {} {}", node->id(), o), node->output(o));
    }
    return all;
  }

  /// Runs a program of inlined calls as it is, and checks every node of every run.
  Trace run_nodes(const Program& program, const std::string& check, int& counter) {
    const Program all = with_all_values(program);
    Session session(*program.graph(), {.threads = 1, .passes = false});
    set_variables(session, c_.variables);
    Trace trace;
    for (const CaseRun& run : c_.runs) {
      const DimValues dims = dims_of(run, *program.graph());
      try {
        const NamedTensors feeds = feeds_of(run, *program.graph());
        NamedSizes sizes;
        for (const auto& [name, tensor] : feeds) sizes.emplace_back(name, tensor.sizes());
        const NamedTensors before = variables_of(session, program);
        const Bindings bindings = session.plan(all, sizes, {.dims = dims})->bindings;
        const Results results = session.run(all, feeds, {.dims = dims});
        check_nodes(program, results, bindings, check, counter);
        Trace::Step step{{}, variables_of(session, program)};
        for (const auto& [name, value] : program.outputs())
          step.outputs.emplace_back(name, results[name].clone());
        for (const auto& [name, value] : program.graph()->names()) {
          const std::string key = fmt::format("value {} {}", value.node().id(), value.output());
          if (results.contains(key)) step.outputs.emplace_back(name, results[key].clone());
        }
        check_variables(program, results, before, step.variables, check);
        trace.steps.push_back(std::move(step));
      } catch (const Error& e) {
        trace.error = kind_of(e) + ": " + e.what();
        return trace;
      }
      if (failure_) return trace;
    }
    return trace;
  }

  void check_nodes(const Program& program, const Results& results, const Bindings& bindings,
                   const std::string& check, int& counter) {
    const auto value = [&](const Value& v) {
      return v.defined() ? results[fmt::format("value {} {}", v.node().id(), v.output())]
                         : Tensor();
    };
    const Precision precision = program.precision().value_or(Precision::highest);
    for (Node* node : program.nodes()) {
      const std::string& op = node->op().name;
      if (op == "input" || op == "variable") continue;
      std::vector<Tensor> inputs;
      for (const Value& v : node->inputs()) inputs.push_back(value(v));
      std::vector<NumberTensor> want;
      try {
        want = interpret_node(*node, inputs, bindings, precision);
      } catch (const Error& e) {
        fail(check + " " + op, fmt::format("{} ran, but by its scalar model: {}", op, e.what()));
        return;
      }
      ++counter;
      ++examined_.records[op];
      for (int o = 0; o < node->output_count(); ++o) {
        const auto wrong = difference(value(node->output(o)), want[static_cast<std::size_t>(o)]);
        if (!wrong) continue;
        std::string operands;
        for (const Tensor& t : inputs)
          operands += (operands.empty() ? "" : ", ") + (t.defined() ? t.str() : "_");
        fail(check + " " + op, fmt::format("output {} of {}({}) : {}: {}", o, op, operands,
                                           node->type(o).str(), *wrong));
        return;
      }
    }
  }

  /// Reads show the value before the run, updates the one after it.
  void check_variables(const Program& program, const Results& results, const NamedTensors& before,
                       const NamedTensors& after, const std::string& check) {
    const auto find = [](const NamedTensors& list, const std::string& name) {
      for (const auto& [key, tensor] : list) {
        if (key == name) return tensor;
      }
      return Tensor();
    };
    std::set<std::string> updated;
    for (const auto& [variable, value] : program.updates()) {
      updated.insert(variable.name());
      const Tensor& made = results[fmt::format("value {} {}", value.node().id(), value.output())];
      if (!same(find(after, variable.name()), made))
        fail(check + " update",
             fmt::format("variable {} does not hold its update", variable.name()));
    }
    for (const Variable& v : program.variables()) {
      const Tensor old = find(before, v.name());
      if (!updated.contains(v.name()) && !same(find(after, v.name()), old))
        fail(check + " update", fmt::format("variable {} changed without an update", v.name()));
      const std::string read =
          fmt::format("value {} {}", v.value().node().id(), v.value().output());
      if (results.contains(read) && !same(results[read], old))
        fail(check + " read",
             fmt::format("variable {} was not read as it was before the run", v.name()));
    }
  }

  void run_base() {
    inlined_ = std::make_unique<Module>(inline_calls(clone_program(c_.module.program)));
    base_ = run_nodes(inlined_->program, "node", examined_.nodes);
    if (!base_.error.empty()) ++examined_.refused;
  }

  /// Every draw has a stream of its own: two may share one only as a draw and its gradient do.
  void check_draws() {
    if (!gradient_claims(c_.module.program).empty()) return;
    std::set<std::pair<Node*, std::int64_t>> seen;
    for (Node* node : inlined_->program.nodes()) {
      if (!node->op().has(Trait::random)) continue;
      const Value key = node->input(static_cast<std::size_t>(node->op().input_index("key")));
      if (!key.defined()) continue;
      if (node->op().name != "dropout" && !node->op().name.starts_with("random_")) continue;
      if (!seen.insert({key.node_pointer(), node->attributes().integer("stream")}).second)
        fail("draws", fmt::format("two draws share stream {} of one key",
                                  node->attributes().integer("stream")));
    }
  }

  // -- After the passes
  // -----------------------------------------------------------------------------

  void check_passes() {
    std::string before;
    PassOptions options{.verify = true};
    options.observe = [&](std::string_view pass, const Program& program) {
      const std::string now = to_text(program);
      for (const char* reorders : {"quantized", "join_head", "accumulate", "narrow"}) {
        if (pass == reorders && now != before) reordered_ = true;
      }
      if (now != before) ++examined_.passes[std::string(pass)];
      before = now;
    };
    options.precision = c_.module.program.precision().value_or(Precision::highest);
    optimised_ = std::make_unique<Module>(run_passes(clone_program(c_.module.program), options));
    const Trace trace = run_nodes(optimised_->program, "optimised", examined_.optimised_nodes);
    compare("optimised", trace);
  }

  // -- Ways of running
  // ------------------------------------------------------------------------------

  void compare(const std::string& check, const Trace& got, bool may_be_reordered = true) {
    if (failure_) return;
    if (got.error.empty() != base_.error.empty() ||
        got.error.substr(0, got.error.find(':')) != base_.error.substr(0, base_.error.find(':'))) {
      fail(check + " error", fmt::format("\"{}\" instead of \"{}\"", got.error, base_.error));
      return;
    }
    const auto equal = reordered_ && may_be_reordered ? close : same;
    for (std::size_t s = 0; s < got.steps.size() && s < base_.steps.size(); ++s) {
      const auto list = [&](const NamedTensors& a, const NamedTensors& b, const char* what) {
        for (const auto& [name, tensor] : a) {
          for (const auto& [other, expected] : b) {
            if (name != other || equal(tensor, expected)) continue;
            fail(check, fmt::format("{} {} of run {}: {}", what, name, s,
                                    first_difference(tensor, expected)));
            return;
          }
        }
      };
      list(got.steps[s].outputs, base_.steps[s].outputs, "output");
      list(got.steps[s].variables, base_.steps[s].variables, "variable");
    }
    if (got.steps.size() != base_.steps.size()) fail(check, "another number of runs");
  }

  void variant(const std::string& check, const Program& program, const SessionOptions& options,
               const std::vector<std::string>& fetch = {}) {
    if (!wanted(check)) return;
    guarded(check, [&] {
      Session session(*program.graph(), options);
      set_variables(session, c_.variables);
      Trace trace;
      run_into(trace, session, program, c_, 0, fetch);
      compare(check, trace, options.passes);
    });
  }

  void run_variants() {
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
      // Those of the program: what else there is may draw, which would advance the key (so may
      // another output of a call).
      const auto nodes = p.nodes();
      for (const auto& [name, value] : p.graph()->names()) {
        if (std::find(nodes.begin(), nodes.end(), value.node_pointer()) != nodes.end())
          names.push_back(name);
      }
      variant("fetched", p, {.threads = 1, .verify = true}, names);
    }
    if (sometimes(0.4) && parsed_) variant("from text", parsed_->program, {.threads = 1});
    if (wanted("memory budget") && sometimes(0.5))
      guarded("memory budget", [&] { check_budget(); });
  }

  void check_budget() {
    const Program& p = c_.module.program;
    SessionOptions options{
        .threads = 2, .memory_budget = 1, .verify = true, .poison = sometimes(0.5)};
    std::size_t whole = 0, least = 0;  // what the largest run needs
    {
      Session session(*p.graph(), options);
      for (const CaseRun& run : c_.runs) {
        NamedSizes sizes;
        for (const auto& [name, tensor] : run.feeds) sizes.emplace_back(name, tensor.sizes());
        try {
          session.plan(p, sizes, {.dims = dims_of(run, *p.graph())});
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
          return;  // refused, as the others say
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

  // -- Files
  // ----------------------------------------------------------------------------------------

  void check_file() {
    if (!sometimes(0.3) || !base_.error.empty()) return;
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
      fail("file", "the text of the loaded program is another");
    Session session(loaded.graph(), loaded.store(), {.threads = 2});
    run_into(trace, session, p, c_, 1);
    compare("file", trace);
  }

  // -- Static sizes
  // ---------------------------------------------------------------------------------

  void check_static() {
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
      const Trace base{{base_.steps[r]}, {}};
      const Trace kept = std::exchange(base_, base);
      compare("static", trace);
      base_ = kept;
      if (failure_) return;
      for (const auto& [name, tensor] : base_.steps[r].variables) {
        for (auto& [key, value] : variables) {
          if (key == name) value = tensor;
        }
      }
    }
  }

  // -- Gradients
  // ------------------------------------------------------------------------------------

  /// Differences say nothing of values that are rounded to few bits, nor of smooth functions that
  /// are not differentiated: what passes make, and where gradients are to stop.
  bool has_differences() const {
    for (const Node* node : inlined_->program.nodes()) {
      bool floating = false;
      for (int o = 0; o < node->output_count(); ++o) {
        const DType d = node->type(o).dtype;
        floating = floating || is_floating(d);
        if (d == DType::bf16 || d == DType::f16) return false;
      }
      const OpRecord& op = node->op();
      if (op.gradient == Gradient::none && floating && !node->inputs().empty() &&
          !op.no_gradient_reason.starts_with("piecewise constant")) {
        return false;
      }
    }
    return true;
  }

  void check_gradients() {
    const auto claims = gradient_claims(c_.module.program);
    if (claims.empty() || !base_.error.empty() || !has_differences()) return;
    const Module twin = retype(inlined_->program);
    Session session(*twin.graph, {.threads = 1, .passes = false});
    const CaseRun& run = c_.runs[0];
    const DimValues dims = dims_of(run, *twin.graph);
    const auto widened = [](const Tensor& t) {
      return t.dtype() == DType::f32 ? t.to(DType::f64) : t;
    };
    NamedTensors feeds, variables;
    for (const auto& [name, tensor] : feeds_of(run, *twin.graph))
      feeds.emplace_back(name, widened(tensor));
    for (const auto& [name, tensor] : c_.variables) variables.emplace_back(name, widened(tensor));
    const auto run_at = [&] {
      set_variables(session, variables);
      return session.run(twin.program, feeds, {.dims = dims});
    };
    for (const GradientClaim& claim : claims) {
      const auto loss_at = [&] {
        const Results results = run_at();
        long double sum = 0;
        const Tensor& loss = results[claim.loss];
        for (std::int64_t i = 0; i < loss.numel(); ++i) sum += loss.at(i);
        return static_cast<double>(sum);
      };
      Tensor* point = nullptr;
      for (NamedTensors* list : {&feeds, &variables}) {
        for (auto& [name, tensor] : *list) {
          if (name == claim.wrt) point = &tensor;
        }
      }
      if (point == nullptr) continue;
      const Tensor analytic = run_at()[claim.output].clone();
      const double here = loss_at();
      const Tensor at = *point;
      const std::int64_t n = at.numel(), count = std::min<std::int64_t>(n, 4);
      for (std::int64_t k = 0; k < count; ++k) {
        const std::int64_t i = k * n / count;
        const auto moved = [&](double h) {
          *point = at.clone();
          point->mutable_data<double>()[i] += h;
          const double value = loss_at();
          *point = at;
          return value;
        };
        if (!compare_difference(claim, i, analytic.at(i), here, moved)) return;
      }
    }
  }

  /// One derivative from both sides and with two steps: where these disagree, the function has a
  /// kink or a step there, or is too rough, and differences say nothing.
  bool compare_difference(const GradientClaim& claim, std::int64_t i, double analytic, double here,
                          const std::function<double(double)>& moved) {
    const double h = 1e-5;
    const double up = moved(h), down = moved(-h), up2 = moved(2 * h), down2 = moved(-2 * h);
    const double central = (8 * (up - down) - (up2 - down2)) / (12 * h);
    const double coarse = (up2 - down2) / (4 * h), right = (up - here) / h,
                 left = (here - down) / h;
    if (!std::isfinite(central) || !std::isfinite(analytic)) return true;
    const double size =
        std::max({1.0, std::fabs(central), std::fabs(analytic), std::fabs(here) * 1e-4});
    const double spread = std::max(
        {std::fabs(coarse - central), std::fabs(right - central), std::fabs(left - central)});
    if (spread > 1e-3 * size) return true;
    ++examined_.gradients;
    if (std::fabs(analytic - central) <= 1e-4 * size + 3 * spread) return true;
    fail(
        "gradient",
        fmt::format("of {} with respect to {}[{}]: analytic {}, differences {} (left {}, right {})",
                    claim.loss, claim.wrt, i, analytic, central, left, right));
    return false;
  }

  const Case& c_;
  RandomSource random_;
  bool all_;
  const std::string only_;
  Examined& examined_;
  std::optional<Failure> failure_;
  std::unique_ptr<Module> parsed_, inlined_, optimised_;
  Trace base_;
  bool reordered_ = false;
};

}  // namespace

std::optional<Failure> examine(const Case& c, std::uint64_t seed, Examined& examined,
                               const std::string& only) {
  return Examination(c, seed, examined, only).run();
}

}  // namespace weft::testing
