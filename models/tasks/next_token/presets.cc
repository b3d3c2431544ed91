#include "weft/models/tasks/next_token/presets.h"

namespace weft {
namespace {

GptConfig sizes(std::int64_t layers, std::int64_t heads, std::int64_t width, std::int64_t context) {
  GptConfig config;
  config.layers = layers;
  config.heads = heads;
  config.width = width;
  config.context = context;
  return config;
}

/// Returns `config` without biases and with the dropout rate `dropout`, as in nanoGPT's character
/// models.
GptConfig nanogpt(GptConfig config, double dropout) {
  config.bias = false;
  config.embedding_dropout = config.attention_dropout = config.residual_dropout = dropout;
  return config;
}

/// Sets the standard deviation for matrix initialisation to about 1 / sqrt(width), which is 0.08
/// for width 128. GPT-2's 0.02 suits wider models. On tinyshakespeare, nanogpt-cpu reaches a
/// validation loss of 1.90 with 0.02, 1.75 with 0.05 and 1.74 with 0.08 (seed 1337).
GptConfig wide_start(GptConfig config) {
  config.initializer_range = 0.08;
  return config;
}

/// Returns a variant of nanogpt-cpu with LLaMA components and the same number of parameters. In
/// both presets, the matrices of a block have 12 width^2 parameters: using two key heads for four
/// query heads saves enough parameters for a gate of width 3 * width. The separate head replaces
/// the learned positions.
GptConfig llama_cpu() {
  GptConfig config = GptConfig::llama();
  config.layers = 4;
  config.heads = 4;
  config.kv_heads = 2;
  config.width = 128;
  config.inner = 384;
  config.context = 64;
  return wide_start(config);
}

/// Returns llama-cpu with a context that is long enough for a conversation.
GptConfig instruct_cpu() {
  GptConfig config = llama_cpu();
  config.context = 256;
  return config;
}

}  // namespace

const std::vector<Preset<GptConfig>>& gpt_presets() {
  static const std::vector<Preset<GptConfig>> presets = {
      {"char-small",
       "small character model; learns spelling in about a minute",
       wide_start(nanogpt(sizes(3, 4, 128, 64), 0)),
       {.steps = 1200,
        .batch = 16,
        .lr = 2e-3,
        .min_lr = 2e-4,
        .warmup = 50,
        .eval_every = 150,
        .eval_batches = 20,
        .save_every = 300}},
      {"nanogpt-cpu",
       "nanoGPT's character model for CPUs (published validation loss 1.88)",
       wide_start(nanogpt(sizes(4, 4, 128, 64), 0)),
       {.steps = 2000, .batch = 12, .eval_every = 250, .save_every = 500}},
      {"llama-cpu",
       "same size as nanogpt-cpu, with LLaMA components: RMSNorm, RoPE, SwiGLU, grouped-query "
       "attention",
       llama_cpu(),
       {.steps = 2000, .batch = 12, .eval_every = 250, .save_every = 500}},
      {"nanogpt-baby",
       "nanoGPT's baby GPT (published validation loss 1.47 at the best step; it overfits, see "
       "--best)",
       nanogpt(sizes(6, 6, 384, 256), 0.2),
       {.steps = 5000, .batch = 64, .eval_every = 250, .eval_batches = 10, .save_every = 250}},
      {"gpt2",
       "GPT-2 small, as OpenAI trained it",
       sizes(12, 12, 768, 1024),
       {.steps = 100000,
        .batch = 8,
        .lr = 6e-4,
        .min_lr = 6e-5,
        .warmup = 2000,
        .beta2 = 0.95,
        .eval_every = 1000,
        .save_every = 500}},
  };
  return presets;
}

const std::vector<Preset<GptConfig>>& instruction_presets() {
  static const std::vector<Preset<GptConfig>> presets = [] {
    // With adapters, the weights are frozen and the learning rate is several times higher, as in Hu
    // et al. 2022.
    const TrainSettings all{.steps = 1000,
                            .batch = 4,
                            .lr = 1e-3,
                            .min_lr = 1e-4,
                            .warmup = 50,
                            .precision = Precision::medium,
                            .eval_every = 250};
    TrainSettings adapters = all;
    adapters.lr = 4e-3;
    adapters.min_lr = 4e-4;
    std::vector<Preset<GptConfig>> made = {
        {"instruct-cpu", "llama-cpu for conversations of up to 256 tokens: trains all weights",
         instruct_cpu(), all},
        {"instruct-cpu-lora",
         "same model as instruct-cpu, with learning rates for adapters (--lora-rank 16)",
         instruct_cpu(), adapters}};
    made.insert(made.end(), gpt_presets().begin(), gpt_presets().end());
    return made;
  }();
  return presets;
}

}  // namespace weft
