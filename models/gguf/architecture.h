// The architectures of GGUF models: how llama.cpp stores and runs each type of decoder. Internal to
// models/gguf.
//
// Source: llama.cpp, src/llama-arch.cpp (names of keys and tensors) and src/models (which keys each
// architecture reads, and its constants).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "weft/models/families/gpt_config.h"
#include "weft/models/gguf/keys.h"

namespace weft::gguf {

/// Pairs of names relative to a block, in Weft and in GGUF files: {"attn.query", "attn_q"}. A pair
/// of modules applies to all their parameters.
using Names = std::vector<std::pair<std::string, std::string>>;

/// One value of general.architecture.
struct Architecture {
  std::string name;
  /// The settings that neither keys nor tensors of a file determine. In particular:
  /// - projection: fused_by_head if the original model has this order of rows. Files always store
  ///   all queries, then all keys, then all values.
  /// - rotary_adjacent: true if the original model rotates adjacent pairs, see `adjacent`.
  /// - norm_offset: true if the original model stores the weights of norms minus 1. Files do not
  ///   subtract 1.
  GptConfig config;
  Keys keys;  // in addition to those of all architectures
  /// Names in blocks that differ from the usual ones.
  Names names = {};
  /// Further such names of models with GptResidual::parallel.
  Names names_if_parallel = {};
  /// True if llama.cpp rotates adjacent pairs of features. Files then store the rows of queries and
  /// keys in this order, although many of the original models (LLaMA) rotate halves.
  bool adjacent = false;
  /// Biases of queries, keys and values; of the output projection of attention; of the feed-forward
  /// block; of norms; of the head. '1': llama.cpp requires it; '0': it reads no such bias; '?': it
  /// is optional.
  const char* biases = "?0000";
  bool takes_qk_norm = false;  // optional norms of queries and keys, if config.qk_norm is false
  bool needs_head = false;     // llama.cpp requires output.weight, even if it equals token_embd
};

/// Returns all architectures, in the order in which a model that fits several is written.
const std::vector<Architecture>& architectures();
/// Returns the architecture of a file. Throws FormatError, with the path of the file and the
/// supported names, for an unknown name.
const Architecture& find_architecture(const GgufFile& file);

}  // namespace weft::gguf
