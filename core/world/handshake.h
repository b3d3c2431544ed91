// Ranks compare who they are before they work together.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/core/export.h"
#include "weft/core/world/world.h"

namespace WEFT_API weft {

/// What a rank says of itself: facts that must be the same on all ranks.
struct Greeting {
  struct Fact {
    std::string name;  // as in "ranks differ in the seed"
    std::string text;  // in words that tell people what is different
    friend bool operator==(const Fact&, const Fact&) = default;
  };
  /// In the order in which a message names them.
  std::vector<Fact> facts = {};

  /// Adds a fact; one of this name must not be there yet.
  void add(std::string_view name, std::string_view text);
  /// The text of a fact; null where there is none of this name.
  const std::string* find(std::string_view name) const;
  /// As a message.
  std::string bytes() const;
  /// Throws FormatError where the bytes are no greeting of this version: a fact without a text, a
  /// name that is empty or comes twice.
  static Greeting parse(std::string_view bytes);
  friend bool operator==(const Greeting&, const Greeting&) = default;
};

/// Collective: compares the greetings of all ranks. Throws ArgumentError, the same on every rank,
/// which names all facts that differ, each with the first rank that has another text than rank 0:
/// "ranks differ in the seed: rank 0 (host a) has 1, rank 2 (host b) has 2; in the number of
/// shards: ...". Facts that a rank does not mention, and empty ones, are "nothing".
void agree(const World& world, const Greeting& greeting);

}  // namespace weft
