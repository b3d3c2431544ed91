// Describes an ONNX file.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "weft/models/fields/model_path.h"

namespace weft::program {

struct OnnxInspection {
  bool graph = false, variables = false;
  std::map<std::string, std::int64_t, std::less<>> sizes;  // of symbolic axes
};
/// Prints the inputs, outputs and operators of a file, the operators that Weft does not support,
/// and, if it supports all of them, the cost of a run with these sizes (1 for symbols that are not
/// given). Returns the exit code.
int inspect_onnx(const std::string& path, const OnnxInspection& options);

}  // namespace weft::program
