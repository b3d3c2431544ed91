// Translates parameter names between Weft and Hugging Face, in both directions.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {
namespace hf {

/// Pairs of module names: the name in Weft and the name in Hugging Face transformers.
using ModuleNames = std::vector<std::pair<std::string, std::string>>;

/// A bidirectional dictionary of module names (for example, "layers.0.attention.query" and
/// "bert.encoder.layer.0.attention.self.query") and of full parameter names. A name is translated
/// by the longest entry that equals the name or is a module that contains it. A name without such
/// an entry is left unchanged.
class NameMap {
 public:
  /// Adds an entry. Throws ArgumentError if either name already has a different translation.
  void add(const std::string& ours, const std::string& theirs);
  /// Adds the modules of a list of layers: "<ours>.<i>.<a>" and "<theirs>.<i>.<b>" for every layer
  /// i and every pair (a, b).
  void add_layers(std::int64_t layers, const std::string& ours, const std::string& theirs,
                  const ModuleNames& modules);
  std::string theirs(std::string_view ours) const { return translate(theirs_, ours); }
  std::string ours(std::string_view theirs) const { return translate(ours_, theirs); }

 private:
  using Table = std::map<std::string, std::string, std::less<>>;
  static std::string translate(const Table& table, std::string_view name);
  Table theirs_, ours_;
};

}  // namespace hf
}  // namespace weft
