// weft_startup: measures the time before the first step of a program, and the cost of new shapes.
//
//   weft_startup [--load FILE] [--batches N]
//
// Prints:
// - for the training step of GPT-2 124M (batch 4, seq 256), the CPU time to build and
//   differentiate it, to compile it, and to plan it for the first sizes, for other sizes, and
//   within memory budgets;
// - the CPU time to build, compile and plan a recurrent model, unrolled to about 56,000 nodes;
// - with --load, the time to write a checkpoint to FILE and to load it by mmap;
// - for a small model, the time of N batches (default: 1,000) that all have different shapes,
//   compared with the time of the same batches after they have been planned.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <limits>
#include <string>

#include "weft/autodiff/optimizers/optimizers.h"
#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/graph/plan/bind.h"
#include "weft/graph/plan/specialise.h"
#include "weft/graph/run/session.h"
#include "weft/models/families/gpt_config.h"
#include "weft/models/tasks/next_token/language_model.h"
#include "weft/models/training/training_step.h"
#include "weft/serialization/checkpoint.h"

namespace weft {
namespace {

using Clock = std::chrono::steady_clock;

/// Returns the wall-clock time of `work` in milliseconds.
double milliseconds(const std::function<void()>& work) {
  const auto begin = Clock::now();
  work();
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

/// Returns the minimum CPU time of several runs in milliseconds. Building and planning use one
/// thread, so on an idle machine their wall-clock time is the same.
double best_of(int times, const std::function<void()>& work) {
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < times; ++i) {
    const std::clock_t begin = std::clock();
    work();
    best = std::min(best, 1e3 * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
  }
  return best;
}

void show(const char* what, double ms, const char* goal = "") {
  fmt::print("{:<46} {:>9.1f} ms  {}\n", what, ms, goal);
  std::fflush(stdout);
}

GptConfig gpt2() {
  return {.vocab = 50257, .layers = 12, .heads = 12, .width = 768, .context = 1024};
}

Bindings sizes(const CompiledProgram& program, std::int64_t batch, std::int64_t seq) {
  return bind_symbols(program, {{"tokens", {}, {batch, seq}}, {"targets", {}, {batch, seq}}}, {});
}

/// Builds a complete training step of a GPT.
Program training_program(Graph& graph, const GptConfig& config, const TrainSettings& settings) {
  const Programs programs = build_gpt_programs(graph, config, settings);
  Program train("train");
  add_training_step(train, programs.at("train").outputs().front().second, settings);
  return train;
}

void measure_start() {
  const TrainSettings settings{.steps = 1000, .batch = 4};
  const double build = best_of(5, [&] {
    Graph graph;
    training_program(graph, gpt2(), settings);
  });
  Graph graph;
  const Program train = training_program(graph, gpt2(), settings);
  const double compiling = best_of(5, [&] { compile(train, {}); });
  const auto program = compile(train, {});
  std::shared_ptr<const Plan> plan;
  const double planning = best_of(5, [&] { plan = specialise(program, sizes(*program, 4, 256)); });
  const double again = best_of(5, [&] { specialise(program, sizes(*program, 3, 201)); });
  show("build and differentiate", build);
  show("compile", compiling);
  show("plan", planning);
  show("total", build + compiling + planning, "(goal 100)");
  show("plan for another shape", again, "(goal 10)");
  fmt::print("{} steps, arena {:.1f} MiB\n", plan->steps.size(),
             static_cast<double>(plan->arena_bytes) / (1 << 20));
  for (const double part : {0.95, 0.9, 0.85, 0.8, 0.75, 0.7}) {
    const auto budget = static_cast<std::size_t>(part * static_cast<double>(plan->arena_bytes));
    try {
      std::shared_ptr<const Plan> fitted;
      const double ms = best_of(2, [&] {
        fitted = specialise(program, sizes(*program, 4, 256), {.memory_budget = budget});
      });
      double first = 0, second = 0;
      for (const PlanStep& s : fitted->steps) (s.rematerialised ? second : first) += s.cost_ns;
      show(fmt::format("plan within {:.0f} MiB", static_cast<double>(budget) / (1 << 20)).c_str(),
           ms,
           fmt::format("{:.1f}% of the estimated time recomputed", 100 * second / first).c_str());
    } catch (const ArgumentError& e) {
      fmt::print("{}\n", e.what());
      break;
    }
  }
}

/// Builds the training step of an unrolled gated recurrent unit (Cho et al. 2014). Such a large
/// graph reveals passes whose time is quadratic in the number of nodes.
Program unrolled_gru(Graph& g, std::int64_t steps) {
  constexpr std::int64_t kWidth = 16;
  const Dim batch = g.dim("batch");
  const Value x = g.input("x", DType::f32, {batch, steps, kWidth});
  const auto weight = [&](const char* name) {
    return g.variable(name, DType::f32, {2 * kWidth, kWidth},
                      {.initializer = Initializer::glorot_uniform(2 * kWidth, kWidth)});
  };
  const Variable update = weight("update"), reset = weight("reset"),
                 candidate = weight("candidate");
  Value h = zeros(g, DType::f32, {batch, kWidth}), loss;
  for (std::int64_t t = 0; t < steps; ++t) {
    const Value in = select(x, 1, t), both = concat({in, h}, 1);
    const Value z = sigmoid(matmul(both, update)), r = sigmoid(matmul(both, reset));
    h = z * h + (1.0 - z) * tanh(matmul(concat({in, r * h}, 1), candidate));
    const Value error = mean(square(h - in));
    loss = loss.defined() ? loss + error : error;
  }
  Program train("train");
  train.output("loss", loss);
  train.update(adamw(loss, g.parameters()));
  return train;
}

void measure_recurrent() {
  constexpr std::int64_t kSteps = 1080;
  std::size_t nodes = 0;
  const double build = best_of(3, [&] {
    Graph graph;
    nodes = unrolled_gru(graph, kSteps).nodes().size();
  });
  Graph graph;
  const Program train = unrolled_gru(graph, kSteps);
  const double compiling = best_of(3, [&] { compile(train, {}); });
  const auto program = compile(train, {});
  const double planning = best_of(3, [&] {
    specialise(program, bind_symbols(*program, {{"x", {}, {4, kSteps, 16}}}, {}));
  });
  fmt::print("a recurrent model of {} nodes\n", nodes);
  show("build and differentiate", build);
  show("compile", compiling, "(goal 2000)");
  show("plan", planning);
}

void measure_load(const std::string& path) {
  Graph graph;
  const Program train = training_program(graph, gpt2(), {.steps = 1000, .batch = 4});
  Session session(graph);
  session.initialise();
  show("write a checkpoint", milliseconds([&] { save_checkpoint(path, session, {train}); }));
  show("load it by mmap", milliseconds([&] { load_checkpoint(path); }), "(goal 50)");
}

void measure_stream(int batches) {
  Graph graph;
  const GptConfig config{.vocab = 512, .layers = 2, .heads = 4, .width = 128, .context = 64};
  const Program train =
      training_program(graph, config, {.steps = 100000, .batch = 16, .warmup = 10});
  Session session(graph, {.seed = 1, .plan_cache = 1024});
  // All shapes are different, and their order spreads the work evenly over the batches.
  const auto batch = [](int i) {
    const std::int64_t j = i * std::int64_t{613} % 1024;  // a permutation
    const std::int64_t rows = 8 + j % 32, seq = 33 + j / 32;
    const Tensor ids = Tensor::zeros(DType::i32, {rows, seq});
    return NamedTensors{{"tokens", ids}, {"targets", ids}};
  };
  session.run(train, {{"tokens", Tensor::zeros(DType::i32, {4, 64})},
                      {"targets", Tensor::zeros(DType::i32, {4, 64})}});
  const auto pass = [&] {
    return milliseconds([&] {
      for (int i = 0; i < batches; ++i) session.run(train, batch(i));
    });
  };
  const double fresh = pass();
  const std::int64_t plans = session.specialise_count() - 1;
  const double known = pass();
  fmt::print(
      "{} batches of {} shapes: {:.2f} ms each when new, {:.2f} ms when planned before: {:.3f} x\n",
      batches, plans, fresh / batches, known / batches, fresh / known);
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) {
  std::string load;
  int batches = 1000;
  for (int i = 1; i < argc; i += 2) {
    const std::string option = argv[i];
    if (i + 1 < argc && option == "--load") {
      load = argv[i + 1];
    } else if (i + 1 < argc && option == "--batches") {
      batches = std::clamp(std::atoi(argv[i + 1]), 1, 1000);
    } else {
      fmt::print(stderr, "usage: weft_startup [--load FILE] [--batches N]\n");
      return 2;
    }
  }
  weft::measure_start();
  weft::measure_recurrent();
  if (!load.empty()) weft::measure_load(load);
  weft::measure_stream(batches);
  return 0;
}
