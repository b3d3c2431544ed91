#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "weft/models/program/bench/benches.h"
#include "weft/models/program/commands.h"
#include "weft/models/program/options.h"

namespace weft::program {
namespace {

void add_common(CLI::App& command, BenchOptions& options) {
  OptionList list(command);
  list.integer("--threads", options.threads, {0, 1024}, "0 = all");
  list.choice(
      "--precision", {"highest", "high", "medium"},
      [&options](const std::string& name) { options.precision = parse_precision(name); },
      "of matrix products (default: highest)");
  list.integer("--runs", options.runs, {0, 1'000'000}, "measured runs; 0 = as suits the benchmark");
  list.flag("--json", options.json, "one JSON object instead of a table");
}

void add_model(CLI::App& command, ModelBench& bench) {
  add_common(command, bench.common);
  OptionList list(command);
  list.text("--model", bench.model, "a preset of weft train (default: gpt2)");
  list.integer("--batch", bench.batch, kFromOne, "rows (default: 4)");
  list.integer("--seq", bench.seq, kFromOne,
               "tokens per row, of models that read text (default: 256)");
  list.flag("--profile", bench.profile, "times per node, on stderr (waves run serially)");
}

}  // namespace

void add_bench_command(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("bench", "Measure whole models with random weights, and matrix products");
  command->require_subcommand(1);

  CLI::App* gemm = command->add_subcommand("gemm", "Products of float32 matrices");
  const auto products = std::make_shared<GemmBench>();
  const auto shape = std::make_shared<GemmShape>();
  add_common(*gemm, products->common);
  OptionList sizes(*gemm);
  sizes.integer("--m", shape->m, kFromOne, "rows of the result; with --n and --k: only this shape");
  sizes.integer("--n", shape->n, kFromOne, "columns");
  sizes.integer("--k", shape->k, kFromOne, "summed axis");
  sizes.flag("--plain-b", products->plain_b, "b is stored as [k, n], not as [n, k]");
  gemm->callback([products, shape, &action] {
    const int given = (shape->m > 0) + (shape->n > 0) + (shape->k > 0);
    if (given != 0 && given != 3) throw UsageError("--m, --n and --k belong together");
    if (given == 3) products->shapes = {*shape};
    action = [products] { return bench_gemm(*products); };
  });

  CLI::App* train = command->add_subcommand("train", "A whole training step");
  const auto training = std::make_shared<ModelBench>();
  add_model(*train, *training);
  OptionList(*train).bytes("--memory-budget", training->memory_budget,
                           "most bytes of the arena (600MiB); the rest is computed again");
  train->callback([training, &action] { action = [training] { return bench_train(*training); }; });

  CLI::App* forward = command->add_subcommand("forward", "A forward pass, all logits");
  const auto passes = std::make_shared<ModelBench>();
  add_model(*forward, *passes);
  forward->get_option("--model")->description(
      "a published model (gpt2, bert-base, ...; weft inspect --model) or a preset of weft train");
  forward->add_flag("--prepack", passes->prepack,
                    "keep copies of the weights in the order of the kernels");
  forward->callback([passes, &action] { action = [passes] { return bench_forward(*passes); }; });

  CLI::App* attention =
      command->add_subcommand("attention", "Causal attention, forward and backward");
  const auto attending = std::make_shared<AttentionBench>();
  add_common(*attention, attending->common);
  OptionList axes(*attention);
  axes.integer("--batch", attending->batch, kFromOne, "rows (default: 1)");
  axes.integer("--heads", attending->heads, kFromOne, "default: 12");
  axes.integer("--size", attending->size, kFromOne, "of a head (default: 64)");
  axes.integer("--seq", attending->seq, kFromOne, "queries and keys (default: 8192)");
  attention->callback(
      [attending, &action] { action = [attending] { return bench_attention(*attending); }; });

  CLI::App* decode = command->add_subcommand("decode", "One token after another, with a cache");
  const auto decoding = std::make_shared<DecodeBench>();
  add_common(*decode, decoding->common);
  OptionList steps(*decode);
  steps.text("--model", decoding->model, "a preset of weft train (default: gpt2)");
  steps.integer("--batch", decoding->batch, kFromOne, "rows (default: 1)");
  steps.integer("--context", decoding->context, kFromOne, "tokens before the first (default: 128)");
  steps.choice(
      "--weights", {"f32", "bf16", "int8", "int4"},
      [weights = &decoding->weights](const std::string& name) {
        if (name != "f32") *weights = parse_weight_format(name);
      },
      "how matrices are kept (default: f32)");
  steps.flag("--profile", decoding->profile, "times per node, on stderr");
  decode->callback(
      [decoding, &action] { action = [decoding] { return bench_decode(*decoding); }; });
}

}  // namespace weft::program
