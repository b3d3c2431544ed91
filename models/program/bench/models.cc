#include "weft/models/program/bench/models.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/autodiff/optimizers/optimizers.h"
#include "weft/core/closest.h"
#include "weft/core/random.h"
#include "weft/graph/functions/loss.h"
#include "weft/models/families/gpt.h"
#include "weft/models/hf/published.h"
#include "weft/models/program/terminal/usage_error.h"
#include "weft/models/tasks/next_token/presets.h"

namespace weft::program {
namespace {

GptConfig gpt_config(std::string_view name, std::int64_t positions) {
  std::vector<std::string> known;
  for (const Preset<GptConfig>& preset : gpt_presets()) {
    known.push_back(preset.name);
    if (preset.name != name) continue;
    GptConfig config = preset.model;
    // The vocabulary size of character models, as in tinyshakespeare.
    constexpr std::int64_t kCharacters = 65;
    if (name != "gpt2") config.vocab = kCharacters;
    if (positions > config.context) {
      throw UsageError(fmt::format("{} has {} positions, which is fewer than --seq {}", name,
                                   config.context, positions));
    }
    return config;
  }
  throw UsageError(unknown_name("model", name, known));
}

/// A GPT with the input "tokens" in a new graph, and the ids to feed.
struct GptBench {
  BenchModel bench;
  GptConfig config;
  Value tokens;
  std::unique_ptr<Gpt> model;
};

GptBench make_gpt(std::string_view name, std::int64_t batch, std::int64_t seq) {
  if (seq == 0) seq = kDefaultSeq;
  GptBench made;
  made.config = gpt_config(name, seq);
  made.bench.graph = std::make_unique<Graph>();
  made.bench.items = static_cast<double>(batch * seq);
  made.bench.item_name = "tokens";
  made.tokens = made.bench.graph->input("tokens", DType::i32, {"batch", "seq"});
  made.model = std::make_unique<Gpt>(Scope(*made.bench.graph).evaluation(), made.config);
  made.bench.feeds.emplace_back("tokens", bench_ids({batch, seq}, made.config.vocab, 1));
  return made;
}

}  // namespace

Tensor bench_ids(const Sizes& sizes, std::int64_t vocab, std::uint64_t seed) {
  Tensor ids = Tensor::empty(DType::i32, sizes);
  const RandomStream random{.seed = seed};
  auto* out = ids.mutable_data<std::int32_t>();
  for (std::int64_t i = 0; i < ids.numel(); ++i) {
    const std::uint64_t bits = std::uint64_t{random.word(static_cast<std::uint64_t>(i))} << 32;
    out[i] = static_cast<std::int32_t>(uniform_below(bits, static_cast<std::uint64_t>(vocab)));
  }
  return ids;
}

BenchModel bench_training_step(std::string_view model, std::int64_t batch, std::int64_t seq,
                               int shards) {
  if (seq == 0) seq = kDefaultSeq;
  GptBench made = make_gpt(model, batch, seq);
  BenchModel& bench = made.bench;
  const Value targets = bench.graph->input("targets", DType::i32, {"batch", "seq"});
  bench.feeds.emplace_back("targets", bench_ids({batch, seq}, made.config.vocab, 2));
  const Reduction over = shards > 1 ? Reduction::shard_mean : Reduction::mean;
  const Value loss = cross_entropy((*made.model)({.ids = made.tokens}).logits, targets,
                                   {.class_axis = -1, .reduction = over});
  const TrainingStep step =
      adamw(loss, bench.graph->parameters(), {.lr = 1e-4, .step = {.clip_norm = 1}});
  bench.program.output("loss", loss).shards({.count = shards}).update(step.updates);
  return std::move(made.bench);
}

BenchModel bench_forward_pass(std::string_view name, std::int64_t batch, std::int64_t seq) {
  const std::vector<hf::PublishedModel>& published = hf::published_models();
  const auto found = std::find_if(published.begin(), published.end(),
                                  [&](const auto& model) { return model.name == name; });
  if (found == published.end()) {
    const auto& presets = gpt_presets();
    if (std::none_of(presets.begin(), presets.end(),
                     [&](const Preset<GptConfig>& preset) { return preset.name == name; })) {
      std::vector<std::string> known;
      for (const auto& model : published) known.push_back(model.name);
      for (const Preset<GptConfig>& preset : presets) known.push_back(preset.name);
      throw UsageError(unknown_name("model", name, known));
    }
    GptBench made = make_gpt(name, batch, seq);
    made.bench.program.output("logits", (*made.model)({.ids = made.tokens}).logits);
    return std::move(made.bench);
  }
  const bool images = found->modality == hf::Modality::image;
  if (images && seq > 0) {
    throw UsageError(fmt::format("{} reads images of {} x {}: --seq does not apply", name,
                                 found->image_size, found->image_size));
  }
  if (seq == 0) seq = kDefaultSeq;
  BenchModel bench;
  bench.graph = std::make_unique<Graph>();
  const hf::InputTypes inputs = hf::published_inputs(*found, batch, seq);
  const hf::Model model = hf::build_model(*bench.graph, found->config, inputs, found->architecture);
  for (const char* output : {"logits", "last_hidden_state"}) {
    if (!model.outputs.contains(output)) continue;
    bench.program.output(output, model.outputs.at(output));
    break;
  }
  bench.items = static_cast<double>(images ? batch : batch * seq);
  bench.item_name = images ? "images" : "tokens";
  for (const auto& [input, type] : inputs) {
    constexpr std::int64_t kAnyVocabulary = 30000;  // ids that are valid for every published model
    bench.feeds.emplace_back(input, type.first == DType::f32
                                        ? Tensor::full(DType::f32, type.second, 0.5)
                                        : bench_ids(type.second, kAnyVocabulary, 1));
  }
  return bench;
}

BenchModel bench_decoding_step(std::string_view model, std::int64_t batch, std::int64_t capacity) {
  GptBench made = make_gpt(model, batch, capacity);
  BenchModel& bench = made.bench;
  bench.feeds.clear();
  bench.items = static_cast<double>(batch);
  const Value position = bench.graph->input("position", DType::i64, {});
  const GptDecoding decoding =
      made.model->decode(made.tokens, position, bench.graph->dim("capacity"));
  bench.program.output("logits", decoding.logits).update(decoding.updates);
  return std::move(made.bench);
}

}  // namespace weft::program
