// Adapters that build each golden operation with Weft's functions.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "weft/graph/functions.h"

namespace weft::golden {

struct OpCase {
  Graph& graph;
  const nlohmann::json& attrs;
  std::map<std::string, Value> in;  // operands by their names in the case

  Value operator[](const std::string& name) const { return in.at(name); }
  bool has(const std::string& name) const { return in.count(name) != 0; }
};

/// Returns the operand, or an empty argument if the case does not have it.
inline OptionalArg optional(const OpCase& c, const std::string& name) {
  return c.has(name) ? OptionalArg(c[name]) : OptionalArg();
}

/// Output values by their names in the case.
using OpOutputs = std::map<std::string, Value>;
using OpAdapter = OpOutputs (*)(const OpCase&);

void add_recurrent_adapters(std::map<std::string, OpAdapter>& adapters);
void add_linalg_adapters(std::map<std::string, OpAdapter>& adapters);
void add_loss_adapters(std::map<std::string, OpAdapter>& adapters);
void add_norm_adapters(std::map<std::string, OpAdapter>& adapters);
void add_window_adapters(std::map<std::string, OpAdapter>& adapters);

/// Returns all adapters by operation name.
const std::map<std::string, OpAdapter>& op_adapters();

}  // namespace weft::golden
