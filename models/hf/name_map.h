// Names of parameters: Weft's and Hugging Face's, both ways.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "weft/core/export.h"

namespace WEFT_API weft {
namespace hf {

/// A dictionary of modules ("layers.0.attention.query" <-> "bert.encoder.layer.0.attention.self
/// .query") and of whole names. A name is translated by the longest entry that is the name itself
/// or a module in front of its last words; where there is none it is the same in both.
class NameMap {
 public:
  /// Throws ArgumentError if either side is there already with another partner.
  void add(const std::string& ours, const std::string& theirs);
  std::string theirs(std::string_view ours) const { return translate(theirs_, ours); }
  std::string ours(std::string_view theirs) const { return translate(ours_, theirs); }

 private:
  using Table = std::map<std::string, std::string, std::less<>>;
  static std::string translate(const Table& table, std::string_view name);
  Table theirs_, ours_;
};

}  // namespace hf
}  // namespace weft
