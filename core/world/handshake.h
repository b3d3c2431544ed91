// Handshake: ranks compare their configuration before they work together.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/core/export.h"
#include "weft/core/world/world.h"

namespace WEFT_API weft {

/// The handshake message of a rank: facts that must be equal on all ranks.
struct Greeting {
  struct Fact {
    std::string name;  // completes the sentence "ranks differ in ...", for example "the seed"
    std::string text;  // the value in a readable form
    friend bool operator==(const Fact&, const Fact&) = default;
  };
  /// In the order in which error messages list them.
  std::vector<Fact> facts = {};

  /// Adds a fact. Throws ArgumentError if the name is empty or already used.
  void add(std::string_view name, std::string_view text);
  /// Returns the text of a fact, or null if there is no fact with this name.
  const std::string* find(std::string_view name) const;
  /// Serialises the facts.
  std::string bytes() const;
  /// The inverse of bytes(). Throws FormatError if the bytes are not a greeting of this version, a
  /// fact has no text, or a name is empty or occurs twice.
  static Greeting parse(std::string_view bytes);
  friend bool operator==(const Greeting&, const Greeting&) = default;
};

/// Compares the greetings of all ranks. Collective. If they differ, all ranks throw the same
/// ArgumentError, which lists all facts that differ, each with the first rank whose text is not
/// that of rank 0: "ranks differ in the seed: rank 0 (host a) has 1, rank 2 (host b) has 2; in the
/// number of shards: ...". Missing and empty facts are printed as "nothing".
void agree(const World& world, const Greeting& greeting);

}  // namespace weft
