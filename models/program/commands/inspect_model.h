// Estimates the cost of a published model without loading its weights or allocating memory for
// them.
#pragma once

#include <cstdint>
#include <string>

namespace weft::program {

struct ModelInspection {
  std::string model;  // a name of hf::published_models()
  std::int64_t batch = 1;
  std::int64_t seq = 0;  // tokens per row; 0 = 128; must be 0 for image models
  std::string precision = "highest";
  // Options for a training step on several ranks, with `batch` rows per shard:
  std::int64_t ranks = 0;   // 0 = not reported
  std::int64_t shards = 0;  // 0 = one per rank, rounded up to a power of two
};
/// Prints the number of parameters and the FLOPs and memory of a forward pass and of a training
/// step, together with the values of the textbook formulas. Returns the exit code.
int inspect_model(const ModelInspection& inspection);

}  // namespace weft::program
