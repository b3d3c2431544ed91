// The matrices of a model to which adapters belong. Shared by lora.cc and lora_stack.cc.
#pragma once

#include <string>
#include <vector>

#include "weft/graph/weights/lora.h"
#include "weft/graph/weights/matrices.h"

namespace weft {

/// Endings of the variables of an adapter.
struct AdapterNames {
  const char *a, *b;
};
inline constexpr AdapterNames kProductAdapter{".lora_a", ".lora_b"};
inline constexpr AdapterNames kLookupAdapter{".lora_embedding_a", ".lora_embedding_b"};

/// The sizes of an adapter without its rank.
struct AdapterSizes {
  std::int64_t inputs, outputs;
};
AdapterSizes adapter_sizes(const WeightMatrix& matrix, bool lookup);

/// A matrix and its adapter, which must outlive this object.
struct MatchedAdapter {
  WeightMatrix matrix;
  const LoraAdapters::Adapter& adapter;
  bool lookup;  // the adapter changes lookups, not products
};
/// Returns the adapters with their matrices, which are some of `matrices`: those of products first,
/// each in the order of names. Throws ArgumentError if there is no matrix for an adapter, or if an
/// adapter does not match the shape of its matrix (the message names both).
std::vector<MatchedAdapter> matched_adapters(const LoraAdapters& adapters,
                                             const std::vector<WeightMatrix>& matrices);

}  // namespace weft
