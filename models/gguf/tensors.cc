#include "weft/models/gguf/tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

namespace weft::gguf {
namespace {

constexpr std::string_view kBlocks = "transformer.h.";

/// Names outside blocks.
const Names& outer_names() {
  static const Names names = {{"transformer.wte", "token_embd"},
                              {"transformer.wpe", "position_embd"},
                              {"transformer.wte_norm", "token_embd_norm"},
                              {"transformer.ln_f", "output_norm"},
                              {"lm_head", "output"}};
  return names;
}

/// Names in blocks. A whole parameter comes before the modules that contain it.
const Names& block_names() {
  static const Names names = {{"mlp.router.correction", "exp_probs_b.bias"},
                              {"mlp.experts.gate_bias", "ffn_gate_exps.bias"},
                              {"mlp.experts.up_bias", "ffn_up_exps.bias"},
                              {"mlp.experts.down_bias", "ffn_down_exps.bias"},
                              {"mlp.experts.gate", "ffn_gate_exps.weight"},
                              {"mlp.experts.up", "ffn_up_exps.weight"},
                              {"mlp.experts.down", "ffn_down_exps.weight"},
                              {"mlp.shared.gate", "ffn_gate_shexp"},
                              {"mlp.shared.c_fc", "ffn_up_shexp"},
                              {"mlp.shared.c_proj", "ffn_down_shexp"},
                              {"mlp.shared_gate", "ffn_gate_inp_shexp"},
                              {"mlp.router", "ffn_gate_inp"},
                              {"mlp.gate", "ffn_gate"},
                              {"mlp.gate_up", "ffn_up"},
                              {"mlp.c_fc", "ffn_up"},
                              {"mlp.c_proj", "ffn_down"},
                              {"attn.c_attn", "attn_qkv"},
                              {"attn.query", "attn_q"},
                              {"attn.key", "attn_k"},
                              {"attn.value", "attn_v"},
                              {"attn.c_proj", "attn_output"},
                              {"attn.query_norm", "attn_q_norm"},
                              {"attn.key_norm", "attn_k_norm"},
                              {"attn.sinks", "attn_sinks.weight"},
                              {"attn.query_down", "attn_q_a"},
                              {"attn.query_down_norm", "attn_q_a_norm"},
                              {"attn.query_up", "attn_q_b"},
                              {"attn.kv_down", "attn_kv_a_mqa"},
                              {"attn.kv_down_norm", "attn_kv_a_norm"},
                              {"attn.kv_up", "attn_kv_b"},
                              {"ln_1", "attn_norm"},
                              {"ln_1_post", "post_attention_norm"},
                              {"ln_2", "ffn_norm"},
                              {"ln_2_post", "post_ffw_norm"}};
  return names;
}

std::optional<std::string> translate(const Names& names, std::string_view parameter) {
  for (const auto& [ours, theirs] : names) {
    if (!parameter.starts_with(ours)) continue;
    const std::string_view rest = parameter.substr(ours.size());
    if (rest.empty() || rest.front() == '.') return theirs + std::string(rest);
  }
  return std::nullopt;
}

/// A name in a block: "attn.query.weight" in block "12".
struct BlockName {
  std::string_view block, rest;
};
std::optional<BlockName> in_block(std::string_view parameter) {
  if (!parameter.starts_with(kBlocks)) return std::nullopt;
  parameter.remove_prefix(kBlocks.size());
  const std::size_t dot = parameter.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  return BlockName{parameter.substr(0, dot), parameter.substr(dot + 1)};
}

/// Appends the rows of a head that begin at row `first` in the file. If `reordered`, its rotated
/// features are adjacent pairs in the file and halves in the parameter or, if `to_adjacent`, vice
/// versa.
void add_head(std::vector<std::int64_t>& rows, std::int64_t first, const GptConfig& c,
              bool reordered, bool to_adjacent) {
  const std::int64_t rotated = reordered ? c.rotary_size() : 0, half = rotated / 2;
  for (std::int64_t i = 0; i < c.head_size(); ++i) {
    std::int64_t from = i;
    if (i < rotated) from = to_adjacent ? i / 2 + (i % 2) * half : 2 * (i % half) + i / half;
    rows.push_back(first + from);
  }
}

}  // namespace

std::string tensor_name(std::string_view parameter, const Architecture& architecture,
                        const GptConfig& config) {
  const auto block = in_block(parameter);
  if (!block) return translate(outer_names(), parameter).value_or(std::string(parameter));
  const Names none;
  for (const Names* names :
       {config.residual == GptResidual::parallel ? &architecture.names_if_parallel : &none,
        &architecture.names, &block_names()}) {
    if (const auto name = translate(*names, block->rest))
      return fmt::format("blk.{}.{}", block->block, *name);
  }
  return std::string(parameter);
}

std::vector<std::int64_t> rows_in_file(std::string_view parameter, const Architecture& architecture,
                                       const GptConfig& c) {
  const auto block = in_block(parameter);
  if (!block || c.kv_rank > 0) return {};
  const bool reordered =
      c.positions == GptPositions::rotary && c.rotary_adjacent != architecture.adjacent;
  const auto is = [&](std::string_view module) {
    return block->rest == fmt::format("{}.weight", module) ||
           block->rest == fmt::format("{}.bias", module);
  };
  const std::int64_t size = c.head_size(), keys = c.key_heads();
  std::vector<std::int64_t> rows;
  const auto add = [&](std::int64_t head, bool rotates = true) {
    add_head(rows, head * size, c, reordered && rotates, c.rotary_adjacent);
  };
  if (is("attn.query") || is("attn.key")) {
    if (!reordered) return {};
    for (std::int64_t h = 0; h < (is("attn.key") ? keys : c.heads); ++h) add(h);
  } else if (is("attn.c_attn")) {
    const bool by_head = c.projection == QkvProjection::fused_by_head;
    if (!reordered && !by_head) return {};
    const std::int64_t group = c.heads / keys;
    for (std::int64_t k = 0; k < keys && by_head; ++k) {
      for (std::int64_t h = 0; h < group; ++h) add(k * group + h);
      add(c.heads + k);
      add(c.heads + keys + k, false);
    }
    for (std::int64_t h = 0; h < c.heads + 2 * keys && !by_head; ++h) add(h, h < c.heads + keys);
  }
  return rows;
}

std::vector<std::int64_t> inverse(const std::vector<std::int64_t>& rows) {
  std::vector<std::int64_t> result(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i)
    result[static_cast<std::size_t>(rows[i])] = static_cast<std::int64_t>(i);
  return result;
}

GgufTensor with_rows(const GgufTensor& tensor, const std::vector<std::int64_t>& rows) {
  if (rows.empty()) return tensor;
  GgufTensor result = tensor;
  const std::size_t bytes = tensor.data.bytes() / rows.size();
  result.data = Tensor::empty(DType::u8, tensor.data.sizes());
  const std::byte* from = tensor.data.raw();
  std::byte* to = result.data.mutable_raw();
  for (const std::int64_t row : rows) {
    std::memcpy(to, from + static_cast<std::size_t>(row) * bytes, bytes);
    to += bytes;
  }
  return result;
}

bool is_norm_weight(std::string_view parameter) {
  if (!parameter.ends_with(".weight")) return false;
  const auto block = in_block(parameter);
  return parameter == "transformer.ln_f.weight" || parameter == "transformer.wte_norm.weight" ||
         (block && (block->rest.starts_with("ln_") || block->rest.ends_with("_norm.weight")));
}

Tensor plus(const Tensor& tensor, float added) {
  Tensor result = Tensor::empty(DType::f32, tensor.sizes());
  const auto from = tensor.span<float>();
  std::transform(from.begin(), from.end(), result.mutable_data<float>(),
                 [&](float v) { return v + added; });
  return result;
}

bool is_always_f32(std::string_view parameter, const Sizes& sizes) {
  return sizes.size() < 2 || is_norm_weight(parameter) || parameter.ends_with("_bias") ||
         parameter == "transformer.wpe.weight" || parameter.ends_with("mlp.router.weight") ||
         parameter.ends_with("mlp.shared_gate.weight");
}

bool is_latent_stack(std::string_view parameter) {
  return parameter.ends_with(".attn.kv_up.weight");
}

LatentStacks split_latent(const Tensor& matrix, const GptConfig& c) {
  const std::int64_t values = c.value_size(), keys = c.head_size() - c.latent_rotary;
  LatentStacks stacks{Tensor::empty(DType::f32, {c.heads, c.kv_rank, keys}),
                      Tensor::empty(DType::f32, {c.heads, values, c.kv_rank})};
  const float* from = matrix.data<float>();
  float *key = stacks.keys.mutable_data<float>(), *value = stacks.values.mutable_data<float>();
  for (std::int64_t h = 0; h < c.heads; ++h) {
    for (std::int64_t i = 0; i < keys; ++i, from += c.kv_rank) {
      for (std::int64_t r = 0; r < c.kv_rank; ++r) key[(h * c.kv_rank + r) * keys + i] = from[r];
    }
    const std::int64_t count = values * c.kv_rank;
    std::copy_n(from, count, value + h * count);
    from += count;
  }
  return stacks;
}

Tensor join_latent(const LatentStacks& stacks, const GptConfig& c) {
  const std::int64_t values = c.value_size(), keys = c.head_size() - c.latent_rotary;
  Tensor matrix = Tensor::empty(DType::f32, {c.heads * (keys + values), c.kv_rank});
  const float *key = stacks.keys.data<float>(), *value = stacks.values.data<float>();
  float* to = matrix.mutable_data<float>();
  for (std::int64_t h = 0; h < c.heads; ++h) {
    for (std::int64_t i = 0; i < keys; ++i, to += c.kv_rank) {
      for (std::int64_t r = 0; r < c.kv_rank; ++r) to[r] = key[(h * c.kv_rank + r) * keys + i];
    }
    const std::int64_t count = values * c.kv_rank;
    std::copy_n(value + h * count, count, to);
    to += count;
  }
  return matrix;
}

}  // namespace weft::gguf
