// weft_decoder_bench SHAPE FORMAT ACTIVATIONS THREADS PRECISION: measures decoders in the shape of
// published models with random weights, for compare.py. Lines on stdin are "prefill TOKENS" and
// "decode CONTEXT TOKENS"; the answers are lines of JSON with the seconds and the CPU seconds.
// SHAPE is one of llama-246m, qwen3-0.6b and gemma3-1b, FORMAT one of f32, bf16, int8, q8_0 and
// int4, and ACTIVATIONS `none` or `int8`. Caches are bf16, as llama.cpp's are f16. Every run
// computes the logits of the last token.
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>

#include "weft/graph/run/session.h"
#include "weft/graph/weights/quantize.h"
#include "weft/models/families/gpt.h"

using namespace weft;

namespace {

using Clock = std::chrono::steady_clock;

GptConfig config_of(const std::string& shape) {
  GptConfig c = GptConfig::llama();
  c.context = 4096;
  if (shape == "llama-246m") {
    c.vocab = 32000, c.layers = 14, c.width = 1024, c.inner = 2816;
    c.heads = c.kv_heads = 16, c.head_dim = 64;
    return c;
  }
  c.tied_head = true;
  c.qk_norm = true;
  c.layer_norm_eps = 1e-6;
  c.rotary_base = 1e6;
  if (shape == "qwen3-0.6b") {
    c.vocab = 151936, c.layers = 28, c.width = 1024, c.inner = 3072;
    c.heads = 16, c.kv_heads = 8, c.head_dim = 128;
  } else if (shape == "gemma3-1b") {
    c.vocab = 262144, c.layers = 26, c.width = 1152, c.inner = 6912;
    c.heads = 4, c.kv_heads = 1, c.head_dim = 256;
    c.activation = Activation::gelu_tanh;
    c.residual = GptResidual::sandwich;
    c.norm_offset = true;
    c.embedding_multiplier = std::sqrt(static_cast<double>(c.width));
    c.window = 512;
    c.window_layers = "111110";
    c.rotary_window_base = 10000;
  } else {
    fmt::print(stderr, "weft_decoder_bench: unknown shape {}\n", shape);
    std::exit(2);
  }
  return c;
}

struct Times {
  double seconds = 0, cpu_seconds = 0;
};

Times run(Session& session, const Program& program, std::int64_t count, std::int64_t position) {
  Tensor tokens = Tensor::empty(DType::i32, {1, count});
  for (std::int64_t i = 0; i < count; ++i) {
    tokens.mutable_data<std::int32_t>()[i] =
        static_cast<std::int32_t>(3 + (position + i) * 7919 % 30000);
  }
  const Clock::time_point begin = Clock::now();
  const std::clock_t before = std::clock();
  session.run(program, {{"tokens", tokens}, {"position", Tensor::of<std::int64_t>({}, {position})}},
              {.dims = {{"capacity", 1024}}});
  return {std::chrono::duration<double>(Clock::now() - begin).count(),
          static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    fmt::print(stderr, "usage: weft_decoder_bench SHAPE FORMAT ACTIVATIONS THREADS PRECISION\n");
    return 2;
  }
  const std::string format = argv[2], activations = argv[3];
  auto graph = std::make_shared<Graph>();
  const Gpt gpt(Scope(*graph).evaluation(), config_of(argv[1]));
  const Value tokens = graph->input("tokens", DType::i32, {"batch", "new"});
  const GptDecoding decoding =
      gpt.decode(tokens, graph->input("position", DType::i64, {}), graph->dim("capacity"));
  Program program = Program("decode").output("logits", decoding.logits).update(decoding.updates);
  auto store = std::make_shared<VariableStore>();
  Session(*graph, store, {.seed = 1}).initialise();
  if (format != "f32") {
    QuantizedModel narrow = quantize({program}, *store,
                                     {.weights = parse_weight_format(format),
                                      .activations = parse_activation_format(activations),
                                      .caches = CacheFormat::bf16});
    graph = narrow.graph;
    store = narrow.store;
    program = narrow.programs.front();
  }
  const SessionOptions options{.threads = std::atoi(argv[4]),
                               .precision = parse_precision(argv[5])};
  Session session(*graph, store, options);
  fmt::print("{{\"info\": \"{} {}, activations {}, precision {}, caches bf16\"}}\n", argv[1],
             format, activations, argv[5]);
  std::fflush(stdout);
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string what;
    std::int64_t first = 0, count = 0;
    words >> what >> first >> count;
    Times total = run(session, program, first, 0);
    if (what == "decode") {
      total = {};
      for (std::int64_t i = 0; i < count; ++i) {
        const Times one = run(session, program, 1, first + i);
        total.seconds += one.seconds;
        total.cpu_seconds += one.cpu_seconds;
      }
    }
    fmt::print("{{\"seconds\": {}, \"cpu_seconds\": {}}}\n", total.seconds, total.cpu_seconds);
    std::fflush(stdout);
  }
}
