#include "weft/autodiff/check_gradients.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "weft/autodiff/retype.h"
#include "weft/core/error.h"
#include "weft/core/random.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/reduce.h"
#include "weft/graph/run/session.h"

namespace weft {
namespace {

Tensor widen(const Tensor& t) { return t.dtype() == DType::f32 ? t.to(DType::f64) : t; }

// A cotangent without symmetry, so that a mistake cannot cancel: values in +-[0.5, 1.5).
Tensor cotangent_for(const Sizes& sizes, std::uint64_t seed) {
  Tensor t = Tensor::empty(DType::f64, sizes);
  const RandomStream stream{.seed = seed};
  double* p = t.mutable_data<double>();
  for (std::int64_t i = 0; i < t.numel(); ++i) {
    const std::uint32_t word = stream.word(static_cast<std::uint64_t>(i));
    p[i] = (0.5 + uniform_float(word)) * ((word & 1) != 0 ? 1 : -1);
  }
  return t;
}

std::string name_of(const Value& v) {
  const Attribute* name = v.node().attributes().find("name");
  return name != nullptr ? std::get<std::string>(*name) : v.graph().name_of(v);
}

// A scalar program in double with its gradients, to be run at many points.
class Checker {
 public:
  Checker(const Value& scalar, const std::vector<Value>& wrt, const std::vector<Value>& analytic,
          const GradientCheckOptions& options, const NamedTensors& feeds)
      : options_(options), feeds_(feeds), module_(make(scalar, analytic)) {
    session_ = std::make_unique<Session>(*module_.graph,
                                         SessionOptions{.seed = options.seed, .threads = 1});
    for (const auto& [name, tensor] : options.variables) {
      if (module_.graph->has_variable(name)) session_->set_value(name, widen(tensor));
    }
    // The key advances after every run: programs that draw must draw the same each time.
    for (const Variable& v : module_.graph->variables()) {
      if (v.info().kind == VariableKind::key)
        keys_.emplace_back(v.name(), session_->value(v.name()));
    }
    for (const Value& v : wrt) names_.push_back(name_of(v));
  }

  void check(GradientReport& report, const char* what) {
    const Results at_point = run();
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const Tensor analytic = at_point["grad" + std::to_string(i)].clone();
      check_operand(report, what, names_[i], analytic);
    }
  }

 private:
  static Module make(const Value& scalar, const std::vector<Value>& analytic) {
    Program program("check_gradients");
    program.output("value", scalar);
    for (std::size_t i = 0; i < analytic.size(); ++i) {
      program.output("grad" + std::to_string(i), analytic[i]);
    }
    return retype(program);
  }

  Results run() {
    for (const auto& [name, key] : keys_) session_->set_value(name, key);
    return session_->run(module_.program, feeds_);
  }

  void check_operand(GradientReport& report, const char* what, const std::string& name,
                     const Tensor& analytic) {
    const std::int64_t n = analytic.numel();
    const std::int64_t count = std::min(n, options_.max_elements);
    std::vector<std::int64_t> elements;
    std::vector<double> numeric;
    double scale = 1;
    for (std::int64_t k = 0; k < count; ++k) {
      elements.push_back(k * n / count);
      numeric.push_back(difference(name, elements.back()));
      scale = std::max(scale, std::abs(numeric.back()));
    }
    for (std::size_t k = 0; k < elements.size(); ++k) {
      const double a = analytic.at(elements[k]);
      double error = std::abs(a - numeric[k]) / scale;
      if (std::isnan(error)) error = HUGE_VAL;
      ++report.elements_checked;
      if (error > report.max_relative_error || report.worst.empty()) {
        report.max_relative_error = std::max(error, report.max_relative_error);
        report.worst = fmt::format("{} gradient of {}[{}]: analytic {}, numeric {}", what, name,
                                   elements[k], a, numeric[k]);
      }
    }
  }

  // (8 (f(x+h) - f(x-h)) - (f(x+2h) - f(x-2h))) / 12h: error of order h^4.
  double difference(const std::string& name, std::int64_t element) {
    const Tensor original = point(name);
    if (!original.defined()) return 0;  // the program does not depend on it
    const double x = original.at(element);
    const double h = options_.step * std::max(1.0, std::abs(x));
    const auto value_at = [&](double moved) {
      Tensor t = original.clone();
      t.mutable_data<double>()[element] = moved;
      set_point(name, t);
      return run()["value"].item<double>();
    };
    const double near = value_at(x + h) - value_at(x - h);
    const double far = value_at(x + 2 * h) - value_at(x - 2 * h);
    set_point(name, original);
    return (8 * near - far) / (12 * h);
  }

  Tensor point(const std::string& name) {
    for (const auto& feed : feeds_) {
      if (feed.first == name) return feed.second;
    }
    return module_.graph->has_variable(name) ? session_->value(name) : Tensor();
  }

  void set_point(const std::string& name, const Tensor& t) {
    for (auto& feed : feeds_) {
      if (feed.first == name) {
        feed.second = t;
        return;
      }
    }
    session_->set_value(name, t);
  }

  const GradientCheckOptions& options_;
  NamedTensors feeds_;
  Module module_;
  std::unique_ptr<Session> session_;
  std::vector<std::pair<std::string, Tensor>> keys_;
  std::vector<std::string> names_;
};

// NamedTensors for the inputs that `program` has.
NamedTensors feeds_for(const Program& program, const NamedTensors& all) {
  NamedTensors result;
  for (const Value& v : program.inputs()) {
    for (const auto& [name, tensor] : all) {
      if (name == v.node().attributes().text("name")) result.emplace_back(name, widen(tensor));
    }
  }
  return result;
}

NamedTensors feeds_for(const Value& scalar, const std::vector<Value>& more,
                       const NamedTensors& all) {
  Program program("inputs");
  program.output("scalar", scalar);
  for (std::size_t i = 0; i < more.size(); ++i) program.output(std::to_string(i), more[i]);
  return feeds_for(program, all);
}

}  // namespace

GradientReport check_gradients(Value output, const std::vector<Value>& wrt,
                               const GradientCheckOptions& options, SourceLocation loc) {
  Graph& graph = output.graph();
  for (const Value& v : wrt) {
    graph.check_owned(v, "check_gradients", loc);
    if (v.node().op().name != "input" && v.node().op().name != "variable") {
      throw GradientError(fmt::format(
          "check_gradients: only inputs and variables can be varied, not a result of {}\n  {}",
          v.node().op().name, graph.describe_source(loc)));
    }
  }
  // Shapes may be symbolic: a random cotangent of the output's shape comes from a first run.
  NamedTensors feeds = options.feeds;
  const auto project = [&](const Value& v, const std::string& name, std::uint64_t seed) {
    if (v.rank() == 0) return v;
    Program probe("probe");
    probe.output("value", v);
    const Module twin = retype(probe);
    Session session(*twin.graph, {.seed = options.seed, .threads = 1});
    for (const auto& [variable, tensor] : options.variables) {
      if (twin.graph->has_variable(variable)) session.set_value(variable, widen(tensor));
    }
    const Sizes sizes = session.run(twin.program, feeds_for(probe, feeds))["value"].sizes();
    const Value cotangent = graph.find_input(name).defined()
                                ? graph.find_input(name)
                                : graph.input(name, {v.dtype(), v.shape()}, loc);
    feeds.emplace_back(name, cotangent_for(sizes, seed));
    return sum(v * cotangent);
  };
  const GradientOptions gradient_options{.unreachable = Unreachable::zeros,
                                         .rules = options.rules,
                                         .decompositions = options.decompositions};
  const std::string prefix =
      fmt::format("check_gradients.{}.{}", output.node().id(), output.output());
  const Value scalar = project(output, prefix + ".cotangent", 1);
  const std::vector<Value> first = gradients(scalar, wrt, gradient_options, loc);
  GradientReport report;
  Checker(scalar, wrt, first, options, feeds_for(scalar, first, feeds))
      .check(report, "first-order");
  if (!options.second_order) return report;

  Value total;
  for (std::size_t i = 0; i < first.size(); ++i) {
    const Value part = project(first[i], fmt::format("{}.second{}", prefix, i), 2 + i);
    total = total.defined() ? total + part : part;
  }
  const std::vector<Value> second = gradients(total, wrt, gradient_options, loc);
  Checker(total, wrt, second, options, feeds_for(total, second, feeds))
      .check(report, "second-order");
  return report;
}

}  // namespace weft
