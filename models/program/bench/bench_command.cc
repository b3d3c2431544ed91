#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "weft/models/program/bench/benches.h"
#include "weft/models/program/commands.h"

namespace weft::program {
namespace {

void add_common(CLI::App& command, BenchOptions& options) {
  command.add_option("--threads", options.threads, "0 = all")->check(CLI::Range(0, 1024));
  command
      .add_option_function<std::string>(
          "--precision",
          [&options](const std::string& name) { options.precision = parse_precision(name); },
          "of matrix products: highest, high or medium (default: highest)")
      ->check(CLI::IsMember({"highest", "high", "medium"}));
  command.add_option("--runs", options.runs, "measured runs; 0 = as suits the benchmark")
      ->check(CLI::Range(0, 1'000'000));
  command.add_flag("--json", options.json, "one JSON object instead of a table");
}

void add_model(CLI::App& command, ModelBench& bench) {
  add_common(command, bench.common);
  command.add_option("--model", bench.model, "a preset of weft train (default: gpt2)");
  command.add_option("--batch", bench.batch, "rows (default: 4)")->check(CLI::PositiveNumber);
  command.add_option("--seq", bench.seq, "tokens per row, of models that read text (default: 256)")
      ->check(CLI::PositiveNumber);
  command.add_flag("--profile", bench.profile, "times per node, on stderr (waves run serially)");
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
  gemm->add_option("--m", shape->m, "rows of the result; with --n and --k: only this shape")
      ->check(CLI::PositiveNumber);
  gemm->add_option("--n", shape->n, "columns")->check(CLI::PositiveNumber);
  gemm->add_option("--k", shape->k, "summed axis")->check(CLI::PositiveNumber);
  gemm->add_flag("--plain-b", products->plain_b, "b is stored as [k, n], not as [n, k]");
  gemm->callback([products, shape, &action] {
    const int given = (shape->m > 0) + (shape->n > 0) + (shape->k > 0);
    if (given != 0 && given != 3) throw UsageError("--m, --n and --k belong together");
    if (given == 3) products->shapes = {*shape};
    action = [products] { return bench_gemm(*products); };
  });

  CLI::App* train = command->add_subcommand("train", "A whole training step");
  const auto training = std::make_shared<ModelBench>();
  add_model(*train, *training);
  train
      ->add_option("--memory-budget", training->memory_budget,
                   "most bytes of the arena (600MiB); the rest is computed again")
      ->transform(CLI::AsSizeValue(false));
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
  attention->add_option("--batch", attending->batch, "rows (default: 1)")
      ->check(CLI::PositiveNumber);
  attention->add_option("--heads", attending->heads, "default: 12")->check(CLI::PositiveNumber);
  attention->add_option("--size", attending->size, "of a head (default: 64)")
      ->check(CLI::PositiveNumber);
  attention->add_option("--seq", attending->seq, "queries and keys (default: 8192)")
      ->check(CLI::PositiveNumber);
  attention->callback(
      [attending, &action] { action = [attending] { return bench_attention(*attending); }; });

  CLI::App* decode = command->add_subcommand("decode", "One token after another, with a cache");
  const auto decoding = std::make_shared<DecodeBench>();
  add_common(*decode, decoding->common);
  decode->add_option("--model", decoding->model, "a preset of weft train (default: gpt2)");
  decode->add_option("--batch", decoding->batch, "rows (default: 1)")->check(CLI::PositiveNumber);
  decode->add_option("--context", decoding->context, "tokens before the first (default: 128)")
      ->check(CLI::PositiveNumber);
  decode
      ->add_option_function<std::string>(
          "--weights",
          [weights = &decoding->weights](const std::string& name) {
            if (name != "f32") *weights = parse_weight_format(name);
          },
          "how matrices are kept: f32, bf16, int8 or int4 (default: f32)")
      ->check(CLI::IsMember({"f32", "bf16", "int8", "int4"}));
  decode->add_flag("--profile", decoding->profile, "times per node, on stderr");
  decode->callback(
      [decoding, &action] { action = [decoding] { return bench_decode(*decoding); }; });
}

}  // namespace weft::program
