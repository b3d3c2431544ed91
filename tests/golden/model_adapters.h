// How each golden model family is built in Weft.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "weft/graph/ir/graph.h"

namespace weft::golden {

/// A model with its loss: values by the names that the case's outputs have.
struct ModelCase {
  Graph& graph;
  const nlohmann::json& config;
  const std::string& model_class;       // "GPT2LMHeadModel"
  std::map<std::string, Value> inputs;  // "input_ids", "labels", ...
};

struct ModelOutputs {
  std::map<std::string, Value> values;  // "loss", "logits", "hidden.0", ...
  /// Rows [batch, seq] whose values mean something, or undefined: all.
  Value valid_rows = {};
};

using ModelAdapter = ModelOutputs (*)(const ModelCase&);

/// All adapters, by family.
const std::map<std::string, ModelAdapter>& model_adapters();

}  // namespace weft::golden
