// weft_onnx_bench MODEL.onnx THREADS [AXIS=SIZE...]: runs an imported network once for each line of
// stdin and prints the seconds as JSON; compare.py measures ONNX Runtime on the same file. The line
// "profile" prints the time per operation to stderr. Integer inputs are 1; element i of other
// inputs is sin(i).
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>

#include "weft/core/error.h"
#include "weft/graph/run/session.h"
#include "weft/serialization/onnx/onnx.h"

using namespace weft;

namespace {

Tensor input_of(const ValueType& type) {
  Tensor tensor = Tensor::full(type.dtype, type.shape.constant(), 1);
  if (type.dtype == DType::f32) {
    for (std::int64_t i = 0; i < tensor.numel(); ++i)
      tensor.mutable_data<float>()[i] = std::sin(static_cast<float>(i));
  }
  return tensor;
}

int run(int argc, char** argv) {
  if (argc < 3) {
    std::fputs("usage: weft_onnx_bench MODEL.onnx THREADS [AXIS=SIZE...]\n", stderr);
    return 2;
  }
  OnnxReadOptions options;
  options.trainable = false;
  for (int i = 3; i < argc; ++i) {
    const std::string argument = argv[i];
    const std::size_t equals = argument.find('=');
    options.sizes[argument.substr(0, equals)] = std::atoll(argument.c_str() + equals + 1);
  }
  OnnxModel model = read_onnx(argv[1], options);
  const Program& program = model.checkpoint.program("predict");
  NamedTensors feeds;
  for (const Value& input : program.inputs())
    feeds.emplace_back(input.node().attributes().text("name"), input_of(input.type()));
  Session session(model.checkpoint.graph(), model.checkpoint.store(),
                  {.threads = std::atoi(argv[2]), .prepack = true});
  for (int i = 0; i < 2; ++i) session.run(program, feeds);
  fmt::print("{{\"nodes\": {}}}\n", program.nodes().size());
  std::fflush(stdout);
  for (std::string line; std::getline(std::cin, line);) {
    const auto begin = std::chrono::steady_clock::now();
    const Results results = session.run(program, feeds);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    double sum = 0;
    const Tensor& first = results[program.outputs()[0].first];
    for (std::int64_t i = 0; i < first.numel(); ++i) sum += std::abs(first.at(i));
    fmt::print("{{\"seconds\": {}, \"mean\": {}}}\n", seconds.count(),
               sum / static_cast<double>(first.numel()));
    std::fflush(stdout);
    if (line == "profile") {
      session.set_profiling(true);
      for (int i = 0; i < 3; ++i) session.run(program, feeds);
      fmt::print(stderr, "{}", session.profile().table());
      session.set_profiling(false);
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const Error& e) {
    fmt::print(stderr, "weft_onnx_bench: {}\n", e.what());
    return 1;
  }
}
