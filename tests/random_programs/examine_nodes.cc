#include "weft/tests/random_programs/examination.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "weft/core/error.h"
#include "weft/graph/passes/pipeline.h"
#include "weft/graph/text/text.h"
#include "weft/tests/reference/interpreter.h"

namespace weft::testing {
namespace {

/// Adds every value of the graph to the program as an output "value ID OUTPUT".
Program with_all_values(const Program& program) {
  Program all = program;
  for (Node* node : program.nodes()) {
    for (int o = 0; o < node->output_count(); ++o)
      all.output(fmt::format("value {} {}", node->id(), o), node->output(o));
  }
  return all;
}

bool is_finite(const Tensor& t) {
  for (std::int64_t i = 0; is_floating(t.dtype()) && i < t.numel(); ++i) {
    if (!std::isfinite(t.at(i))) return false;
  }
  return true;
}

/// Returns the types of matrix products in the program. The pass `simplify` moves transposes and
/// casts into products, which may then use other kernels.
std::set<std::string> product_kinds(const Program& program) {
  std::set<std::string> kinds;
  for (Node* node : program.nodes()) {
    if (node->op().name != "matmul") continue;
    const Attributes& a = node->attributes();
    kinds.insert(fmt::format("{} {} {} {}", node->input(0).type().str(), a.flag("transpose_a"),
                             node->input(1).type().str(), a.flag("transpose_b")));
  }
  return kinds;
}

}  // namespace

/// Runs a program with inlined calls and without passes, and checks every node in every run.
Trace Examination::run_nodes(const Program& program, const std::string& check, int& counter) {
  const Program all = with_all_values(program);
  Session session(*program.graph(), {.threads = 1, .passes = false});
  set_variables(session, c_.variables);
  Trace trace;
  trace.start = variables_of(session, program);
  for (const CaseRun& run : c_.runs) {
    const DimValues dims = dims_of(run, *program.graph());
    try {
      const NamedTensors feeds = feeds_of(run, *program.graph());
      const NamedTensors before = variables_of(session, program);
      const Bindings bindings = session.plan(all, sizes_of(feeds), {.dims = dims})->bindings;
      const Results results = session.run(all, feeds, {.dims = dims});
      check_nodes(program, results, bindings, check, counter);
      Trace::Step step{{}, variables_of(session, program), bindings};
      for (const auto& [name, value] : program.outputs())
        step.outputs.emplace_back(name, results[name].clone());
      for (const auto& [name, value] : program.graph()->names()) {
        const std::string key = fmt::format("value {} {}", value.node().id(), value.output());
        if (results.contains(key)) step.outputs.emplace_back(name, results[key].clone());
      }
      check_variables(program, results, before, step.variables, check);
      trace.steps.push_back(std::move(step));
    } catch (const Error& e) {
      trace.error = describe(e);
      return trace;
    }
    if (failure_) return trace;
  }
  return trace;
}

void Examination::check_nodes(const Program& program, const Results& results,
                              const Bindings& bindings, const std::string& check, int& counter) {
  const auto value = [&](const Value& v) {
    return v.defined() ? results[fmt::format("value {} {}", v.node().id(), v.output())] : Tensor();
  };
  const Precision precision = program.precision().value_or(Precision::highest);
  for (Node* node : program.nodes()) {
    const std::string& op = node->op().name;
    if (op == "input" || op == "variable") continue;
    std::vector<Tensor> inputs;
    for (const Value& v : node->inputs()) {
      inputs.push_back(value(v));
      all_finite_ = all_finite_ && (!inputs.back().defined() || is_finite(inputs.back()));
    }
    std::vector<NumberTensor> want;
    try {
      want = interpret_node(*node, inputs, bindings, precision);
    } catch (const Error& e) {
      fail(check + " " + op,
           fmt::format("{} succeeded, but its scalar model fails: {}", op, e.what()));
      return;
    }
    ++counter;
    ++examined_.records[op];
    for (int o = 0; o < node->output_count(); ++o) {
      all_finite_ = all_finite_ && is_finite(value(node->output(o)));
      const auto wrong = difference(value(node->output(o)), want[static_cast<std::size_t>(o)]);
      if (!wrong) continue;
      std::string operands;
      for (const Tensor& t : inputs)
        operands += (operands.empty() ? "" : ", ") + (t.defined() ? t.str() : "_");
      fail(check + " " + op, fmt::format("output {} of {}({}) : {}: {}", o, op, operands,
                                         node->type(o).str(), *wrong));
      return;
    }
    check_shift(*node, inputs, check);
    if (failure_) return;
  }
}

/// A read must return the value from before the run, and an update must be visible after the run.
void Examination::check_variables(const Program& program, const Results& results,
                                  const NamedTensors& before, const NamedTensors& after,
                                  const std::string& check) {
  std::set<std::string> updated;
  for (const auto& [variable, value] : program.updates()) {
    updated.insert(variable.name());
    const Tensor& made = results[fmt::format("value {} {}", value.node().id(), value.output())];
    if (!same(find_tensor(after, variable.name()), made))
      fail(check + " update", fmt::format("variable {} does not hold its update", variable.name()));
  }
  for (const Variable& v : program.variables()) {
    const Tensor old = find_tensor(before, v.name());
    if (!updated.contains(v.name()) && !same(find_tensor(after, v.name()), old))
      fail(check + " update", fmt::format("variable {} changed without an update", v.name()));
    const std::string read = fmt::format("value {} {}", v.value().node().id(), v.value().output());
    if (results.contains(read) && !same(results[read], old))
      fail(check + " read",
           fmt::format("reading variable {} did not return its value before the run", v.name()));
  }
}

void Examination::run_base() {
  inlined_ = std::make_unique<Module>(inline_calls(clone_program(c_.module.program)));
  base_ = run_nodes(inlined_->program, "node", examined_.nodes);
  if (!base_.error.empty()) ++examined_.refused;
}

void Examination::check_passes() {
  std::string before;
  std::set<std::string> products;
  PassOptions options{.verify = true};
  options.observe = [&](std::string_view pass, const Program& program) {
    const std::string now = to_text(program);
    std::set<std::string> products_now = product_kinds(program);
    if (now != before) ++examined_.passes[std::string(pass)];
    for (const char* reorders :
         {"fold_dequantize", "fuse_linear_cross_entropy", "fuse_scatter_add", "bf16_activations"}) {
      if (pass == reorders && now != before) reordered_ = true;
    }
    if (pass == "simplify" && !std::includes(products.begin(), products.end(), products_now.begin(),
                                             products_now.end())) {
      reordered_ = true;
    }
    before = now;
    products = std::move(products_now);
  };
  options.precision = c_.module.program.precision().value_or(Precision::highest);
  std::set<std::string> records;
  for (Node* node : inlined_->program.nodes()) records.insert(node->op().name);
  optimised_ = std::make_unique<Module>(run_passes(clone_program(c_.module.program), options));
  const Trace trace = run_nodes(optimised_->program, "optimised", examined_.optimised_nodes);
  for (Node* node : optimised_->program.nodes()) {
    if (!records.contains(node->op().name)) ++examined_.introduced[node->op().name];
  }
  compare("optimised", trace);
}

}  // namespace weft::testing
