// What a published model would cost, without weights or memory for them.
#pragma once

#include <cstdint>
#include <string>

namespace weft::program {

struct ModelInspection {
  std::string model;  // a name of hf::published_models()
  std::int64_t batch = 1;
  std::int64_t seq = 0;  // tokens per row; 0 = 128, or what an image has
  std::string precision = "highest";
};
/// Prints parameters, FLOPs and memory of a forward pass and of a training step, beside the
/// textbook's formulas. Returns the exit code.
int inspect_model(const ModelInspection& inspection);

}  // namespace weft::program
