// Layers and whole networks inside the bodies of loops and branches: their parameters and keys
// belong to the graph around the body and are captured.
#include <fmt/format.h>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "weft/autodiff/check_gradients.h"
#include "weft/autodiff/gradients.h"
#include "weft/core/random_tensors.h"
#include "weft/graph/control/cond.h"
#include "weft/graph/control/scan.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/models/families/gpt.h"
#include "weft/models/layers.h"
#include "weft/tests/control/random_step.h"
#include "weft/tests/support/messages.h"
#include "weft/tests/support/numbers.h"

namespace weft {
namespace {

using testing::check_error;
using testing::check_same;
using testing::max_difference;
using Values = std::vector<Value>;

void check_near(const Results& found, const Results& expected, double tolerance) {
  for (const auto& [name, tensor] : expected) {
    BOOST_TEST_CONTEXT(name) {
      BOOST_REQUIRE(found[name].sizes() == tensor.sizes());
      BOOST_TEST(max_difference(found[name], tensor) < tolerance);
    }
  }
}

Value values_of(const Value& x) { return cast(x, DType::f64); }

/// One step of a decoder: token [batch] and state [batch, 4] to the new state.
Value decoder_step(const Scope& net, Value token, Value h) {
  const Value x = embedding(net / "embed", token, {.vocab = 7, .width = 4, .dtype = DType::f64});
  const Value mixed = linear(net / "mix", concat({x, h}, 1), 4);
  const Value inner = feed_forward(net / "ff", tanh(layer_norm(net / "norm", mixed)), {.inner = 6});
  // A recurrent layer inside of the body is a nested loop.
  const Value rows = stack({inner, h}, 1);  // [batch, 2, 4]
  const Value attended = self_attention(net / "attention", rows, {.heads = 2});
  return select(gru(net / "gru", attended, 4).output, 1, Dim(1)) + h;
}

BOOST_AUTO_TEST_SUITE(captured_layers)

BOOST_AUTO_TEST_CASE(a_recurrent_decoder_of_layers_equals_the_unrolled_decoder) {
  Graph g;
  const Scope net(g, "net");
  const std::int64_t steps = 5;
  const Value tokens = g.input("tokens", DType::i64, {steps, "batch"});
  const Value start = g.input("start", DType::f64, {"batch", 4});
  const auto program = [&](const char* name, Value last, Value states) {
    const Value loss = sum(square(last)) + sum(sin(states));
    Program p(name);
    p.output("last", last).output("states", states).output("dstart", gradient(loss, start));
    const auto parameters = net.parameters();
    const auto d = gradients(loss, parameters, {.unreachable = Unreachable::zeros});
    Value second = sum(square(d[0]));
    for (std::size_t i = 0; i < d.size(); ++i) {
      p.output(parameters[i].name(), d[i]);
      if (i > 0) second = second + sum(square(d[i]));
    }
    return p.output("second", gradient(second, start));
  };
  const Scope training = net.training();
  const ScanResult r = scan(g, {start}, {tokens}, {}, [&](Graph&, const ScanElements& in) {
    const Value h = decoder_step(training, in.elements[0], in.carries[0]);
    return ScanStep{{h}, {h}};
  });
  BOOST_TEST(net.parameters().size() > 15u);
  BOOST_TEST(net.parameters()[0].name() == "net.embed.weight");
  const Program loop = program("loop", r.carries[0], r.outputs[0]);
  Value h = start;
  Values states;
  for (std::int64_t i = 0; i < steps; ++i) {
    h = decoder_step(net.training(), select(tokens, 0, Dim(i)), h);
    states.push_back(h);
  }
  const Program flat = program("flat", h, stack(states));
  const NamedTensors feeds = {
      {"tokens", Tensor::of<std::int64_t>({steps, 2}, {0, 3, 6, 1, 1, 2, 5, 4, 3, 6})},
      {"start", normal_tensor({2, 4}, 3).to(DType::f64)}};
  Session session(g, {.seed = 1, .threads = 1, .verify = true});
  const Results found = session.run(loop, feeds);
  check_near(found, session.run(flat, feeds), 1e-10);
  Session plain(g, {.seed = 1, .threads = 2, .passes = false, .poison = true});
  check_near(found, plain.run(loop, feeds), 1e-10);
}

BOOST_AUTO_TEST_CASE(dropout_draws_a_new_mask_in_every_step_and_run) {
  Graph g;
  const Scope net(g, "net");
  const Value x = g.input("x", DType::f32, {64});
  const auto loop = [&](const Scope& mode) {
    const ScanResult r = scan(g, {x}, {}, {},
                              [&](Graph&, const ScanElements& in) {
                                return ScanStep{{in.carries[0]},
                                                {dropout(mode, in.carries[0], 0.5),
                                                 dropout(net.training(), in.carries[0], 0.5)}};
                              },
                              {.length = 3});
    return r.outputs;
  };
  const Values training = loop(net.training()), evaluation = loop(net.evaluation());
  Session session(g, {.seed = 4, .threads = 1});
  const NamedTensors feeds = {{"x", Tensor::full(DType::f32, {64}, 1)}};
  const Program p = Program("p")
                        .output("a", training[0])
                        .output("b", training[1])
                        .output("dx", gradient(sum(training[0]), x));
  const Results first = session.run(p, feeds), second = session.run(p, feeds);
  BOOST_TEST(max_difference(first["a"], second["a"]) > 0);
  BOOST_TEST(max_difference(first["a"], first["b"]) > 0);
  int different = 0;
  for (int i = 0; i < 64; ++i) {
    different += first["a"].at(i) != first["a"].at(64 + i);
    different += first["a"].at(i) != first["a"].at(128 + i);
    BOOST_TEST(first["dx"].at(i) ==
               first["a"].at(i) + first["a"].at(64 + i) + first["a"].at(128 + i));
  }
  BOOST_TEST(different > 30);
  const Results kept = session.run(Program("e").output("a", evaluation[0]), feeds);
  BOOST_TEST(max_difference(kept["a"], Tensor::full(DType::f32, {3, 64}, 1)) == 0);
}

BOOST_AUTO_TEST_CASE(layers_with_state_are_rejected_in_bodies_in_training_mode) {
  Graph g;
  const Scope net(g, "net");
  const Value x = g.input("x", DType::f32, {2, 3, 4});
  SourceLocation here;
  const auto loop = [&](const Scope& mode) {
    return scan(g, {x}, {}, {},
                [&](Graph&, const ScanElements& in) {
                  here = SourceLocation::current();
                  return ScanStep{{batch_norm(mode / "norm", in.carries[0], {}, here)}};
                },
                {.length = 2});
  };
  check_error<GraphError>(
      [&] { loop(net.training()); },
      {"variable 'net.norm.running_mean' cannot be updated in the body of scan "
       "'scan'",
       "outside or in evaluation mode", "in batch_norm called at ", "captured_layers_test.cc"});
  BOOST_TEST(g.variables().empty());
  loop(net.evaluation());
  BOOST_TEST(g.has_variable("net.norm.running_mean"));
}

BOOST_AUTO_TEST_CASE(errors_of_layers_in_bodies_name_layer_and_line) {
  Graph g;
  const Scope net(g, "net");
  const Value ids = g.input("ids", DType::i64, {3}), x = g.input("x", DType::f32, {2, "n"});
  check_error<DTypeError>(
      [&] {
        scan(g, {ids}, {}, {},
             [&](Graph&, const ScanElements& in) {
               return ScanStep{{linear(net / "cell", in.carries[0], 3)}};
             },
             {.length = 2});
      },
      {"linear: x must be floating-point", "captured_layers_test.cc"});
  check_error<ShapeError>(
      [&] {
        cond(
            sum(x) > 0, {},
            [&](Graph&, const Values&) { return Values{linear(net / "cell", x, 3)}; },
            [&](Graph&, const Values&) { return Values{x}; });
      },
      {"linear: the last axis of x has the symbolic size n", "captured_layers_test.cc"});
  // Both branches declare a layer of the same name in one pass.
  const Scope training = net.training();
  const Value y = g.input("y", DType::f32, {2, 3});
  const auto layer = [&](Graph&, const Values&) { return Values{linear(training / "cell", y, 3)}; };
  check_error<GraphError>([&] { cond(sum(x) > 0, {}, layer, layer); },
                          {"is declared twice in one pass over the model"});
  BOOST_TEST(g.variables().empty());
  Graph other;
  check_error<GraphError>(
      [&] {
        scan(g, {y}, {}, {},
             [&](Graph&, const ScanElements& in) {
               return ScanStep{{linear(Scope(other, "net"), in.carries[0], 3)}};
             },
             {.length = 2});
      },
      {"the operand of linear", "belongs to another graph"});
}

BOOST_AUTO_TEST_CASE(a_gpt_can_be_applied_in_a_loop) {
  Graph g;
  const Gpt gpt(Scope(g), {.vocab = 11,
                           .layers = 2,
                           .heads = 2,
                           .width = 8,
                           .context = 6,
                           .attention_dropout = 0.1,
                           .residual_dropout = 0.1});
  const Value ids = g.input("ids", DType::i64, {3, "batch", "seq"});
  const auto logits = [&](const Gpt& model) {
    const Value bias = zeros(g, DType::f32, {ids.shape()[1], ids.shape()[2], 11});
    return scan(g, {bias}, {ids}, {}, [&](Graph&, const ScanElements& in) {
      const Value out = model({.ids = in.elements[0]}).logits;
      return ScanStep{{in.carries[0] + out}, {out}};
    });
  };
  const Gpt evaluated = gpt.evaluation();
  const ScanResult r = logits(evaluated), training = logits(gpt.training());
  Values flat;
  for (int i = 0; i < 3; ++i) flat.push_back(evaluated({.ids = select(ids, 0, Dim(i))}).logits);
  const std::vector<Variable> parameters = g.parameters();
  const auto program = [&](const char* name, Value out) {
    const auto d = gradients(sum(square(out)), parameters);
    return Program(name).output("logits", out).output("d0", d[0]).output("d5", d[5]);
  };
  const NamedTensors feeds = {
      {"ids", Tensor::of<std::int64_t>({3, 1, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0, 1})}};
  Session session(g, {.threads = 1, .verify = true});
  check_near(session.run(program("loop", r.outputs[0]), feeds),
             session.run(program("flat", stack(flat)), feeds), 1e-4);
  const Results noisy = session.run(program("training", training.outputs[0]), feeds);
  BOOST_TEST(std::isfinite(noisy["d0"].at(0)));
}

BOOST_AUTO_TEST_CASE(cond_selects_one_of_two_networks) {
  for (const bool large : {false, true}) {
    Graph g;
    const Scope net(g, "net");
    const Value x = g.input("x", DType::f64, {"batch", 3});
    const Value wide = g.input("wide", DType::boolean, {});
    const auto branch = [&](const char* name, std::int64_t width) {
      return [&net, x, name, width](Graph&, const Values&) {
        return Values{linear(net / name / "out", tanh(linear(net / name / "in", x, width)), 2)};
      };
    };
    const Value y = cond(wide, {}, branch("large", 16), branch("small", 4))[0];
    BOOST_TEST(net.parameters().size() == 8u);
    const auto d = gradients(sum(square(y)), {net.parameters()[0], net.parameters()[4]});
    const Program p = Program("p").output("y", y).output("large", d[0]).output("small", d[1]);
    Session session(g, {.seed = 2, .threads = 1, .verify = true, .poison = true});
    const NamedTensors feeds = {{"x", normal_tensor({2, 3}, 1).to(DType::f64)},
                                {"wide", Tensor::scalar(DType::boolean, large)}};
    const Results r = session.run(p, feeds);
    BOOST_TEST((max_difference(r["large"], Tensor::zeros(DType::f64, {16, 3})) > 0) == large);
    BOOST_TEST((max_difference(r["small"], Tensor::zeros(DType::f64, {4, 3})) > 0) == !large);
    BOOST_TEST(check_gradients(sum(sin(y)), {x, net.parameters()[large ? 0 : 4].value()},
                               {.feeds = feeds, .second_order = true}));
  }
}

BOOST_AUTO_TEST_CASE(a_while_loop_iterates_a_network_to_its_fixed_point) {
  Graph g;
  const Scope net(g, "net");
  const Value x = g.input("x", DType::f64, {"batch", 3});
  const auto layer = [&](const Scope& pass, Value z) {
    return tanh(linear(pass / "cell", z, 3) * 0.4 + x);
  };
  const auto r = while_loop(
      g, {x},
      [&](Graph&, const Values& in) {
        return Values{max(abs(layer(net.training(), in[0]) - in[0])) > 1e-12};
      },
      [&](Graph&, const Values& in) { return Values{layer(net.training(), in[0])}; }, 1000);
  const Value error = max(abs(layer(net.training(), r[0]) - r[0]));
  BOOST_TEST(net.parameters().size() == 2u);
  const Results found = Session(g, {.threads = 1, .verify = true})
                            .run(Program("p").output("error", error),
                                 {{"x", normal_tensor({4, 3}, 5).to(DType::f64)}});
  BOOST_TEST(found["error"].at(0) <= 1e-12);
}

// dz/dt = f(z, t) with the classical Runge-Kutta method (Chen et al. 2018).
BOOST_AUTO_TEST_CASE(a_neural_ode_has_the_gradients_of_finite_differences) {
  Graph g;
  const Scope net(g, "net");
  const Value z0 = g.input("z0", DType::f64, {"batch", 2});
  const Linear in = make_linear(net / "in", DType::f64, 3, 5),
               out = make_linear(net / "out", DType::f64, 5, 2);
  const double step = 0.25;
  const auto flow = [&](Value z, Value t) {
    const Value time = broadcast_to(t, {z.shape()[0], 1});
    return out(tanh(in(concat({z, time}, 1))));
  };
  const auto runge_kutta = [&](Value z, Value t) {
    const Value a = flow(z, t), b = flow(z + a * (step / 2), t + step / 2);
    const Value c = flow(z + b * (step / 2), t + step / 2), d = flow(z + c * step, t + step);
    return z + (a + 2 * b + 2 * c + d) * (step / 6);
  };
  const ScanResult r =
      scan(g, {z0}, {}, {},
           [&](Graph&, const ScanElements& e) {
             return ScanStep{{runge_kutta(e.carries[0], values_of(e.index) * step)}};
           },
           {.length = 8});
  Value flat = z0;
  for (int i = 0; i < 8; ++i) flat = runge_kutta(flat, g.scalar(DType::f64, i * step));
  const NamedTensors feeds = {{"z0", normal_tensor({2, 2}, 7).to(DType::f64)}};
  const Results y = Session(g, {.threads = 1})
                        .run(Program("p").output("loop", r.carries[0]).output("flat", flat), feeds);
  BOOST_TEST(max_difference(y["loop"], y["flat"]) < 1e-14);
  const GradientReport report =
      check_gradients(sum(sin(r.carries[0])), {z0, in.weight, in.bias, out.weight, out.bias},
                      {.feeds = feeds, .second_order = true});
  BOOST_TEST(report);
}

// Ancestral sampling (Ho et al. 2020) with a network of layers: the noise of every step is drawn in
// the loop. The outputs repeat the loop with the same noise.
BOOST_AUTO_TEST_CASE(a_diffusion_model_is_sampled_in_the_graph) {
  Graph g;
  const Scope net(g, "net");
  const std::int64_t steps = 12;
  Tensor schedule = Tensor::empty(DType::f64, {steps});
  for (std::int64_t i = 0; i < steps; ++i) {
    schedule.mutable_data<double>()[i] = 0.02 + 0.03 * static_cast<double>(i);
  }
  const Value beta = g.constant(schedule), kept = exp(cumsum(log(1 - beta), 0));
  const auto denoise = [&](const Scope& pass, Value x, Value t) {
    const Value row = embedding(pass / "time", broadcast_to(t, {x.shape()[0]}),
                                {.vocab = steps, .width = 8, .dtype = DType::f64});
    const Value h = silu(linear(pass / "in", x, 8) + row);
    return linear(pass / "out", layer_norm(pass / "norm", h), 2);
  };
  const auto step = [&](const Scope& pass, Value x, Value t, Value noise) {
    const Value b = take(beta, t), predicted = denoise(pass, x, t);
    const Value mean = (x - predicted * (b / sqrt(1 - take(kept, t)))) / sqrt(1 - b);
    return where(t > 0, mean + sqrt(b) * noise, mean);
  };
  const Value start = g.input("start", DType::f64, {"n", 2});
  const Scope sampling = net.evaluation();
  const ScanResult r =
      scan(g, {start}, {}, {},
           [&](Graph&, const ScanElements& in) {
             const Value noise = normal(g.key("noise"), start.shape(), 0, 1, DType::f64);
             return ScanStep{{step(sampling, in.carries[0], in.index, noise)}, {noise}};
           },
           {.reverse = true, .length = steps});
  const Value given = g.input("given", DType::f64, {steps, "n", 2});
  Value x = start;
  for (std::int64_t t = steps - 1; t >= 0; --t) {
    x = step(net.evaluation(), x, g.constant(Tensor::scalar(DType::i64, static_cast<double>(t))),
             select(given, 0, Dim(t)));
  }
  Session session(g, {.seed = 3, .threads = 1, .verify = true});
  const Tensor first = normal_tensor({100, 2}, 8).to(DType::f64);
  const Results sampled =
      session.run(Program("sample").output("x", r.carries[0]).output("noise", r.outputs[0]),
                  {{"start", first}});
  const Results repeated = session.run(Program("repeat").output("x", x),
                                       {{"start", first}, {"given", sampled["noise"]}});
  BOOST_TEST(max_difference(sampled["x"], repeated["x"]) < 1e-11);
  const auto noise = testing::elements_of(sampled["noise"]);
  double total = 0, squares = 0, together = 0;
  for (std::size_t i = 0; i < noise.size(); ++i) {
    total += noise[i];
    squares += noise[i] * noise[i];
    if (i >= 200) together += noise[i] * noise[i - 200];  // the same element in the next step
  }
  const auto count = static_cast<double>(noise.size());
  BOOST_TEST(std::abs(total / count) < 0.1);
  BOOST_TEST(std::abs(squares / count - 1) < 0.15);
  BOOST_TEST(std::abs(together / count) < 0.1);
}

// Weights that layers declare inside of the body cost as much as weights that are passed as
// operands: products of all steps move out of the loop, also in the backward loop.
BOOST_AUTO_TEST_CASE(products_with_captured_weights_move_out_of_the_loop) {
  const auto plan = [](bool captured) {
    Graph g;
    const Scope net(g, "net");
    const Value x = g.input("x", DType::f32, {32, 4, 8}), h = g.input("h", DType::f32, {4, 16});
    const Linear in = make_linear(net / "in", DType::f32, 8, 16, {.bias = false});
    const Linear back = make_linear(net / "back", DType::f32, 16, 16, {.bias = false});
    const ScanResult r =
        captured ? scan(g, {h}, {x}, {},
                        [&](Graph&, const ScanElements& e) {
                          // The order of these lines is the order of the operands.
                          const Value from_x = in(e.elements[0]);
                          return ScanStep{{tanh(from_x + back(e.carries[0]))}};
                        })
                 : scan(g, {h}, {x}, {in.weight, back.weight}, [](Graph&, const ScanElements& e) {
                     return ScanStep{{tanh(linear(e.elements[0], e.operands[0]) +
                                           linear(e.carries[0], e.operands[1]))}};
                   });
    const auto d = gradients(sum(square(r.carries[0])), {in.weight, back.weight});
    const Program p = Program("p").output("in", d[0]).output("back", d[1]);
    std::string text =
        Session(g, {.threads = 1}).plan(p, {{"x", {32, 4, 8}}, {"h", {4, 16}}})->text();
    for (const std::string scope : {" (net.in)", " (net.back)"}) {  // only layers have a scope
      for (auto at = text.find(scope); at != std::string::npos; at = text.find(scope)) {
        text.erase(at, scope.size());
      }
    }
    return text;
  };
  const std::string captured = plan(true);
  BOOST_TEST(captured == plan(false));
  // The product of all inputs and both weight gradients.
  std::size_t products = 0;
  for (auto at = captured.find("= matmul"); at != std::string::npos;
       at = captured.find("= matmul", at + 1)) {
    ++products;
  }
  BOOST_TEST(products == 3u, captured);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
