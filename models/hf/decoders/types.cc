// The table of the model types of the GPT family, and why other types are not supported.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "weft/models/hf/decoders/gpt_types.h"
#include "weft/models/hf/request.h"

namespace weft::hf {
namespace {

/// A model type that is not supported.
struct UnsupportedType {
  std::string_view name;
  std::string_view reason;   // a noun phrase after "it has"
  std::string_view nearest;  // a supported type, or ""
};

constexpr std::string_view kStates = "state-space layers";
constexpr std::string_view kDelta = "gated delta net layers";
constexpr std::string_view kVision =
    "a vision tower; a folder of its text model has the model_type";

constexpr UnsupportedType kUnsupported[] = {
    {"mamba", kStates, ""},
    {"mamba2", kStates, ""},
    {"falcon_mamba", kStates, ""},
    {"bamba", kStates, ""},
    {"jamba", kStates, "mixtral"},
    {"zamba", kStates, ""},
    {"zamba2", kStates, ""},
    {"nemotron_h", kStates, "nemotron"},
    {"granitemoehybrid", kStates, "granite"},
    {"falcon_h1", kStates, "falcon"},
    {"rwkv", "recurrent layers", ""},
    {"xlstm", "recurrent layers", ""},
    {"recurrent_gemma", "recurrent layers", "gemma2"},
    {"qwen3_next", kDelta, "qwen3_moe"},
    {"qwen3_5_text", kDelta, "qwen3"},
    {"lfm2", "gated convolutions", "qwen3"},
    {"lfm2_moe", "gated convolutions", "qwen3_moe"},
    {"bitnet", "norms inside the sublayers", "llama"},
    {"gemma3", kVision, "gemma3_text"},
    {"gemma3n", "alternating updates of several residual streams", "gemma3_text"},
    {"gemma3n_text", "alternating updates of several residual streams", "gemma3_text"},
    {"llama4", kVision, "llama4_text"},
    {"mllama", "a vision tower and cross-attention", "llama"},
    {"mistral3", "a vision tower", "ministral3"},
    {"qwen2_vl", "a vision tower", "qwen2"},
    {"qwen2_5_vl", "a vision tower", "qwen2"},
    {"qwen3_vl", "a vision tower", "qwen3"},
    {"phi3_v", "a vision tower", "phi3"},
    {"phi4_multimodal", "vision and audio towers", "phi3"},
    {"glm4v", "a vision tower", "glm4"},
    {"glm", "GLM-4's blocks without norms after the sublayers", "glm4"},
    {"glm4_moe", "experts in GLM-4's blocks", "glm4"},
    {"phimoe", "a router with sparse mixing", "mixtral"},
    {"granitemoe", "experts with fused matrices", "granite"},
    {"granitemoeshared", "experts with fused matrices", "granite"},
    {"dbrx", "experts with fused matrices", "mixtral"},
    {"olmo3", "windows in OLMo 2's blocks", "olmo2"},
    {"deepseek_v32", "sparse attention with an indexer", "deepseek_v3"},
    {"minimax", "linear attention", "mixtral"},
    {"persimmon", "norms of queries within a fused matrix", "gpt_neox"},
    {"gpt_neox_japanese", "biases after the residual connections", "gpt_neox"},
    {"xglm", "OPT's blocks with sinusoidal positions", "opt"},
    {"biogpt", "OPT's blocks with scaled embeddings", "opt"},
    {"ctrl", "sinusoidal positions on concatenated sines and cosines", "gpt2"},
    {"xlnet", "permutation language modelling", ""},
    {"arcee", "LLaMA's blocks with squared ReLU", "llama"},
    {"diffllama", "differential attention", "llama"},
};

}  // namespace

const std::vector<GptType>& gpt_types() {
  static const std::vector<GptType> types = [] {
    std::vector<GptType> all;
    for (std::vector<GptType> some :
         {gpt2_types(), llama_types(), qwen_types(), norm_types(), parallel_types(), alibi_types(),
          expert_types(), deepseek_types()})
      std::move(some.begin(), some.end(), std::back_inserter(all));
    return all;
  }();
  return types;
}

std::string why_unsupported(std::string_view model_type) {
  const auto found =
      std::find_if(std::begin(kUnsupported), std::end(kUnsupported),
                   [&](const UnsupportedType& type) { return type.name == model_type; });
  if (found == std::end(kUnsupported)) return {};
  if (found->nearest.empty()) return fmt::format("it has {}", found->reason);
  if (found->reason == kVision) return fmt::format("it has {} \"{}\"", kVision, found->nearest);
  return fmt::format("it has {}; the nearest supported type is \"{}\"", found->reason,
                     found->nearest);
}

}  // namespace weft::hf
