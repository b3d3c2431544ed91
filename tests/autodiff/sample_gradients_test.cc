// Checks every sample of every differentiable op. Gradients are compared with finite differences in
// double, for first and second order and for several outputs together. Definitions (compositions of
// primitive ops) are compared with the kernels.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <functional>
#include <memory>
#include <set>
#include <string>

#include "weft/autodiff/check_gradients.h"
#include "weft/autodiff/gradients.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/tests/samples/sample_data.h"

namespace weft {
namespace {

// Builds a sample as a graph whose floating-point inputs have another dtype. In double, literals
// keep all their digits.
struct Built {
  Graph graph;
  std::vector<Value> inputs;  // undefined if absent in the sample
  std::vector<Value> wrt;
  NamedTensors feeds;
  Node* node = nullptr;

  Built(const OpRecord& op, const OpSample& sample, DType floats = DType::f64) {
    for (std::size_t i = 0; i < sample.inputs.size(); ++i) {
      if (!sample.inputs[i].defined()) {
        inputs.emplace_back();
        continue;
      }
      const bool converted = sample.inputs[i].dtype() == DType::f32;
      const Tensor t = converted ? sample.inputs[i].to(floats) : sample.inputs[i];
      const std::string name = "in" + std::to_string(i);
      inputs.push_back(graph.input(name, {t.dtype(), Shape(t.sizes())}));
      feeds.emplace_back(name, t);
      const bool skipped = std::find(sample.skip_gradient.begin(), sample.skip_gradient.end(),
                                     static_cast<int>(i)) != sample.skip_gradient.end();
      if (is_floating(t.dtype()) && t.numel() > 0 && !skipped) wrt.push_back(inputs.back());
    }
    Attributes attributes = sample.attributes;
    for (const auto& [name, value] : sample.attributes) {
      const DType* dtype = std::get_if<DType>(&value);
      if (dtype != nullptr && *dtype == DType::f32) attributes.set(name, floats);
    }
    node = &graph.apply(op, inputs, attributes);
  }
};

/// Calls `use` for every sample of every op that has a gradient and at least one differentiable
/// input.
void for_each_sample(
    const std::function<void(const OpRecord& op, std::size_t sample, Built& built)>& use) {
  for (const OpRecord* op : builtin_ops()->all()) {
    if (op->samples == nullptr || op->gradient == Gradient::none) continue;
    const auto samples = op->samples();
    for (std::size_t s = 0; s < samples.size(); ++s) {
      Built b(*op, samples[s]);
      if (!b.wrt.empty()) use(*op, s, b);
    }
  }
}

BOOST_AUTO_TEST_SUITE(sample_gradients)

BOOST_AUTO_TEST_CASE(first_and_second_order_gradients_match_finite_differences) {
  int checked = 0;
  for_each_sample([&](const OpRecord& op, std::size_t sample, Built& b) {
    for (int o = 0; o < b.node->output_count(); ++o) {
      const Value out = b.node->output(o);
      if (!is_floating(out.dtype()) || out.shape().numel() == Dim(0)) continue;
      BOOST_TEST_CONTEXT("op " << op.name << " sample " << sample << " output " << o) {
        try {
          const GradientReport report = check_gradients(
              out, b.wrt, {.feeds = b.feeds, .max_elements = 24, .second_order = true});
          BOOST_TEST(report.max_relative_error < 1e-6, report.worst);
          ++checked;
        } catch (const std::exception& e) {
          BOOST_ERROR(e.what());
        }
      }
    }
  });
  BOOST_TEST(checked > 100);
}

// Ops that support 16-bit operands have gradients in 16 bits. Sums are computed in f32 and rounded
// once.
BOOST_AUTO_TEST_CASE(ops_with_16_bit_operands_have_16_bit_gradients) {
  std::set<std::string> checked;
  for (const DType narrow : {DType::bf16, DType::f16}) {
    const double unit = narrow == DType::bf16 ? 0x1p-8 : 0x1p-11;
    for (const OpRecord* op : builtin_ops()->all()) {
      if (op->samples == nullptr || op->gradient == Gradient::none) continue;
      const auto samples = op->samples();
      for (std::size_t s = 0; s < samples.size(); ++s) {
        BOOST_TEST_CONTEXT("op " << op->name << " sample " << s << " in " << dtype_name(narrow)) {
          std::unique_ptr<Built> b;
          try {
            b = std::make_unique<Built>(*op, samples[s], narrow);
          } catch (const DTypeError&) {
            break;  // supports f32 and f64 only
          }
          OpSample rounded = samples[s];  // the same values in f32
          for (Tensor& t : rounded.inputs) {
            if (t.defined() && t.dtype() == DType::f32) t = t.to(narrow).to(DType::f32);
          }
          Built wide(*op, rounded, DType::f32);
          const auto run = [](Built& built) {
            Value loss = built.graph.scalar(DType::f32, 0);
            for (int o = 0; o < built.node->output_count(); ++o) {
              const Value out = built.node->output(o);
              if (!is_floating(out.dtype())) continue;
              const Tensor weights = sample_uniform(out.shape().constant(), 90 + o);
              loss = loss + sum(cast(out, DType::f32) * built.graph.constant(weights));
            }
            const auto grads = gradients(loss, built.wrt, {.unreachable = Unreachable::zeros});
            Program program("gradients");
            for (std::size_t i = 0; i < grads.size(); ++i) {
              BOOST_TEST((grads[i].dtype() == built.wrt[i].dtype()));
              program.output(std::to_string(i), grads[i]);
            }
            return Session(built.graph, {.threads = 1}).run(program, built.feeds);
          };
          if (b->wrt.empty()) continue;
          try {
            const Results got = run(*b), expected = run(wide);
            for (std::size_t i = 0; i < b->wrt.size(); ++i) {
              const Tensor g = got[std::to_string(i)], e = expected[std::to_string(i)];
              double largest = 1, worst = 0;
              for (std::int64_t k = 0; k < e.numel(); ++k)
                largest = std::max(largest, std::abs(e.at(k)));
              for (std::int64_t k = 0; k < e.numel(); ++k)
                worst = std::max(worst, std::abs(g.at(k) - e.at(k)));
              BOOST_TEST(worst <= 4 * unit * largest);
            }
            checked.insert(op->name);
          } catch (const std::exception& e) {
            BOOST_ERROR(e.what());
          }
        }
      }
    }
  }
  for (const std::string op :
       {"take", "take_along_axis", "slice", "concat", "broadcast_to", "where", "matmul", "cast"}) {
    BOOST_TEST(checked.contains(op), op);
  }
}

BOOST_AUTO_TEST_CASE(gradients_of_several_outputs_are_summed) {
  int checked = 0;
  for_each_sample([&](const OpRecord& op, std::size_t sample, Built& b) {
    std::vector<Value> losses;  // one per output
    for (int o = 0; o < b.node->output_count(); ++o) {
      const Value out = b.node->output(o);
      if (!is_floating(out.dtype()) || out.shape().numel() == Dim(0)) continue;
      const Tensor weights = sample_uniform(out.shape().constant(), 90 + o).to(DType::f64);
      losses.push_back(sum(out * b.graph.constant(weights)));
    }
    if (losses.size() < 2) return;
    // Checks the gradient of every single output and of every set of outputs.
    const unsigned sets = 1U << losses.size();
    Program program("sets");
    for (unsigned set = 1; set < sets; ++set) {
      Value loss;
      for (std::size_t o = 0; o < losses.size(); ++o) {
        if ((set >> o & 1) != 0) loss = loss.defined() ? loss + losses[o] : losses[o];
      }
      const auto grads = gradients(loss, b.wrt, {.unreachable = Unreachable::zeros});
      for (std::size_t i = 0; i < grads.size(); ++i) {
        program.output(std::to_string(set) + "/" + std::to_string(i), grads[i]);
      }
    }
    const Results results = Session(b.graph, {.threads = 1}).run(program, b.feeds);
    const auto at = [&](unsigned set, std::size_t i, std::int64_t element) {
      return results[std::to_string(set) + "/" + std::to_string(i)].at(element);
    };
    for (unsigned set = 1; set < sets; ++set) {
      BOOST_TEST_CONTEXT("op " << op.name << " sample " << sample << " outputs " << set) {
        double worst = 0;
        for (std::size_t i = 0; i < b.wrt.size(); ++i) {
          for (std::int64_t e = 0; e < b.wrt[i].shape().numel().constant(); ++e) {
            double expected = 0;
            for (std::size_t o = 0; o < losses.size(); ++o) {
              if ((set >> o & 1) != 0) expected += at(1U << o, i, e);
            }
            const double got = at(set, i, e);
            if (std::isnan(got) && std::isnan(expected)) continue;
            const double error = std::abs(got - expected) / std::max(1.0, std::abs(expected));
            worst = std::isnan(error) ? error : std::max(worst, error);
          }
        }
        BOOST_TEST(worst < 1e-12);
        ++checked;
      }
    }
  });
  BOOST_TEST(checked > 30);
}

BOOST_AUTO_TEST_CASE(decompositions_match_the_kernels) {
  for (const OpRecord* op : builtin_ops()->all()) {
    const Decomposition define = builtin_rules().definition(op->name);
    if (define == nullptr || op->samples == nullptr) continue;
    const auto samples = op->samples();
    for (std::size_t s = 0; s < samples.size(); ++s) {
      BOOST_TEST_CONTEXT("op " << op->name << " sample " << s) {
        try {
          Built b(*op, samples[s]);
          const auto defined = define(*b.node, b.inputs, b.graph);
          Program program("both");
          for (int o = 0; o < b.node->output_count(); ++o) {
            const Value d = defined[static_cast<std::size_t>(o)];
            if (!d.defined()) continue;
            program.output("kernel" + std::to_string(o), b.node->output(o));
            program.output("defined" + std::to_string(o), d);
          }
          Session session(b.graph, {.threads = 1});
          const Results results = session.run(program, b.feeds);
          for (int o = 0; o < b.node->output_count(); ++o) {
            if (!defined[static_cast<std::size_t>(o)].defined()) continue;
            const Tensor k = results["kernel" + std::to_string(o)];
            const Tensor d = results["defined" + std::to_string(o)];
            BOOST_REQUIRE((k.sizes() == d.sizes()));
            for (std::int64_t i = 0; i < k.numel(); ++i) {
              const double a = k.at(i), r = d.at(i);
              if (a == r || (std::isnan(a) && std::isnan(r))) continue;
              if (!(std::abs(a - r) <= 1e-10 * std::max(1.0, std::abs(r)))) {
                BOOST_ERROR("output " << o << " element " << i << ": kernel " << a
                                      << ", definition " << r);
                break;
              }
            }
          }
        } catch (const std::exception& e) {
          BOOST_ERROR(e.what());
        }
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
