// What the ends of a transport between processes tell one another beside the messages of a program.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Of what ranks send one another; other numbers do not understand one another.
inline constexpr std::uint32_t kWorldProtocol = 2;

/// A rank is there, has left (it sends and receives no more), says that the world ends, or wants to
/// be told that the one who hears this is there.
struct Word {
  enum class Kind : std::uint32_t { alive = 1, left = 2, poison = 3, question = 4 };
  Kind kind = Kind::alive;
  int rank = 0;  // who says it
  /// All but poison: how long the phase lasts.
  double phase_seconds = 0;
  /// left: how many messages the rank has sent to the one who hears this, and received from it.
  std::uint64_t sent = 0, received = 0;
  /// The phase. poison: why the world ends.
  std::string text = {};
  friend bool operator==(const Word&, const Word&) = default;
};

/// Every word has as many bytes, so that a receive can wait for any.
inline constexpr std::size_t kWordBytes = 1024;
using WordBytes = std::array<std::byte, kWordBytes>;

/// The bytes of a word (of this machine's order: ranks have the same CPUs). A text that is too long
/// is cut.
WordBytes write_word(const Word& word);
/// The word of a world of so many ranks; nothing where the bytes are none that this version knows.
std::optional<Word> read_word(std::span<const std::byte> bytes, int ranks);

/// Whom a rank tells what it has heard of the end of a world, those a power of two away: so all
/// hear of it in a few turns, whoever of them is lost.
std::vector<int> who_is_told(int rank, int ranks);

}  // namespace weft
