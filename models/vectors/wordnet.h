// The definitions of WordNet (Miller 1995), as Debian's package wordnet-base holds them.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "weft/core/export.h"

namespace WEFT_API weft {

inline constexpr const char* kWordNetFolder = "/usr/share/wordnet";

/// A synset: words that mean the same, what that is, and maybe examples in quotation marks.
struct WordNetEntry {
  std::string words;  // with blanks between; those of several words, too
  std::string gloss = {};
};

/// Gives every synset of the files data.noun, data.verb, data.adj and data.adv of a folder, in this
/// order. Throws IoError where they cannot be read (of Debian's folder it says which package has
/// them) and FormatError with file and line for what is not as wndb(5WN) says.
void for_wordnet(const std::string& folder,
                 const std::function<void(const WordNetEntry& entry)>& use);

}  // namespace weft
