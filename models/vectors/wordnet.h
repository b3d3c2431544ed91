// Reader for the definitions in WordNet (Miller 1995), from the files of the Debian package
// wordnet-base.
#pragma once

#include <functional>
#include <string>

#include "weft/core/export.h"

namespace WEFT_API weft {

inline constexpr const char* kWordNetFolder = "/usr/share/wordnet";

/// A synset: synonymous words, their definition and possibly examples in quotation marks.
struct WordNetEntry {
  std::string words;  // separated by spaces, as are the parts of compound terms
  std::string gloss = {};
};

/// Calls `use` for every synset in the files data.noun, data.verb, data.adj and data.adv of a
/// folder, in this order. Throws IoError if they cannot be read; if data.noun is missing, the
/// message names the Debian package. Throws FormatError with file and line if a line does not
/// conform to wndb(5WN).
void for_each_synset(const std::string& folder,
                     const std::function<void(const WordNetEntry& entry)>& use);

}  // namespace weft
