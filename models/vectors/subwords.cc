#include "weft/models/vectors/subwords.h"

#include <string>

namespace weft {
namespace {

std::uint32_t hash(std::string_view text) {
  std::uint32_t h = 2166136261u;
  for (const char c : text) {
    h ^= static_cast<std::uint32_t>(static_cast<std::int32_t>(static_cast<signed char>(c)));
    h *= 16777619u;
  }
  return h;
}

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

}  // namespace

std::vector<std::int32_t> subword_buckets(std::string_view word, const SubwordOptions& options) {
  std::vector<std::int32_t> result;
  const std::string marked = "<" + std::string(word) + ">";
  for (std::size_t begin = 0; begin < marked.size(); ++begin) {
    if (continues_character(marked[begin])) continue;
    std::size_t end = begin;
    for (int n = 1; n <= options.longest && end < marked.size(); ++n) {
      do {
        ++end;
      } while (end < marked.size() && continues_character(marked[end]));
      const bool mark = n == 1 && (begin == 0 || end == marked.size());
      if (n < options.shortest || mark) continue;
      const std::uint32_t bucket = hash(std::string_view(marked).substr(begin, end - begin)) %
                                   static_cast<std::uint32_t>(options.buckets);
      result.push_back(static_cast<std::int32_t>(bucket));
    }
  }
  return result;
}

}  // namespace weft
