// Names and layouts of tensors in GGUF files. Internal to models/gguf.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/models/gguf/architecture.h"
#include "weft/serialization/gguf/gguf.h"

namespace weft::gguf {

/// Returns the name in files of a parameter of a Gpt: "blk.0.attn_q.weight" for
/// "transformer.h.0.attn.query.weight".
std::string tensor_name(std::string_view parameter, const Architecture& architecture,
                        const GptConfig& config);

/// Returns the row of the file for every row of a parameter, or an empty list if the orders are
/// equal. They differ for queries and keys if the model rotates halves and files contain adjacent
/// pairs, or vice versa, and for fused projections with rows ordered by heads.
std::vector<std::int64_t> rows_in_file(std::string_view parameter, const Architecture& architecture,
                                       const GptConfig& config);
/// Returns the inverse of a permutation.
std::vector<std::int64_t> inverse(const std::vector<std::int64_t>& rows);
/// Returns a tensor with row rows[i] of `tensor` as row i. Blocks are moved, not decoded.
GgufTensor with_rows(const GgufTensor& tensor, const std::vector<std::int64_t>& rows);

/// Returns true for the weight of a norm, to which files of a model with norm_offset add 1.
bool is_norm_weight(std::string_view parameter);
/// Returns an f32 tensor with `added` added to every element.
Tensor plus(const Tensor& tensor, float added);
/// Returns true for a parameter that files store as F32 whatever their type: vectors, norms,
/// routers and learned positions.
bool is_always_f32(std::string_view parameter, const Sizes& sizes);

/// Latent attention: files store the matrix attn.kv_up [heads * (keys + values), rank] as two
/// stacks, blk.<i>.attn_k_b.weight [heads, rank, keys] and blk.<i>.attn_v_b.weight [heads, values,
/// rank]. The functions convert f32 tensors.
bool is_latent_stack(std::string_view parameter);
struct LatentStacks {
  Tensor keys, values;
};
LatentStacks split_latent(const Tensor& matrix, const GptConfig& config);
Tensor join_latent(const LatentStacks& stacks, const GptConfig& config);

}  // namespace weft::gguf
