#include "weft/tests/autodiff/optimizer_problem.h"

#include <algorithm>
#include <cmath>

#include "weft/graph/functions.h"

namespace weft::testing {
namespace {

Tensor tensor_of(DType dtype, const Sizes& sizes, const std::vector<double>& values) {
  return Tensor::of<double>(sizes, values).to(dtype);
}

double curvature(std::size_t element) { return 0.2 + static_cast<double>(element % 5); }

std::size_t first_element(std::size_t parameter) {
  const std::vector<ScalarParameter> all = start_of_problem();
  std::size_t first = 0;
  for (std::size_t i = 0; i < parameter; ++i) first += all[i].p.size();
  return first;
}

double rms(const std::vector<double>& x) {
  double squares = 0;
  for (const double v : x) squares += v * v;
  return std::sqrt(squares / static_cast<double>(x.size()));
}

}  // namespace

std::vector<ScalarParameter> start_of_problem() {
  std::vector<ScalarParameter> result = {
      {"s", {}, {}}, {"v", {3}, {}}, {"w", {2, 3}, {}}, {"k", {2, 3, 2}, {}}};
  std::size_t element = 0;
  for (ScalarParameter& p : result) {
    for (std::int64_t i = 0; i < num_elements(p.sizes); ++i, ++element) {
      p.p.push_back(0.8 * std::sin(1 + 1.7 * static_cast<double>(element)));
    }
  }
  return result;
}

std::vector<double> targets(std::size_t parameter, int step) {
  const std::size_t first = first_element(parameter);
  std::vector<double> result;
  for (std::size_t i = 0; i < start_of_problem()[parameter].p.size(); ++i) {
    result.push_back(std::cos(0.3 * static_cast<double>(first + i) + step));
  }
  return result;
}

std::vector<double> gradient_of(const std::vector<ScalarParameter>& all, std::size_t parameter,
                                int step) {
  const std::size_t first = first_element(parameter);
  std::vector<double> result = targets(parameter, step);
  for (std::size_t i = 0; i < result.size(); ++i) {
    result[i] = curvature(first + i) * (all[parameter].p[i] - result[i]);
  }
  return result;
}

Problem::Problem(DType type) : dtype(type) {
  const std::vector<ScalarParameter> all = start_of_problem();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const ScalarParameter& start = all[i];
    const ValueType value_type{dtype, Shape(start.sizes)};
    const Variable p = g.variable(start.name, value_type);
    parameters.push_back(p);
    store->insert(start.name, VariableKind::parameter, tensor_of(dtype, start.sizes, start.p));
    std::vector<double> c;
    for (std::size_t k = 0; k < start.p.size(); ++k) c.push_back(curvature(first_element(i) + k));
    const Value difference = p - g.input("target." + start.name, value_type);
    const Value part = sum(0.5 * g.constant(tensor_of(dtype, start.sizes, c)) * square(difference));
    loss = loss.defined() ? loss + part : part;
  }
  loss = loss * g.input("scale", dtype, {});
}

NamedTensors Problem::feeds(int step, double scale) const {
  NamedTensors result = {{"scale", Tensor::scalar(dtype, scale)}};
  const std::vector<ScalarParameter> all = start_of_problem();
  for (std::size_t i = 0; i < all.size(); ++i) {
    result.emplace_back("target." + all[i].name, tensor_of(dtype, all[i].sizes, targets(i, step)));
  }
  return result;
}

ScalarRule scalar_sgd(const SgdOptions& o) {
  return [o](ScalarParameter& s, const std::vector<double>& g, double rate, double) {
    std::vector<double>& v = s.zeros("velocity", s.p.size());
    for (std::size_t i = 0; i < s.p.size(); ++i) {
      const double all = g[i] + s.weight_decay * s.p[i];
      v[i] = o.momentum * v[i] + all;
      s.p[i] -= rate * (o.nesterov ? all + o.momentum * v[i] : v[i]);
    }
  };
}

ScalarRule scalar_adam(const AdamOptions& o) {
  return [o](ScalarParameter& s, const std::vector<double>& g, double rate, double t) {
    std::vector<double>&m = s.zeros("m", s.p.size()), &v = s.zeros("v", s.p.size());
    for (std::size_t i = 0; i < s.p.size(); ++i) {
      const double all = g[i] + s.weight_decay * s.p[i];
      m[i] = o.beta1 * m[i] + (1 - o.beta1) * all;
      v[i] = o.beta2 * v[i] + (1 - o.beta2) * all * all;
      const double mean = m[i] / (1 - std::pow(o.beta1, t));
      const double square = v[i] / (1 - std::pow(o.beta2, t));
      s.p[i] -= rate * mean / (std::sqrt(square) + o.eps);
    }
  };
}

ScalarRule scalar_adamw(const AdamWOptions& o) {
  const ScalarRule adam = scalar_adam({.beta1 = o.beta1, .beta2 = o.beta2, .eps = o.eps});
  return [adam](ScalarParameter& s, const std::vector<double>& g, double rate, double t) {
    for (double& p : s.p) p *= 1 - rate * s.weight_decay;
    const double decay = s.weight_decay;
    s.weight_decay = 0;
    adam(s, g, rate, t);
    s.weight_decay = decay;
  };
}

ScalarRule scalar_adafactor(const AdafactorOptions& o) {
  return [o](ScalarParameter& s, const std::vector<double>& g, double rate, double t) {
    const double beta2 = 1 - std::pow(t, -o.decay_rate);
    const std::size_t n = s.p.size();
    std::vector<double> u(n);
    if (s.is_matrix()) {
      const auto columns = static_cast<std::size_t>(s.sizes.back());
      const auto rows = static_cast<std::size_t>(s.sizes[s.sizes.size() - 2]);
      std::vector<double>&r = s.zeros("row", n / columns), &c = s.zeros("column", n / rows);
      for (std::size_t matrix = 0; matrix < n / (rows * columns); ++matrix) {
        const double* part = &g[matrix * rows * columns];
        double mean = 0;
        for (std::size_t i = 0; i < rows; ++i) {
          double now = 0;
          for (std::size_t k = 0; k < columns; ++k) {
            now += part[i * columns + k] * part[i * columns + k] + o.eps1;
          }
          double& old = r[matrix * rows + i];
          old = beta2 * old + (1 - beta2) * now / static_cast<double>(columns);
          mean += old / static_cast<double>(rows);
        }
        for (std::size_t k = 0; k < columns; ++k) {
          double now = 0;
          for (std::size_t i = 0; i < rows; ++i) {
            now += part[i * columns + k] * part[i * columns + k] + o.eps1;
          }
          double& old = c[matrix * columns + k];
          old = beta2 * old + (1 - beta2) * now / static_cast<double>(rows);
          for (std::size_t i = 0; i < rows; ++i) {
            u[matrix * rows * columns + i * columns + k] =
                part[i * columns + k] / std::sqrt(r[matrix * rows + i] * old / mean);
          }
        }
      }
    } else {
      std::vector<double>& v = s.zeros("v", n);
      for (std::size_t i = 0; i < n; ++i) {
        v[i] = beta2 * v[i] + (1 - beta2) * (g[i] * g[i] + o.eps1);
        u[i] = g[i] / std::sqrt(v[i]);
      }
    }
    const double clip = std::max(1.0, rms(u) / o.clip_threshold);
    const double size = rate * (o.scale_parameter ? std::max(o.eps2, rms(s.p)) : 1.0);
    std::vector<double>& m = s.zeros("m", n);
    for (std::size_t i = 0; i < n; ++i) {
      m[i] = o.beta1 * m[i] + (1 - o.beta1) * size * u[i] / clip;
      s.p[i] = s.p[i] * (1 - size * s.weight_decay) - m[i];
    }
  };
}

ScalarRule scalar_adagrad(const AdagradOptions& o) {
  return [o](ScalarParameter& s, const std::vector<double>& g, double rate, double) {
    std::vector<double>& sum = s.zeros("sum", s.p.size());
    for (std::size_t i = 0; i < s.p.size(); ++i) {
      const double all = g[i] + s.weight_decay * s.p[i];
      sum[i] += all * all;
      s.p[i] -= rate * all / (std::sqrt(sum[i]) + o.eps);
    }
  };
}

ScalarRule scalar_lion(const LionOptions& o) {
  return [o](ScalarParameter& s, const std::vector<double>& g, double rate, double) {
    std::vector<double>& m = s.zeros("m", s.p.size());
    for (std::size_t i = 0; i < s.p.size(); ++i) {
      const double direction = o.beta1 * m[i] + (1 - o.beta1) * g[i];
      const double sign = direction > 0 ? 1 : direction < 0 ? -1 : 0;
      s.p[i] = s.p[i] * (1 - rate * s.weight_decay) - rate * sign;
      m[i] = o.beta2 * m[i] + (1 - o.beta2) * g[i];
    }
  };
}

}  // namespace weft::testing
