// Seeded damage to files.
#pragma once

#include <random>
#include <string>

namespace weft::attack {

using Random = std::mt19937_64;

/// A number in [0, most].
std::uint64_t below(Random& random, std::uint64_t most);

/// A few small changes at random places: bits flipped, numbers that are near a limit, parts cut
/// out, repeated, exchanged or inserted; in a text (`text`) also numbers replaced by extreme ones,
/// lines repeated, words and nesting added.
std::string mutated(std::string bytes, bool text, Random& random);

/// The records of a .weft file, damaged or not, with a new index and right checksums: what is
/// damaged inside of them gets to the readers behind. `path` is written. False where the bytes have
/// no record that can be told from the others.
bool repair_container(const std::string& bytes, const std::string& path);

/// The same for the checksums of a PNG's chunks.
std::string repaired_png(std::string bytes);

/// The same for the length of a safetensors header.
std::string repaired_safetensors(std::string bytes);

}  // namespace weft::attack
