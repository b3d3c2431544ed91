#include "weft/autodiff/check_gradients.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "weft/autodiff/difference_quotient.h"
#include "weft/autodiff/retype.h"
#include "weft/autodiff/wrong_gradient.h"
#include "weft/core/error.h"
#include "weft/core/random.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/reduce.h"
#include "weft/graph/run/session.h"

namespace weft {
namespace {

// Returns a cotangent with values in +-[0.5, 1.5), asymmetric so that errors cannot cancel out.
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

// Returns the tensors in `all` that are inputs of `program`, in double precision if the input is.
NamedTensors feeds_for(const Program& program, const NamedTensors& all) {
  NamedTensors result;
  for (const Value& v : program.inputs()) {
    for (const auto& [name, tensor] : all) {
      if (name == v.node().attributes().text("name"))
        result.emplace_back(name, v.dtype() == DType::f64 ? tensor.to(v.dtype()) : tensor);
    }
  }
  return result;
}

// A scalar program and its gradients in double precision, which can be evaluated at many points.
class Checker {
 public:
  Checker(const Value& scalar, const std::vector<Value>& wrt, const std::vector<Value>& analytic,
          const GradientCheckOptions& options, const NamedTensors& feeds)
      : options_(options), module_(make(scalar, analytic)), value_("value") {
    value_.output("value", module_.program.outputs().front().second);
    feeds_ = feeds_for(module_.program, feeds);
    session_ = std::make_unique<Session>(*module_.graph,
                                         SessionOptions{.seed = options.seed, .threads = 1});
    for (const auto& [name, tensor] : options.variables) {
      if (module_.graph->has_variable(name))
        session_->set_value(name, tensor.to(module_.graph->find_variable(name).dtype()));
    }
    // Random keys advance after every run, but all runs must use the same random numbers.
    for (const Variable& v : module_.graph->variables()) {
      if (v.info().kind == VariableKind::key)
        keys_.emplace_back(v.name(), session_->value(v.name()));
    }
    for (const Value& v : wrt) names_.push_back(name_of(v));
  }

  void check(GradientReport& report, const char* what) {
    reset_keys();
    const Results at_point = session_->run(module_.program, feeds_);
    for (std::size_t i = 0; i < names_.size(); ++i) {
      operands_.push_back({names_[i], at_point["grad" + std::to_string(i)].clone(),
                           point(names_[i]).defined() ? point(names_[i]).clone() : Tensor()});
    }
    if (options_.directions > 0) {
      check_directions(report, what);
    } else {
      for (const Operand& operand : operands_) check_operand(report, what, operand);
    }
  }

 private:
  struct Operand {
    std::string name;
    Tensor analytic;
    Tensor at;  // undefined if the program does not depend on the operand
  };

  static Module make(const Value& scalar, const std::vector<Value>& analytic) {
    Program program("check_gradients");
    program.output("value", scalar);
    for (std::size_t i = 0; i < analytic.size(); ++i) {
      program.output("grad" + std::to_string(i), analytic[i]);
    }
    return program_in_double(program);
  }

  void reset_keys() {
    for (const auto& [name, key] : keys_) session_->set_value(name, key);
  }

  double value() {
    reset_keys();
    return session_->run(value_, feeds_for(value_, feeds_))["value"].item<double>();
  }

  // Returns the indices of the elements to check: the first, the last, and a random one from each
  // of the equal intervals between them.
  std::vector<std::int64_t> elements(std::int64_t n) const {
    const std::int64_t count = std::min(n, options_.max_elements);
    std::vector<std::int64_t> result;
    const RandomStream stream{.seed = options_.seed};
    for (std::int64_t k = 0; k < count; ++k) {
      const std::int64_t begin = k * n / count, end = (k + 1) * n / count;
      const auto drawn =
          static_cast<double>(uniform_float(stream.word(static_cast<std::uint64_t>(k))) * 0.999f);
      const auto inside = static_cast<std::int64_t>(drawn * static_cast<double>(end - begin));
      result.push_back(k == 0 ? 0 : k == count - 1 ? n - 1 : begin + inside);
    }
    return result;
  }

  void check_operand(GradientReport& report, const char* what, const Operand& operand) {
    const std::vector<std::int64_t> where = elements(operand.analytic.numel());
    std::vector<Difference> numeric;
    double largest = 0;
    for (const std::int64_t element : where) {
      const double floor = kTolerance / 8 * largest;
      numeric.push_back(operand.at.defined() ? difference(operand, element, floor)
                                             : Difference{0, 0, 0});
      if (std::isfinite(numeric.back().value)) {
        largest = std::max(largest, std::abs(numeric.back().value));
      }
    }
    std::int64_t wrong = 0;
    std::string first;
    for (std::size_t k = 0; k < where.size(); ++k) {
      const double a = operand.analytic.at(where[k]);
      const std::string place = fmt::format("{}[{}]", operand.name, where[k]);
      note(report, what, place, a, numeric[k].value, std::max(1.0, largest));
      const std::string found = compare(a, numeric[k], largest);
      if (found.empty() || is_subgradient(operand, where[k], a)) continue;
      if (wrong++ == 0) first = fmt::format("gradient of {}", place) + "{}: " + found;
    }
    if (wrong == 0 || !report.passed) return;
    report.passed = false;
    const std::string count =
        where.size() == 1 ? "" : fmt::format(" ({} of {} elements are wrong)", wrong, where.size());
    first.replace(first.find("{}"), 2, count);
    report.message = fmt::format("{} {}", what, first);
  }

  // Returns a description of the error, or "" if the values agree. `largest` is the magnitude of
  // the operand's largest gradient.
  static std::string compare(double analytic, const Difference& numeric, double largest) {
    const double allowed = 8 * numeric.error + kTolerance * largest;
    const double off = std::abs(analytic - numeric.value);
    if (!(off <= allowed)) {
      return fmt::format("{:.9g}, but finite differences give {:.9g} +- {:.2g}", analytic,
                         numeric.value, numeric.error);
    }
    if (numeric.truncation_error > kConverged * std::max(std::abs(numeric.value), 1e-3 * largest) &&
        numeric.truncation_error > 0.1 * numeric.error) {
      return fmt::format(
          "{:.9g}, but finite differences do not converge ({:.9g} +- {:.2g}): is there a kink, a "
          "jump or noise at this point?",
          analytic, numeric.value, numeric.error);
    }
    return {};
  }

  // Returns true if the function has a kink at the point and `analytic` is between the one-sided
  // slopes.
  bool is_subgradient(const Operand& operand, std::int64_t element, double analytic) {
    const double x = operand.at.defined() ? operand.at.at(element) : 0;
    const double h = 1e-6 * std::max(1.0, std::abs(x));
    const double here = value_at(operand, element, x);
    const auto slope = [&](double by) { return (value_at(operand, element, x + by) - here) / by; };
    const double left = slope(-h), right = slope(h);
    // At a jump, the slopes grow as the step shrinks.
    const double nearer_left = slope(-h / 8), nearer_right = slope(h / 8);
    set_point(operand.name, operand.at);
    const double slack = kConverged * std::max(std::abs(left), std::abs(right));
    const bool steady =
        std::abs(nearer_left - left) <= slack && std::abs(nearer_right - right) <= slack;
    return steady && std::abs(right - left) > slack && analytic >= std::min(left, right) - slack &&
           analytic <= std::max(left, right) + slack;
  }

  static void note(GradientReport& report, const char* what, const std::string& place,
                   double analytic, double numeric, double scale) {
    double error = std::abs(analytic - numeric) / scale;
    if (std::isnan(error)) error = HUGE_VAL;
    ++report.elements_checked;
    if (error <= report.max_relative_error && !report.worst.empty()) return;
    report.max_relative_error = std::max(error, report.max_relative_error);
    report.worst =
        fmt::format("{} gradient of {}: analytic {}, numeric {}", what, place, analytic, numeric);
  }

  double value_at(const Operand& operand, std::int64_t element, double x) {
    if (!operand.at.defined()) return 0;
    Tensor moved = operand.at.clone();
    moved.mutable_data<double>()[element] = x;
    set_point(operand.name, moved);
    return value();
  }

  Difference difference(const Operand& operand, std::int64_t element, double floor) {
    const double x = operand.at.at(element);
    const Difference result =
        differentiate([&](double by) { return value_at(operand, element, x + by); },
                      options_.step * std::max(1.0, std::abs(x)), floor);
    set_point(operand.name, operand.at);
    return result;
  }

  // -- Directions ---------------------------------------------------------------------------------

  void check_directions(GradientReport& report, const char* what) {
    std::vector<const Operand*> all;
    for (const Operand& operand : operands_) {
      if (operand.at.defined() && operand.at.numel() > 0) all.push_back(&operand);
    }
    if (all.empty()) return;
    for (int k = 0; k < options_.directions; ++k) {
      const std::string found = compare_along_direction(report, what, all, k);
      if (found.empty() || !report.passed) continue;
      report.passed = false;
      report.message = fmt::format("{} derivative along random direction {}: {}", what, k, found);
      for (const Operand* operand : all) {
        if (all.size() == 1) break;
        const std::string alone = compare_along_direction(report, what, {operand}, k);
        if (!alone.empty())
          report.message += fmt::format("\n  along {} alone: {}", operand->name, alone);
      }
    }
  }

  std::string compare_along_direction(GradientReport& report, const char* what,
                                      const std::vector<const Operand*>& operands, int number) {
    double analytic = 0, terms = 0;
    std::vector<Tensor> directions;
    for (const Operand* operand : operands) {
      // Random values like those of the cotangents, scaled by the magnitudes of the operand's
      // elements.
      const auto seed = options_.seed + 977u * static_cast<std::uint64_t>(number + 1) +
                        static_cast<std::uint64_t>(operand - operands_.data());
      Tensor direction = cotangent_for(operand->at.sizes(), seed);
      for (std::int64_t i = 0; i < direction.numel(); ++i) {
        double& d = direction.mutable_data<double>()[i];
        d *= std::max(1e-3, std::min(1.0, std::abs(operand->at.at(i))));
        analytic += d * operand->analytic.at(i);
        terms += std::abs(d * operand->analytic.at(i));
      }
      directions.push_back(std::move(direction));
    }
    const Difference numeric = differentiate(
        [&](double by) {
          for (std::size_t i = 0; i < operands.size(); ++i) {
            Tensor moved = operands[i]->at.clone();
            double* p = moved.mutable_data<double>();
            for (std::int64_t e = 0; e < moved.numel(); ++e) p[e] += by * directions[i].at(e);
            set_point(operands[i]->name, moved);
          }
          return value();
        },
        options_.step, 0);
    for (const Operand* operand : operands) set_point(operand->name, operand->at);
    note(report, what, fmt::format("direction {}", number), analytic, numeric.value,
         std::max(1.0, std::abs(numeric.value)));
    return compare(analytic, numeric, std::max(std::abs(numeric.value), 1e-3 * terms));
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

  // Tolerance relative to the operand's largest gradient, and the relative step error up to which a
  // difference counts as converged.
  static constexpr double kTolerance = 1e-8, kConverged = 1e-3;

  const GradientCheckOptions& options_;
  Module module_;
  Program value_;
  NamedTensors feeds_;
  std::unique_ptr<Session> session_;
  std::vector<std::pair<std::string, Tensor>> keys_;
  std::vector<std::string> names_;
  std::vector<Operand> operands_;
};

NamedTensors feeds_for(const Value& scalar, const std::vector<Value>& more,
                       const NamedTensors& all) {
  Program program("inputs");
  program.output("scalar", scalar);
  for (std::size_t i = 0; i < more.size(); ++i) program.output(std::to_string(i), more[i]);
  return feeds_for(program, all);
}

}  // namespace

GradientReport compare_gradients(Value output, const std::vector<Value>& wrt,
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
  // Shapes may be symbolic, so a first run determines the shape of the random cotangent.
  NamedTensors feeds = options.feeds;
  const auto project = [&](const Value& v, std::uint64_t seed) {
    if (v.rank() == 0) return v;
    const std::string name =
        fmt::format("check_gradients.cotangent{}.{}.{}", seed, v.node().id(), v.output());
    Program probe("probe");
    probe.output("value", v);
    const Module twin = program_in_double(probe);
    Session session(*twin.graph, {.seed = options.seed, .threads = 1});
    for (const auto& [variable, tensor] : options.variables) {
      if (twin.graph->has_variable(variable))
        session.set_value(variable, tensor.to(twin.graph->find_variable(variable).dtype()));
    }
    const Sizes sizes = session.run(twin.program, feeds_for(twin.program, feeds))["value"].sizes();
    const Value cotangent = graph.find_input(name).defined()
                                ? graph.find_input(name)
                                : graph.input(name, {v.dtype(), v.shape()}, loc);
    feeds.emplace_back(name, cotangent_for(sizes, seed));
    return sum(v * cotangent);
  };
  const GradientOptions gradient_options{.unreachable = Unreachable::zeros, .rules = options.rules};
  const Value scalar = project(output, 1);
  const std::vector<Value> first = gradients(scalar, wrt, gradient_options, loc);
  GradientReport report;
  Checker(scalar, wrt, first, options, feeds_for(scalar, first, feeds))
      .check(report, "first-order");
  if (report.elements_checked == 0) {
    report.passed = false;
    report.message = "check_gradients: nothing to check, because no operand has elements";
  }
  if (!options.second_order) return report;

  Value total;
  for (std::size_t i = 0; i < first.size(); ++i) {
    const Value part = project(first[i], 2 + i);
    total = total.defined() ? total + part : part;
  }
  const std::vector<Value> second = gradients(total, wrt, gradient_options, loc);
  Checker(total, wrt, second, options, feeds_for(total, second, feeds))
      .check(report, "second-order");
  return report;
}

GradientReport check_gradients(Value output, const std::vector<Value>& wrt,
                               const GradientCheckOptions& options, SourceLocation loc) {
  GradientReport report = compare_gradients(output, wrt, options, loc);
  if (report || report.elements_checked == 0) return report;
  const std::string place = first_wrong_gradient(output, options);
  if (!place.empty()) report.message += "\n  first op with a wrong gradient: " + place;
  return report;
}

}  // namespace weft
