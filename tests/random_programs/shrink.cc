#include "weft/tests/random_programs/shrink.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "weft/autodiff/gradients.h"
#include "weft/core/error.h"
#include "weft/graph/passes/pipeline.h"
#include "weft/graph/run/session.h"
#include "weft/tests/random_programs/rebuild.h"

namespace weft::testing {
namespace {

using Rewritten = std::vector<Value>;

/// Keys are advanced automatically whenever random numbers are drawn.
bool is_key(const Variable& v) {
  return v.value().graph().variable_info(v.value().node()).kind == VariableKind::key;
}

class Shrinker {
 public:
  Shrinker(const Case& c, std::string check, double seconds)
      : best_(c.clone()),
        check_(std::move(check)),
        end_(Clock::now() +
             std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds))) {
    if (check_ == "gradient") forget_gradients();
  }

  Case run() {
    bool smaller = true;
    while (smaller && Clock::now() < end_) {
      smaller = fewer_runs();
      smaller = fewer_roots() || smaller;
      smaller = inlined() || smaller;
      smaller = fixed_sizes() || smaller;
      smaller = fewer_nodes() || smaller;
      smaller = smaller_sizes() || smaller;
      smaller = simpler_attributes() || smaller;
    }
    return with_gradients(best_);
  }

 private:
  using Clock = std::chrono::steady_clock;

  /// If a gradient is wrong, the function is reduced first and then differentiated again.
  void forget_gradients() {
    Program p(best_.module.program.name());
    p.take_options(best_.module.program);
    for (const GradientClaim& claim : gradient_claims(best_.module.program)) {
      if (loss_ != claim.loss) wrt_.clear();  // one loss is shrunk, the last one
      loss_ = claim.loss;
      wrt_.push_back(claim.wrt);
    }
    for (const auto& [name, value] : best_.module.program.outputs()) {
      if (name == loss_) p.output(name, value);
    }
    best_.module = clone_program(p);
  }

  Case with_gradients(const Case& forward) const {
    Case c = forward.clone();
    if (loss_.empty()) return c;
    Value loss;
    for (const auto& [name, value] : c.module.program.outputs()) {
      if (name == loss_) loss = value;
    }
    std::vector<Value> wrt;
    for (const std::string& name : wrt_) {
      // Names may be aliases of the same variable, which has one gradient.
      const auto add = [&](const Value& value) {
        if (std::find(wrt.begin(), wrt.end(), value) == wrt.end()) wrt.push_back(value);
      };
      const Value input = c.module.graph->find_input(name);
      if (input.defined()) add(input);
      if (c.module.graph->has_variable(name)) add(c.module.graph->find_variable(name));
    }
    std::vector<std::int64_t> axes;
    for (int a = 0; a < loss.rank(); ++a) axes.push_back(a);
    const Value total =
        c.module.graph->apply("sum", {loss}, {{"axes", axes}, {"keepdims", false}}).output(0);
    const auto made = gradients(total, wrt, {.unreachable = Unreachable::zeros});
    for (std::size_t i = 0; i < wrt.size(); ++i) {
      c.module.program.output("grad " + loss_ + " " + wrt[i].node().attributes().text("name"),
                              made[i]);
    }
    return c;
  }

  /// Accepts the candidate if it fails the same check.
  bool try_candidate(Case candidate) {
    if (Clock::now() > end_) return false;
    try {
      candidate.tidy();
      Examined ignored;
      const auto failure = examine(with_gradients(candidate), 0, ignored, check_);
      if (!failure || failure->check != check_) return false;
    } catch (const std::exception&) {
      return false;
    }
    best_ = std::move(candidate);
    return true;
  }

  bool fewer_runs() {
    bool any = false;
    for (std::size_t r = 0; r < best_.runs.size() && best_.runs.size() > 1;) {
      Case candidate = best_.clone();
      candidate.runs.erase(candidate.runs.begin() + static_cast<std::ptrdiff_t>(r));
      if (try_candidate(std::move(candidate))) {
        any = true;
      } else {
        ++r;
      }
    }
    return any;
  }

  /// Keeps only the outputs and updates for which `keep(number)` returns true.
  static Case with_roots(const Case& c, const std::function<bool(std::size_t)>& keep) {
    Program p(c.module.program.name());
    p.take_options(c.module.program);
    std::size_t n = 0;
    for (const auto& [name, value] : c.module.program.outputs()) {
      if (keep(n++)) p.output(name, value);
    }
    for (const auto& [variable, value] : c.module.program.given_updates()) {
      if (!is_key(variable) && keep(n++)) p.update(variable, value);
    }
    return {clone_program(p), c.variables, c.runs};
  }

  bool fewer_roots() {
    bool any = false;
    const auto count = [&] {
      const Updates& updates = best_.module.program.given_updates();
      return best_.module.program.outputs().size() +
             static_cast<std::size_t>(std::count_if(
                 updates.begin(), updates.end(), [](const auto& u) { return !is_key(u.first); }));
    };
    for (std::size_t size = count() / 2; size >= 1; size /= 2) {
      for (std::size_t begin = 0; begin < count() && count() > 1;) {
        const bool gone = count() > size && try_candidate(with_roots(best_, [&](std::size_t i) {
                            return i < begin || i >= begin + size;
                          }));
        any = any || gone;
        if (!gone) begin += size;
      }
    }
    return any;
  }

  bool inlined() {
    Case candidate = best_.clone();
    if (candidate.module.graph->functions().empty()) return false;
    candidate.module = inline_calls(std::move(candidate.module));
    return try_candidate(std::move(candidate));
  }

  bool fixed_sizes() {
    if (best_.runs.size() != 1 || best_.runs[0].dims.empty()) return false;
    CloneOptions options;
    options.map_symbol = [&](const SymbolPtr& s) -> std::optional<Dim> {
      for (const auto& [name, size] : best_.runs[0].dims) {
        if (name == s->name) return Dim(size);
      }
      return std::nullopt;
    };
    try {
      Case candidate = {clone_program(best_.module.program, options), best_.variables, best_.runs};
      candidate.runs[0].dims.clear();
      return try_candidate(std::move(candidate));
    } catch (const Error&) {
      return false;
    }
  }

  /// Returns all values in every run, computed by a Session without passes. Empty if the program
  /// cannot run.
  std::vector<Results> all_values() {
    Program all = best_.module.program;
    for (Node* node : best_.module.program.nodes()) {
      for (int o = 0; o < node->output_count(); ++o)
        all.output(fmt::format("value {} {}", node->id(), o), node->output(o));
    }
    std::vector<Results> results;
    try {
      Session session(*best_.module.graph, {.threads = 1, .passes = false});
      for (const auto& [name, tensor] : best_.variables) session.set_value(name, tensor);
      for (const CaseRun& run : best_.runs)
        results.push_back(session.run(all, run.feeds, {.dims = run.dims}));
    } catch (const std::exception&) {
      return {};
    }
    return results;
  }

  bool fewer_nodes() {
    bool any = false;
    for (std::size_t back = 0;; ++back) {
      const auto nodes = best_.module.program.nodes();
      if (back >= nodes.size() || Clock::now() > end_) return any;
      const Node* node = nodes[nodes.size() - 1 - back];
      if (node->op().has(Trait::leaf) && node->op().kernel == nullptr) continue;
      // added again whenever random numbers are drawn
      if (node->op().name == "key_advance") continue;
      if (bypass(*node) || feed(*node)) {
        any = true;
        if (back > 0) --back;
      }
    }
  }

  /// Replaces the result of the node by one of its operands.
  bool bypass(const Node& node) {
    if (node.output_count() != 1) return false;
    for (const Value& v : node.inputs()) {
      if (!v.defined() || !(v.type() == node.type(0))) continue;
      CloneOptions options;
      options.rewrite = [&](const Node& n, const std::vector<Value>& inputs, Graph&) {
        if (&n != &node) return Rewritten{};
        for (std::size_t i = 0; i < inputs.size(); ++i) {
          if (n.inputs()[i] == v) return Rewritten{inputs[i]};
        }
        return Rewritten{};
      };
      try {
        if (try_candidate(
                {clone_program(best_.module.program, options), best_.variables, best_.runs}))
          return true;
      } catch (const Error&) {
      }
    }
    return false;
  }

  /// Replaces the results of the node by inputs, which are fed with the computed values.
  bool feed(const Node& node) {
    const std::vector<Results> values = all_values();
    if (values.empty()) return false;
    const std::string prefix = fmt::format("r{}", ++fed_);
    CloneOptions options;
    options.rewrite = [&](const Node& n, const std::vector<Value>&, Graph& target) {
      Rewritten made;
      if (&n != &node) return made;
      for (int o = 0; o < n.output_count(); ++o)
        made.push_back(target.input(fmt::format("{}.{}", prefix, o), n.type(o)));
      return made;
    };
    try {
      Case candidate = {clone_program(best_.module.program, options), best_.variables, best_.runs};
      for (std::size_t r = 0; r < values.size(); ++r) {
        for (int o = 0; o < node.output_count(); ++o) {
          candidate.runs[r].feeds.emplace_back(
              fmt::format("{}.{}", prefix, o),
              values[r][fmt::format("value {} {}", node.id(), o)].clone());
        }
      }
      return try_candidate(std::move(candidate));
    } catch (const Error&) {
      return false;
    }
  }

  bool try_rebuilt(const Rebuilding& what) {
    try {
      return try_candidate(rebuilt(best_, what));
    } catch (const Error&) {
      return false;
    }
  }

  /// Reduces one size at a time, in all leaves and attributes in which it occurs.
  bool smaller_sizes() {
    bool any = smaller_symbols();
    std::set<std::int64_t> sizes;
    const auto collect = [&](const Shape& shape) {
      for (const Dim& d : shape) {
        if (d.is_constant() && d.constant() > 0) sizes.insert(d.constant());
      }
    };
    for (Node* node : best_.module.program.nodes()) {
      const std::string& op = node->op().name;
      if (op.starts_with("key_") || (op == "variable" && is_key(Variable(node->output(0)))))
        continue;
      for (int o = 0; o < node->output_count(); ++o) collect(node->type(o).shape);
    }
    for (auto it = sizes.rbegin(); it != sizes.rend() && Clock::now() < end_; ++it) {
      bool smaller = false;
      for (const std::int64_t to : {std::int64_t{1}, std::int64_t{2}, *it / 2, *it - 1}) {
        if (smaller || to >= *it || to < 1) continue;
        Rebuilding what{.size = [&](std::int64_t s) { return s == *it ? to : s; }};
        smaller = try_rebuilt(what);
        what.integers_below = to;
        smaller = smaller || try_rebuilt(what);
      }
      any = any || smaller;
    }
    return any;
  }

  bool smaller_symbols() {
    bool any = false;
    for (std::size_t r = 0; r < best_.runs.size(); ++r) {
      for (std::size_t d = 0; d < best_.runs[r].dims.size(); ++d) {
        const std::int64_t size = best_.runs[r].dims[d].second;
        for (const std::int64_t to :
             {std::int64_t{0}, std::int64_t{1}, std::int64_t{2}, size - 1}) {
          if (to >= size || to < 0) continue;
          DimValues dims = best_.runs[r].dims;
          dims[d].second = to;
          try {
            if (!try_candidate(with_dims(best_, r, dims))) continue;
            any = true;
            break;
          } catch (const Error&) {
          }
        }
      }
    }
    return any;
  }

  /// Sets attributes to their default values, one at a time.
  bool simpler_attributes() {
    bool any = false;
    for (std::size_t i = 0; i < best_.module.program.nodes().size() && Clock::now() < end_; ++i) {
      const Node& node = *best_.module.program.nodes()[i];
      if (node.op().has(Trait::leaf)) continue;
      for (const AttributeSpec& spec : node.op().attributes) {
        if (spec.required || spec.name == "stream") continue;
        const Node& now = *best_.module.program.nodes()[i];
        Attributes simpler = now.attributes();
        simpler.set(spec.name, spec.default_value);
        if (simpler == now.attributes()) continue;
        any = try_rebuilt({.attributes =
                               [&](const Node& n, Attributes attributes) {
                                 if (&n == &now) attributes.set(spec.name, spec.default_value);
                                 return attributes;
                               }}) ||
              any;
        if (best_.module.program.nodes().size() <= i) return any;
      }
    }
    return any;
  }

  Case best_;
  std::string check_;
  Clock::time_point end_;
  int fed_ = 0;
  std::string loss_;              // the loss whose gradient is wrong
  std::vector<std::string> wrt_;  // the variables and inputs in its gradients
};

}  // namespace

Case shrink(const Case& c, const std::string& check, double seconds) {
  return Shrinker(c, check, seconds).run();
}

}  // namespace weft::testing
