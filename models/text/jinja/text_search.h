// Search for a string within a text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "weft/models/text/jinja/run.h"

namespace weft::chat {

/// Searches texts for a string in linear time, with the algorithm of Knuth, Morris and Pratt
/// (1977), and counts the work as steps. std::string::find() takes time proportional to the product
/// of both sizes, for example for "aaa...ab" in "aaa...a".
class TextSearch {
 public:
  enum class From : std::uint8_t { left, right };

  /// `wanted` must outlive this object.
  TextSearch(Run& run, std::string_view wanted, From from = From::left);
  /// Returns the byte offset of the first occurrence (of the last one, when searching from the
  /// right), or std::string_view::npos if there is none. An empty string occurs at both ends.
  std::size_t in(std::string_view text) const;

 private:
  Run& run_;
  const std::string_view wanted_;
  const From from_;
  /// For each prefix of `wanted` in the direction of the search, the size of its longest proper
  /// prefix that is also its suffix.
  std::vector<std::uint32_t> borders_;
};

}  // namespace weft::chat
