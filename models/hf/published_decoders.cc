// Published decoders since GPT-Neo. GPT-2 and GPT-3 are in published.cc.
#include <fmt/format.h>

#include <initializer_list>
#include <string_view>
#include <tuple>
#include <utility>

#include "weft/models/hf/gpt.h"
#include "weft/models/hf/published_decoders.h"

namespace weft::hf {
namespace {

PublishedModel decoder(const char* name, const std::string& prefix, std::string config,
                       std::int64_t parameters) {
  const GptConfig sizes = gpt_config(config);
  return {.name = name,
          .architecture = prefix + "ForCausalLM",
          .trained = prefix + "ForCausalLM",
          .config = std::move(config),
          .parameters = parameters,
          .layers = sizes.layers,
          .width = sizes.width};
}

/// The sizes of a decoder with the config keys of LLaMA, and further keys as JSON.
struct LlamaSizes {
  const char *name, *prefix, *type;
  std::int64_t vocab, width, inner, layers, heads, kv_heads, parameters;
  const char* further = "";
};

PublishedModel decoder(const LlamaSizes& sizes) {
  const std::string_view further = sizes.further;
  return decoder(sizes.name, sizes.prefix,
                 fmt::format(R"({{"model_type": "{}", "vocab_size": {}, "hidden_size": {},
                       "intermediate_size": {}, "num_hidden_layers": {},
                       "num_attention_heads": {}, "num_key_value_heads": {}{}{}}})",
                             sizes.type, sizes.vocab, sizes.width, sizes.inner, sizes.layers,
                             sizes.heads, sizes.kv_heads, further.empty() ? "" : ", ", further),
                 sizes.parameters);
}

constexpr const char* kTied = R"("tie_word_embeddings": true)";

// clang-format off
constexpr LlamaSizes kLlamas[] = {
    {"llama-2-7b", "Llama", "llama", 32000, 4096, 11008, 32, 32, 32, 6738415616},
    {"llama-3.2-1b", "Llama", "llama", 128256, 2048, 8192, 16, 32, 8, 1235814400, kTied},
    {"llama-3.2-3b", "Llama", "llama", 128256, 3072, 8192, 28, 24, 8, 3212749824, kTied},
    {"llama-3.1-8b", "Llama", "llama", 128256, 4096, 14336, 32, 32, 8, 8030261248},
    {"llama-3.1-70b", "Llama", "llama", 128256, 8192, 28672, 80, 64, 8, 70553706496},
    {"llama-3.1-405b", "Llama", "llama", 128256, 16384, 53248, 126, 128, 8, 405853388800},
    {"smollm2-135m", "Llama", "llama", 49152, 576, 1536, 30, 9, 3, 134515008, kTied},
    {"smollm2-360m", "Llama", "llama", 49152, 960, 2560, 32, 15, 5, 361821120, kTied},
    {"smollm2-1.7b", "Llama", "llama", 49152, 2048, 8192, 24, 32, 32, 1711376384, kTied},
    {"mistral-7b", "Mistral", "mistral", 32000, 4096, 14336, 32, 32, 8, 7241732096},
    {"mistral-nemo-12b", "Mistral", "mistral", 131072, 5120, 14336, 40, 32, 8, 12247782400,
     R"("head_dim": 128)"},
    {"mistral-small-24b", "Mistral", "mistral", 131072, 5120, 32768, 40, 32, 8, 23572403200,
     R"("head_dim": 128)"},
    {"qwen2.5-0.5b", "Qwen2", "qwen2", 151936, 896, 4864, 24, 14, 2, 494032768, kTied},
    {"qwen2.5-1.5b", "Qwen2", "qwen2", 151936, 1536, 8960, 28, 12, 2, 1543714304, kTied},
    {"qwen2.5-3b", "Qwen2", "qwen2", 151936, 2048, 11008, 36, 16, 2, 3085938688, kTied},
    {"qwen2.5-7b", "Qwen2", "qwen2", 152064, 3584, 18944, 28, 28, 4, 7615616512},
    {"qwen2.5-14b", "Qwen2", "qwen2", 152064, 5120, 13824, 48, 40, 8, 14770033664},
    {"qwen2.5-32b", "Qwen2", "qwen2", 152064, 5120, 27648, 64, 40, 8, 32763876352},
    {"qwen2.5-72b", "Qwen2", "qwen2", 152064, 8192, 29568, 80, 64, 8, 72706203648},
    {"qwen3-0.6b", "Qwen3", "qwen3", 151936, 1024, 3072, 28, 16, 8, 596049920, kTied},
    {"qwen3-1.7b", "Qwen3", "qwen3", 151936, 2048, 6144, 28, 16, 8, 1720574976, kTied},
    {"qwen3-4b", "Qwen3", "qwen3", 151936, 2560, 9728, 36, 32, 8, 4022468096, kTied},
    {"qwen3-8b", "Qwen3", "qwen3", 151936, 4096, 12288, 36, 32, 8, 8190735360},
    {"qwen3-14b", "Qwen3", "qwen3", 151936, 5120, 17408, 40, 40, 8, 14768307200},
    {"qwen3-32b", "Qwen3", "qwen3", 151936, 5120, 25600, 64, 64, 8, 32762123264},
    {"qwen3-30b-a3b", "Qwen3Moe", "qwen3_moe", 151936, 2048, 6144, 48, 32, 4, 30532122624,
     R"("head_dim": 128, "norm_topk_prob": true)"},
    {"qwen3-235b-a22b", "Qwen3Moe", "qwen3_moe", 151936, 4096, 12288, 94, 64, 4, 235093634560,
     R"("head_dim": 128, "moe_intermediate_size": 1536, "norm_topk_prob": true)"},
    {"mixtral-8x7b", "Mixtral", "mixtral", 32000, 4096, 14336, 32, 32, 8, 46702792704},
    {"mixtral-8x22b", "Mixtral", "mixtral", 32000, 6144, 16384, 56, 48, 8, 140620634112},
    {"gemma-2b", "Gemma", "gemma", 256000, 2048, 16384, 18, 8, 1, 2506172416},
    {"gemma-7b", "Gemma", "gemma", 256000, 3072, 24576, 28, 16, 16, 8537680896},
    {"gemma-2-2b", "Gemma2", "gemma2", 256000, 2304, 9216, 26, 8, 4, 2614341888},
    {"gemma-2-9b", "Gemma2", "gemma2", 256000, 3584, 14336, 42, 16, 8, 9241705984},
    {"gemma-2-27b", "Gemma2", "gemma2", 256000, 4608, 36864, 46, 32, 16, 27227128320,
     R"("head_dim": 128, "query_pre_attn_scalar": 144)"},
    {"gemma-3-270m", "Gemma3", "gemma3_text", 262144, 640, 2048, 18, 4, 1, 268098176,
     R"("sliding_window": 512)"},
    {"gemma-3-1b", "Gemma3", "gemma3_text", 262144, 1152, 6912, 26, 4, 1, 999885952,
     R"("sliding_window": 512)"},
    {"phi-1.5", "Phi", "phi", 51200, 2048, 8192, 24, 32, 32, 1418270720},
    {"phi-2", "Phi", "phi", 51200, 2560, 10240, 32, 32, 32, 2779683840,
     R"("partial_rotary_factor": 0.4)"},
    {"phi-3-mini", "Phi3", "phi3", 32064, 3072, 8192, 32, 32, 32, 3821079552},
    {"phi-4-mini", "Phi3", "phi3", 200064, 3072, 8192, 32, 24, 8, 3836021760,
     R"("tie_word_embeddings": true, "partial_rotary_factor": 0.75)"},
    {"phi-4", "Phi3", "phi3", 100352, 5120, 17920, 40, 40, 10, 14659507200,
     R"("pad_token_id": 100351)"},
    {"granite-3.1-2b", "Granite", "granite", 49155, 2048, 8192, 40, 32, 8, 2533531648, kTied},
    {"granite-3.1-8b", "Granite", "granite", 49155, 4096, 12800, 40, 32, 8, 8170848256, kTied},
    {"olmo-2-1b", "Olmo2", "olmo2", 100352, 2048, 8192, 16, 16, 16, 1484916736},
    {"olmo-2-7b", "Olmo2", "olmo2", 100352, 4096, 11008, 32, 32, 32, 7298617344},
    {"olmoe-1b-7b", "Olmoe", "olmoe", 50304, 2048, 1024, 16, 16, 16, 6919161856},
    {"smollm3-3b", "SmolLM3", "smollm3", 128256, 2048, 11008, 36, 16, 4, 3075098624},
    {"stablelm-2-1.6b", "StableLm", "stablelm", 100352, 2048, 5632, 24, 32, 32, 1644515328,
     R"("use_qkv_bias": true)"},
    {"starcoder2-3b", "Starcoder2", "starcoder2", 49152, 3072, 12288, 30, 24, 2, 3030371328},
    {"command-r-35b", "Cohere", "cohere", 256000, 8192, 22528, 40, 64, 64, 34980831232},
    {"command-r7b", "Cohere2", "cohere2", 256000, 4096, 14336, 32, 32, 8, 8028033024},
    {"glm-4-9b", "Glm4", "glm4", 151552, 4096, 13696, 40, 32, 2, 9400279040},
    {"exaone-4.0-1.2b", "Exaone4", "exaone4", 102400, 2048, 4096, 30, 32, 8, 1279391488,
     R"("tie_word_embeddings": true, "sliding_window": null)"},
    {"gpt-oss-20b", "GptOss", "gpt_oss", 201088, 2880, 2880, 24, 64, 8, 20914757184,
     R"("num_local_experts": 32)"},
    {"gpt-oss-120b", "GptOss", "gpt_oss", 201088, 2880, 2880, 36, 64, 8, 116829156672},
    {"deepseek-v2-lite", "DeepseekV2", "deepseek_v2", 102400, 2048, 10944, 27, 16, 16, 15706484224,
     R"("q_lora_rank": null, "first_k_dense_replace": 1, "moe_intermediate_size": 1408, "num_experts_per_tok": 6)"},
};
// clang-format on

}  // namespace

std::vector<PublishedModel> published_decoders() {
  std::vector<PublishedModel> models;
  for (const LlamaSizes& sizes : kLlamas) models.push_back(decoder(sizes));
  for (
      const auto& [name, prefix, config, parameters] :
      std::initializer_list<std::tuple<const char*, const char*, const char*, std::int64_t>>{
          {"deepseek-v3", "DeepseekV3", R"({"model_type": "deepseek_v3"})", 671026404352},
          {"falcon-7b", "Falcon", R"({"model_type": "falcon"})", 6921720704},
          {"falcon-40b", "Falcon",
           R"({"model_type": "falcon", "hidden_size": 8192, "num_hidden_layers": 60, "num_attention_heads": 128, "num_kv_heads": 8, "new_decoder_architecture": true})",
           41303293952},
          {"gpt-neo-1.3b", "GPTNeo", R"({"model_type": "gpt_neo"})", 1315575808},
          {"gpt-neox-20b", "GPTNeoX", R"({"model_type": "gpt_neox"})", 20554567680},
          {"gpt-j-6b", "GPTJ", R"({"model_type": "gptj"})", 6050882784},
          {"codegen-350m", "CodeGen",
           R"({"model_type": "codegen", "vocab_size": 51200, "n_embd": 1024, "n_layer": 20, "n_head": 16, "rotary_dim": 32})",
           356712448},
          {"starcoderbase-1b", "GPTBigCode",
           R"({"model_type": "gpt_bigcode", "vocab_size": 49152, "n_positions": 8192, "n_embd": 2048, "n_layer": 24, "n_head": 16})",
           1137207296},
          {"bloom-560m", "Bloom",
           R"({"model_type": "bloom", "hidden_size": 1024, "n_layer": 24, "n_head": 16})",
           559214592},
          {"bloom-176b", "Bloom",
           R"({"model_type": "bloom", "hidden_size": 14336, "n_layer": 70, "n_head": 112})",
           176247271424},
          {"opt-125m", "OPT", R"({"model_type": "opt"})", 125239296},
          {"opt-350m", "OPT",
           R"({"model_type": "opt", "hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, "ffn_dim": 4096, "word_embed_proj_dim": 512, "do_layer_norm_before": false})",
           331196416},
          {"opt-6.7b", "OPT",
           R"({"model_type": "opt", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, "ffn_dim": 16384})",
           6658473984},
          {"mpt-7b", "Mpt",
           R"({"model_type": "mpt", "vocab_size": 50432, "d_model": 4096, "n_heads": 32, "n_layers": 32})",
           6649286656}}) {
    models.push_back(decoder(name, prefix, config, parameters));
  }
  return models;
}

}  // namespace weft::hf
