#include "weft/autodiff/optimizers/lbfgs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_set>
#include <utility>

#include "weft/autodiff/gradient_advice.h"
#include "weft/autodiff/optimizers/line_search.h"
#include "weft/core/error.h"
#include "weft/core/option.h"
#include "weft/graph/functions/math.h"
#include "weft/graph/run/session.h"
#include "weft/graph/weights/flat_parameters.h"

namespace weft {
namespace {

constexpr std::string_view kFunction = "L-BFGS";

void check_options(const LbfgsOptions& o, SourceLocation loc) {
  const auto require = [&](std::string_view option, auto value, Allowed allowed) {
    require_option(kFunction, option, static_cast<double>(value), allowed, loc);
  };
  require("history", o.history, Allowed::positive);
  require("max_iterations", o.max_iterations, Allowed::positive);
  require("max_evaluations", o.max_evaluations, Allowed::positive);
  require("max_line_search", o.max_line_search, Allowed::positive);
  require("gradient_tolerance", o.gradient_tolerance, Allowed::not_negative);
  require("change_tolerance", o.change_tolerance, Allowed::not_negative);
  require("c1", o.c1, Allowed::positive);
  require("c2", o.c2, Allowed::decay);
  if (o.c1 >= o.c2) {
    throw ArgumentError(
        fmt::format("{}: c1 must be less than c2, but c1 is {} and c2 is {}\n  at {}", kFunction,
                    o.c1, o.c2, loc.str()));
  }
  if (o.gradients.cotangent.defined()) {
    throw ArgumentError(
        fmt::format("{}: LbfgsOptions::gradients.cotangent must not be set: multiply the loss by a "
                    "factor instead\n  at {}",
                    kFunction, loc.str()));
  }
}

void check_parameters(const Session& session, const std::vector<Variable>& parameters,
                      SourceLocation loc) {
  if (parameters.empty()) {
    throw ArgumentError(
        fmt::format("{}: the parameter list is empty\n  at {}", kFunction, loc.str()));
  }
  std::unordered_set<Value, ValueHash> seen;
  for (const Variable& p : parameters) {
    if (!p.defined()) {
      throw ArgumentError(
          fmt::format("{}: a parameter is undefined\n  at {}", kFunction, loc.str()));
    }
    session.graph().check_owned(p.value(), kFunction, loc);
    if (p.dtype() != DType::f32 && p.dtype() != DType::f64) {
      throw DTypeError(fmt::format("{}: parameter '{}' is {}, but must be f32 or f64\n  at {}",
                                   kFunction, p.name(), p.value().type().str(), loc.str()));
    }
    if (!seen.insert(p.value()).second) {
      throw ArgumentError(fmt::format("{}: parameter '{}' is listed twice\n  at {}", kFunction,
                                      p.name(), loc.str()));
    }
  }
}

// Rejects programs that compute another function in each run.
void check_deterministic(const Program& program, SourceLocation loc) {
  for (const auto& [variable, value] : program.updates()) {
    const bool is_key = variable.info().kind == VariableKind::key;
    throw ArgumentError(fmt::format(
        "{}: the loss {} '{}', but must be the same function in every evaluation: {}\n  at {}",
        kFunction, is_key ? "draws random numbers from the key" : "updates the variable",
        variable.name(),
        is_key ? "build the model in evaluation mode (Scope::evaluation()), or feed the random "
                 "numbers as inputs"
               : "build the model in evaluation mode (Scope::evaluation()), or pass a program "
                 "without updates",
        loc.str()));
  }
}

// Returns the program that evaluates `loss` and its gradient.
Program evaluation(Value loss, const std::vector<Variable>& parameters,
                   const GradientOptions& options, SourceLocation loc) {
  const std::string function(kFunction);
  const std::vector<Value> gradients =
      gradients_for({.function = function,
                     .no_rule = "block the gradient with stop_gradient, or pass a custom rule "
                                "(LbfgsOptions::gradients.rules)",
                     .unreachable = "leave it out of the parameters, or request zeros "
                                    "(LbfgsOptions::gradients.unreachable)"},
                    loss, {parameters.begin(), parameters.end()}, options, loc);
  return Program("lbfgs")
      .output("loss", cast(loss, DType::f64), loc)
      .output("gradient", cast(flatten_parameters(gradients, loc), DType::f64), loc);
}

// Returns the loss of an objective program.
Value loss_of(const Program& objective, SourceLocation loc) {
  const auto& outputs = objective.outputs();
  if (!objective.given_updates().empty()) {
    throw ArgumentError(fmt::format(
        "{}: program '{}' updates the variable '{}': pass a program without updates, or "
        "the loss itself\n  at {}",
        kFunction, objective.name(), objective.given_updates().begin()->first.name(), loc.str()));
  }
  if (outputs.size() == 1) return outputs[0].second;
  for (const auto& [name, value] : outputs) {
    if (name == "loss") return value;
  }
  throw ArgumentError(
      fmt::format("{}: program '{}' must have an output 'loss' or a single output, but has {} "
                  "outputs\n  at {}",
                  kFunction, objective.name(), outputs.size(), loc.str()));
}

// Eight partial sums, which compilers turn into vector instructions. The order is fixed.
double inner_product(const std::vector<double>& a, const std::vector<double>& b) {
  std::array<double, 8> sums{};
  std::size_t i = 0;
  for (; i + sums.size() <= a.size(); i += sums.size()) {
    for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += a[i + k] * b[i + k];
  }
  double result =
      ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]));
  for (; i < a.size(); ++i) result += a[i] * b[i];
  return result;
}

void add_multiple(std::vector<double>& to, double factor, const std::vector<double>& x) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += factor * x[i];
}

std::vector<double> difference(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> result(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) result[i] = a[i] - b[i];
  return result;
}

double largest_magnitude(const std::vector<double>& x) {
  double result = 0;
  for (const double v : x) result = std::max(result, std::abs(v));
  return result;
}

Tensor vector_tensor(const std::vector<double>& x) {
  return Tensor::of({static_cast<std::int64_t>(x.size())}, x);
}

std::string_view ending_text(LbfgsStatus status) {
  switch (status) {
    case LbfgsStatus::running: return "L-BFGS is running";
    case LbfgsStatus::gradient_converged: return "the gradient converged";
    case LbfgsStatus::loss_converged: return "the loss converged";
    case LbfgsStatus::max_iterations: return "the maximum number of iterations was reached";
    case LbfgsStatus::max_evaluations: return "the maximum number of evaluations was reached";
    case LbfgsStatus::line_search_failed: return "the line search failed";
  }
  return "";
}

}  // namespace

std::string LbfgsResult::str() const {
  return fmt::format(
      "{} after {} iterations and {} evaluations: loss {:.6g}, largest gradient element {:.2g}",
      ending_text(status), iterations, evaluations, loss, gradient_norm);
}

Lbfgs::Lbfgs(Session& session, Value loss, const std::vector<Variable>& parameters,
             NamedTensors feeds, const LbfgsOptions& options, SourceLocation loc)
    : session_(&session),
      parameters_(parameters),
      feeds_(std::move(feeds)),
      options_(options),
      loc_(loc) {
  check_options(options, loc);
  check_parameters(session, parameters, loc);
  session.graph().check_owned(loss, kFunction, loc);
  check_deterministic(Program("lbfgs").output("loss", loss, loc), loc);
  Graph::Undo undo(session.graph());
  program_ = evaluation(loss, parameters, options.gradients, loc);
  check_deterministic(program_, loc);
  undo.keep();
}

Lbfgs::Lbfgs(Session& session, const Program& objective, const std::vector<Variable>& parameters,
             NamedTensors feeds, const LbfgsOptions& options, SourceLocation loc)
    : Lbfgs(session, loss_of(objective, loc), parameters, std::move(feeds), options, loc) {
  program_.take_options(objective).shards(objective.shards());
}

bool Lbfgs::were_changed() const {
  if (versions_.empty()) return true;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (session_->store()->version(parameters_[i].name()) != versions_[i]) return true;
  }
  return false;
}

void Lbfgs::remember_versions() {
  versions_.clear();
  for (const Variable& p : parameters_) versions_.push_back(session_->store()->version(p.name()));
}

void Lbfgs::set_parameters(std::vector<double>& x) {
  std::size_t i = 0;
  for (const Variable& p : parameters_) {
    const std::size_t end = i + static_cast<std::size_t>(num_elements(p.shape().evaluate({})));
    if (p.dtype() == DType::f32) {
      for (std::size_t k = i; k < end; ++k) x[k] = static_cast<double>(static_cast<float>(x[k]));
    }
    i = end;
  }
  set_flat_parameters(*session_, parameters_,
                      Tensor::over(x, {static_cast<std::int64_t>(x.size())}), loc_);
  remember_versions();
}

double Lbfgs::evaluate(std::vector<double>& gradient) {
  ++result_.evaluations;
  const Results results = session_->run(program_, feeds_);
  gradient = results["gradient"].to_vector<double>();
  return results["loss"].item<double>();
}

// Evaluates the current parameters and discards the history.
void Lbfgs::begin() {
  history_.clear();
  x_ = flat_parameters(*session_, parameters_, loc_).to(DType::f64).to_vector<double>();
  result_.loss = evaluate(gradient_);
  const LinePoint start{.loss = result_.loss, .gradient = gradient_};
  if (!start.is_finite()) {
    throw DataError(
        fmt::format("{}: at the initial parameters, the loss is {} and {}: start from other "
                    "parameters, or find the cause with SessionOptions::check_finite\n  at {}",
                    kFunction, result_.loss,
                    std::isfinite(result_.loss) ? "its gradient is not finite"
                                                : "a minimisation needs a finite loss",
                    loc_.str()));
  }
  remember_versions();
  update_status(false);
}

void Lbfgs::update_status(bool loss_converged) {
  result_.gradient_norm = largest_magnitude(gradient_);
  result_.status = LbfgsStatus::running;
  if (result_.evaluations >= options_.max_evaluations)
    result_.status = LbfgsStatus::max_evaluations;
  if (result_.iterations >= options_.max_iterations) result_.status = LbfgsStatus::max_iterations;
  if (loss_converged) result_.status = LbfgsStatus::loss_converged;
  if (result_.gradient_norm <= options_.gradient_tolerance)
    result_.status = LbfgsStatus::gradient_converged;
}

// The two-loop recursion (Nocedal and Wright 2006, algorithm 7.4). Without a history, the direction
// of steepest descent, scaled so that inner products do not overflow.
std::vector<double> Lbfgs::direction() const {
  std::vector<double> d(gradient_.size());
  const double divisor = history_.empty() ? result_.gradient_norm : 1;
  for (std::size_t i = 0; i < d.size(); ++i) d[i] = -gradient_[i] / divisor;
  if (history_.empty()) return d;
  std::vector<double> alphas(history_.size());
  for (std::size_t k = history_.size(); k-- > 0;) {
    alphas[k] = inner_product(history_[k].step, d) / history_[k].curvature;
    add_multiple(d, -alphas[k], history_[k].change);
  }
  const Pair& last = history_.back();
  const double scale = last.curvature / inner_product(last.change, last.change);
  for (double& v : d) v *= scale;
  for (std::size_t k = 0; k < history_.size(); ++k) {
    const double beta = inner_product(history_[k].change, d) / history_[k].curvature;
    add_multiple(d, alphas[k] - beta, history_[k].step);
  }
  return d;
}

bool Lbfgs::step() {
  if (were_changed()) begin();
  if (result_.status != LbfgsStatus::running) return false;
  while (true) {
    std::vector<double> d = direction();
    LinePoint start{
        .loss = result_.loss, .slope = inner_product(gradient_, d), .x = x_, .gradient = gradient_};
    // The first step is that of gradient descent with rate 1, but no longer than 1.
    double first = 1;
    if (history_.empty())
      first = std::min(result_.gradient_norm, 1 / std::sqrt(inner_product(d, d)));
    const bool descends = start.slope < 0 && std::isfinite(start.slope);
    if (descends) {
      const auto at = [&](double t) {
        LinePoint p{.t = t, .x = x_};
        add_multiple(p.x, t, d);
        set_parameters(p.x);
        p.loss = evaluate(p.gradient);
        p.slope = inner_product(p.gradient, d);
        return p;
      };
      const std::int64_t left = options_.max_evaluations - result_.evaluations;
      LinePoint found;
      try {
        found = strong_wolfe(start, first, {options_.c1, options_.c2},
                             std::min(left, options_.max_line_search), at);
      } catch (...) {
        set_parameters(x_);
        throw;
      }
      set_parameters(found.x);
      if (found.t > 0) {
        Pair pair{.step = difference(found.x, x_), .change = difference(found.gradient, gradient_)};
        pair.curvature = inner_product(pair.step, pair.change);
        // The estimate of the Hessian must stay positive definite.
        if (pair.curvature > 1e-16 * inner_product(pair.change, pair.change)) {
          if (std::ssize(history_) == options_.history) history_.pop_front();
          history_.push_back(std::move(pair));
        }
        x_ = std::move(found.x);
        gradient_ = std::move(found.gradient);
        const double before = std::exchange(result_.loss, found.loss);
        const double scale = std::max(std::abs(before), std::abs(found.loss));
        ++result_.iterations;
        update_status(before - found.loss <= options_.change_tolerance * scale);
        return true;
      }
    }
    if (result_.evaluations >= options_.max_evaluations) {
      result_.status = LbfgsStatus::max_evaluations;
      return false;
    }
    if (history_.empty()) {
      result_.status = LbfgsStatus::line_search_failed;
      return false;
    }
    history_.clear();  // tries the direction of steepest descent
  }
}

std::map<std::string, Tensor, std::less<>> Lbfgs::state() {
  if (were_changed()) begin();
  const auto n = static_cast<std::int64_t>(x_.size());
  Tensor steps = Tensor::empty(DType::f64, {std::ssize(history_), n}), changes = steps.clone();
  for (std::size_t k = 0; k < history_.size(); ++k) {
    const auto row = static_cast<std::int64_t>(k) * n;
    std::copy_n(history_[k].step.data(), n, steps.mutable_data<double>() + row);
    std::copy_n(history_[k].change.data(), n, changes.mutable_data<double>() + row);
  }
  return {{"parameters", vector_tensor(x_)},
          {"gradient", vector_tensor(gradient_)},
          {"loss", Tensor::scalar(DType::f64, result_.loss)},
          {"iterations", Tensor::of<std::int64_t>({}, {result_.iterations})},
          {"evaluations", Tensor::of<std::int64_t>({}, {result_.evaluations})},
          {"steps", steps},
          {"changes", changes}};
}

void Lbfgs::load_state(const std::map<std::string, Tensor, std::less<>>& state) {
  std::int64_t n = 0;
  for (const Variable& p : parameters_) n += num_elements(p.shape().evaluate({}));
  // A negative size allows any size.
  const auto read = [&](const char* name, DType dtype, const Sizes& sizes) {
    const auto found = state.find(name);
    const std::string problem = found == state.end() ? "is missing"
                                : !found->second.defined()
                                    ? "is undefined"
                                    : fmt::format("is {}", found->second.type_str());
    bool fits = found != state.end() && found->second.defined() && found->second.dtype() == dtype &&
                found->second.sizes().size() == sizes.size();
    for (std::size_t a = 0; fits && a < sizes.size(); ++a)
      fits = sizes[a] < 0 || found->second.sizes()[a] == sizes[a];
    if (fits) return found->second;
    throw ArgumentError(
        fmt::format("{}: '{}' of the state {}, but must be {}{} for the {} elements of the "
                    "parameters: load a state of the same model\n  at {}",
                    kFunction, name, problem, dtype_name(dtype), to_string(sizes), n, loc_.str()));
  };
  const Tensor parameters = read("parameters", DType::f64, {n});
  const Tensor gradient = read("gradient", DType::f64, {n});
  const Tensor loss = read("loss", DType::f64, {});
  const Tensor iterations = read("iterations", DType::i64, {});
  const Tensor evaluations = read("evaluations", DType::i64, {});
  const Tensor steps = read("steps", DType::f64, {-1, n});
  const Tensor changes = read("changes", DType::f64, {steps.size(0), n});

  x_ = parameters.to_vector<double>();
  set_parameters(x_);
  gradient_ = gradient.to_vector<double>();
  history_.clear();
  for (std::int64_t k = std::max<std::int64_t>(0, steps.size(0) - options_.history);
       k < steps.size(0); ++k) {
    const auto row = [&](const Tensor& t) {
      const double* begin = t.data<double>() + k * n;
      return std::vector<double>(begin, begin + n);
    };
    Pair pair{.step = row(steps), .change = row(changes)};
    pair.curvature = inner_product(pair.step, pair.change);
    history_.push_back(std::move(pair));
  }
  result_ = {.iterations = iterations.item<std::int64_t>(),
             .evaluations = evaluations.item<std::int64_t>(),
             .loss = loss.item<double>()};
  update_status(false);
}

LbfgsResult minimize(Session& session, Value loss, const std::vector<Variable>& parameters,
                     const NamedTensors& feeds, const LbfgsOptions& options, SourceLocation loc) {
  return minimize(session, Program("lbfgs").output("loss", loss, loc), parameters, feeds, options,
                  loc);
}

LbfgsResult minimize(Session& session, const Program& objective,
                     const std::vector<Variable>& parameters, const NamedTensors& feeds,
                     const LbfgsOptions& options, SourceLocation loc) {
  Lbfgs lbfgs(session, objective, parameters, feeds, options, loc);
  while (lbfgs.step()) {
  }
  return lbfgs.result();
}

}  // namespace weft
