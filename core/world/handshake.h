// A handshake that compares the configurations of all ranks before they start working.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/core/export.h"
#include "weft/core/world/world.h"

namespace WEFT_API weft {

/// The handshake message of a rank. It consists of fields, which must have equal values on all
/// ranks.
struct Handshake {
  struct Field {
    std::string name;  // completes the sentence "ranks differ in ...", for example "the seed"
    std::string text;  // the value in a readable form
    friend bool operator==(const Field&, const Field&) = default;
  };
  /// The fields, in the order in which error messages list them.
  std::vector<Field> fields = {};

  /// Adds a field. Throws ArgumentError if the name is empty or already used.
  void add(std::string_view name, std::string_view text);
  /// Returns the value of a field, or null if there is no field with this name.
  const std::string* find(std::string_view name) const;
  /// Serialises the fields.
  std::string bytes() const;
  /// The inverse of bytes(). Throws FormatError if the bytes are not a handshake message of this
  /// version, if a field has no value, or if a name is empty or occurs twice.
  static Handshake parse(std::string_view bytes);
  friend bool operator==(const Handshake&, const Handshake&) = default;
};

/// Compares the handshake messages of all ranks. This is a collective operation. If the messages
/// differ, all ranks throw the same ArgumentError. It lists all fields that differ, each with the
/// first rank whose value differs from the value on rank 0: "ranks differ in the seed: rank 0 (host
/// a) has 1, rank 2 (host b) has 2; in the number of shards: ...". Missing and empty values are
/// printed as "nothing".
void agree(const World& world, const Handshake& handshake);

}  // namespace weft
